//! Each bound of the verification holds at its value and not one step beyond.
#![allow(clippy::unwrap_used)]

use flashlag_schema::verify::verify;
use flashlag_schema::{Run, StallCause, Think, Time};
use flashlag_spec::Reading;
use flashlag_units::Nanos;

fn is_found(path: &str, change: impl FnOnce(&mut Run)) -> bool {
    let mut run = flashlag_testing::small_run();
    change(&mut run);
    run.seal();
    verify(&run).iter().any(|discrepancy| discrepancy.path == path)
}

/// A change of the run by `steps` from the bound: 0 is the last value that holds.
type Change = fn(&mut Run, u64);

const BOUNDS: [(&str, Change); 19] = [
    ("phases[0].intervals[4].t_ns", |run, steps| {
        run.phases[0].intervals[4].t_ns = Nanos(run.phases[0].elapsed_ns.0 + steps);
    }),
    ("phases[0].intervals[1].t_ns", |run, steps| {
        let before = run.phases[0].intervals[0].t_ns.0;
        run.phases[0].intervals[1].t_ns = Nanos(before - steps);
    }),
    ("phases[0].stalls[0].ns", |run, steps| {
        let limit = run.phases[0].stall_over_ns.0;
        run.phases[0].stalls[0].ns = Nanos(limit + 1 - steps);
    }),
    ("phases[0].stalls[0].t_ns", |run, steps| {
        run.phases[0].stalls[0].t_ns = Nanos(run.phases[0].elapsed_ns.0 + steps);
    }),
    ("phases[0].stalls[1].t_ns", |run, steps| {
        let before = run.phases[0].stalls[0].t_ns.0;
        run.phases[0].stalls[1].t_ns = Nanos(before - steps);
    }),
    // The recorder saw four: every 97th of 400 operations, each by far beyond the limit.
    ("phases[0].stalls_seen", |run, steps| run.phases[0].stalls_seen = 4 + steps),
    ("phases[0].stalls_seen", |run, steps| run.phases[0].stalls_seen = 4 - steps),
    ("phases[0].stalls", |run, steps| {
        let (phase, kept) = (&mut run.phases[0], 1000 + steps);
        let longest = phase.stalls.iter().max_by_key(|stall| stall.ns).unwrap().clone();
        phase.stalls = vec![longest; kept as usize];
        phase.stalls_seen = 5000;
    }),
    ("phases[0].flush_histogram", |run, steps| {
        run.phases[0].flush_histogram.as_mut().unwrap().count[0] += steps;
    }),
    ("phases[0].response_histogram", |run, steps| {
        run.phases[0].response_histogram.as_mut().unwrap().count[0] += steps;
    }),
    ("phases[0].final_flush_ns", |run, steps| {
        let phase = &mut run.phases[0];
        let last = phase.intervals.last().unwrap().t_ns;
        phase.final_flush_ns = Some(Nanos(phase.elapsed_ns.0 - last.0 + steps));
    }),
    ("phases[0].stopped_ns", |run, steps| {
        run.phases[0].stopped_ns = Some(Nanos(run.phases[0].elapsed_ns.0 + steps));
    }),
    ("phases[0].think.total_ns", |run, steps| {
        let phase = &mut run.phases[0];
        (phase.queue_depth, phase.threads) = (2, 3);
        let total_ns = Nanos(phase.elapsed_ns.0 * 6 + steps);
        phase.think = Some(Think { each_ns: Nanos(1), total_ns });
    }),
    ("phases[0].time.stopped_ns", |run, steps| {
        run.phases[0].stopped_ns = Some(Nanos(50));
        run.phases[0].time =
            Reading::Value(Time { stopped_ns: Nanos(50 + steps), ..Time::default() });
    }),
    ("phases[0].stalls[0].time.stopped_ns", |run, steps| {
        run.phases[0].stopped_ns = Some(Nanos(50));
        let time = Time { stopped_ns: Nanos(50 + steps), ..Time::default() };
        run.phases[0].stalls[0].time = Some(time);
    }),
    ("phases[0].changes[0].t_ns", |run, steps| {
        run.phases[0].changes[0].t_ns = Nanos(run.phases[0].elapsed_ns.0 + steps);
    }),
    ("phases[0].waits", |run, steps| {
        let phase = &mut run.phases[0];
        let others: u64 = phase.waits[1..].iter().map(|wait| wait.ops).sum();
        phase.waits[0].ops = phase.ops - others + steps;
    }),
    ("phases[0].waits[1].from_ns", |run, steps| {
        let first = run.phases[0].waits[0].from_ns.0;
        run.phases[0].waits[1].from_ns = Nanos(if steps == 0 { first * 2 } else { first });
    }),
    // Half of a wait is no cause; more than half is one.
    ("phases[0].stalls[0].cause", |run, steps| {
        let stall = &mut run.phases[0].stalls[0];
        let (blocked_ns, runnable_ns) = (Nanos(500 + steps), Nanos(500));
        stall.time = Some(Time { blocked_ns, runnable_ns, ..Time::default() });
        stall.cause = StallCause::Mixed;
    }),
];

#[test]
fn each_bound_holds_at_its_value_and_not_one_step_beyond() {
    for (index, (path, change)) in BOUNDS.iter().enumerate() {
        assert!(!is_found(path, |run| change(run, 0)), "{index}: {path} holds at its bound");
        assert!(is_found(path, |run| change(run, 1)), "{index}: {path} is found beyond");
    }
}

#[test]
fn each_part_of_a_wait_is_its_cause_from_just_over_half_on() {
    type Part = fn(&mut Time) -> &mut Nanos;
    let parts: [(StallCause, Part); 4] = [
        (StallCause::Storage, |time| &mut time.blocked_ns),
        (StallCause::Cpu, |time| &mut time.runnable_ns),
        (StallCause::Executing, |time| &mut time.on_cpu_ns),
        (StallCause::Stopped, |time| &mut time.stopped_ns),
    ];
    for (cause, part) in parts {
        for (length, expected) in [(500, StallCause::Mixed), (501, cause)] {
            let rest = if cause == StallCause::Cpu { parts[0].1 } else { parts[1].1 };
            let mut time = Time::default();
            *part(&mut time) = Nanos(length);
            *rest(&mut time) = Nanos(500);
            let is_wrong = is_found("phases[0].stalls[0].cause", |run| {
                run.phases[0].stalls[0].time = Some(time);
                run.phases[0].stalls[0].cause = expected;
            });
            assert!(!is_wrong, "{length} of {cause:?} beside 500 is {expected:?}");
        }
    }
}

#[test]
fn a_final_flush_is_of_a_phase_that_writes_blocks() {
    let flush = |phase: usize| {
        is_found(&format!("phases[{phase}].final_flush_ns"), |run| {
            run.phases[phase].final_flush_ns = Some(Nanos::ZERO);
        })
    };
    assert_eq!([flush(0), flush(1), flush(2)], [false, true, true]);
}

#[test]
fn a_think_time_is_of_a_closed_loop() {
    let found = |closed_loop: bool| {
        is_found("phases[0].think", |run| {
            let phase = &mut run.phases[0];
            phase.closed_loop = closed_loop;
            phase.think = Some(Think { each_ns: Nanos(1), total_ns: Nanos(1) });
        })
    };
    assert_eq!([found(true), found(false)], [false, true]);
}
