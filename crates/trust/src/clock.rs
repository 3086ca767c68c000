//! Is the clock reliable?
//!
//! - Between the first and the last counters of a run, `CLOCK_MONOTONIC` and `CLOCK_BOOTTIME` must
//!   advance equally. They differ only by the time in suspension, so a difference above 1 ms (a
//!   thousand times their reading error) means that the machine slept in between: fail. NTP may
//!   steer the wall clock by at most 500 ppm (adjtimex). If it differs from the elapsed time by
//!   more than 1 % and a second, one of the two jumped, and it is not known which: unknown.
//! - A phase can't have lasted longer than the time between the counters around it, which another
//!   part of the program reads. Nor can the disk have been busy for longer than that (`io_ticks`
//!   has the resolution of a jiffy, so 5 % and 50 ms are allowed). The counters are read before a
//!   phase's clock starts and after it has stopped, so the time between them is always the longer
//!   one; 1 ms is allowed for the two clocks' rates.
//! - Resolution and cost of a reading are compared with the shortest median latency. Above 10 % of
//!   it the latencies are the clock's (fail), above 2 % they are distorted (unknown); below that
//!   the effect is under three times the histogram's own error of 0.8 %.

use flashlag_schema::counters::CounterDelta;
use flashlag_schema::{Check, CheckId, Phase};
use flashlag_spec::Calibration;
use flashlag_units::Nanos;

use crate::evidence::Evidence;
use crate::finding::{Finding, combine, percent, share};

const CLAIM: &str = "The clock runs evenly, in fine steps, and is cheap to read";
/// By how much a phase may exceed the time around it.
const SLACK: Nanos = Nanos::from_millis(1);
const SUSPENSION: Nanos = Nanos::from_millis(1);
const COLOURED: f64 = 0.02;
const DROWNED: f64 = 0.10;

pub(super) fn check(evidence: &Evidence<'_>) -> Option<Check> {
    let mut findings = vec![against_other_clocks(evidence), against_latency(evidence)];
    for (phase, counted) in evidence.counted() {
        findings.extend(counted.and_then(|counted| bytes_times_time(phase, &counted)));
    }
    combine(CheckId::Clock, CLAIM, findings)
}

fn against_other_clocks(evidence: &Evidence<'_>) -> Finding {
    let Some((from, to)) = evidence.ends() else {
        return Finding::unknown(
            None,
            "The clocks were not compared over the run.",
            "Run it again without --resume.",
        );
    };
    let passed = to.since(from);
    let apart = passed.elapsed.0.abs_diff(passed.elapsed_boottime.0);
    if Nanos(apart) > SUSPENSION {
        return Finding::fail(
            None,
            format!("The machine slept for {} during the run.", Nanos(apart)),
            "Keep it awake (systemd-inhibit; on a phone, a wake lock) and run it again.",
        );
    }
    let wall = passed.elapsed_realtime.value();
    let jumped = wall.is_none_or(|wall| {
        let off = wall.0.abs_diff(passed.elapsed.0);
        off > 1_000_000_000 && share(off, passed.elapsed.0) > 0.01
    });
    if jumped {
        let wall = wall.map_or_else(|| "went back".to_owned(), |wall| format!("shows {wall}"));
        return Finding::unknown(
            None,
            format!("The run took {}, but the wall clock {wall}: one jumped.", passed.elapsed),
            "Let the machine's time settle (NTP) and run it again.",
        );
    }
    Finding::pass(None, format!("Three clocks agree over {}.", passed.elapsed))
}

fn against_latency(evidence: &Evidence<'_>) -> Finding {
    let advice = "Run it again: the clock is measured at the start of every run.";
    let Some(calibration) = evidence.environment.calibration.value() else {
        return Finding::unknown(None, "The clock was not calibrated in this run.", advice);
    };
    if calibration.clock.steps_back > 0 {
        return Finding::fail(
            None,
            match calibration.clock.steps_back {
                1 => "The monotonic clock went back once.".to_owned(),
                times => format!("The monotonic clock went back {times} times."),
            },
            "Choose another clock source (/sys/devices/system/clocksource) or machine.",
        );
    }
    let medians = evidence.phases.iter().filter_map(|phase| Some((phase, phase.latency_ns.p50?)));
    let Some((phase, shortest)) = medians.min_by_key(|(_, median)| *median) else {
        return Finding::unknown(None, "No phase has a median to compare with.", "Run it longer.");
    };
    judge_fineness(calibration, phase, shortest)
}

