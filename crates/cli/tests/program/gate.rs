//! Which files may go into a collection of shared runs, and what is said of the others.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use flashlag_schema::{CheckStatus, Run, Trust};
use flashlag_store::{MOST_TAKEN, read_folder, refusals};
use flashlag_testing::sample;

/// What is said of each refused file.
fn reported(folder: &Path) -> Vec<(String, String)> {
    let refused = refusals(folder, &read_folder(folder).unwrap());
    refused.into_iter().map(|it| (it.file, it.reasons.join(" | "))).collect()
}

fn in_one_line(run: &Run) -> String {
    serde_json::to_string(run).unwrap()
}

/// A sealed change of a sample.
fn changed(mut run: Run, change: impl FnOnce(&mut Run)) -> Run {
    change(&mut run);
    flashlag_explain::attach(&mut run);
    run.seal();
    run
}

fn given(folder: &Path, name: &str, run: &Run) {
    let text = in_one_line(run);
    assert!(text.len() as u64 <= MOST_TAKEN.0, "{name}: {}", text.len());
    std::fs::write(folder.join(name), text).unwrap();
}

fn shared(run: Run) -> Run {
    changed(flashlag_share::shared(&run).unwrap().run, |_| {})
}

#[test]
fn shared_runs_that_count_go_in_as_share_writes_them() {
    let folder = tempfile::tempdir().unwrap();
    given(folder.path(), "a.json", &shared(sample::quick()));
    // Shared twice is shared once.
    let again = flashlag_share::shared(&shared(sample::soak())).unwrap();
    assert_eq!(again.removed, []);
    given(folder.path(), "c.json", &again.run);
    assert_eq!(reported(folder.path()), []);
}

#[test]
fn each_other_file_is_refused_with_what_is_wrong_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    given(at, "a.json", &shared(sample::quick()));
    given(
        at,
        "copy.json",
        &changed(shared(sample::quick()), |run| run.label = Some("Mine".into())),
    );
    let doubted = changed(shared(sample::soak()), |run| {
        let mut checks = run.trust.checks.clone();
        checks[0].status = CheckStatus::Fail;
        run.trust = Trust::of(checks, run.phases.len());
    });
    given(at, "doubted.json", &doubted);
    std::fs::write(at.join("large.json"), shared(sample::lifecycle()).to_json()).unwrap();
    std::fs::write(at.join("none.json"), "{}").unwrap();
    let named = changed(shared(sample::memory()), |run| run.label = Some("/home/zoe/Disks".into()));
    given(at, "named.json", &named);
    let edited = in_one_line(&shared(sample::overloaded())).replacen("\"ops\":", "\"ops\":1", 1);
    std::fs::write(at.join("new.json"), edited).unwrap();
    given(at, "whole.json", &changed(sample::memory(), |run| run.scenario.seed += 1));
    let expected = [
        ("copy.json", "is a copy: the same measurement as a.json"),
        ("doubted.json", "can't be believed: failed check"),
        ("large.json", "and at most 256 kB are taken"),
        ("named.json", "holds what `flashlag share` removes, in label: share it again"),
        ("new.json", "does not verify: verification: "),
        ("none.json", "can't be read: "),
        ("whole.json", "is not what `flashlag share` writes"),
    ];
    let reported = reported(at);
    assert_eq!(reported.len(), expected.len(), "{reported:#?}");
    for ((file, why), (name, part)) in reported.iter().zip(expected) {
        assert!(file == name && why.contains(part), "{file}: {why}");
    }
}

#[test]
fn a_file_whose_name_can_not_be_printed_is_refused_and_not_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let named = changed(shared(sample::memory()), |run| run.label = Some("/home/zoe/Disks".into()));
    given(folder.path(), "a\u{1b}[2J.json", &named);
    let reported = reported(folder.path());
    assert!(reported.len() == 1 && reported[0].1.contains("can't be read again"), "{reported:?}");
}
