//! What `explain --policy`, `diff` and `presets` say: true, in plain words, and the same in JSON.

use std::path::Path;

use tempfile::TempDir;

use super::json;
use super::millis;
use super::presets;
use super::root;
use super::scenario;
use super::stormlab;
use super::write;

/// A place with a file `s.yaml` that has these policies beside `p`, which does nothing.
fn file(policies: &str) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    write(&place, &scenario(policies));
    place
}

#[track_caller]
fn says(place: &Path, arguments: &[&str]) -> String {
    let (said, complaints, code) = stormlab(place, arguments);
    assert_eq!(code, 0, "{arguments:?}: {complaints}");
    said
}

/// The lines on a service that refuses at once, or on one that hangs, without their margin.
#[track_caller]
fn outage(said: &str, how: &str) -> Vec<String> {
    let lines = said.lines().skip_while(|line| *line != format!("A service that {how}")).skip(1);
    lines.take_while(|line| !line.is_empty()).map(|line| line.trim().to_owned()).collect()
}

fn explained(place: &Path, name: &str, how: &str) -> Vec<String> {
    outage(&says(place, &["explain", "--policy", name]), how)
}

#[test]
fn the_cost_of_very_long_calls_is_that_of_the_first_hour() {
    let long = |n: u32| {
        format!(
            "  l{n}: {{ retry: {{ max_attempts: {n}, backoff: {{ exponential: {{ base: 100ms }} }}, jitter: none }} }}\n"
        )
    };
    let place = file(&[15, 37, 40].map(long).concat());
    let cost = |n: u32| explained(place.path(), &format!("s.yaml:l{n}"), "refuses at once");
    assert_eq!(cost(15).last().unwrap(), "cost: 15.00 attempts a call");
    let open = "cost: 16.00 attempts a call; every call is still open after the hour";
    assert_eq!(
        cost(37)[1..],
        ["the call ends after more than a hundred years, after 37 attempts", open]
    );
    assert_eq!(cost(40).last().unwrap(), open);
    let said = says(place.path(), &["explain", "--policy", "s.yaml:l37"]);
    assert!(said.contains("Costs are those of the first hour of an outage"), "{said}");
}

#[test]
fn what_bounds_a_call_is_named() {
    #[track_caller]
    fn check(name: &str, how: &str, expected: &[&str]) {
        let lines = explained(root(), name, how);
        assert_eq!(lines[1..=expected.len()], *expected, "{name}: {lines:?}");
    }
    check(
        "cenkalti",
        "refuses at once",
        &[
            "retries end 15 min after the call began: the call ends by 15 min, after at most 40 attempts",
        ],
    );
    check(
        "sqs",
        "refuses at once",
        &[
            "retries end 4 d after the call began: the call ends by 4 d, after at most 11,521 attempts",
            "cost: 118.50 attempts a call; every call is still open after the hour",
        ],
    );
    check(
        "finagle",
        "refuses at once",
        &[
            "the call ends at once, after 21 attempts",
            "sooner, when the retry budget does not pay or the breaker is open",
        ],
    );
    check(
        "linkerd-service-profile",
        "refuses at once",
        &[
            "the call has no limit of its own: it ends only when the retry budget does not pay",
            "cost: 1.09 attempts a call",
        ],
    );
    check(
        "grpc",
        "refuses at once",
        &[
            "the call ends by 840 ms, after 4 attempts",
            "sooner, when the retry budget does not pay",
        ],
    );
    check(
        "client-go",
        "refuses at once",
        &[
            "nothing ends the call: it goes on for as long as the outage",
            "attempts come later, when the retry budget makes them wait",
        ],
    );
    check(
        "tenacity",
        "refuses at once",
        &[
            "nothing ends the call: it goes on for as long as the outage",
            "cost: countless attempts a call; they follow one another without a step in time, and the count was given up",
        ],
    );
    check(
        "requests",
        "hangs",
        &["nobody gives this attempt up: the call waits for as long as the service hangs"],
    );
}

