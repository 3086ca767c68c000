//! What a tired person types: each wrong word gets the command that was meant.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

/// The exit status, standard output and standard error, as one line each.
fn said(folder: &Path, words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    let output = command.args(words).current_dir(folder).output().unwrap();
    let text = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn refused(folder: &Path, words: &[&str], why: &str) {
    let (status, _, error) = said(folder, words);
    assert!(status != 0 && error.contains(why), "{words:?}: {status} {error}");
}

fn simulated(folder: &Path) {
    let (status, _, error) = said(folder, &["run", "write", "--on", "sim:zero", "-o", "run.json"]);
    assert_eq!(status, 0, "{error}");
}

#[test]
fn a_directory_or_a_run_file_in_the_place_of_a_scenario_names_the_command_that_was_meant() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("srv")).unwrap();
    simulated(folder.path());
    refused(folder.path(), &["run", "srv"], "to measure its storage, `flashlag run --on srv`");
    refused(folder.path(), &["run", "run.json"], "`flashlag explain run.json` says why it lagged");
}

#[test]
fn what_is_on_no_storage_has_no_set_up_to_explain() {
    let folder = tempfile::tempdir().unwrap();
    refused(folder.path(), &["explain", "/proc"], "/proc is on no storage");
    assert_eq!(said(folder.path(), &["explain", "."]).0, 0);
}

#[test]
fn whoever_shows_a_run_file_that_was_changed_is_warned_and_one_that_was_not_is_believed() {
    let folder = tempfile::tempdir().unwrap();
    simulated(folder.path());
    let path = folder.path().join("run.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let seed =
        text.split("\"seed\": ").nth(1).unwrap().split(',').next().unwrap().trim().to_owned();
    let edited = text.replacen(&format!("\"seed\": {seed}"), "\"seed\": 12345", 1);
    assert_ne!(edited, text);
    std::fs::write(folder.path().join("edited.json"), edited).unwrap();
    let changed = "edited.json was changed since it was written";
    for words in [&["report", "edited.json"][..], &["explain", "edited.json", "--no-forecast"]] {
        let (_, _, error) = said(folder.path(), words);
        assert!(error.contains(changed), "{words:?}: {error}");
    }
    for words in [&["report", "run.json"][..], &["explain", "run.json", "--no-forecast"]] {
        let (status, _, error) = said(folder.path(), words);
        assert!(status == 0 && !error.contains("was changed"), "{words:?}: {error}");
    }
    let (_, _, error) = said(folder.path(), &["compare", "run.json", "edited.json", "--force"]);
    assert!(error.contains(changed) && !error.contains("run.json was"), "{error}");
}

#[test]
fn a_narrow_terminal_leaves_p99_out_of_a_forecast_and_cuts_no_name() {
    let folder = tempfile::tempdir().unwrap();
    let table = |width: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
        command.args(["predict", "sim:sd-a1+ext4", "--change", "fs=f2fs"]).env("COLUMNS", width);
        let output = command.current_dir(folder.path()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.split_once("All tests, before and after:").unwrap().1.to_owned()
    };
    let narrow = table("80");
    let head = narrow.lines().nth(1).unwrap();
    assert_eq!(head.split_whitespace().collect::<Vec<_>>().join(" "), "p50 after a second after");
    assert!(
        narrow.contains("256K seq read, MB/s") && narrow.contains("Left out for the width: p99")
    );
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    let wide = table("120");
    assert!(wide.contains("p99") && !wide.contains("Left out"), "{wide}");
}