fn judge_fineness(calibration: &Calibration, phase: &Phase, shortest: Nanos) -> Finding {
    let clock = &calibration.clock;
    let resolution = clock.resolution_ns.value().or(clock.claimed_resolution_ns.value());
    let Some(resolution) = resolution.copied() else {
        let advice = "See `cat /sys/devices/system/clocksource/clocksource0/current_clocksource`.";
        return Finding::unknown(None, "The clock's resolution could not be found.", advice);
    };
    let cost = Nanos(clock.cost_picoseconds.div_ceil(1000));
    let part = share(resolution.0.max(cost.0), shortest.0);
    let detail = format!(
        "It steps by {resolution} and costs {cost} a reading: {} of the shortest median, {shortest} \
         in {}.",
        percent(part),
        phase.label()
    );
    let advice = "Use a machine with a finer clock (tsc, arch_sys_counter), or larger blocks.";
    if part > DROWNED {
        Finding::fail(None, detail, advice).weighing(part)
    } else if part > COLOURED {
        Finding::unknown(None, detail, advice).weighing(part)
    } else {
        Finding::pass(None, detail).weighing(1.0)
    }
}

fn bytes_times_time(phase: &Phase, counted: &CounterDelta) -> Option<Finding> {
    let around = counted.elapsed_boottime;
    let advice = "The clocks of this machine contradict each other: use another one.";
    let beyond = phase.elapsed_ns.saturating_since(around);
    if beyond > SLACK {
        // Print the difference: both times may look the same when rounded.
        let detail = format!("It lasted {beyond} longer than the {around} that passed around it.");
        return Some(Finding::fail(Some(phase), detail, advice));
    }
    let busy = counted.disk.value()?.io_ticks;
    let most = Nanos((u128::from(around.0) * 105 / 100) as u64).plus(Nanos::from_millis(50));
    // Several disks can be busy at the same time, and their times are summed.
    (busy > most && around.0 > 0 && busy.0 / around.0 < 2).then(|| {
        let detail = format!("The disk was busy for {busy} within {around}.");
        Finding::fail(Some(phase), detail, advice)
    })
}

#[cfg(test)]
mod tests {
    use flashlag_schema::CheckStatus;
    use flashlag_spec::Reading;

    use super::*;
    use crate::testing::Case;

    #[test]
    fn clocks_that_agree_pass() {
        assert_eq!(Case::quiet().status(check), Some(CheckStatus::Pass));
    }