#[test]
fn a_growing_attempt_timeout_ends_a_call_at_a_time_that_is_a_time() {
    let place = file(
        "  elapsed: { attempt_timeout: { after: 1s, multiplier: 2 }, retry: { max_attempts: unlimited, backoff: 1s, jitter: none, max_elapsed: 1min } }\n  \
           endless: { attempt_timeout: { after: 1s, multiplier: 2 }, retry: { max_attempts: unlimited, backoff: 1s, jitter: none } }\n",
    );
    // Sent at 0, 2, 5, 10, 19 and 36 s; the last is given up 32 s later, and 69 s is too late.
    let elapsed = explained(place.path(), "s.yaml:elapsed", "hangs");
    assert_eq!(
        elapsed[1],
        "retries end 60 s after the call began: the call ends by 68 s, after at most 6 attempts"
    );
    let endless = says(place.path(), &["explain", "--policy", "s.yaml:endless"]);
    assert!(!endless.contains("by for ever") && endless.contains("more than a hundred years"));
    assert!(endless.contains("attempt timeout: 1 s, then × 2 each time"), "{endless}");
}

#[test]
fn more_retries_than_are_listed_still_have_an_end() {
    let place = file(
        "  many: { attempt_timeout: 1s, retry: { max_attempts: 100, backoff: 1s, jitter: none } }\n",
    );
    let lines = explained(place.path(), "s.yaml:many", "hangs");
    assert_eq!(lines[1], "the call ends by 3 min 19 s, after 100 attempts");
}

/// No preset is described in words that a reader would stumble over.
#[test]
fn no_preset_is_described_in_broken_words() {
    for preset in presets() {
        let name = preset["name"].as_str().unwrap();
        let said = says(root(), &["explain", "--policy", name]);
        for broken in [
            "by for ever",
            "for for ever",
            "36500 d",
            "n^4",
            "at most 1 attempts",
            "timeout of :",
            "by 0 s",
            "some time",
            " 0.00 attempts",
            "(1 of",
            " 1 attempts",
        ] {
            assert!(!said.contains(broken), "{name}: `{broken}` in\n{said}");
        }
        assert!(said.contains("the first hour of an outage"), "{said}");
    }
    let webhook = says(root(), &["explain", "--policy", "webhook-producer"]);
    assert!(
        webhook.contains("open for ever (sees calls)") && webhook.contains("10 h 3 min"),
        "{webhook}"
    );
    let sidekiq = says(root(), &["explain", "--policy", "sidekiq"]);
    assert!(sidekiq.contains("retry: after 15 s, 16 s, 31 s, 96 s and so on"), "{sidekiq}");
    assert!(says(root(), &["explain", "--policy", "client-go"]).contains("at most 16 min 40 s"));
}

