//! Do the numbers of a phase add up?
//!
//! In a closed loop at depth 1 one operation follows the other, so the latencies must fill the
//! elapsed time. If they exceed it (by more than 0.1 %, for the clock readings in between),
//! operations were counted twice or timed wrongly: **fail**. If they fill less than 80 %, a fifth
//! of the time was spent outside of what was timed, and the throughput is the harness's: **fail**.
//!
//! The lower bound has exceptions. If the thread was running, or waiting for a CPU, for all of the
//! missing time, nothing stopped it: calls into memory take less than the work between them, so
//! that is unknown and not failed. Saves prepare their rows outside of the timed part, and a writer
//! without durability ends with one flush that belongs to no operation: for these only the upper
//! bound applies. At depth N the latencies may add up to N times the elapsed time (Little's law).
//! Think times, which the scenario puts between operations, are added to the latencies.

use flashlag_schema::{Check, CheckId, Phase};
use flashlag_spec::scenario::Durability;
use flashlag_units::Nanos;

use crate::evidence::{Evidence, latency_sum, reads};
use crate::finding::{Finding, LONGER, combine, percent, share};

const CLAIM: &str = "Latencies fit the elapsed time";
const MOST: f64 = 1.001;
const LEAST: f64 = 0.80;
const ADVICE: &str = "Run it again; if it happens again this is a bug of the engine: report it \
                      with the run file.";

pub(super) fn check(evidence: &Evidence<'_>) -> Option<Check> {
    let findings = evidence.phases.iter().map(|phase| judge_phase(evidence, phase)).collect();
    combine(CheckId::Accounting, CLAIM, findings)
}

fn judge_phase(evidence: &Evidence<'_>, phase: &Phase) -> Finding {
    if let Some(contradiction) = contradiction(phase) {
        return Finding::fail(Some(phase), contradiction, ADVICE).weighing(2.0);
    }
    let depth = u64::from(phase.in_flight());
    let most = phase.elapsed_ns.0.saturating_mul(depth);
    if most == 0 {
        let detail = "It took no measurable time.";
        return Finding::unknown(Some(phase), detail, LONGER);
    }
    let thought = phase.thought();
    let part = share(latency_sum(phase).0.saturating_add(thought.0), most);
    let lower_bound_holds = phase.closed_loop
        && depth == 1
        && phase.mixed.is_none()
        && phase.operation.is_block_test()
        && (reads(phase) || phase.durable != Durability::None);
    let detail = format!(
        "{} latencies{} take up {} of {}{}{}.",
        flashlag_units::count(phase.ops),
        if thought.0 > 0 { format!(" and {thought} of think time") } else { String::new() },
        percent(part),
        phase.elapsed_ns,
        if depth > 1 { format!(" × {depth}") } else { String::new() },
        match lower_bound_holds || part > MOST {
            true => "",
            false if !phase.closed_loop => "; a schedule paces them, so it need not be all of it",
            false => "; the rest is work between them, which no latency includes",
        }
    );
    if part > MOST {
        return Finding::fail(Some(phase), detail, ADVICE).weighing(part);
    }
    if lower_bound_holds && part < LEAST && was_at_work(phase) {
        let between = most.saturating_sub(latency_sum(phase).0.saturating_add(thought.0));
        let each = Nanos(between.checked_div(phase.ops).unwrap_or_default());
        let detail = format!(
            "{detail} The rest, {each} an operation, is this program's own work between them and its \
             waits for a CPU{}: it is part of MB/s and of no latency.",
            engine(evidence)
        );
        let advice = "Quote the latencies, or use larger blocks: calls shorter than the work \
             between them do not reach storage. Is the directory in memory?";
        return Finding::unknown(Some(phase), detail, advice).weighing(1.0 - part);
    }
    if lower_bound_holds && part < LEAST {
        let detail = detail + " The rest was spent outside of what was timed.";
        let advice = "Something stopped the program between operations: a debugger, SIGSTOP, a \
                      frozen cgroup? Run it again.";
        return Finding::fail(Some(phase), detail, advice).weighing(1.0 - part);
    }
    // If the latencies should fill nearly all of the time, a shortfall is what matters.
    let weight_of_bound = if lower_bound_holds { 1.0 } else { 0.0 };
    Finding::pass(Some(phase), detail).weighing(weight_of_bound - part)
}

