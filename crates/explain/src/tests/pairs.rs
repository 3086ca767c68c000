use flashlag_schema::finding::{CauseId, Counted, FindingAction, FindingEvidence, FindingRisk};
use flashlag_schema::{CheckId, Growth, GrowthPart, Phase, Run};
use flashlag_spec::State;
use flashlag_units::Nanos;

use super::{cause, is_ruled_out, is_silent};
use crate::testing::{all, around, failing, run, saves};

pub(super) fn rollback_and_wal(rollback: u64, wal: u64) -> Run {
    run(vec![
        saves("save_delete", State::New, &all(rollback, 1000)),
        saves("save_wal", State::New, &all(wal, 1000)),
    ])
}

#[test]
fn a_rollback_journal_that_waits_twice_as_long_costs_the_difference_of_the_means() {
    let run = rollback_and_wal(20_000_000, 10_000_000);
    let found = cause(&run, CauseId::RollbackJournal).unwrap();
    assert_eq!((found.action, found.risk), (FindingAction::UseWal, FindingRisk::LogGrows));
    assert_eq!(found.evidence, FindingEvidence::TwoPhases);
    assert_eq!(found.sides.now.phase, "new: save_delete");
    assert_eq!(found.sides.fixed.unwrap().phase, "new: save_wal");
    let effect = found.effect;
    assert_eq!(effect.per, Counted::Saves);
    assert_eq!(effect.now.mean_ns, Nanos(20_000_000));
    assert_eq!(effect.fixed.unwrap().ops, 1000);
    // 10 ms each, times 1,000.
    assert!((effect.cost_s_per_1000.value - 10.0).abs() < 1e-9, "{effect:?}");
    assert!((effect.mean_ratio.unwrap().value - 2.0).abs() < 1e-9, "{effect:?}");
    // A p99.9 takes ten thousand values.
    assert!(effect.now.p50_ns.is_some() && effect.now.p999_ns.is_none());
}

#[test]
fn sides_are_the_same_whichever_journal_is_the_main_test() {
    let mut run = rollback_and_wal(20_000_000, 10_000_000);
    run.phases.reverse();
    let found = cause(&run, CauseId::RollbackJournal).unwrap();
    assert_eq!(found.sides.now.phase, "new: save_delete");
}

#[test]
fn a_mean_longer_by_a_hundredth_is_ruled_out_and_by_more_a_cause() {
    let longer = |by: u64| rollback_and_wal(10_000_000 + by, 10_000_000);
    assert!(is_ruled_out(&longer(100_000), CauseId::RollbackJournal));
    assert!(cause(&longer(101_000), CauseId::RollbackJournal).is_some());
}

#[test]
fn what_costs_less_than_a_twentieth_of_a_second_is_left_out() {
    let longer = |by: u64| rollback_and_wal(1_000_000 + by, 1_000_000);
    assert!(is_silent(&longer(49_000), CauseId::RollbackJournal));
    assert!(cause(&longer(51_000), CauseId::RollbackJournal).is_some());
}

#[test]
fn a_difference_within_chance_is_ruled_out() {
    // One of 20 waits is long: it doubles the mean, and proves nothing.
    let mut waits = all(10_000_000, 19);
    waits.record(Nanos(210_000_000));
    let run = run(vec![
        saves("save_delete", State::New, &waits),
        saves("save_wal", State::New, &all(10_000_000, 20)),
    ]);
    assert!(is_ruled_out(&run, CauseId::RollbackJournal));
}

pub(super) fn stages(waits: &[(State, u64)]) -> Run {
    run(waits.iter().map(|(state, ms)| saves("save_delete", *state, &around(*ms, 500))).collect())
}

