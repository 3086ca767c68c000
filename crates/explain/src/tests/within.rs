use flashlag_schema::finding::{CauseId, FindingAction, FindingEvidence, SavePart};
use flashlag_schema::{CheckCause, CheckId, Growth, GrowthPart, Phase, Run, StoredHistogram};
use flashlag_spec::State;
use flashlag_units::Nanos;

use super::{cause, is_ruled_out, is_silent};
use crate::cpu_cause;
use crate::testing::{all, around, failing, run, saves, split, writes};

/// Saves of 10 ms, a quarter of which grow a file and take `grew`.
pub(super) fn with_growth(name: &str, grew: u64) -> Run {
    let mut phase = saves(name, State::New, &around(10, 1000));
    let (grew, in_place) = (around(grew, 250), around(10, 750));
    phase.growth =
        Some(Growth { grew: GrowthPart::from(&grew), in_place: GrowthPart::from(&in_place) });
    run(vec![phase])
}

#[test]
fn saves_that_grow_a_file_cost_their_share_of_the_difference() {
    let found = cause(&with_growth("save_delete", 30), CauseId::GrowingFiles).unwrap();
    assert_eq!(found.action, FindingAction::KeepJournalFile);
    assert_eq!(found.sides.now.part, Some(SavePart::Grew));
    assert_eq!(found.sides.fixed.unwrap().part, Some(SavePart::InPlace));
    assert_eq!(found.evidence, FindingEvidence::TwoParts { share: 0.25 });
    // 20 ms for a quarter of a thousand saves.
    assert!((found.effect.cost_s_per_1000.value - 5.0).abs() < 1e-3);
    let wal = cause(&with_growth("save_wal", 30), CauseId::GrowingFiles).unwrap();
    assert_eq!(wal.action, FindingAction::GrowInSteps, "WAL keeps its file");
    assert!(is_ruled_out(&with_growth("save_delete", 10), CauseId::GrowingFiles));
}

pub(super) fn with_cpu(runnable: u64) -> Run {
    let mut phase = saves("save_delete", State::New, &around(10, 1000));
    split(&mut phase, 100, runnable);
    run(vec![phase])
}

#[test]
fn waiting_for_a_cpu_is_a_cause_from_a_twentieth_on_and_none_below_a_hundredth() {
    let found = cause(&with_cpu(51), CauseId::CpuWait).unwrap();
    // 5.1 % of 10 ms, times 1,000.
    assert!((found.effect.cost_s_per_1000.value - 0.51).abs() < 1e-3, "{found:?}");
    assert_eq!(found.effect.cost_s_per_1000.interval, None);
    let (now, free) = (found.effect.now.mean_ns, found.effect.fixed.unwrap().mean_ns);
    assert!(now.since(free).0.abs_diff(510_000) < 1_000, "{found:?}");
    assert!(found.sides.fixed.is_none());
    assert!(is_silent(&with_cpu(49), CauseId::CpuWait));
    assert!(is_silent(&with_cpu(11), CauseId::CpuWait));
    assert!(is_ruled_out(&with_cpu(9), CauseId::CpuWait));
}

pub(super) fn with_flush(part: u64) -> Run {
    let mut phase = writes("rand_write_4k", State::New, &[10; 100]);
    phase.flush_histogram = Some(StoredHistogram::from(&all(part * 10_000, 100)));
    run(vec![phase])
}

#[test]
fn a_flush_of_a_fifth_of_a_durable_write_is_a_cause_and_no_longer_one_than_the_write() {
    let found = cause(&with_flush(200), CauseId::FlushPerWrite).unwrap();
    let expected = FindingEvidence::FlushTimedApart { flush_ns: Nanos(2_000_000), share: 0.2 };
    assert_eq!(found.evidence, expected);
    assert!((found.effect.cost_s_per_1000.value - 2.0).abs() < 1e-9);
    assert_eq!(found.action, FindingAction::GroupFlushes);
    assert!(cause(&with_flush(199), CauseId::FlushPerWrite).is_none());
    assert!(cause(&with_flush(1000), CauseId::FlushPerWrite).is_some());
    assert!(cause(&with_flush(1001), CauseId::FlushPerWrite).is_none(), "longer than the whole");
}

#[test]
fn a_flush_is_read_in_the_stage_that_is_explained() {
    let mut run = with_flush(500);
    let mut later = run.phases[0].clone();
    later.state = State::Trimmed;
    run.phases.push(later);
    run.phases.push(saves("save_delete", State::New, &around(10, 500)));
    let found = cause(&run, CauseId::FlushPerWrite).unwrap();
    assert_eq!(found.sides.now.phase, "new: rand_write_4k");
}

#[test]
fn what_a_phase_shows_by_itself_counts_for_nothing_under_a_failed_check() {
    let mut run = with_flush(500);
    split(&mut run.phases[0], 100, 500);
    assert!(cause(&run, CauseId::CpuWait).is_some());
    run.trust.checks = vec![failing(CheckId::CpuContention, &[])];
    assert!(is_silent(&run, CauseId::CpuWait));
    assert!(is_silent(&run, CauseId::FlushPerWrite));
}

#[test]
fn a_busy_cpu_without_a_stored_cause_made_most_of_the_waits_above_half_of_the_time() {
    let with = |runnable| {
        let mut phase: Phase = saves("save_delete", State::New, &around(10, 1000));
        split(&mut phase, 0, runnable);
        cpu_cause(&failing(CheckId::CpuContention, &[]), &phase)
    };
    assert_eq!(with(501), CheckCause::CpuMost);
    assert_eq!(with(499), CheckCause::CpuAdded);
    let mut check = failing(CheckId::CpuContention, &[]);
    let unsplit = saves("save_delete", State::New, &around(10, 1000));
    assert_eq!(cpu_cause(&check, &unsplit), CheckCause::CpuMost);
    check.cause = Some(CheckCause::CpuAdded);
    assert_eq!(cpu_cause(&check, &unsplit), CheckCause::CpuAdded, "the check knows best");
}

#[test]
fn what_passes_between_saves_is_part_of_no_save() {
    let mut phase: Phase = saves("save_delete", State::New, &around(10, 1000));
    let each = |ms: u64| Nanos::from_millis(ms * 1000);
    phase.time = flashlag_spec::Reading::Value(flashlag_schema::Time {
        on_cpu_ns: each(3),
        runnable_ns: each(1),
        blocked_ns: each(8),
        stopped_ns: Nanos::ZERO,
    });
    let mean = phase.latency_ns.mean.unwrap();
    // The thread's 12 ms per save are 2 more than a save takes; a tenth of these is not 1 in 12.
    let found = cause(&run(vec![phase.clone()]), CauseId::CpuWait).unwrap();
    assert_eq!(found.effect.now.mean_ns, mean);
    let FindingEvidence::SchedulerCount { runnable_ns, share } = found.evidence else { panic!() };
    assert_eq!(runnable_ns, Nanos::from_millis(1));
    assert!((share - 1e6 / mean.0 as f64).abs() < 1e-12, "{share}");
    let time = phase.time_each().unwrap();
    assert_eq!((time.total(), time.blocked_ns), (mean, Nanos::from_millis(8)));
}