/// Whether the thread was on a CPU, or waited for one, for all the time that the latencies leave
/// open. If something stopped the program from outside, it was neither.
fn was_at_work(phase: &Phase) -> bool {
    let Some(time) = phase.time.value().filter(|_| phase.replay.is_none()) else { return false };
    let rest = phase.elapsed_ns.saturating_since(latency_sum(phase).plus(phase.thought()));
    let was_stopped = time.stopped_ns.0 > phase.elapsed_ns.0 / 100;
    !was_stopped && rest <= time.on_cpu_ns.plus(time.runnable_ns)
}

/// The loop's overhead on a device that does nothing, as calibrated.
fn engine(evidence: &Evidence<'_>) -> String {
    let calibrated = evidence.environment.calibration.value();
    let engine = calibrated.and_then(|calibration| calibration.engine.value());
    let engine = engine.map(|engine| Nanos(engine.cpu_picoseconds_per_op / 1000));
    engine.map(|engine| format!(" (the empty loop alone takes {engine})")).unwrap_or_default()
}

/// A histogram, a series and totals of the same operations that contradict each other.
fn contradiction(phase: &Phase) -> Option<String> {
    let counted: u64 = phase.histogram.count.iter().fold(0, |sum, n| sum.saturating_add(*n));
    if counted != phase.ops {
        return Some(format!("{} operations, but {counted} in the histogram.", phase.ops));
    }
    let in_series: u64 = phase.intervals.iter().fold(0, |sum, i| sum.saturating_add(i.ops));
    if !phase.intervals.is_empty() && in_series != phase.ops {
        return Some(format!("{} operations, but {in_series} in the intervals.", phase.ops));
    }
    if phase.operation.is_block_test()
        && phase.bytes.0 != phase.ops.saturating_mul(phase.block_bytes.0)
        && !phase.cut_short
    {
        let blocks = phase.block_bytes;
        return Some(format!("{} operations of {blocks} moved {}.", phase.ops, phase.bytes));
    }
    let longest = phase.histogram.max_ns;
    (longest > phase.elapsed_ns).then(|| {
        format!("One operation took {longest}, longer than the phase ({}).", phase.elapsed_ns)
    })
}

#[cfg(test)]
mod tests {
    use flashlag_schema::{CheckStatus, Mixed, Think};
    use flashlag_spec::Operation;

    use super::*;
    use crate::testing::Case;

    #[test]
    fn latencies_that_fill_the_time_pass() {
        assert_eq!(Case::quiet().status(check), Some(CheckStatus::Pass));
    }

    #[test]
    fn latencies_that_overfill_the_time_fail() {
        let mut case = Case::quiet();
        case.phases[0].elapsed_ns = Nanos(case.phases[0].elapsed_ns.0 / 2);
        assert_eq!(case.status(check), Some(CheckStatus::Fail));
    }

    #[test]
    fn time_outside_of_the_operations_fails_at_depth_one_only() {
        let mut case = Case::quiet();
        case.phases[0].elapsed_ns = Nanos(case.phases[0].elapsed_ns.0 * 2);
        assert_eq!(case.status(check), Some(CheckStatus::Fail));
        case.phases[0].queue_depth = 4;
        assert_eq!(case.status(check), Some(CheckStatus::Pass));
    }

