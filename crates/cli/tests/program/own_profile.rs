//! A run on a profile of the user's own, given to others: neither its path nor its texts are in what they get.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

const MARKER: &str = "zugzwang";

fn flashlag(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    let output = command.args(arguments).current_dir(folder).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn neither_a_shared_run_nor_a_site_tells_of_the_profiles_path_and_texts() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let own = folder.join(MARKER);
    let runs = folder.join("runs");
    std::fs::create_dir(&own).unwrap();
    std::fs::create_dir(&runs).unwrap();
    let text = flashlag(folder, &["profiles", "show", "nexus5-2013"]);
    let text = text
        .replace("name = \"nexus5-2013\"", &format!("name = \"{MARKER}-board\""))
        .replace("about = \"", &format!("about = \"{MARKER} "))
        .replace("os = \"", &format!("os = \"{MARKER} "))
        .replace("source = \"", &format!("source = \"{MARKER} "))
        .replace("value = \"eMMC", &format!("value = \"{MARKER} eMMC"));
    assert!(text.matches(MARKER).count() > 30);
    std::fs::write(own.join("mine.toml"), text).unwrap();
    let target = format!("sim:{}+ext4,size=512MiB", own.join("mine.toml").display());
    let run = ["run", "micro", "--on", &target, "--report", "run.html", "-o", "runs/run.json"];
    flashlag(folder, &run);
    let whole = std::fs::read_to_string(runs.join("run.json")).unwrap();
    assert!(whole.contains(MARKER), "the run itself is as it was measured");
    flashlag(folder, &["site", "runs", "-o", "site"]);
    let listed = flashlag(folder, &["share", "runs/run.json", "--list"]);
    let account = flashlag(folder, &["share", "runs/run.json", "--yes"]);
    assert_eq!(account, format!("{listed}Wrote runs/run-shared.json\n"));
    for field in ["target.name", "target.profile.text", "environment.device.model"] {
        assert!(account.contains(field), "{account}");
    }
    let shared = std::fs::read_to_string(runs.join("run-shared.json")).unwrap();
    assert!(shared.contains("sim:own-profile-") && shared.contains("+ext4,size=512MiB"));
    flashlag(folder, &["verify", "runs/run-shared.json"]);
    flashlag(folder, &["site", "runs", "-o", "site-of-both"]);
    let given = [files(&folder.join("site")), files(&folder.join("site-of-both"))].concat();
    assert!(given.len() > 10);
    for path in given.into_iter().chain([runs.join("run-shared.json")]) {
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let at = text.to_lowercase().find(MARKER);
        let near =
            at.map(|at| text.chars().skip(at.saturating_sub(80)).take(200).collect::<String>());
        assert_eq!(near, None, "{}", path.display());
    }
}
