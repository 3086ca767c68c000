//! A run file says which commit of flashlag made it.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::path::Path;
use std::process::Command;

const TINY: &str = include_str!("support/tiny.toml");

/// The commit of this workspace; `None` without git or outside of flashlag's repository.
fn commit() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(&root).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        output.status.success().then_some(text)
    };
    let top = git(&["rev-parse", "--show-toplevel"])?;
    (Path::new(&top).canonicalize().ok()? == root).then(|| git(&["rev-parse", "HEAD"])).flatten()
}

#[test]
fn a_run_file_has_the_commit_that_the_program_was_built_from() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("one.toml"), TINY).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    command.args(["run", "one.toml", "--on", "sim:nexus5-2013+ext4", "-o", "one.json"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let text = std::fs::read_to_string(folder.path().join("one.json")).expect(&said);
    let run: serde_json::Value = serde_json::from_str(&text).unwrap();
    let stored = &run["flashlag"]["commit"];
    let built_from = option_env!("FLASHLAG_COMMIT");
    assert_eq!(stored.as_str(), built_from, "{stored}");
    assert!(built_from.is_some() || stored["unavailable"].is_string(), "{stored}");
    let is_given = std::env::var_os("FLASHLAG_COMMIT").is_some();
    if let (Some(hash), false) = (commit(), is_given) {
        let short = built_from.unwrap_or_default().trim_end_matches("-dirty");
        assert!(short.len() >= 12 && hash.starts_with(short), "{short} is not {hash}");
    }
}
