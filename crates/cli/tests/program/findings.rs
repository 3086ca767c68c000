//! `flashlag verify` on what a run file says of why it lagged.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use flashlag_schema::Run;
use tempfile::TempDir;

/// The exit status of `verify` and what it prints.
fn verify(run: &Run) -> (Option<i32>, String) {
    let home = TempDir::new().unwrap();
    let path = home.path().join("run.json");
    std::fs::write(&path, run.to_json()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    let output = command.arg("verify").arg(&path).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

fn explained() -> Run {
    let mut run = flashlag_testing::sample::lifecycle();
    flashlag_explain::attach(&mut run);
    run.seal();
    run
}

#[test]
fn findings_that_follow_verify_and_so_does_a_file_without_any() {
    let run = explained();
    assert!(!run.findings.as_ref().unwrap().causes.is_empty());
    assert_eq!(verify(&run).0, Some(0), "{}", verify(&run).1);
    let older = flashlag_testing::sample::lifecycle();
    assert!(older.findings.is_none());
    assert_eq!(verify(&older).0, Some(0), "{}", verify(&older).1);
}

#[test]
fn findings_that_do_not_follow_are_refused_though_the_checksum_holds() {
    let mut run = explained();
    let first = &mut run.findings.as_mut().unwrap().causes[0];
    first.effect.cost_s_per_1000.value *= 2.0;
    run.seal();
    let (status, said) = verify(&run);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("1 figure differs from the recomputed one"), "{said}");
    assert!(said.contains("findings.causes[0].effect.cost_s_per_1000.value: stored "), "{said}");
}

#[test]
fn findings_of_other_rules_are_neither_refused_nor_shown() {
    let (ours, mut other) = (explained(), explained());
    let stored = other.findings.as_mut().unwrap();
    stored.rules += 1;
    stored.causes.clear();
    other.seal();
    assert_eq!(verify(&other).0, Some(0), "{}", verify(&other).1);
    assert_eq!(flashlag_views::findings(&other), flashlag_views::findings(&ours));
}

#[test]
fn stored_findings_read_as_derived_ones_do() {
    let (with, without) = (explained(), flashlag_testing::sample::lifecycle());
    assert_eq!(flashlag_views::findings(&with), flashlag_views::findings(&without));
    assert_eq!(flashlag_views::waits(&with), flashlag_views::waits(&without));
    assert_eq!(flashlag_views::stalls(&with), flashlag_views::stalls(&without));
}

fn explain_json(words: &[&str]) -> serde_json::Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    let output = command.arg("explain").args(words).arg("--json").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_simulated_device_is_explained_with_measured_effects_and_forecast_ones() {
    let explained = explain_json(&["sim:nexus5-2013+ext4,fuse"]);
    let found = explained["findings"].as_array().unwrap();
    for finding in found {
        for key in ["id", "severity", "evidence", "effect", "action", "source"] {
            assert!(!finding[key].is_null(), "{key}: {finding}");
        }
        assert!(!finding["evidence"].as_array().unwrap().is_empty(), "{finding}");
    }
    let of = |id: &str| found.iter().find(|one| one["id"] == id).unwrap();
    assert_eq!(of("rollback_journal")["effect"]["basis"]["kind"], "compared");
    let fuse = &of("fuse_on_path")["effect"];
    assert_eq!(fuse["basis"]["kind"], "forecast", "{fuse}");
    assert_eq!(fuse["basis"]["of"], "simulated");
    assert!(fuse["cost_s_per_1000"]["value"].as_f64().unwrap() > 0.0, "{fuse}");
    let without = explain_json(&["sim:nexus5-2013+ext4,fuse", "--no-forecast"]);
    let found = without["findings"].as_array().unwrap();
    let fuse = found.iter().find(|one| one["id"] == "fuse_on_path").unwrap();
    assert!(fuse["effect"]["unavailable"].as_str().unwrap().contains("no forecast"), "{fuse}");
}

#[test]
fn a_directory_is_explained_without_a_figure_and_a_guest_has_to_be_measured() {
    let explained = explain_json(&["."]);
    assert!(explained["run"].is_null());
    for finding in explained["findings"].as_array().unwrap() {
        assert_eq!(finding["effect"]["unavailable"], "nothing was measured", "{finding}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    let output = command.args(["explain", "lab:nexus5-2013+ext4"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("has to be measured first"));
}