    #[test]
    fn a_suspended_machine_fails() {
        let mut case = Case::quiet();
        case.last_counters().at_boottime.0 += 3_000_000_000;
        let found = case.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Fail);
        assert!(found.detail.contains("slept for 3.0 s"), "{}", found.detail);
    }

    #[test]
    fn a_wall_clock_that_jumped_is_unknown() {
        let mut case = Case::quiet();
        case.last_counters().at_realtime.0 += 3_600_000_000_000;
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
    }

    #[test]
    fn a_phase_longer_than_the_time_around_it_fails() {
        let mut case = Case::quiet();
        case.phases[0].elapsed_ns = Nanos::from_secs(1000);
        assert_eq!(case.status(check), Some(CheckStatus::Fail));
    }

    #[test]
    fn a_phase_that_lasted_a_little_too_long_is_reported_by_how_much_and_not_by_two_equal_times() {
        let mut case = Case::quiet();
        let around = case.time_around(0);
        case.phases[0].elapsed_ns = around.plus(Nanos::from_micros(900));
        assert_eq!(case.status(check), Some(CheckStatus::Pass));
        case.phases[0].elapsed_ns = around.plus(Nanos::from_micros(2_100));
        let found = case.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Fail);
        assert!(found.detail.contains("It lasted 2.1 ms longer than the"), "{}", found.detail);
        assert_eq!(found.detail.matches(&around.to_string()).count(), 1, "{}", found.detail);
    }

    #[test]
    fn a_clock_coarser_than_the_latencies_fails() {
        let mut case = Case::quiet();
        case.calibrate(|c| c.clock.resolution_ns = Reading::Value(Nanos::from_millis(10)));
        assert_eq!(case.status(check), Some(CheckStatus::Fail));
    }

    #[test]
    fn without_calibration_it_is_unknown() {
        let mut case = Case::quiet();
        case.environment.calibration = Reading::default();
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
    }

    #[test]
    fn a_millisecond_between_the_clocks_passes_and_a_nanosecond_more_is_a_suspension() {
        for (ahead, status) in [(1_000_000, CheckStatus::Pass), (1_000_001, CheckStatus::Fail)] {
            let mut case = Case::quiet();
            case.last_counters().at_boottime.0 += ahead;
            assert_eq!(case.status(check), Some(status), "{ahead}");
        }
    }

    #[test]
    fn the_wall_clock_may_be_off_by_a_second_and_by_a_hundredth_and_not_by_more_than_both() {
        // 10 s and 1,000 s from the first counters to the last.
        for (seconds, granted) in [(10, 1_000_000_000), (1000, 10_000_000_000)] {
            for (beyond, status) in [(0, CheckStatus::Pass), (1, CheckStatus::Unknown)] {
                let mut case = Case::quiet();
                let (start, _) = case.baseline.clone();
                let passed = Nanos::from_secs(seconds);
                let last = case.last_counters();
                last.at = start.at.plus(passed);
                last.at_boottime = start.at_boottime.plus(passed);
                last.at_realtime = start.at_realtime.plus(passed).plus(Nanos(granted + beyond));
                assert_eq!(case.status(check), Some(status), "{seconds} s, {beyond} ns beyond");
            }
        }
    }

    #[test]
    fn a_wall_clock_that_went_back_is_unknown() {
        let mut case = Case::quiet();
        case.last_counters().at_realtime = Nanos(1);
        let found = case.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Unknown);
        assert!(found.detail.contains("the wall clock went back"), "{}", found.detail);
    }

    #[test]
    fn a_phase_may_last_a_millisecond_beyond_the_time_around_it() {
        for (beyond, status) in [(1_000_000, CheckStatus::Pass), (1_000_001, CheckStatus::Fail)] {
            let mut case = Case::quiet();
            case.phases[0].elapsed_ns = case.time_around(0).plus(Nanos(beyond));
            assert_eq!(case.status(check), Some(status), "{beyond}");
        }
    }

    #[test]
    fn a_disk_busy_5_percent_and_50_ms_beyond_the_time_passes_and_a_nanosecond_more_fails() {
        let mut case = Case::quiet();
        let around = case.time_around(0).0;
        let most = around + around / 20 + 50_000_000;
        for (busy, status) in [
            (most, CheckStatus::Pass),
            (most + 1, CheckStatus::Fail),
            (2 * around - 1, CheckStatus::Fail),
            // Several disks: their times are summed.
            (2 * around, CheckStatus::Pass),
        ] {
            case.disk(0, |disk| disk.io_ticks = Nanos(busy));
            assert_eq!(case.status(check), Some(status), "{busy} of {around}");
        }
    }

    /// Checks phases with medians of 50 µs, and one of 70 µs, with a clock of this resolution and
    /// cost.
    fn fineness(resolution: u64, cost_picoseconds: u64) -> Check {
        let mut case = Case::quiet();
        case.phases.iter_mut().for_each(|phase| phase.latency_ns.p50 = Some(Nanos(50_000)));
        case.phases[0].latency_ns.p50 = Some(Nanos(70_000));
        case.calibrate(|c| {
            c.clock.resolution_ns = Reading::Value(Nanos(resolution));
            c.clock.cost_picoseconds = cost_picoseconds;
        });
        case.check(check).unwrap()
    }

    #[test]
    fn a_clock_of_2_percent_of_the_shortest_median_passes_and_of_more_than_10_fails() {
        for (clock, status) in [
            (1_000, CheckStatus::Pass),
            (1_001, CheckStatus::Unknown),
            (5_000, CheckStatus::Unknown),
            (5_001, CheckStatus::Fail),
        ] {
            assert_eq!(fineness(clock, 0).status, status, "steps of {clock} ns");
            assert_eq!(fineness(1, clock * 1000).status, status, "a cost of {clock} ns");
            // A fraction of a nanosecond counts as a whole one.
            assert_eq!(fineness(1, clock * 1000 - 999).status, status, "just below {clock} ns");
        }
        let expected = fineness(1_001, 0).detail;
        assert!(
            expected.contains("of the shortest median, 50 µs in new: rand_read_4k"),
            "{expected}"
        );
    }

    #[test]
    fn a_clock_that_went_back_even_once_fails() {
        for (times, expected) in [(1, "went back once."), (2, "went back 2 times.")] {
            let mut case = Case::quiet();
            case.calibrate(|c| c.clock.steps_back = times);
            let found = case.check(check).unwrap();
            assert_eq!(found.status, CheckStatus::Fail);
            assert!(found.detail.contains(expected), "{}", found.detail);
        }
    }
}
