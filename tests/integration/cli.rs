//! The command line as a user meets it: words, files, exit codes.

#[cfg(unix)]
mod interrupts;
mod jobs;
mod outputs;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::process::Stdio;

use assert_cmd::assert::Assert;
use tempfile::TempDir;

/// A small system that is done in no time; the database pauses for 5 s.
const SCENARIO: &str = "
schema: 1
name: pause
about: A database pauses for five seconds.
source: made up for tests
run: { horizon: 6min, warm_up: 30s, window: 1s, replications: 3, seed: 7 }
clients:
  web: { population: 20, arrivals: { poisson: 40/s }, calls: shop, policy: once }
services:
  shop: { workers: 50, holds_worker: false, work: { constant: 1ms }, calls: [{ to: database, policy: twice }] }
  database: { workers: 4, work: { exponential: 10ms } }
policies:
  once: { attempt_timeout: 2s }
  twice:
    attempt_timeout: 500ms
    retry: { max_attempts: 2, backoff: { constant: 100ms }, jitter: none, on: [transient] }
triggers:
  - { at: 1min, lasts: 5s, service: database, effect: refuse }
variants:
  never: { policies: { twice: { retry: { max_attempts: 1 } } } }
expect:
  - { variant: base, stuck_share: \"<= 99%\" }
";

fn stormlab(place: &Path) -> assert_cmd::Command {
    let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_stormlab"));
    command.current_dir(place).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

/// A folder with the scenario in it.
fn place() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("pause.yaml"), SCENARIO).unwrap();
    place
}

fn out(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

fn err(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stderr.clone()).unwrap()
}

/// Every file below a folder, by its path, with its content.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                let name = entry.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
                all.push((name, fs::read(&entry).unwrap()));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn bad_arguments_exit_with_2_and_say_what_is_wanted() {
    #[track_caller]
    fn check(arguments: &[&str], expected: &str) {
        let place = place();
        let assert = stormlab(place.path()).args(arguments).assert().code(2);
        assert!(err(&assert).contains(expected), "{}", err(&assert));
        assert_eq!(out(&assert), "");
        assert!(!place.path().join("output").exists());
    }
    check(&[], "Usage: stormlab");
    check(&["run"], "<FILE>");
    check(&["run", "pause.yaml", "--threads", "0"], "from 1 to 1024");
    check(&["run", "pause.yaml", "--replications", "0"], "from 1 to 1000000");
    check(&["run", "pause.yaml", "--replications", "1e3"], "from 1 to 1000000");
    check(&["run", "pause.yaml", "--seed", "-1"], "from 0 to 18446744073709551615");
    check(&["check", "pause.yaml", "--seed=-1"], "from 0 to 18446744073709551615");
    check(&["run", "pause.yaml", "--out", "/"], "`/` is the root of the file system");
    check(&["run", "pause.yaml", "--out", "."], "`.` holds other files");
    check(&["run", "pause.yaml", "--out", "pause.yaml"], "is a file, not a folder");
    check(&["run", "nowhere.yaml"], "nowhere.yaml could not be read");
    check(&["run", "pause.yaml", "--variant", "nevr"], "did you mean `never`?");
    check(&["explain", "pause.yaml", "--variant", "x"], "it has: base, never");
}

#[test]
fn help_shows_examples_and_exit_codes() {
    let place = place();
    let help = out(&stormlab(place.path()).arg("--help").assert().success());
    assert!(help.contains("130  interrupted"), "{help}");
    let help = out(&stormlab(place.path()).args(["run", "--help"]).assert().success());
    assert!(help.contains("stormlab run failover.yaml --replications 20"), "{help}");
}

