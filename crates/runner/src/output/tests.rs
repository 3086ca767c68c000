//! Which files an output may replace, where a run goes when its name is taken, and what refusals
//! advise.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use flashlag_schema::{Run, RunStatus};
use flashlag_testing::{bare_run, small_run};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::io::Errno;
use tempfile::{TempDir, tempdir};

use super::destination::refused;
use super::{Destination, OutputKind, RunFile, is_same_file};
use crate::error::RunError;

const KINDS: [OutputKind; 5] = [
    OutputKind::Run,
    OutputKind::ResumedRun,
    OutputKind::Report,
    OutputKind::Profile,
    OutputKind::Export,
];

/// Reason and advice of a refusal.
fn words(error: RunError) -> (String, String) {
    match error {
        RunError::Output { fault, .. } => (fault.to_string(), fault.advice()),
        other => panic!("{other}"),
    }
}

/// Why an output of that kind may not be put at `path`; `None` if it may.
fn refusal(path: &Path, kind: OutputKind) -> Option<(String, String)> {
    Destination::check(path, kind, false).err().map(words)
}

/// The reasons for every kind of output, in the order of [`KINDS`], if the existing file has this
/// content.
fn reasons(contents: &str) -> [Option<String>; 5] {
    let folder = tempdir().unwrap();
    let path = folder.path().join("there");
    fs::write(&path, contents).unwrap();
    for kind in KINDS {
        Destination::check(&path, kind, true).expect("--force replaces whatever a file holds");
    }
    KINDS.map(|kind| refusal(&path, kind).map(|(reason, _)| reason))
}

fn owned(reasons: [Option<&str>; 5]) -> [Option<String>; 5] {
    reasons.map(|reason| reason.map(str::to_owned))
}

#[test]
fn what_is_not_flashlags_is_never_replaced_and_a_page_of_its_own_is() {
    let there = Some("it is there already");
    assert_eq!(
        reasons("hello"),
        owned([
            Some("it is there and is no run file"),
            None,
            Some("it is there and is no report of flashlag's"),
            there,
            there
        ])
    );
    let page = r#"<meta name="generator" content="flashlag">"#;
    let expected = owned([Some("it is there and is no run file"), None, None, there, there]);
    assert_eq!(reasons(page), expected);
    // The mark of a page is in its head: within 4 KiB.
    let at = |before: usize| reasons(&format!("{}{page}", " ".repeat(before)))[2].is_none();
    assert!(at(4096 - page.len()) && !at(4096 - page.len() + 1));
}

#[test]
fn a_run_is_replaced_by_a_run_only_while_it_has_no_phase() {
    let mut finished = small_run();
    let holds = "it holds a finished run of small";
    let all = [Some(holds), None, Some(holds), Some(holds), Some(holds)];
    assert!(finished.to_json().len() > 4096, "it is read beyond its head");
    assert_eq!(reasons(&finished.to_json()), owned(all));
    finished.status = RunStatus::Interrupted { next_step: 1 };
    finished.seal();
    let (run, unfinished) = (Some("it holds a run"), "it holds an unfinished run of small");
    assert_eq!(reasons(&finished.to_json()), owned([Some(unfinished), None, run, run, run]));
    let mut empty = bare_run(Vec::new());
    empty.status = RunStatus::Running { next_step: 0 };
    empty.seal();
    assert_eq!(reasons(&empty.to_json()), owned([None, None, run, run, run]));
}

#[test]
fn an_unfinished_run_is_to_be_continued_and_a_finished_one_to_be_kept() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.json");
    let mut run = small_run();
    let mut advice = |status: RunStatus| {
        run.status = status;
        run.seal();
        fs::write(&path, run.to_json()).unwrap();
        refusal(&path, OutputKind::Run).unwrap().1
    };
    assert!(advice(RunStatus::Interrupted { next_step: 1 }).contains("--resume"));
    assert!(!advice(RunStatus::Complete).contains("--resume"));
}

