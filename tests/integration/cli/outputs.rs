//! Output that cannot be written: exit code 5, the place named, and nothing half done.

use std::fs;

use crate::cli::err;
use crate::cli::files;
use crate::cli::place;
use crate::cli::stormlab;

#[test]
fn output_that_cannot_be_written_exits_with_5_and_names_the_place() {
    let place = place();
    fs::write(place.path().join("file"), "").unwrap();
    let arguments = ["run", "pause.yaml", "--out", "file/results"];
    let assert = stormlab(place.path()).args(arguments).assert().code(5);
    assert!(err(&assert).contains("file/results"), "{}", err(&assert));

    let folder = place.path().join("busy");
    fs::create_dir(&folder).unwrap();
    let lock = fs::File::create(folder.join(".lock")).unwrap();
    lock.lock().unwrap();
    let arguments = ["run", "pause.yaml", "--out", "busy"];
    let assert = stormlab(place.path()).args(arguments).assert().code(5);
    assert!(err(&assert).contains("another run is writing to busy"), "{}", err(&assert));
    assert_eq!(files(&folder), [(".lock".to_owned(), Vec::new())]);
}

/// A disc that is full after so many kilobytes of any file, on which a write fails.
#[cfg(unix)]
fn on_a_full_disc(place: &std::path::Path, blocks: u32, arguments: &str) -> assert_cmd::Command {
    let program = env!("CARGO_BIN_EXE_stormlab");
    let line = format!("trap '' XFSZ; ulimit -f {blocks}; exec {program} {arguments}");
    let mut command = assert_cmd::Command::new("sh");
    command.current_dir(place).args(["-c", &line]);
    command
}

#[cfg(unix)]
#[test]
fn a_full_disc_leaves_what_was_there_and_nothing_else() {
    let place = place();
    let listed = || {
        let entries = fs::read_dir(place.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    // The first file already; one of the tables; one of the charts.
    for blocks in [1, 20, 60] {
        let run = "run pause.yaml -q --out deep/new";
        let assert = on_a_full_disc(place.path(), blocks, run).assert().code(5);
        assert!(err(&assert).contains("could not write deep/new/"), "{}", err(&assert));
        assert_eq!(listed(), ["pause.yaml"]);
    }
    stormlab(place.path()).args(["run", "pause.yaml", "-q", "--out", "old"]).assert().success();
    let before = files(&place.path().join("old"));
    for blocks in [1, 20, 60] {
        let run = "run pause.yaml -q --seed 8 --out old";
        let assert = on_a_full_disc(place.path(), blocks, run).assert().code(5);
        assert!(err(&assert).contains("could not write old/"), "{}", err(&assert));
        assert!(files(&place.path().join("old")) == before, "{blocks}");
    }
    assert_eq!(listed(), ["old", "pause.yaml"]);
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_that_is_full_is_an_error() {
    let place = place();
    let program = env!("CARGO_BIN_EXE_stormlab");
    let line = format!("exec {program} run pause.yaml -q --json --no-charts > /dev/full");
    let mut command = assert_cmd::Command::new("sh");
    let assert = command.current_dir(place.path()).args(["-c", &line]).assert().code(5);
    assert!(err(&assert).contains("could not write to standard output"), "{}", err(&assert));
}

#[test]
fn something_in_the_way_leaves_the_earlier_results() {
    let place = place();
    let run = |seed: &str| {
        let arguments = ["run", "pause.yaml", "-q", "--no-charts", "--seed", seed];
        stormlab(place.path()).args(arguments).assert()
    };
    run("1").success();
    let folder = place.path().join("output/pause");
    fs::remove_file(folder.join("runs.csv")).unwrap();
    fs::create_dir(folder.join("runs.csv")).unwrap();
    let before = files(&folder);
    let assert = run("2").code(5);
    let said = err(&assert);
    assert!(said.contains("output/pause/runs.csv: a folder is in the way"), "{said}");
    assert!(files(&folder) == before);
}