#[test]
fn a_variant_is_named_with_the_policy_and_never_ignored() {
    let place = file(
        "  eager: { retry: { max_attempts: 4 } }\nvariants: { calm: { policies: { eager: { retry: { max_attempts: 2 } } } } }\n",
    );
    let wrong = |arguments: &[&str]| {
        let (said, complaints, code) = stormlab(place.path(), arguments);
        assert_eq!((code, said.as_str()), (2, ""), "{arguments:?}");
        complaints
    };
    let said = says(place.path(), &["diff", "s.yaml:eager", "s.yaml:eager@calm"]);
    assert!(said.contains("a call makes up to 2 attempts instead of up to 4 attempts"), "{said}");
    let said =
        says(place.path(), &["diff", "s.yaml:eager@base", "s.yaml:eager", "--variant", "calm"]);
    assert!(said.contains("a call makes up to 2 attempts instead of up to 4 attempts"), "{said}");
    let same = |name: &str, rest: &[&str]| {
        let of = ["explain", "--policy", name];
        let said = says(place.path(), &[&of, rest].concat());
        said.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(same("s.yaml:eager@calm", &[]), same("s.yaml:eager", &["--variant", "calm"]));
    assert_ne!(same("s.yaml:eager@calm", &[]), same("s.yaml:eager", &[]));

    let preset = "`grpc` is a preset, which has no variants";
    assert!(wrong(&["explain", "--policy", "grpc", "--variant", "calm"]).contains(preset));
    assert!(wrong(&["diff", "grpc", "envoy", "--variant", "calm"]).contains(preset));
    let named = wrong(&["explain", "--policy", "s.yaml:eager@calm", "--variant", "calm"]);
    assert!(named.contains("names its variant itself"), "{named}");
    let unknown = wrong(&["diff", "s.yaml:eager", "s.yaml:eager@clam"]);
    assert!(unknown.contains("`s` has no variant `clam`; did you mean `calm`?"), "{unknown}");
    // One file is read once, and says once what is doubtful.
    let (_, doubts, _) = stormlab(place.path(), &["diff", "s.yaml:eager", "s.yaml:eager@calm"]);
    let (_, once, _) = stormlab(place.path(), &["explain", "--policy", "s.yaml:eager"]);
    assert_eq!(doubts, once);
}

#[test]
fn a_name_that_is_no_preset_but_looks_like_a_file_is_told_how_policies_are_named() {
    let place = file("");
    for (name, words) in [
        (":eager", "`:eager` leaves out the file"),
        ("s.yaml:", "`s.yaml:` leaves out the policy"),
        ("s.yaml:p@", "`s.yaml:p@` leaves out the variant"),
        ("s.yaml", "`s.yaml` is no preset"),
        ("storms/failover", "`storms/failover` is no preset"),
    ] {
        let (_, complaints, code) = stormlab(place.path(), &["explain", "--policy", name]);
        assert!(code == 2 && complaints.contains(words), "{name}: {complaints}");
        assert!(complaints.contains("FILE:POLICY"), "{name}: {complaints}");
    }
}

#[test]
fn a_difference_tells_of_retries_that_come_and_go_and_of_what_is_not_simulated() {
    let going = says(root(), &["diff", "polly-8", "requests"]);
    for words in [
        "a call makes 1 attempt instead of up to 4 attempts",
        "there are no retries any more; before: after 2 s, without jitter; on transient, permanent",
        "a full outage that refuses at once now costs 1.00 instead of 4.00 attempts per call",
        "the longest call to a service that refuses at once: 0 s instead of 6 s",
    ] {
        assert!(going.contains(words), "no `{words}` in\n{going}");
    }
    let coming = says(root(), &["diff", "hystrix", "resilience4j"]);
    assert!(coming.contains("retries are added: after 500 ms, without jitter; on"), "{coming}");
    let place = file("  on: { retry: { on: [timeout] } }\n  off: { retry: { on: [] } }\n");
    let none = says(place.path(), &["diff", "s.yaml:on", "s.yaml:off"]);
    assert!(none.contains("no longer retried: timeout") && none.contains("retry.on"), "{none}");
    let bare = says(place.path(), &["diff", "s.yaml:p", "s.yaml:on"]);
    assert!(bare.contains("retry.on") && bare.contains("on timeout"), "{bare}");

    let partly = says(root(), &["diff", "lambda-async", "grpc"]);
    assert!(partly.contains("\n~ lambda-async is simulated only in part; not yet: "), "{partly}");
    let found = json(&["diff", "lambda-async", "grpc", "--json"]);
    assert!(!found["not_yet"]["before"].as_array().unwrap().is_empty());
    assert_eq!(found["not_yet"]["after"], serde_json::json!([]));
}

/// A window whose ends go different ways is not said to grow or to shrink.
#[test]
fn a_window_grows_or_shrinks_only_where_no_end_says_otherwise() {
    let said = says(root(), &["diff", "polly-8", "dotnet-standard-handler"]);
    for words in [
        "first retry window changes from 2 s to 0–2.754 s, shorter on average",
        "second retry window changes from 2 s to 0–5.674 s, longer on average",
    ] {
        assert!(said.contains(words), "no `{words}` in\n{said}");
    }
    let said = says(root(), &["diff", "aws-standard-before-2026", "aws-standard"]);
    assert!(said.contains("first retry window shrinks from 0–1 s to 0–50 ms"), "{said}");
}

/// Nothing ends a call that hangs under either, and nobody says so twice.
#[test]
fn what_does_not_change_is_not_told() {
    let said = says(root(), &["diff", "grpc-before-2024", "grpc"]);
    assert!(!said.contains("1.00 instead of 1.00") && !said.contains("no end"), "{said}");
    assert!(said.contains("first retry window grows from 0–100 ms to 80–120 ms"), "{said}");
}

#[test]
fn a_filter_takes_whole_words_and_the_names_of_a_vendor() {
    let found = |word: &str| {
        let all = json(&["presets", "--filter", word, "--json"]);
        let names =
            all.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    let aws = found("aws");
    for name in ["aws-standard", "aws-legacy", "sqs", "lambda-async"] {
        assert!(aws.iter().any(|it| it == name), "{aws:?}");
    }
    assert!(!aws.iter().any(|it| it == "celery"), "`draws` is another word: {aws:?}");
    assert_eq!(found("AWS"), aws);
    assert!(found("cocka").contains(&"cockatiel".to_owned()), "the beginning of a word");
    assert_eq!(found("aws legacy"), ["aws-legacy"]);
    assert!(found("~").is_empty());
}

/// Bounds and means by formulas of their own: windows 500 · 1.5ᵏ ± 50 %, as cenkalti has them.
#[test]
fn json_carries_what_the_text_says() {
    let found = json(&["explain", "--policy", "cenkalti", "--json"]);
    assert_eq!(found["name"], "cenkalti");
    assert!(found["warning"].as_str().unwrap().contains("15 min"));
    let wait = &found["waits"][2]["wait"];
    assert_eq!((millis(&wait["smallest"]), millis(&wait["largest"])), (562.5, 1_687.5));
    assert_eq!(millis(&wait["mean"]), 1_125.0);
    let refusing = &found["refusing"];
    assert_eq!(
        (refusing["ends"].as_str(), &refusing["most_attempts"]),
        (Some("elapsed"), &40.into())
    );
    assert_eq!(millis(&refusing["ends_by"]), 900_000.0);
    let cost = &found["outages"]["refusing"];
    assert_eq!((&cost["open_calls"], &cost["limit"]), (&0.into(), &serde_json::Value::Null));
    assert_eq!((millis(&cost["within"]), &cost["at_least"]), (3_600e3, &cost["attempts_per_call"]));

    let finagle = json(&["explain", "--policy", "finagle", "--json"]);
    assert_eq!(finagle["refusing"]["may_end_sooner_by"], serde_json::json!(["budget", "breaker"]));
    let tenacity = json(&["explain", "--policy", "tenacity", "--json"]);
    let cost = &tenacity["outages"]["refusing"];
    assert!(cost["attempts_per_call"].is_null() && cost["limit"] == "no_progress", "{cost}");
}

/// Costs by hand: 12,000 calls, 10 ms apart.
#[test]
fn costs_are_those_of_hand_arithmetic() {
    #[track_caller]
    fn check(name: &str, expected: f64, tolerance: f64) {
        let found = json(&["explain", "--policy", name, "--json"]);
        let cost = found["outages"]["refusing"]["attempts_per_call"].as_f64().unwrap();
        assert!((cost - expected).abs() <= tolerance, "{name}: {cost}, not {expected}");
    }
    let share = |retries: f64| retries / 12_000.0;
    // Retries while more than 5 of 10 tokens are left: at 9, 8, 7 and 6.
    check("grpc", 1.0 + share(4.0), 1e-5);
    // 500 tokens: 100 retries at 5, 35 at 14.
    check("aws-standard-before-2026", 1.0 + share(100.0), 1e-5);
    check("aws-standard", 1.0 + share(35.0), 1e-5);
    // A reserve of 10 s × 10/s, and 10/s for what is left of the two minutes.
    check("tower", 1.0 + share(100.0 + 1_100.0), share(120.0));
    // Six failures open it, and after a minute one probe opens it anew; one more may just fit.
    check("gobreaker", share(7.0), share(1.0));
    // By 127 s eight attempts, then one each 100 s: 34 more for the 73 s of calls that are oldest,
    // 33 for the rest.
    check("temporal", 8.0 + (34.0 * 73.0 + 33.0 * 47.0) / 120.0, 0.01);
    check("urllib3", 11.0, 0.0);
}

/// Hedges do not follow one another as retries do: the engine is asked what one call does.
#[test]
fn one_call_of_a_policy_that_hedges_is_simulated() {
    #[track_caller]
    fn check(name: &str, how: &str, expected: &str) {
        let lines = explained(root(), name, how);
        assert_eq!(lines[0], format!("one call, simulated: {expected}"), "{name}: {lines:?}");
    }
    check("dotnet-hedging-handler", "hangs", "attempts at 0, 2 s; it ends after 12 s");
    check("dotnet-hedging-handler", "refuses at once", "attempts at 0, 0; it ends at once");
    check("envoy-hedging", "hangs", "attempts at 0, 203 ms, 419 ms; it ends after 15 s");
    check(
        "grpc-hedging",
        "hangs",
        "attempts at 0, 500 ms, 1 s, 1.5 s; it does not end within the hour",
    );
}