#[test]
fn a_run_answers_and_writes_the_same_bytes_on_any_number_of_threads() {
    let place = place();
    let run = |out: &str, threads: &str| {
        let arguments = ["run", "pause.yaml", "--out", out, "--threads", threads];
        stormlab(place.path()).args(arguments).assert().success()
    };
    let said = out(&run("one", "1"));
    assert!(said.starts_with("pause: A database pauses for five seconds."), "{said}");
    assert!(said.contains("Files in one: summary.json, 6 tables, 7 charts"), "{said}");
    assert!(!said.contains('\x1b'), "no colours into a pipe");
    run("two", "2");
    let (one, two) = (files(&place.path().join("one")), files(&place.path().join("two")));
    let names: Vec<_> = one.iter().map(|(name, _)| name.as_str()).collect();
    for name in ["manifest.json", "runs.csv", "series-never.csv", "charts/load-base.png"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert_eq!(one.len(), two.len());
    for ((name, a), (_, b)) in one.iter().zip(&two) {
        assert!(a == b, "{name} depends on the number of threads");
    }

    // The manifest names the command, and the command makes the same again.
    let manifest = fs::read_to_string(place.path().join("one/manifest.json")).unwrap();
    assert!(manifest.contains(r#""command": "stormlab run pause.yaml""#), "{manifest}");
    assert!(manifest.contains(r#""complete": true"#), "{manifest}");
    stormlab(place.path()).args(["run", "pause.yaml"]).assert().success();
    assert!(files(&place.path().join("output/pause")) == one);
}

#[test]
fn json_is_the_summary_and_a_smaller_run_leaves_nothing_of_a_larger_one() {
    let place = place();
    stormlab(place.path()).args(["run", "pause.yaml", "-q"]).assert().success().stdout("");
    let arguments =
        ["run", "pause.yaml", "--json", "-q", "--variant", "never", "--no-charts", "--seed", "9"];
    let said = out(&stormlab(place.path()).args(arguments).assert().success());
    let folder = place.path().join("output/pause");
    assert_eq!(said, fs::read_to_string(folder.join("summary.json")).unwrap());
    let json: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(json["seed"], 9);
    assert!(json["variants"]["never"]["stuck_share"]["low"].is_number());
    assert!(json["variants"]["base"].is_null());
    assert!(!folder.join("charts").exists() && !folder.join("series-base.csv").exists());
}

#[test]
fn colour_comes_when_asked_for() {
    let place = place();
    let arguments = ["run", "pause.yaml", "--color", "always", "--no-charts", "-q"];
    let with = ["run", "pause.yaml", "--color", "always", "--no-charts"];
    assert_eq!(out(&stormlab(place.path()).args(arguments).assert().success()), "");
    assert!(out(&stormlab(place.path()).args(with).assert().success()).contains("\x1b["));
}

#[test]
fn a_reader_that_hangs_up_is_no_error() {
    let place = place();
    let mut child = Command::new(env!("CARGO_BIN_EXE_stormlab"))
        .args(["run", "pause.yaml", "--json", "-q", "--no-charts"])
        .current_dir(place.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(place.path().join("output/pause/summary.json").exists());
}

#[test]
fn checks_say_pass_or_fail_and_the_worst_file_decides() {
    let place = place();
    let failing =
        SCENARIO.replace("<= 99%", ">= 99%").replace("replications: 3", "replications: 30");
    fs::write(place.path().join("failing.yaml"), failing).unwrap();
    fs::write(place.path().join("silent.yaml"), SCENARIO.split("expect:").next().unwrap()).unwrap();

    let check = |files: &[&str]| {
        let assert = stormlab(place.path()).arg("check").args(files).arg("-q").assert();
        (out(&assert), assert.get_output().status.code().unwrap())
    };
    let (said, code) = check(&["pause.yaml"]);
    assert!(said.contains("✓ base: stuck_share <= 99%; found 0%"), "{said}");
    assert_eq!(code, 0);
    let (said, code) = check(&["pause.yaml", "failing.yaml"]);
    assert!(said.contains("✗ base: stuck_share >= 99%") && said.contains("line "), "{said}");
    assert_eq!(code, 1);
    assert_eq!(check(&["failing.yaml", "silent.yaml", "pause.yaml"]).1, 2);
    assert!(!place.path().join("output").exists(), "a check writes nothing of its own accord");

    let arguments = ["check", "pause.yaml", "--json", "-q", "--out", "kept"];
    let said = out(&stormlab(place.path()).args(arguments).assert().success());
    let json: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(json[0]["judgements"][0]["decision"], "pass");
    assert!(place.path().join("kept/pause/summary.json").exists());
}

#[test]
fn explain_gives_the_scenario_as_meant() {
    let place = place();
    let arguments = ["explain", "pause.yaml", "--variant", "never", "--json"];
    let said = out(&stormlab(place.path()).args(arguments).assert().success());
    let json: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(json["explained"]["variant"], "never");
    assert_eq!(json["explained"]["services"][1]["attempts_per_request"], 1);
    assert_eq!(json["clients"]["web"]["population"], 20);
    assert_eq!(json["run"]["limits"]["events"], 2_000_000_000_u64);
    // It is a scenario, and the same one.
    fs::write(place.path().join("never.json"), &said).unwrap();
    let arguments = ["explain", "never.json", "--json"];
    let again = out(&stormlab(place.path()).args(arguments).assert().success());
    assert_eq!(again.replace(r#""variant": "base""#, r#""variant": "never""#), said);
    let words = out(&stormlab(place.path()).args(["explain", "pause.yaml"]).assert().success());
    assert!(words.contains("database"), "{words}");
}

/// What lies beside every result can be run, and gives the same result.
#[test]
fn the_effective_scenario_runs_and_gives_the_same_bytes() {
    let place = place();
    let run = |file: &str, folder: &str| {
        let arguments = ["run", file, "--out", folder];
        stormlab(place.path()).args(arguments).assert().success();
        files(&place.path().join(folder))
    };
    let first = run("pause.yaml", "one");
    let second = run("one/scenario.effective.json", "two");
    assert_eq!(first.len(), second.len());
    for ((name, a), (_, b)) in first.iter().zip(&second) {
        assert!(a == b || name == "manifest.json", "{name} differs");
    }
}

#[test]
fn a_limit_is_named_as_in_the_scenario_with_what_to_do() {
    let place = place();
    #[track_caller]
    fn check(place: &Path, limits: &str, expected: &str) {
        let text = SCENARIO.replace("seed: 7", &format!("seed: 7, limits: {{ {limits} }}"));
        fs::write(place.join("limited.yaml"), text).unwrap();
        let arguments = ["run", "limited.yaml", "--no-charts", "-q", "--out", "limited"];
        let said = err(&stormlab(place).args(arguments).assert().code(4));
        assert!(said.contains(expected) && said.contains("or raise it"), "{said}");
        assert!(said.contains("variant base, replication 0"), "{said}");
    }
    check(place.path(), "events: 5000", "run.limits.events of 5,000 (");
    check(place.path(), "pending: 1", "run.limits.pending of 1 (");
    check(place.path(), "memory: 1KiB", "run.limits.memory of 0 MiB (");
}

#[test]
fn doubts_are_told_and_stop_nothing() {
    let place = place();
    let text = SCENARIO.replace("twice:\n", "thrice: {}\n  twice:\n");
    fs::write(place.path().join("doubtful.yaml"), text).unwrap();
    let assert = stormlab(place.path()).args(["explain", "doubtful.yaml"]).assert().success();
    let said = err(&assert);
    assert!(
        said.starts_with("warning: nobody uses the policy `thrice`\n  --> doubtful.yaml:14:3"),
        "{said}"
    );
    assert!(said.contains("did you mean `twice`?"), "{said}");
}