    #[test]
    fn calls_that_are_shorter_than_the_work_between_them_are_unknown_and_a_stop_fails() {
        let second = Nanos::from_secs(1);
        let spent = |on_cpu: u64, runnable: u64| {
            let mut case = filling(Nanos::from_millis(400), second);
            let (on_cpu_ns, runnable_ns) =
                (Nanos::from_millis(on_cpu), Nanos::from_millis(runnable));
            let rest = second.saturating_since(on_cpu_ns.plus(runnable_ns));
            case.phases[0].time = flashlag_spec::Reading::Value(flashlag_schema::Time {
                on_cpu_ns,
                runnable_ns,
                blocked_ns: rest,
                stopped_ns: Nanos::ZERO,
            });
            case.check(check).unwrap()
        };
        // 600 ms are in no latency.
        let at_work = spent(590, 10);
        assert_eq!(at_work.status, CheckStatus::Unknown, "{}", at_work.detail);
        assert!(at_work.detail.contains("the empty loop alone takes"), "{}", at_work.detail);
        assert!(!at_work.advice.unwrap().contains("debugger"));
        let stopped = spent(590, 9);
        assert_eq!(stopped.status, CheckStatus::Fail, "{}", stopped.detail);
        assert!(stopped.advice.unwrap().contains("debugger"));
    }

    #[test]
    fn a_histogram_of_other_operations_fails() {
        let mut case = Case::quiet();
        case.phases[0].histogram.count[0] += 1;
        assert_eq!(case.status(check), Some(CheckStatus::Fail));
    }

    #[test]
    fn a_phase_of_no_time_is_unknown() {
        let mut case = Case::quiet();
        case.phases.truncate(1);
        case.phases[0].ops = 0;
        case.phases[0].bytes.0 = 0;
        case.phases[0].histogram = Default::default();
        case.phases[0].intervals.clear();
        case.phases[0].elapsed_ns = Nanos::ZERO;
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
    }

    type Change = fn(&mut Phase);

    #[test]
    fn think_times_are_added_to_the_latencies() {
        let mut case = Case::quiet();
        let elapsed = case.phases[0].elapsed_ns;
        case.phases[0].elapsed_ns = Nanos(elapsed.0 * 10);
        assert_eq!(case.status(check), Some(CheckStatus::Fail));
        let (each_ns, total_ns) = (Nanos(1), Nanos(elapsed.0 * 9));
        case.phases[0].think = Some(Think { each_ns, total_ns });
        assert_eq!(case.status(check), Some(CheckStatus::Pass));
        // The latencies add up to more than is possible.
        let total_ns = Nanos(elapsed.0 * 10);
        case.phases[0].think = Some(Think { each_ns, total_ns });
        assert_eq!(case.status(check), Some(CheckStatus::Fail));
    }

    /// One phase whose latencies add up to `sum` within `elapsed`.
    fn filling(sum: Nanos, elapsed: Nanos) -> Case {
        let mut case = Case::quiet();
        case.keep_only("rand_write_4k");
        case.phases[0].histogram.sum_ns = sum;
        case.phases[0].elapsed_ns = elapsed;
        case.phases[0].time = flashlag_spec::Reading::Value(flashlag_schema::Time {
            on_cpu_ns: Nanos(elapsed.0 / 10),
            blocked_ns: Nanos(elapsed.0 - elapsed.0 / 10),
            ..Default::default()
        });
        case
    }

    #[test]
    fn one_in_a_thousand_beyond_the_elapsed_time_passes_and_a_nanosecond_more_fails() {
        let second = Nanos::from_secs(1);
        let status = |sum| filling(Nanos(sum), second).status(check);
        assert_eq!(status(1_001_000_000), Some(CheckStatus::Pass));
        assert_eq!(status(1_001_000_001), Some(CheckStatus::Fail));
        let mut deep = filling(Nanos(4_004_000_000), second);
        deep.phases[0].queue_depth = 4;
        assert_eq!(deep.status(check), Some(CheckStatus::Pass));
        deep.phases[0].histogram.sum_ns.0 += 1;
        assert_eq!(deep.status(check), Some(CheckStatus::Fail));
    }

