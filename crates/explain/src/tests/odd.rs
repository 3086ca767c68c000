use flashlag_schema::finding::{Findings, RULES};
use flashlag_schema::{Run, RunStatus};
use flashlag_spec::State;

use super::is_silent;
use crate::testing::{around, of_ms, run, saves, split, writes};
use crate::{attach, findings, findings_of, verify};

/// A run with a cause of each kind that has a cost, and stalls.
fn explained() -> Run {
    let states =
        [(State::New, 10), (State::Filled, 40), (State::Deleted, 38), (State::Trimmed, 12)];
    let mut phases: Vec<_> =
        states.iter().map(|(state, ms)| saves("save_delete", *state, &around(*ms, 500))).collect();
    phases.push(saves("save_wal", State::Filled, &around(17, 500)));
    split(&mut phases[1], 100, 300);
    phases[1].stalls_seen = 4;
    let mut run = run(phases);
    attach(&mut run);
    run.seal();
    run
}

#[test]
fn causes_are_stored_costliest_first_and_survive_the_file() {
    let run = explained();
    let causes = &run.findings.as_ref().unwrap().causes;
    assert!(causes.len() >= 4, "{causes:?}");
    let costs: Vec<f64> = causes.iter().map(|cause| cause.effect.cost_s_per_1000.value).collect();
    assert!(costs.is_sorted_by(|a, b| a >= b), "{costs:?}");
    let read = Run::from_json(&run.to_json()).unwrap();
    assert_eq!(read.findings, run.findings);
    assert_eq!(verify(&read), []);
}

#[test]
fn a_stored_finding_that_does_not_follow_is_named_down_to_the_field() {
    let mut run = explained();
    run.findings.as_mut().unwrap().causes[0].effect.now.mean_ns.0 += 1;
    let found = verify(&run);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].path, "findings.causes[0].effect.now.mean_ns");
    assert_ne!(found[0].stored, found[0].recomputed);

    let mut run = explained();
    let first = run.findings.as_mut().unwrap().causes.pop().unwrap();
    let found = verify(&run);
    let last = run.findings.as_ref().unwrap().causes.len();
    assert_eq!(found[0].path, format!("findings.causes[{last}]"));
    assert_eq!(found[0].stored, "absent");
    let id = serde_json::to_value(first.id).unwrap();
    assert_eq!(Some(found[0].recomputed.as_str()), id.as_str());
}

#[test]
fn findings_follow_the_checks() {
    let mut run = explained();
    run.trust.checks = vec![crate::testing::failing(flashlag_schema::CheckId::ForeignIo, &[])];
    assert!(!verify(&run).is_empty(), "what was stored is from before the check failed");
    attach(&mut run);
    assert_eq!(run.findings.as_ref().unwrap().causes, []);
    assert_eq!(verify(&run), []);
}

#[test]
fn a_file_without_findings_is_explained_as_one_with_them() {
    let with = explained();
    let mut without = with.clone();
    without.findings = None;
    assert_eq!(verify(&without), []);
    assert_eq!(*findings_of(&without), *findings_of(&with));
    without.seal();
    assert!(!without.to_json().contains("\"findings\""), "an older file keeps its checksum");
}

#[test]
fn nothing_measured_explains_nothing() {
    let nothing = Findings { rules: RULES, ..Findings::default() };
    assert_eq!(findings(&run(Vec::new())), nothing);
    let mut empty = run(vec![saves("save_delete", State::New, &of_ms(&[]))]);
    empty.status = RunStatus::Interrupted { next_step: 1 };
    assert_eq!(findings(&empty), nothing);
}

#[test]
fn a_side_of_one_value_is_not_compared() {
    use flashlag_schema::finding::CauseId::RollbackJournal;
    let with = |waits: &[u64]| {
        run(vec![
            saves("save_delete", State::New, &of_ms(waits)),
            saves("save_wal", State::New, &around(10, 500)),
        ])
    };
    assert!(is_silent(&with(&[90]), RollbackJournal));
    assert!(!is_silent(&with(&[90, 90]), RollbackJournal));
}

#[test]
fn a_run_that_was_stopped_is_explained_by_what_it_has() {
    let mut run = explained();
    run.phases.truncate(2);
    run.status = RunStatus::Interrupted { next_step: 3 };
    run.phases[1].cut_short = true;
    let ids: Vec<_> = findings(&run).causes.iter().map(|cause| cause.id).collect();
    use flashlag_schema::finding::CauseId::{CpuWait, FullStorage};
    assert_eq!(ids, [FullStorage, CpuWait]);
}

#[test]
fn a_broken_histogram_is_no_side() {
    let mut run = explained();
    run.phases[4].histogram.count.push(1);
    assert!(is_silent(&run, flashlag_schema::finding::CauseId::RollbackJournal));
}

#[test]
fn durable_writes_explain_a_run_without_saves() {
    let run = run(vec![
        writes("rand_write_4k", State::New, &[1; 300]),
        writes("rand_write_4k", State::Filled, &[9; 300]),
    ]);
    let found = findings(&run).causes.remove(0);
    assert_eq!(found.effect.per, flashlag_schema::finding::Counted::Writes);
    assert!((found.effect.cost_s_per_1000.value - 8.0).abs() < 1e-9);
}