#[test]
fn trimming_is_weighed_against_deleted_files_and_without_them_against_full_storage() {
    let run = stages(&[
        (State::New, 10),
        (State::Filled, 40),
        (State::Deleted, 38),
        (State::Trimmed, 12),
    ]);
    let found = cause(&run, CauseId::DeletedNotTrimmed).unwrap();
    assert_eq!(found.action, FindingAction::Trim);
    assert_eq!(found.sides.now.phase, "deleted 1: save_delete");
    assert_eq!(found.sides.fixed.unwrap().phase, "trimmed 1: save_delete");
    assert!((found.effect.cost_s_per_1000.value - 26.0).abs() < 1e-6);
    assert!(is_silent(&run, CauseId::FullNotTrimmed));

    let run = stages(&[(State::New, 10), (State::Filled, 40), (State::Trimmed, 12)]);
    let found = cause(&run, CauseId::FullNotTrimmed).unwrap();
    assert_eq!(found.action, FindingAction::DeleteAndTrim);
    assert_eq!(found.sides.now.phase, "filled 1: save_delete");

    let run = stages(&[(State::New, 10), (State::Deleted, 12), (State::Trimmed, 12)]);
    assert!(is_ruled_out(&run, CauseId::DeletedNotTrimmed));
}

#[test]
fn full_storage_is_a_cause_where_making_room_brings_a_fifth_of_the_slowdown_back() {
    // From 10 to 60 ms: a fifth of the slowdown is 10 ms.
    let later = |ms| stages(&[(State::New, 10), (State::Filled, 60), (State::Trimmed, ms)]);
    let found = cause(&later(50), CauseId::FullStorage).unwrap();
    assert_eq!(found.sides.fixed.unwrap().phase, "new: save_delete");
    assert_eq!(found.risk, FindingRisk::SpaceKept);
    assert!(is_silent(&later(51), CauseId::FullStorage), "it was fast for another reason");
    // If no room was made, nothing refutes it.
    let run = stages(&[(State::New, 10), (State::Filled, 60)]);
    assert!(cause(&run, CauseId::FullStorage).is_some());
}

pub(super) fn beside(phase: &mut Phase) {
    phase.name = "save_busy_delete".to_owned();
    phase.background = Some("bulk".to_owned());
}

fn grown(phase: &mut Phase, grew: u64) {
    let part = |ops| GrowthPart::from(&around(10, ops));
    phase.growth = Some(Growth { grew: part(grew), in_place: part(500 - grew) });
}

#[test]
fn another_writer_is_a_cause_where_both_grew_files_about_as_often() {
    let with = |grew_alone, grew_beside| {
        let mut alone = saves("save_delete", State::New, &around(10, 500));
        grown(&mut alone, grew_alone);
        let mut busy = saves("save_delete", State::New, &around(30, 500));
        beside(&mut busy);
        grown(&mut busy, grew_beside);
        run(vec![alone, busy])
    };
    let found = cause(&with(100, 150), CauseId::OtherWriter).unwrap();
    assert_eq!(found.sides.now.phase, "new: save_busy_delete");
    assert_eq!(found.action, FindingAction::DeferBulkWrites);
    assert!((found.effect.cost_s_per_1000.value - 20.0).abs() < 1e-6);
    // 20 % against 31 %: the growth may explain the difference.
    assert!(is_silent(&with(100, 155), CauseId::OtherWriter));
    assert!(is_silent(&with(155, 100), CauseId::OtherWriter));
}

#[test]
fn a_schedule_that_was_not_kept_is_no_side_of_a_comparison() {
    let alone = saves("save_delete", State::New, &around(10, 500));
    let mut busy = saves("save_delete", State::New, &around(30, 500));
    beside(&mut busy);
    busy.closed_loop = false;
    busy.response_histogram = Some(flashlag_schema::StoredHistogram::from(&around(3_000, 500)));
    assert!(cause(&run(vec![alone.clone(), busy.clone()]), CauseId::OtherWriter).is_some());
    busy.missed_slots = Some(5_000);
    assert!(is_silent(&run(vec![alone, busy]), CauseId::OtherWriter));
}

#[test]
fn a_side_that_a_failed_check_covers_is_not_compared() {
    let mut run = rollback_and_wal(20_000_000, 10_000_000);
    run.trust.checks = vec![failing(CheckId::ForeignIo, &["new: rand_write_4k"])];
    assert!(cause(&run, CauseId::RollbackJournal).is_some(), "another phase is in doubt");
    run.trust.checks = vec![failing(CheckId::ForeignIo, &["new: save_wal"])];
    assert!(is_silent(&run, CauseId::RollbackJournal));
}
