//! Ctrl-C and its relatives: soon, with what had finished, and nothing half done.

use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::path::Path;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;

use crate::cli::SCENARIO;
use crate::cli::files;
use crate::cli::place;
use crate::cli::stormlab;

/// Interrupts a run while its second variant is under way.
#[track_caller]
fn interrupted(signal: &str, expected: i32) {
    let place = tempfile::tempdir().unwrap();
    // The second variant would take for ever; the first is over at once.
    let endless = SCENARIO.replace(
        "never: { policies",
        "endless: { clients: { web: { arrivals: { poisson: 4000/s } } }, run: { horizon: 2d }, policies",
    );
    fs::write(place.path().join("pause.yaml"), endless).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_stormlab"))
        .args(["run", "pause.yaml"])
        .current_dir(place.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut lines = lines.map(|line| line.unwrap());
    assert!(lines.any(|line| line == "running endless"));
    let kill = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    assert!(lines.any(|line| line.contains("marked as incomplete")));
    assert_eq!(child.wait().unwrap().code(), Some(expected));
    let folder = place.path().join("output/pause");
    let manifest = fs::read_to_string(folder.join("manifest.json")).unwrap();
    assert!(manifest.contains(r#""complete": false"#), "{manifest}");
    let runs = fs::read_to_string(folder.join("runs.csv")).unwrap();
    assert_eq!(runs.lines().count(), 1 + 3, "the runs of the first variant are kept");
}

#[test]
fn ctrl_c_keeps_what_had_finished_and_exits_with_130() {
    interrupted("INT", 130);
}

#[test]
fn a_termination_signal_does_the_same_with_143() {
    interrupted("TERM", 143);
}

#[test]
fn a_terminal_that_hangs_up_does_the_same_with_129() {
    interrupted("HUP", 129);
}

fn start(place: &Path, program: &str, arguments: &[&str]) -> Child {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(place);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, signal: &str) {
    // It may be over already.
    let mut kill = Command::new("kill");
    kill.args(["-s", signal, &child.id().to_string()]).stderr(Stdio::null());
    kill.status().unwrap();
}

/// A scenario of one run that would take days.
fn endless() -> String {
    SCENARIO
        .replace("horizon: 6min", "horizon: 10d, recovery: { window: 1h }")
        .replace("at: 1min", "at: 5h")
        .replace("poisson: 40/s", "poisson: 300/s")
        .replace("replications: 3", "replications: 1")
}

#[test]
fn one_endless_run_hears_it_and_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("endless.yaml"), endless()).unwrap();
    let mut child = start(place.path(), env!("CARGO_BIN_EXE_stormlab"), &["run", "endless.yaml"]);
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut lines = lines.map(|line| line.unwrap());
    assert!(lines.any(|line| line == "running base"));
    signal(&child, "INT");
    assert!(lines.any(|line| line.ends_with("nothing was written")));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "the scenario alone");
}

