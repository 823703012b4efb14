//! The folder against other processes, other files, and things in the way.

use super::*;

fn output(path: &str, text: &str) -> Output {
    Output::new(path.into(), text.into())
}

fn manifest() -> Manifest {
    Manifest { program: "stormlab".into(), complete: true, ..Manifest::default() }
}

/// What stands in a folder, hidden files included.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn read(folder: &Folder, path: &str) -> String {
    std::fs::read_to_string(folder.path().join(path)).unwrap()
}

#[test]
fn a_second_process_is_refused_until_the_first_is_done() {
    let place = tempfile::tempdir().unwrap();
    let first = Folder::open(place.path()).unwrap();
    assert!(matches!(Folder::open(place.path()), Err(WriteError::Busy(_))));
    drop(first);
    assert!(Folder::open(place.path()).is_ok());
}

#[test]
fn only_files_of_ours_that_nobody_changed_are_removed() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::open(place.path()).unwrap();
    let first = vec![output("charts/a.svg", "a"), output("b.csv", "b"), output("c.csv", "c")];
    folder.write(&first, manifest()).unwrap();
    std::fs::write(place.path().join("notes.txt"), "mine").unwrap();
    std::fs::write(place.path().join("c.csv"), "changed by hand").unwrap();

    folder.write(&[output("b.csv", "b2")], manifest()).unwrap();
    assert!(!place.path().join("charts").exists());
    assert_eq!(read(&folder, "b.csv"), "b2");
    assert_eq!(read(&folder, "c.csv"), "changed by hand");
    assert_eq!(read(&folder, "notes.txt"), "mine");
}

#[test]
fn a_manifest_cannot_reach_outside_its_folder() {
    let place = tempfile::tempdir().unwrap();
    let victim = place.path().join("victim");
    std::fs::write(&victim, "v").unwrap();
    let folder = Folder::open(&place.path().join("out")).unwrap();
    let files = BTreeMap::from([("../victim".to_owned(), hash(b"v"))]);
    std::fs::create_dir(folder.path()).unwrap();
    let bytes = Manifest { files, ..manifest() }.encoded();
    std::fs::write(folder.path().join(MANIFEST), bytes).unwrap();
    drop(folder);
    let folder = Folder::open(&place.path().join("out")).unwrap();
    folder.write(&[], manifest()).unwrap();
    assert!(victim.exists());
}

#[test]
fn a_failure_names_the_file_and_leaves_everything_as_it_was() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::open(place.path()).unwrap();
    folder.write(&[output("a.csv", "old"), output("z.csv", "old")], manifest()).unwrap();
    std::fs::create_dir(place.path().join("b.csv")).unwrap(); // A folder is in the way.
    let new = [output("a.csv", "new"), output("b.csv", "new"), output("c/d.csv", "new")];
    let error = folder.write(&new, manifest()).unwrap_err().to_string();
    assert!(error.starts_with("could not write") && error.contains("b.csv"), "{error}");
    assert_eq!((read(&folder, "a.csv"), read(&folder, "z.csv")), ("old".into(), "old".into()));
    assert!(read(&folder, MANIFEST).contains("\"complete\": true"));
    drop(folder);
    assert_eq!(names(place.path()), ["a.csv", "b.csv", MANIFEST, "z.csv"]);
}

#[test]
fn a_new_folder_comes_whole_and_nothing_stays_beside_it() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("deep/down");
    drop(Folder::open(&path).unwrap());
    assert_eq!(names(place.path()), [""; 0], "nothing written, nothing left");

    let folder = Folder::open(&path).unwrap();
    assert!(!path.exists());
    assert!(matches!(Folder::open(&path), Err(WriteError::Busy(_))));
    folder.write(&[output("charts/a.svg", "a")], manifest()).unwrap();
    drop(folder);
    assert_eq!(names(place.path()), ["deep"]);
    assert_eq!(names(path.parent().unwrap()), ["down"]);
    assert_eq!(names(&path), ["charts", MANIFEST]);
    // A second run finds it, and leaves as little.
    let folder = Folder::open(&path).unwrap();
    folder.write(&[output("b.csv", "b")], manifest()).unwrap();
    drop(folder);
    assert_eq!(names(&path), ["b.csv", MANIFEST]);
}

#[test]
fn stages_of_the_dead_are_swept_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    for name in [".stormlab-Ab12", ".stormlab-notes.d", ".d.stormlab-Ab12", "d"] {
        std::fs::create_dir(place.path().join(name)).unwrap();
    }
    std::fs::write(place.path().join(".lock"), "left by somebody who was killed").unwrap();
    drop(Folder::open(&place.path().join("d")).unwrap());
    drop(Folder::open(&place.path().join("e")).unwrap());
    assert_eq!(names(place.path()).len(), 5);
    std::fs::remove_dir(place.path().join("d")).unwrap();
    drop(Folder::open(&place.path().join("d")).unwrap());
    assert_eq!(names(place.path()), [".lock", ".stormlab-Ab12", ".stormlab-notes.d"]);
    drop(Folder::open(place.path()).unwrap());
    assert_eq!(names(place.path()), [".stormlab-notes.d"]);
}

#[test]
fn places_where_results_do_not_belong_are_refused() {
    #[track_caller]
    fn check(path: &Path, expected: &str) {
        let error = Folder::open(path).unwrap_err();
        assert!(matches!(error, WriteError::Unfit { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("thesis.tex"), "mine").unwrap();
    check(place.path(), "holds other files");
    check(&place.path().join("thesis.tex"), "is a file");
    check(&place.path().join("nowhere/.."), "is not there");
    check(Path::new("/"), "root of the file system");
    check(Path::new(""), "is no name");
    assert_eq!(names(place.path()), ["thesis.tex"]);
}
