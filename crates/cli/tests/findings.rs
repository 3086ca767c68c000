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
