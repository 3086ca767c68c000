//! The two halves of a mixed test must be of one test, and as many operations read as were to.
#![allow(clippy::unwrap_used)]

use flashlag_schema::verify::{Discrepancy, verify};
use flashlag_schema::{Mixed, Phase, Run, TargetKind};
use flashlag_spec::{Operation, State};
use flashlag_stats::Histogram;
use flashlag_testing::{bare_run, closed_loop_phase};
use flashlag_units::{Bytes, Nanos};

/// One half, of this many operations of a microsecond.
fn half(name: &str, other: &str, operation: Operation, ops: u64) -> Phase {
    let mut latency = Histogram::new();
    (0..ops).for_each(|_| latency.record(Nanos(1_000)));
    let mut phase = closed_loop_phase(name, State::New, operation, &latency);
    phase.background = Some(other.to_owned());
    phase.mixed = Some(Mixed { read_percent: 70 });
    // Both halves are of one stretch of time, which is neither's sum.
    phase.elapsed_ns = Nanos::from_secs(1);
    (phase.ops_per_sec, phase.bytes_per_sec) = (ops as f64, ops as f64 * 4096.0);
    phase
}

/// What is found in a mixed test of `reads` and `writes`, after a change of its reads.
fn found_with(reads: u64, writes: u64, change: impl FnOnce(&mut Run)) -> Vec<Discrepancy> {
    let mut run = bare_run(vec![
        half("t_read", "t_write", Operation::RandomRead, reads),
        half("t_write", "t_read", Operation::RandomWrite, writes),
    ]);
    run.target.kind = TargetKind::Imported;
    change(&mut run);
    run.seal();
    let mut found = verify(&run);
    // That such a run has no verdict and no series is not what these tests are about.
    found.retain(|one| one.path.starts_with("phases[") && !one.path.ends_with("intervals"));
    found
}

fn paths(change: impl FnOnce(&mut Run)) -> Vec<String> {
    found_with(700, 300, change).into_iter().map(|one| one.path).collect()
}

#[test]
fn halves_of_one_test_verify() {
    assert_eq!(found_with(700, 300, |_| {}), []);
}

#[test]
fn what_only_one_half_says_is_found_in_both() {
    type Change = fn(&mut Phase);
    let changes: [(&str, Change); 5] = [
        ("mixed", |phase| phase.mixed = Some(Mixed { read_percent: 71 })),
        ("began_ns", |phase| phase.began_ns.0 += 1),
        ("block_bytes", |phase| phase.block_bytes = Bytes(8192)),
        ("queue_depth", |phase| phase.queue_depth = 2),
        ("threads", |phase| phase.threads = 2),
    ];
    for (name, change) in changes {
        let found = paths(|run| change(&mut run.phases[0]));
        for half in 0..2 {
            let path = format!("phases[{half}].{name}");
            assert!(found.contains(&path), "{path}: {found:?}");
        }
    }
    let found = paths(|run| run.phases[1].elapsed_ns.0 += 1);
    assert!(found.contains(&"phases[0].elapsed_ns".to_owned()), "{found:?}");
}

#[test]
fn a_half_without_its_other_half_is_found() {
    type Change = fn(&mut Run);
    let changes: [Change; 6] = [
        |run| drop(run.phases.remove(1)),
        |run| run.phases[1].name = "other".to_owned(),
        |run| run.phases[1].background = Some("other".to_owned()),
        |run| run.phases[1].state = State::Filled,
        |run| run.phases[1].run = 2,
        |run| run.phases[1].operation = Operation::RandomRead,
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let found = found_with(700, 300, change);
        let missing = found.iter().find(|one| one.path == "phases[0].mixed");
        let missing = missing.unwrap_or_else(|| panic!("{index}: {found:?}"));
        assert_eq!(missing.recomputed, "no other half `t_write` in the run", "{index}");
    }
    let found = found_with(700, 300, |run| run.phases[0].background = None);
    assert!(found.iter().any(|one| one.recomputed == "no other half `none` in the run"));
}

#[test]
fn a_phase_that_is_no_half_needs_none() {
    let alone = paths(|run| {
        let half = &mut run.phases[0];
        (half.mixed, half.background) = (None, None);
        run.phases.truncate(1);
    });
    assert_eq!(alone, Vec::<String>::new());
}

/// Whether `reads` of 1,000 operations are taken for 70 in a hundred.
fn is_about(reads: u64, in_flight: u32) -> bool {
    let found = found_with(reads, 1000 - reads, |run| {
        run.phases.iter_mut().for_each(|phase| phase.queue_depth = in_flight);
    });
    let share = found.iter().filter(|one| one.path == "phases[0].ops");
    let differences =
        share.map(|one| (one.stored.clone(), one.recomputed.clone())).collect::<Vec<_>>();
    let expected = (format!("{reads} of 1000 operations"), "about 70 in a hundred".to_owned());
    assert!(differences.is_empty() || differences == [expected], "{differences:?}");
    differences.is_empty()
}

#[test]
fn reads_are_as_many_as_draws_can_give_and_an_operation_more_at_either_end() {
    // Eight deviations: 8·√(1000·0.7·0.3) = 115.93; two more at depth 1, eight more at depth 4.
    for (in_flight, off) in [(1, 117), (4, 123)] {
        assert!(is_about(700 + off, in_flight) && is_about(700 - off, in_flight));
        assert!(!is_about(701 + off, in_flight) && !is_about(699 - off, in_flight));
    }
}

#[test]
fn where_only_reads_were_asked_for_two_writes_for_each_in_flight_may_stand_at_the_ends() {
    let of = |writes: u64| {
        let found = found_with(1000, writes, |run| {
            let halves = run.phases.iter_mut();
            halves.for_each(|phase| phase.mixed = Some(Mixed { read_percent: 100 }));
        });
        found.iter().all(|one| one.path != "phases[0].ops")
    };
    assert!(of(2) && !of(3), "{} {}", of(2), of(3));
}

#[test]
fn a_discrepancy_says_where_it_is_what_is_stored_and_what_follows() {
    let found = found_with(700, 300, |run| run.phases[0].queue_depth = 2);
    let differences: Vec<_> = found.iter().map(ToString::to_string).collect();
    assert!(
        differences.contains(&"phases[0].queue_depth: stored 2, recomputed 1".to_owned()),
        "{differences:?}"
    );
}