#[test]
fn nothing_but_a_regular_file_is_replaced_even_by_force() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("folder")).unwrap();
    symlink("elsewhere", at("link")).unwrap();
    mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let _listens = UnixListener::bind(at("socket")).unwrap();
    for (path, reason, advice) in [
        (at("folder"), "it is a directory", "give a file in it, such as "),
        (at("link"), "it is a symbolic link to elsewhere, and would be replaced", "renamed"),
        (at("pipe"), "it is a named pipe, and would be replaced", "give the name of a file"),
        (at("socket"), "it is a socket, and would be replaced", "give the name of a file"),
        (PathBuf::from("/dev/null"), "it is a device node", "remove it afterwards"),
        (PathBuf::from("/dev/zero"), "it is a device node", "then print it by `flashlag report"),
    ] {
        for kind in KINDS {
            let error = Destination::check(&path, kind, true).err();
            let (why, try_next) = words(error.expect("refused"));
            assert!(why.starts_with(reason), "{why}");
            let exported = kind == OutputKind::Export && path.ends_with("zero");
            let advice = if exported { "or leave -o out for standard output" } else { advice };
            assert!(try_next.contains(advice), "{path:?} {kind:?}: {try_next}");
        }
    }
}

#[test]
fn a_path_that_names_no_file_in_a_directory_is_refused_with_what_to_do() {
    for (path, reason) in [
        ("/", "it names no file"),
        ("-", "standard output is no file"),
        ("/nowhere/at/all/run.json", "its directory can't be opened"),
    ] {
        let (why, _) = refusal(Path::new(path), OutputKind::Run).unwrap();
        assert!(why.starts_with(reason), "{path}: {why}");
    }
    let name = "no-such-file-of-a-test.json";
    let here = Destination::check(Path::new(name), OutputKind::Run, false).unwrap();
    assert_eq!(here.path(), Path::new(name), "as it was typed");
}

#[test]
fn what_is_written_is_there_whole_and_replaces_what_may_be_replaced() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("report.html");
    let check = |force| Destination::check(&path, OutputKind::Export, force);
    let first = check(false).unwrap();
    assert_eq!(first.path(), path);
    first.write(b"one").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one");
    check(true).unwrap().write(b"two").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"two");
}

#[test]
fn a_file_that_somebody_put_there_meanwhile_is_kept_unless_by_force() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("export.csv");
    let (careful, forced) = (
        Destination::check(&path, OutputKind::Export, false).unwrap(),
        Destination::check(&path, OutputKind::Export, true).unwrap(),
    );
    fs::write(&path, "theirs").unwrap();
    assert_eq!(words(careful.write(b"ours").unwrap_err()).0, "it is there already");
    assert_eq!(fs::read(&path).unwrap(), b"theirs");
    forced.write(b"ours").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"ours");
}

#[test]
fn two_paths_are_one_file_by_what_is_there_or_else_by_directory_and_name() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("a")).unwrap();
    fs::create_dir(at("b")).unwrap();
    symlink("a", at("also-a")).unwrap();
    fs::write(at("a/there"), "x").unwrap();
    fs::hard_link(at("a/there"), at("b/linked")).unwrap();
    fs::write(at("b/other"), "x").unwrap();
    for (one, other, same) in [
        ("a/there", "a/there", true),
        ("a/there", "also-a/there", true),
        ("a/there", "b/linked", true),
        ("a/there", "b/other", false),
        ("a/new", "also-a/new", true),
        ("a/new", "a/newer", false),
        ("a/new", "b/new", false),
        ("a/there", "a/new", false),
        ("nowhere/new", "nowhere/new", false),
    ] {
        assert_eq!(is_same_file(&at(one), &at(other)), same, "{one} {other}");
    }
}