    #[test]
    fn four_fifths_of_the_elapsed_time_pass_and_a_nanosecond_less_fails() {
        let second = Nanos::from_secs(1);
        let found = filling(Nanos::from_millis(800), second).check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Pass);
        let found = filling(Nanos(799_999_999), second).check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Fail);
        assert!(found.detail.ends_with("The rest was spent outside of what was timed."));
    }

    #[test]
    fn half_of_the_time_passes_where_other_work_or_a_schedule_lies_between_the_operations() {
        let spared: [(Change, &str); 5] = [
            (|phase| phase.closed_loop = false, "; a schedule paces them"),
            (|phase| phase.queue_depth = 2, "; the rest is work between them"),
            (|phase| phase.mixed = Some(Mixed { read_percent: 50 }), "; the rest is work"),
            (|phase| phase.operation = Operation::Save, "; the rest is work"),
            (|phase| phase.durable = Durability::None, "; the rest is work"),
        ];
        for (index, (spare, expected)) in spared.into_iter().enumerate() {
            let mut case = filling(Nanos::from_millis(500), Nanos::from_secs(1));
            spare(&mut case.phases[0]);
            let found = case.check(check).unwrap();
            assert_eq!(found.status, CheckStatus::Pass, "{index}: {}", found.detail);
            assert!(found.detail.contains(expected), "{index}: {}", found.detail);
        }
        let mut reads = filling(Nanos::from_millis(500), Nanos::from_secs(1));
        reads.phases[0].operation = Operation::SequentialRead;
        reads.phases[0].durable = Durability::None;
        let found = reads.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Fail, "a reader has nothing else to do");
        assert!(!found.detail.contains("; "), "{}", found.detail);
    }

    #[test]
    fn totals_that_contradict_each_other_fail_and_are_quoted() {
        let spoilt: [(Change, &str); 4] = [
            (|phase| phase.histogram.count[0] += 1, "20000 operations, but 20001 in the histogram"),
            (|phase| phase.intervals[3].ops += 1, "20000 operations, but 20001 in the intervals"),
            (|phase| phase.bytes.0 += 1, "20000 operations of 4.1 kB moved"),
            (
                |phase| phase.histogram.max_ns = phase.elapsed_ns.plus(Nanos(1)),
                "longer than the phase",
            ),
        ];
        for (spoil, expected) in spoilt {
            let mut case = Case::quiet();
            case.keep_only("rand_write_4k");
            spoil(&mut case.phases[0]);
            let found = case.check(check).unwrap();
            assert_eq!(found.status, CheckStatus::Fail, "{expected}");
            assert!(found.detail.contains(expected), "{}", found.detail);
        }
    }

    #[test]
    fn an_operation_as_long_as_the_phase_and_odd_bytes_of_saves_or_a_cut_phase_pass() {
        let fine: [fn(&mut Phase); 4] = [
            |phase| phase.histogram.max_ns = phase.elapsed_ns,
            |phase| phase.intervals.clear(),
            |phase| (phase.operation, phase.bytes.0) = (Operation::Save, 77),
            |phase| (phase.cut_short, phase.bytes.0) = (true, 77),
        ];
        for (index, change) in fine.into_iter().enumerate() {
            let mut case = Case::quiet();
            case.keep_only("rand_write_4k");
            change(&mut case.phases[0]);
            assert_eq!(case.status(check), Some(CheckStatus::Pass), "{index}");
        }
    }

    #[test]
    fn the_phase_that_is_furthest_off_is_quoted_and_a_contradiction_before_all() {
        let shares = |mild: u64, worst: u64| {
            let mut case = Case::twice("rand_write_4k");
            for (phase, part) in case.phases.iter_mut().zip([mild, worst]) {
                phase.elapsed_ns = Nanos::from_secs(1);
                phase.histogram.sum_ns = Nanos::from_millis(part);
            }
            case
        };
        for (mild, worst) in [(700, 500), (1_200, 1_500), (400, 1_500), (990, 850)] {
            assert_eq!(shares(mild, worst).quoted(check), "worst", "{mild} {worst}");
        }
        let mut contradictory = shares(300, 990);
        contradictory.phases[1].intervals.clear();
        contradictory.phases[1].histogram.count[0] += 1;
        assert_eq!(contradictory.quoted(check), "worst");
        // Among phases in which time may pass between operations, the one with the largest share
        // comes after all others.
        let mut saves = shares(900, 500);
        saves.phases.iter_mut().for_each(|phase| phase.operation = Operation::Save);
        assert_eq!(saves.quoted(check), "worst");
        let mut save = shares(500, 990);
        save.phases[0].operation = Operation::Save;
        assert_eq!(save.quoted(check), "worst", "latencies that must fill the time come first");
    }
}