#[test]
fn summarising_very_many_runs_hears_it_too() {
    let place = tempfile::tempdir().unwrap();
    let text = "schema: 1\nname: many\nrun: { horizon: 10min, warm_up: 0s, replications: 60000 }\n\
                clients: { web: { arrivals: { constant: 1/min }, calls: s } }\n\
                services: { s: { workers: 1, work: 1ms } }\n";
    fs::write(place.path().join("many.yaml"), text).unwrap();
    let arguments = ["run", "many.yaml", "--no-charts"];
    let mut child = start(place.path(), env!("CARGO_BIN_EXE_stormlab"), &arguments);
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut lines = lines.map(|line| line.unwrap());
    assert!(lines.any(|line| line.starts_with("60,000 of 60,000 runs")));
    signal(&child, "INT");
    let said = lines.next().unwrap_or_default();
    assert_eq!(said, "interrupted while summarising the runs; nothing was written");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "the scenario alone");
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_that_is_to_outlive_its_terminal_does() {
    let place = place();
    let program = env!("CARGO_BIN_EXE_stormlab");
    let line = format!("trap '' HUP; exec {program} run pause.yaml --no-charts --replications 200");
    let mut child = start(place.path(), "sh", &["-c", &line]);
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut lines = lines.map(|line| line.unwrap());
    assert!(lines.any(|line| line == "running base"));
    signal(&child, "HUP");
    lines.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_interrupted_check_says_what_was_decided() {
    let place = place();
    // The base is over at once; the variant never is.
    let days = "days: { clients: { web: { arrivals: { poisson: 4000/s } } }, run: { horizon: 2d }, \
                policies";
    let text = SCENARIO.replace("never: { policies", days);
    let text = text + "  - { variant: days, stuck_share: \"<= 99%\" }\n";
    fs::write(place.path().join("days.yaml"), text).unwrap();
    let arguments = ["check", "days.yaml", "pause.yaml"];
    let mut child = start(place.path(), env!("CARGO_BIN_EXE_stormlab"), &arguments);
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut lines = lines.map(|line| line.unwrap());
    assert!(lines.any(|line| line == "running days"));
    signal(&child, "INT");
    let rest: Vec<_> = lines.collect();
    assert!(
        rest.iter().any(|line| line == "interrupted: 1 of the files was not checked"),
        "{rest:?}"
    );
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("? days: ") && said.contains("interrupted before its first run"),
        "{said}"
    );
    assert!(said.contains("interrupted: 1 of 2 expectations were decided"), "{said}");
    assert!(!said.contains("pause.yaml"), "{said}");
}

/// Whatever the moment: there is nothing, or there are results that are whole.
#[test]
fn at_any_moment_there_is_nothing_or_everything() {
    #[expect(clippy::disallowed_methods, reason = "moments of a run are looked for")]
    fn wait(span: Duration) {
        std::thread::sleep(span);
    }
    #[expect(clippy::disallowed_methods, reason = "moments of a run are looked for")]
    fn now() -> std::time::Instant {
        std::time::Instant::now()
    }
    let place = place();
    let program = env!("CARGO_BIN_EXE_stormlab");
    let began = now();
    stormlab(place.path()).args(["run", "pause.yaml", "-q", "--out", "whole"]).assert().success();
    let whole = began.elapsed();
    let mut complete = 0;
    for i in 0..24_u32 {
        // Each third one finds results of an earlier run; those are replaced or stay.
        let out = format!("out-{}", if i % 3 == 2 { i - 1 } else { i });
        let folder = place.path().join(&out);
        let arguments = ["run", "pause.yaml", "-q", "--out", &out];
        let mut child = start(place.path(), program, &arguments);
        wait(whole * i / 20);
        signal(&child, ["KILL", "TERM", "INT"][i as usize % 3]);
        child.wait().unwrap();
        complete += u32::from(is_whole(&folder));
    }
    assert!(complete > 0, "no moment was late enough");
    // Whatever was left behind is in nobody's way.
    for i in [0, 1, 22] {
        let out = format!("out-{i}");
        stormlab(place.path()).args(["run", "pause.yaml", "-q", "--out", &out]).assert().success();
        assert!(is_whole(&place.path().join(&out)));
        assert!(!files(&place.path().join(&out)).iter().any(|(name, _)| name.starts_with('.')));
    }
}

/// Are there results, and all that the manifest names, with the content that it names? Nothing at
/// all is well, too; anything in between is not.
#[track_caller]
fn is_whole(folder: &Path) -> bool {
    if !folder.exists() {
        return false;
    }
    let found = files(folder);
    let manifest = found.iter().find(|(name, _)| name == "manifest.json");
    let manifest: serde_json::Value =
        serde_json::from_slice(&manifest.expect("a manifest").1).expect("JSON");
    let named = manifest["files"].as_object().expect("files");
    let visible = found.iter().filter(|(name, _)| !name.starts_with('.'));
    assert_eq!(visible.count(), named.len() + 1, "the manifest names every file");
    for (name, hash) in named {
        let (_, bytes) = found.iter().find(|(found, _)| found == name).expect("a file");
        assert_eq!(hash.as_str(), Some(blake3::hash(bytes).to_hex().as_str()), "{name}");
    }
    true
}
