//! `flashlag store add` as a user runs it: modes of copies, and several programs at once.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use flashlag_testing::sample;

const PROGRAM: &str = env!("CARGO_BIN_EXE_flashlag");

/// Adds a file of this mode under this umask, and gives the mode of the copy.
fn copied(folder: &Path, mode: u32, umask: &str) -> u32 {
    let run = folder.join("run.json");
    std::fs::write(&run, sample::quick().to_json()).unwrap();
    std::fs::set_permissions(&run, std::fs::Permissions::from_mode(mode)).unwrap();
    let store = folder.join(format!("store-{mode:o}-{umask}"));
    let command = format!("umask {umask}; exec \"$0\" store add --store \"$1\" \"$2\"");
    let done =
        Command::new("sh").args(["-c", &command, PROGRAM]).args([&store, &run]).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    std::fs::metadata(store.join("run.json")).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_copy_in_a_store_has_its_sources_mode_less_what_the_umask_takes() {
    let folder = tempfile::tempdir().unwrap();
    for (mode, umask, expected) in [
        (0o644, "022", 0o644),
        (0o644, "077", 0o600),
        (0o600, "077", 0o600),
        (0o600, "022", 0o600),
        (0o664, "002", 0o664),
        (0o664, "027", 0o640),
        (0o755, "022", 0o644),
    ] {
        assert_eq!(copied(folder.path(), mode, umask), expected, "{mode:o} {umask}");
    }
}

#[test]
fn programs_that_add_the_same_files_at_once_all_end_well() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let files: Vec<_> = (0..10)
        .map(|at| {
            let path = folder.path().join(format!("r{at}.json"));
            let mut run = sample::quick();
            run.label = Some(format!("number {at}"));
            run.seal();
            std::fs::write(&path, run.to_json()).unwrap();
            path
        })
        .collect();
    let begin = || {
        let mut command = Command::new(PROGRAM);
        command.args(["store", "add", "--store"]).arg(&store).args(&files);
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let mut all: Vec<_> = (0..4).map(|_| begin()).collect();
    for program in &mut all {
        assert!(program.wait().unwrap().success());
    }
    let listed = std::fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().path());
    let listed = listed.filter(|path| path.extension().is_some_and(|end| end == "json")).count();
    assert_eq!(listed, files.len());
}
