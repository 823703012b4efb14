//! Pages made from runs: those that are committed say what the runs say, and mistakes in a template
//! are told with their place.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use tempfile::TempDir;

/// Where the page of a template lies, by the template's name; the others lie in `docs/mission`.
const ELSEWHERE: [(&str, &str); 1] = [("contradictions", "docs")];
/// Documents of `docs/mission` that are no pages of a template.
const OTHERS: [&str; 2] = ["README", "checklist"];

const SCENARIO: &str = "
schema: 1
name: pause
about: A database pauses for five seconds.
source: made up for tests
run: { horizon: 6min, warm_up: 30s, window: 1s, replications: 2, seed: 7 }
clients: { web: { population: 20, arrivals: { poisson: 40/s }, calls: database, policy: twice } }
services: { database: { workers: 4, work: { exponential: 10ms } } }
policies:
  twice: { attempt_timeout: 500ms, retry: { max_attempts: 2, backoff: 100ms, jitter: none } }
triggers: [{ at: 1min, lasts: 5s, service: database, effect: refuse }]
variants:
  never: { about: Nobody | retries., policies: { twice: { retry: { max_attempts: 1 } } } }
";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn stormlab(place: &Path) -> assert_cmd::Command {
    let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_stormlab"));
    command.current_dir(place).args(["--color", "never", "page", "--quiet"]);
    command
}

/// The names of files in a folder that end so, without that ending.
fn names(folder: &str, ending: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> =
        names.filter_map(|name| name.strip_suffix(ending).map(str::to_owned)).collect();
    names.sort();
    names
}

fn out_of(template: &str) -> &'static str {
    ELSEWHERE.iter().find(|(name, _)| *name == template).map_or("docs/mission", |(_, out)| out)
}

#[test]
fn every_page_says_what_the_runs_say() {
    let templates = names("scenarios/mission", ".page.md");
    for out in ["docs", "docs/mission"] {
        let of_folder = templates.iter().filter(|name| out_of(name) == out);
        let paths: Vec<_> =
            of_folder.map(|name| format!("scenarios/mission/{name}.page.md")).collect();
        if paths.is_empty() {
            continue;
        }
        let output = stormlab(root()).args(paths).args(["--check", "--out", out]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}\n./scripts/pages.sh makes the pages anew");
    }
}

#[test]
fn every_page_and_every_picture_has_a_template() {
    let templates = names("scenarios/mission", ".page.md");
    for page in names("docs/mission", ".md") {
        let known = OTHERS.contains(&&*page) || templates.contains(&page);
        assert!(known, "docs/mission/{page}.md has no template");
    }
    let pages = names("docs/mission", ".md");
    let list = read(&root().join("docs/mission/README.md"));
    for page in pages.iter().filter(|page| *page != "README") {
        assert!(
            list.contains(&format!("]({page}.md)")),
            "docs/mission/README.md lists no {page}.md"
        );
    }
    let text: String =
        pages.iter().map(|name| read(&root().join(format!("docs/mission/{name}.md")))).collect();
    for picture in names("docs/mission", ".png") {
        assert!(text.contains(&format!("]({picture}.png)")), "nobody shows {picture}.png");
    }
}

/// A folder with the scenario and a template.
fn place(template: &str) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("pause.yaml"), SCENARIO).unwrap();
    fs::write(place.path().join("pause.page.md"), template).unwrap();
    place
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn page_of(place: &TempDir) -> PathBuf {
    stormlab(place.path()).args(["pause.page.md", "--out", "out"]).assert().success();
    place.path().join("out/pause.md")
}

#[test]
fn placeholders_become_numbers_tables_charts_and_commands() {
    let place = place(
        "# Pause\n{{ runs pause.yaml 3 }}\nLost: {{ pause.yaml never lost_share }},\n\
         {{ pause.yaml base\n   whole_amplification service=database show=interval }}.\n\n\
         {{ table pause.yaml | never, base | about; finding as what it is; requests.born show=whole }}\n\n\
         {{ chart pause.yaml never load | The load. }}\n{{ chart pause.yaml base load | The other. }}\n\n\
         {{ commands }}\n",
    );
    let page = page_of(&place);
    let text = read(&page);
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("<!-- Made by scripts/pages.sh from pause.page.md"), "{text}");
    assert_eq!(lines[2..4].iter().filter(|line| line.contains("runs")).count(), 0, "{text}");
    assert!(lines[3].starts_with("Lost: ") && lines[3].ends_with("%,"), "{text}");
    assert!(lines[4].starts_with("1.0") && lines[4].contains(" to "), "{text}");
    assert_eq!(lines[6], "| variant | about | what it is | requests born |", "{text}");
    assert!(lines[8].starts_with("| never | Nobody \\| retries. | inconclusive | 4"), "{text}");
    assert!(lines[9].starts_with("| base | A database pauses for five seconds. | "), "{text}");
    assert!(lines[11..13] == ["![The load.](pause.png)", "![The other.](pause-load-base.png)"]);
    assert_eq!(lines[15], "stormlab run pause.yaml --replications 3", "{text}");
    for picture in ["pause.png", "pause-load-base.png"] {
        let bytes = fs::read(page.with_file_name(picture)).unwrap();
        assert_eq!(&bytes[1..4], b"PNG");
    }
}

