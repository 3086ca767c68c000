//! What is given away: the report of a fault, and the gate of a collection of shared runs.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Output};

/// A folder that no word of flashlag contains.
const MARKER: &str = "zugzwang";

fn flashlag(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    command.args(arguments).current_dir(folder).output().unwrap()
}

/// What is printed and its exit status.
fn said(output: &Output) -> (Option<i32>, String) {
    let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (output.status.code(), String::from_utf8(both).unwrap())
}

/// The block of JSON in a report.
fn block(report: &str) -> &str {
    report.split_once("\n```json\n").unwrap().1.strip_suffix("```\n").unwrap()
}

fn micro(folder: &Path, name: &str, seed: &str) {
    let done = flashlag(
        folder,
        &["-q", "run", "micro", "--on", "sim:pixel-2016", "--seed", seed, "-o", name],
    );
    assert!(done.status.success(), "{done:?}");
}

#[test]
fn a_report_has_the_version_and_the_run_as_it_may_be_shared() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join(MARKER);
    std::fs::create_dir(&own).unwrap();
    let run = own.join("run.json");
    micro(folder.path(), run.to_str().unwrap(), "1");
    let done = flashlag(folder.path(), &["bug", run.to_str().unwrap()]);
    let (status, text) = said(&done);
    assert_eq!(status, Some(0), "{text}");
    assert!(
        text.starts_with("Wrote flashlag-bug.md, ") && text.contains("sends nothing"),
        "{text}"
    );
    let report = std::fs::read_to_string(folder.path().join("flashlag-bug.md")).unwrap();
    let version = format!("- flashlag: {}, commit ", env!("CARGO_PKG_VERSION"));
    assert!(report.contains(&version) && report.contains("- left out: command[]"), "{report}");
    assert!(report.contains("- machine, device: "), "{report}");
    assert!(!report.contains(MARKER), "{report}");
    std::fs::write(folder.path().join("sent.json"), block(&report)).unwrap();
    let verified = said(&flashlag(folder.path(), &["verify", "sent.json"]));
    assert_eq!(verified.0, Some(0), "{}", verified.1);
}

#[test]
fn a_report_without_a_run_describes_what_this_directory_lies_on_and_not_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join(MARKER);
    std::fs::create_dir(&own).unwrap();
    let (status, text) = said(&flashlag(&own, &["bug", "-o", "out.md"]));
    assert_eq!(status, Some(0), "{text}");
    let report = std::fs::read_to_string(own.join("out.md")).unwrap();
    let environment: serde_json::Value = serde_json::from_str(block(&report)).unwrap();
    assert!(environment["software"]["kernel"].is_string(), "{environment}");
    assert!(report.contains("- kernel: ") && report.contains("target.directory"), "{report}");
    assert!(!report.contains(MARKER), "{report}");
}

#[test]
fn a_report_replaces_no_file_and_says_what_is_no_run() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine.md"), "mine").unwrap();
    let (status, text) = said(&flashlag(folder.path(), &["bug", "-o", "mine.md"]));
    assert!(status == Some(2) && text.contains("mine.md"), "{text}");
    let (status, text) = said(&flashlag(folder.path(), &["bug", "mine.md"]));
    assert!(status == Some(2) && text.contains("mine.md"), "{text}");
    assert!(!folder.path().join("flashlag-bug.md").exists());
    assert_eq!(std::fs::read_to_string(folder.path().join("mine.md")).unwrap(), "mine");
}

#[test]
fn the_gate_lets_a_shared_run_in_and_sends_back_the_run_itself() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::create_dir(at.join("runs")).unwrap();
    micro(at, "run.json", "1");
    micro(at, "other.json", "2");
    let shared = flashlag(at, &["share", "run.json", "--yes", "-o", "runs/a.json"]);
    assert!(shared.status.success(), "{shared:?}");
    let (status, text) = said(&flashlag(at, &["site", "--check", "runs"]));
    assert_eq!((status, text.as_str()), (Some(0), "1 of 1 files may go in\n"));
    std::fs::copy(at.join("other.json"), at.join("runs/b.json")).unwrap();
    let (status, text) = said(&flashlag(at, &["site", "--check", "runs"]));
    assert_eq!(status, Some(1), "{text}");
    assert!(text.starts_with("b.json is not what `flashlag share` writes"), "{text}");
    assert!(text.ends_with("1 of 2 files may go in\n") && text.lines().count() == 2, "{text}");
    let (status, text) = said(&flashlag(at, &["site", "runs"]));
    assert!(status == Some(2) && text.contains("--output"), "{text}");
}
