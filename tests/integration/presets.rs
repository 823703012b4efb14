//! Presets, the schedule of a policy and what changes between two, through the program.

mod goldens;
mod schedules;
mod systems;
mod words;

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

/// Runs the program; gives what it says, what it complains of, and its exit code.
#[track_caller]
fn stormlab(place: &Path, arguments: &[&str]) -> (String, String, i32) {
    let output = assert_cmd::Command::new(env!("CARGO_BIN_EXE_stormlab"))
        .current_dir(place)
        .env_remove("CLICOLOR_FORCE")
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[track_caller]
fn json(arguments: &[&str]) -> Value {
    let (said, complaints, code) = stormlab(root(), arguments);
    assert_eq!(code, 0, "{arguments:?}: {complaints}");
    serde_json::from_str(&said).unwrap()
}

/// A span as it is written, in milliseconds.
#[track_caller]
fn millis(span: &Value) -> f64 {
    const UNITS: [(&str, f64); 7] = [
        ("ns", 1e-6),
        ("us", 1e-3),
        ("ms", 1.0),
        ("min", 60_000.0),
        ("s", 1e3),
        ("h", 3_600_000.0),
        ("d", 86_400_000.0),
    ];
    let text = span.as_str().unwrap();
    let (unit, factor) = UNITS.iter().find(|(unit, _)| text.ends_with(unit)).unwrap();
    text.trim_end_matches(unit).parse::<f64>().unwrap() * factor
}

fn presets() -> Vec<Value> {
    json(&["presets", "--json"]).as_array().unwrap().clone()
}

#[test]
fn every_preset_says_what_it_is_and_can_be_shown_named_and_explained() {
    let all = presets();
    assert!(all.len() >= 50);
    let place = tempfile::tempdir().unwrap();
    let mut scenario = scenario("");
    for preset in &all {
        let name = preset["name"].as_str().unwrap();
        for key in ["title", "library", "version", "source", "notes"] {
            assert!(!preset[key].as_str().unwrap().is_empty(), "{name} {key}");
        }
        assert!(preset["policy"].is_object(), "{name}");
        for folder in preset["traces"].as_array().unwrap() {
            let folder = root().join("tests/traces").join(folder.as_str().unwrap());
            assert!(folder.is_dir(), "{name}: {}", folder.display());
        }
        let (shown, complaints, code) = stormlab(root(), &["presets", name]);
        assert_eq!((code, complaints.as_str()), (0, ""));
        let source = preset["source"].as_str().unwrap().split_whitespace().next().unwrap();
        assert!(shown.contains(source), "{shown}");
        if let Some(warning) = preset["warning"].as_str() {
            assert!(shown.contains(warning.split_whitespace().next().unwrap()), "{shown}");
        }
        scenario += &format!("  {name}: {{ preset: {name} }}\n");
    }
    // All of them in one scenario, which can be run again as it is meant.
    write(&place, &scenario);
    let arguments = ["explain", "s.yaml", "--json"];
    let (meant, complaints, code) = stormlab(place.path(), &arguments);
    assert_eq!(code, 0, "{complaints}");
    let meant: Value = serde_json::from_str(&meant).unwrap();
    for preset in &all {
        let name = preset["name"].as_str().unwrap();
        assert_eq!(meant["policies"][name], preset["policy"], "{name}");
        let warned = complaints.contains(&format!("the preset `{name}` is simulated only in part"));
        assert_eq!(warned, !preset["not_yet"].as_array().unwrap().is_empty(), "{name}");
    }
}

/// A small system; policies are added at its end.
fn scenario(policies: &str) -> String {
    format!(
        "schema: 1\nname: s\nclients: {{ web: {{ arrivals: {{ poisson: 1/s }}, calls: db, policy: p }} }}\n\
         services: {{ db: {{ workers: 1, work: 1ms }} }}\npolicies:\n  p: {{}}\n{policies}"
    )
}

fn write(place: &TempDir, text: &str) {
    fs::write(place.path().join("s.yaml"), text).unwrap();
}

/// The policy `p` of a scenario whose `p` is written so, as meant, under a variant.
#[track_caller]
fn meant(policy: &str, rest: &str, variant: &str) -> Value {
    let place = tempfile::tempdir().unwrap();
    write(&place, &scenario(rest).replace("p: {}", &format!("p: {policy}")));
    let arguments = ["explain", "s.yaml", "--json", "--variant", variant];
    let (said, complaints, code) = stormlab(place.path(), &arguments);
    assert_eq!(code, 0, "{complaints}");
    let whole: Value = serde_json::from_str(&said).unwrap();
    whole["policies"]["p"].clone()
}

#[test]
fn a_preset_is_laid_under_the_policy_key_by_key() {
    let whole = meant("{ preset: grpc }", "", "base");
    let mine = meant("{ preset: grpc, retry: { max_attempts: 6, jitter: full } }", "", "base");
    assert_eq!(
        (&mine["retry"]["max_attempts"], &mine["retry"]["jitter"]),
        (&6.into(), &"full".into())
    );
    assert_eq!(mine["retry"]["backoff"], whole["retry"]["backoff"]);
    assert_eq!(mine["retry"]["budget"], whole["retry"]["budget"]);

    // A choice is replaced whole, and `null` removes.
    let mine =
        meant("{ preset: grpc, retry: { backoff: { constant: 1s }, budget: null } }", "", "base");
    assert_eq!(mine["retry"]["backoff"]["constant"], "1s");
    assert!(mine["retry"]["backoff"]["exponential"].is_null());
    assert!(mine["retry"]["budget"].is_null());
    let mine = meant(
        "{ preset: gobreaker, breaker: { window: { length: 10s, failure_share: 50%, minimum_calls: 5 } } }",
        "",
        "base",
    );
    assert!(mine["breaker"]["consecutive"].is_null() && mine["breaker"]["open_for"] == "1min");
    assert_eq!(
        meant("{ preset: hystrix, breaker: null }", "", "base")["order"],
        serde_json::json!(["bulkhead", "attempt_timeout"])
    );
}

#[test]
fn a_variant_changes_removes_and_replaces_a_preset() {
    let base = "{ preset: grpc, retry: { max_attempts: 6 } }";
    let variant = |change: &str| {
        let rest = format!("variants: {{ v: {{ policies: {{ p: {change} }} }} }}\n");
        meant(base, &rest, "v")
    };
    // What removes something of the preset is not lost on the way.
    assert!(variant("{ retry: { budget: null } }")["retry"]["budget"].is_null());
    assert!(variant("{ retry: null }")["retry"].is_null());
    let other = variant("{ preset: go-retryablehttp }");
    assert_eq!(other["retry"]["max_attempts"], 6, "what the file says itself stays");
    assert_eq!(other["retry"]["backoff"]["exponential"]["base"], "1s");
    assert!(other["retry"]["budget"].is_null());
    let none = variant("{ preset: null }");
    assert!(none["retry"]["budget"].is_null() && none["retry"]["max_attempts"] == 6);
}

#[test]
fn an_operator_may_change_a_policy_that_names_a_preset() {
    let place = tempfile::tempdir().unwrap();
    let operator = "operator: [{ at: 10min, set: { policies.p.retry.budget: null, policies.p.retry.max_attempts: 2 } }]\n";
    write(&place, &scenario(operator).replace("p: {}", "p: { preset: grpc }"));
    let (said, complaints, code) = stormlab(place.path(), &["explain", "s.yaml", "--json"]);
    assert_eq!(code, 0, "{complaints}");
    let whole: Value = serde_json::from_str(&said).unwrap();
    let set = &whole["operator"][0]["set"];
    assert!(set["policies.p.retry.budget"].is_null() && set["policies.p.retry.max_attempts"] == 2);
}

#[test]
fn what_is_wrong_points_into_the_users_file() {
    #[track_caller]
    fn check(policy: &str, expected: &[&str]) {
        let place = tempfile::tempdir().unwrap();
        write(&place, &scenario("").replace("p: {}", &format!("p: {policy}")));
        let (_, complaints, code) = stormlab(place.path(), &["explain", "s.yaml"]);
        assert_eq!(code, 2, "{complaints}");
        for words in expected {
            assert!(complaints.contains(words), "{complaints}");
        }
    }
    check(
        "{ preset: poly-8 }",
        &["there is no preset `poly-8`", "s.yaml:6:16", "did you mean `polly-8`?"],
    );
    for (written, found) in
        [("[grpc]", "a list"), ("{ name: grpc }", "a map"), ("5", "`5`"), ("true", "`true`")]
    {
        let problem = format!("`preset` is the name of a preset, not {found}");
        let help = "as `preset: grpc`; `stormlab presets` lists them";
        check(&format!("{{ preset: {written} }}"), &[&problem, "s.yaml:6:16", help]);
    }
    check("{ preset: '5' }", &["there is no preset `5`", "s.yaml:6:16"]);
    check("{ preste: grpc }", &["a policy has no key `preste`", "did you mean `preset`?"]);
    check(
        "{ preset: grpc, retry: { max_atempts: 6 } }",
        &["`retry` has no key `max_atempts`", "s.yaml:6:31"],
    );
    // What removes nothing is a slip.
    check(
        "{ preset: grpc, retry: { max_atempts: null } }",
        &["`retry` has no key `max_atempts`", "s.yaml:6:31", "did you mean `max_attempts`?"],
    );
    check("{ preset: grpc, retri: null }", &["a policy has no key `retri`", "s.yaml:6:22"]);
    check(
        "{ preset: gobreaker, breaker: { half_open: { placs: null } } }",
        &["`half_open` has no key `placs`", "did you mean `places`?"],
    );
}

#[test]
fn an_order_that_leaves_something_out_is_answered_with_one_that_does_not() {
    #[track_caller]
    fn check(preset: &str, added: &str, missing: &str, order: &str) {
        let place = tempfile::tempdir().unwrap();
        let policy = |rest: &str| format!("p: {{ preset: {preset}, {added}{rest} }}");
        write(&place, &scenario("").replace("p: {}", &policy("")));
        let (_, complaints, code) = stormlab(place.path(), &["explain", "s.yaml"]);
        assert_eq!(code, 2, "{complaints}");
        let problem = format!("in the preset `{preset}`: `order` leaves out {missing}, which");
        assert!(complaints.contains(&problem), "{complaints}");
        assert!(complaints.contains("--> s.yaml:6:"), "{complaints}");
        assert!(complaints.contains(&format!("as `order: {order}`")), "{complaints}");
        // What the help says to write is accepted.
        write(&place, &scenario("").replace("p: {}", &policy(&format!(", order: {order}"))));
        let (said, complaints, code) = stormlab(place.path(), &["explain", "s.yaml"]);
        assert!(code == 0 && said.contains(&format!("order: {order}")), "{complaints}");
    }
    check("hystrix", "timeout: 3s", "`timeout`", "[timeout, breaker, bulkhead, attempt_timeout]");
    check(
        "hystrix",
        "retry: { max_attempts: 2 }",
        "`retry`",
        "[retry, breaker, bulkhead, attempt_timeout]",
    );
    check(
        "cockatiel-wrap",
        "timeout: 9s, attempt_timeout: 1s",
        "`timeout` and `attempt_timeout`",
        "[bulkhead, timeout, breaker, retry, attempt_timeout]",
    );
    check(
        "cockatiel-wrap",
        "breaker: null, timeout: 9s",
        "`timeout`",
        "[bulkhead, timeout, retry]",
    );
    check(
        "envoy",
        "breaker: { consecutive: 5, open_for: 5s }",
        "`breaker`",
        "[timeout, retry, bulkhead, breaker]",
    );
}

#[test]
fn an_order_says_whether_it_is_the_default_one() {
    let order = |name: &str| {
        let (said, _, _) = stormlab(root(), &["presets", name]);
        said.lines().find(|line| line.trim_start().starts_with("order:")).unwrap().to_owned()
    };
    assert_eq!(order("grpc").trim(), "order: [retry]  # default");
    assert_eq!(order("hystrix").trim(), "order: [breaker, bulkhead, attempt_timeout]");
}

#[test]
fn a_retry_that_retries_nothing_is_doubted() {
    #[track_caller]
    fn complaints(policy: &str) -> String {
        let place = tempfile::tempdir().unwrap();
        write(&place, &scenario("").replace("p: {}", &format!("p: {policy}")));
        let (_, complaints, code) = stormlab(place.path(), &["explain", "s.yaml"]);
        assert_eq!(code, 0, "{complaints}");
        complaints
    }
    let said = complaints("{ retry: { max_attempts: 4, on: [] } }");
    assert!(said.contains("this `retry` retries nothing: `on` names no failure"), "{said}");
    assert!(said.contains("--> s.yaml:6:"), "{said}");
    assert!(said.contains("`on: [transient]`"), "{said}");
    assert!(complaints("{ preset: grpc, retry: { on: [] } }").contains("retries nothing"));
    let breaker = "breaker: { consecutive: 5, open_for: 1s }";
    let hedged = |on: &str| complaints(&format!("{{ hedge: {{ after: 0s{on} }}, {breaker} }}"));
    assert!(hedged("").contains("`on` does not name `breaker_open`"));
    assert!(!hedged(", on: [transient, breaker_open]").contains("`breaker_open`"));
    let place = tempfile::tempdir().unwrap();
    write(&place, &scenario("").replace("p: {}", "p: { preset: grpc, retry: { on: [] } }"));
    let (said, _, code) = stormlab(place.path(), &["explain", "--policy", "s.yaml:p"]);
    assert!(code == 0 && said.contains("; on nothing\n"), "{said}");
    assert!(!complaints("{ retry: { max_attempts: 1, on: [] } }").contains("retries nothing"));
    assert!(!complaints("{ preset: grpc }").contains("retries nothing"));
}

#[test]
fn presets_are_listed_filtered_and_shown() {
    let (all, _, code) = stormlab(root(), &["presets"]);
    assert_eq!(code, 0);
    let line = |name: &str| {
        all.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap().to_owned()
    };
    let words: Vec<_> = line("backon").split_whitespace().map(str::to_owned).collect();
    assert_eq!(words.join(" "), "backon 4 1 s × 2 1 min none –".replace("1 min", "60 s"));
    assert!(line("grpc").contains("80–120 ms") && line("grpc").contains("10 tokens"));
    let (some, _, _) = stormlab(root(), &["presets", "--filter", "AWS"]);
    assert!(some.contains("aws-legacy") && !some.contains("backon"), "{some}");
    let (none, complaints, code) = stormlab(root(), &["presets", "--filter", "zzz"]);
    assert_eq!((none.as_str(), complaints.trim(), code), ("", "no preset speaks of `zzz`", 0));
    assert_eq!(json(&["presets", "--filter", "zzz", "--json"]), serde_json::json!([]));
    assert_eq!(json(&["presets", "grpc", "--json"])["check"], "recorded");
    let (_, complaints, code) = stormlab(root(), &["presets", "tenasity"]);
    assert!(code == 2 && complaints.contains("did you mean `tenacity`?"), "{complaints}");
}

#[test]
fn a_difference_is_told_in_words_and_numbers() {
    let place = tempfile::tempdir().unwrap();
    let policies = "  old:\n    attempt_timeout: 1s\n    retry: { max_attempts: 4, backoff: { exponential: { base: 100ms } }, jitter: { plus_minus: 25% } }\n  \
                    new:\n    attempt_timeout: 1s\n    retry: { max_attempts: 4, backoff: { exponential: { base: 100ms } }, jitter: full, \
                    budget: { ratio: { share: 20%, deposit: call, start: 0 } } }\n";
    write(&place, &scenario(policies));
    let (said, _, code) = stormlab(place.path(), &["diff", "s.yaml:old", "s.yaml:new"]);
    assert_eq!(code, 0);
    for words in [
        "first retry window shrinks from 75–125 ms to 0–100 ms",
        "all waits of a call together: window shrinks from 525–875 ms to 0–700 ms",
        "a retry budget is added: 20% of calls, at most 100 saved up",
        "a full outage that refuses at once now costs 1.20 instead of 4.00 attempts per call",
        "a full outage that hangs now costs 1.20 instead of 4.00 attempts per call",
        "retry.jitter",
    ] {
        assert!(said.contains(words), "no `{words}` in:\n{said}");
    }
    let (said, _, _) = stormlab(place.path(), &["diff", "s.yaml:old", "s.yaml:old"]);
    assert!(said.contains("Nothing changes."), "{said}");

    let found = json(&["diff", "polly-8", "gobreaker", "--json"]);
    assert_eq!(found["outages"]["before"]["refusing"]["attempts_per_call"], 4.0);
    assert_eq!(found["before"], "polly-8");
    let (_, complaints, code) = stormlab(place.path(), &["diff", "s.yaml:odl", "grpc"]);
    assert!(
        code == 2 && complaints.contains("`s` has no policy `odl`; it has: p, old, new"),
        "{complaints}"
    );
    let (_, complaints, code) = stormlab(place.path(), &["diff", "grcp", "grpc"]);
    assert!(code == 2 && complaints.contains("did you mean `grpc`?"), "{complaints}");
}

#[test]
fn a_policy_is_explained_with_its_tree_its_waits_and_a_chart() {
    let (said, _, code) = stormlab(root(), &["explain", "--policy", "cockatiel-wrap"]);
    assert_eq!(code, 0);
    let tree: Vec<_> =
        said.lines().skip_while(|line| !line.starts_with("A call")).skip(1).collect();
    for (line, words) in tree.iter().zip(["bulkhead", "└ breaker", "└ retry", "└ up to 4 attempts"])
    {
        assert!(line.trim_start().starts_with(words), "{line}");
    }
    for level in [
        "bulkhead (4 attempts)",
        "  breaker (4 attempts)",
        "    retry: up to 4 tries, one after another (4 attempts)",
        "      attempt (1 attempt)",
    ] {
        assert!(tree.contains(&format!("  {level}").as_str()), "{level}: {said}");
    }
    let (said, _, _) = stormlab(root(), &["explain", "--policy", "grpc"]);
    assert!(!said.contains("from the outside in"), "one layer is no tree: {said}");
    assert!(said.contains("1 ········██┃██·"), "{said}");
    assert!(said.contains("attempts at 0, 80–120 ms, 240–360 ms, 560–840 ms"), "{said}");
    let (said, _, _) = stormlab(root(), &["explain", "--policy", "tenacity"]);
    assert!(said.contains("cost: countless attempts a call"), "{said}");
    let (_, complaints, code) = stormlab(root(), &["explain"]);
    assert!(code == 2 && complaints.contains("<FILE|--policy <NAME>>"), "{complaints}");
}

#[test]
fn a_scenario_is_explained_with_the_trees_of_its_policies() {
    let place = tempfile::tempdir().unwrap();
    write(&place, &scenario("").replace("p: {}", "p: { preset: polly-budget }"));
    let (said, _, code) = stormlab(place.path(), &["explain", "s.yaml"]);
    assert_eq!(code, 0);
    let tree = "#   timeout (4 attempts)\n#     retry: up to 4 tries, one after another (4 attempts)\n\
                #       attempt timeout (1 attempt)\n#         attempt (1 attempt)\n";
    assert!(said.contains(tree), "{said}");
}

#[test]
fn the_document_names_every_preset() {
    let text = fs::read_to_string(root().join("docs/presets.md")).unwrap();
    for preset in presets() {
        let name = preset["name"].as_str().unwrap();
        assert!(text.contains(&format!("| `{name}` |")), "{name}");
    }
}