#[test]
fn a_page_that_is_older_than_the_runs_is_found_out() {
    let place = place("# Pause\n\nLost: {{ pause.yaml never lost_share }}.\n");
    let page = page_of(&place);
    let check = || {
        let mut command = stormlab(place.path());
        command.args(["pause.page.md", "--out", "out", "--check"]);
        command
    };
    check().assert().success();
    let text = read(&page);
    let changed = text.replace("Lost: ", "Lost: 1");
    fs::write(&page, &changed).unwrap();
    let output = check().assert().code(1);
    let said = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(
        said.contains("pause.md:5: the page is not what the runs say\n  page  Lost: 1"),
        "{said}"
    );
    assert_eq!(read(&page), changed, "a check writes nothing");
    fs::write(&page, text.clone() + "more\n").unwrap();
    check().assert().code(1);
    fs::write(&page, text.replace('\n', "\r\n")).unwrap();
    check().assert().code(1);
    fs::remove_file(&page).unwrap();
    check().assert().code(1);
}

#[test]
fn mistakes_in_a_template_are_told_with_their_place() {
    #[track_caller]
    fn check(template: &str, line: usize, words: &[&str]) {
        let place = place(template);
        let output =
            stormlab(place.path()).args(["pause.page.md", "--out", "out"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("--> pause.page.md:{line}:")), "{said}");
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
        assert!(!place.path().join("out").exists(), "{said}");
    }
    check("\n{{ pause.yaml base lost_shar }}", 2, &["did you mean `lost_share`"]);
    check("{{ pause.yaml bas lost_share }}", 1, &["no variant `bas`", "did you mean `base`"]);
    check(
        "{{ pause.yaml base peak_amplification service=databse }}",
        1,
        &["did you mean `database`"],
    );
    check("{{ pause.yaml base peak_amplification }}", 1, &["add `service: NAME`"]);
    check("{{ pause.yaml base latency_ok_ms.p9 }}", 1, &["did you mean `p9"]);
    check("{{ pause.yaml base latency_ok_ms. }}", 1, &["accepted: count"]);
    check(
        "{{ pause.yaml base recovery_time_s.median }}{{ pause.yaml base requests.failed }}",
        1,
        &["holds several"],
    );
    check("{{ pause.yaml base duplicate_effects }}", 1, &["nothing is written in this variant"]);
    check("{{ pause.yaml base lost_share show=intervall }}", 1, &["did you mean `interval`"]);
    check("{{ pause.yaml base lost_share soon }}", 1, &["`soon` says nothing of a measure"]);
    check("{{ paus.yaml base lost_share }}", 1, &["`paus.yaml` could not be read"]);
    check("{{ runs pause.yaml 0 }}{{ pause.yaml base lost_share }}", 1, &["accepted are 1 to"]);
    check("{{ runs many }}{{ pause.yaml base lost_share }}", 1, &["`many` is no number of runs"]);
    check("{{ runs pause.yaml 2 }}", 1, &["nothing of `pause.yaml` is shown"]);
    check("a\nb\n{{ pause.yaml base", 3, &["this has no end"]);
    check("{{ tabel pause.yaml | * | lost_share }}", 1, &["this is no placeholder", "{{ table"]);
    check("{{ table pause.yaml | base | lost_share; x }}", 1, &["there is no measure `x`"]);
    check("{{ chart pause.yaml base laod | x }}", 1, &["did you mean `load`"]);
    check("{{ chart pause.yaml base load }}", 1, &["a chart says in words"]);
    check("{{}}", 1, &["this is no placeholder"]);
}

#[test]
fn a_template_says_by_its_name_what_it_becomes() {
    let place = place("");
    fs::write(place.path().join("pause.md"), "").unwrap();
    let output = stormlab(place.path()).args(["pause.md", "--out", "."]).assert().code(2);
    let said = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(said.contains("its name ends in .page.md"), "{said}");
}