fn stored(path: &Path) -> Run {
    Run::from_json(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_run_is_stored_sealed_and_replaces_what_it_stored_before() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.json");
    let file = RunFile::new(&path, false).unwrap();
    let mut run = small_run();
    for label in ["first", "second"] {
        run.label = Some(label.to_owned());
        file.store(&mut run).unwrap();
        assert_eq!(stored(&path), run, "sealed as it was stored");
    }
    assert_eq!((file.path(), file.displaced_from()), (path, None));
}

#[test]
fn a_run_whose_name_was_taken_meanwhile_goes_beside_it_and_stays_there() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let file = RunFile::new(&at("run.json"), false).unwrap();
    for (name, contents) in [("run.json", "theirs"), ("run-2.json", "also theirs")] {
        fs::write(at(name), contents).unwrap();
    }
    let mut run = small_run();
    file.store(&mut run).unwrap();
    file.store(&mut run).unwrap();
    assert_eq!(file.path(), at("run-3.json"));
    assert_eq!(file.displaced_from(), Some(at("run.json")));
    assert_eq!(fs::read(at("run.json")).unwrap(), b"theirs");
    assert_eq!(stored(&at("run-3.json")), run);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

/// The name that a run gets in a directory with these files, if the user gave none.
fn unnamed(wanted: &str, there: &[&str]) -> String {
    let folder: TempDir = tempdir().unwrap();
    there.iter().for_each(|name| fs::write(folder.path().join(name), "theirs").unwrap());
    let file = RunFile::unnamed(&folder.path().join(wanted)).unwrap();
    file.store(&mut small_run()).unwrap();
    assert!(there.iter().all(|name| fs::read(folder.path().join(name)).unwrap() == b"theirs"));
    file.path().file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_run_that_nobody_named_has_the_first_name_that_neither_a_run_nor_a_page_has() {
    assert_eq!(unnamed("run.json", &[]), "run.json");
    assert_eq!(unnamed("run.json", &["run.json"]), "run-2.json");
    assert_eq!(unnamed("run.json", &["run.json", "run-2.json"]), "run-3.json");
    assert_eq!(unnamed("run.json", &["run.html"]), "run-2.json");
    assert_eq!(unnamed("run.json", &["run.json", "run-2.html"]), "run-3.json");
    assert_eq!(unnamed("run", &["run"]), "run-2");
}

#[test]
fn a_continued_run_replaces_its_own_file() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.json");
    fs::write(&path, small_run().to_json()).unwrap();
    let file = RunFile::resumed(&path).unwrap();
    let mut run = small_run();
    run.label = Some("continued".to_owned());
    file.store(&mut run).unwrap();
    assert_eq!(stored(&path), run);
}

#[test]
fn a_refusal_of_the_operating_system_is_reported_without_its_number_and_with_what_to_try() {
    for (errno, reason, advice) in [
        (Errno::FBIG, "File too large", "ulimit -f"),
        (Errno::NOSPC, "No space left on device", "free some space"),
        (Errno::DQUOT, "Disk quota exceeded", "free some space"),
        (Errno::NOENT, "No such file or directory", "its directory is gone"),
        (Errno::ACCESS, "Permission denied", "choose another file"),
    ] {
        let (why, try_next) = words(refused(Path::new("/gone/with/it/x"), errno));
        assert!(why.starts_with(reason) && !why.contains("os error"), "{why}");
        assert!(try_next.contains(advice), "{try_next}");
    }
}

#[test]
fn a_directory_that_takes_no_new_files_is_not_said_to_be_gone() {
    for path in ["/proc/flashlag.json", "/proc/self/flashlag.json"] {
        let refused = Destination::check(Path::new(path), OutputKind::Run, false).unwrap_err();
        let (why, try_next) = words(refused);
        assert!(why.contains("no file can be made in its directory"), "{why}");
        assert!(try_next.contains("another directory"), "{try_next}");
    }
    let here = tempdir().unwrap();
    let (why, _) = words(refused(&here.path().join("x"), Errno::NOENT));
    assert!(why.contains("no file can be made"), "{why}");
}

#[test]
fn what_a_death_can_leave_is_beside_the_run_file_by_a_name_of_flashlags_own() {
    let directory = tempdir().unwrap();
    let file = RunFile::new(&directory.path().join("run.json"), false).unwrap();
    let temporary = file.temporary();
    assert_eq!(temporary.parent(), Some(directory.path()));
    let name = temporary.file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.starts_with("flashlag-") && name.ends_with(".flashlag-tmp"), "{name}");
}
