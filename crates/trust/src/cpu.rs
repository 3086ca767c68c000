//! Did the measuring thread have a CPU whenever it needed one?
//!
//! The scheduler reports how long the thread was runnable but not running. Three thresholds:
//! - Above 5 % of a phase's time, while less than half a CPU was idle: **fail**. Another program
//!   held the CPUs, and its time slices (0.7 to 4 ms) are in the latencies as if the storage had
//!   taken them. Two runs on one device differ by less than 5 % in total.
//! - The slowest sampled operations (at or above the p99) were runnable for more than half of their
//!   time: **fail** whatever the mean is, since the tail is what is quoted.
//! - Above 5 % although CPUs were idle: waking an idle CPU counts as runnable, too. Up to 50 µs per
//!   operation is the cost of leaving an idle state, which an application on this machine pays as
//!   well: pass. A quota that held the process back, or more than 1 ms: fail. Else: unknown.
//!
//! The hypervisor's share (`steal`) is not in the scheduler's figures: above 5 % of all CPU time
//! fail, above 1 % unknown. Block I/O with a schedule sleeps on purpose: its samples are judged.

use flashlag_schema::counters::{CounterDelta, CpuTimes};
use flashlag_schema::{Check, CheckCause, CheckId, CheckStatus, Phase, Time};
use flashlag_spec::Operation;
use flashlag_units::Nanos;

use crate::evidence::Evidence;
use crate::finding::{Finding, combine, percent, share};

const CLAIM: &str = "The measuring thread had a CPU when it wanted one";
const MOST_RUNNABLE: f64 = 0.05;
const IDLE_CPUS_NEEDED: f64 = 0.5;
const WAKE_UP: Nanos = Nanos::from_micros(50);
const QUOTA: Nanos = Nanos::from_millis(1);
const STEAL_SEEN: f64 = 0.01;
const STEAL_TOO_MUCH: f64 = 0.05;
/// Fewer samples of slow operations say nothing about the tail.
const LEAST_TAIL: u64 = 10;
/// The text if the CPU was not most of the wait.
const ADDED: &str = "The CPU added to these waits.";
const ADVICE: &str = "Stop what else is running (see top), or wait until it is done; then run \
                      again.";

pub(super) fn check(evidence: &Evidence<'_>) -> Option<Check> {
    let findings = evidence.counted().enumerate().map(|(index, (phase, counted))| {
        let around = evidence.counters.get(index).and_then(Option::as_ref);
        let quota = around.and_then(|(before, after)| crate::limits::quota(before, after));
        with_quota(judge_phase(phase, counted, quota.is_some()), quota)
    });
    let findings = findings.collect();
    combine(CheckId::CpuContention, CLAIM, findings)
}

/// If a CPU quota held the process back, the advice is to change the quota, and not to end other
/// programs.
fn with_quota(found: Finding, quota: Option<(String, String)>) -> Finding {
    match quota {
        Some((words, advice)) if found.status != CheckStatus::Pass => {
            Finding { detail: found.detail + &words, advice, ..found }
        }
        _ => found,
    }
}

fn judge_phase(phase: &Phase, counted: Option<CounterDelta>, held: bool) -> Finding {
    let Some(time) = time(phase) else {
        let reason = phase.time.reason().unwrap_or("its time was not split");
        let detail = format!("Where the thread's time went is not known: {reason}.");
        let advice = "Use a kernel with scheduler statistics (CONFIG_SCHED_INFO).";
        return Finding::unknown(Some(phase), detail, advice);
    };
    let total = time.total();
    let part = share(time.runnable_ns.0, total.0);
    let per_op = Nanos(time.runnable_ns.0 / split_ops(phase).max(1));
    let system = counted.as_ref().map(system);
    let seen = format!(
        "It waited for a CPU {} of its time, {per_op} an operation.{}",
        percent(part),
        system.as_ref().map(|system| system.words.as_str()).unwrap_or_default()
    );
    let cause = |words: &str| format!("The CPU was the cause, not the storage. {words}");
    if let Some((tail, slowest)) = tail(phase) {
        let detail = cause(&format!(
            "The slowest operations waited for a CPU {} of their time ({tail} were sampled). {seen}",
            percent(slowest)
        ));
        let found = Finding::fail(Some(phase), detail, ADVICE).weighing(1.0 + slowest);
        return found.caused_by(CheckCause::CpuMost);
    }
    let steal = system.as_ref().map_or(0.0, |system| system.steal);
    if steal > STEAL_TOO_MUCH {
        let detail = cause(&format!("The hypervisor took {} of the CPUs. {seen}", percent(steal)));
        let advice = "Other machines share this host: run it when the host is quiet.";
        let found = Finding::fail(Some(phase), detail, advice).weighing(steal);
        return found.caused_by(CheckCause::CpuMost);
    }
    let idle = system.as_ref().and_then(|system| system.idle_cpus);
    let crowded = idle.is_some_and(|idle| idle < IDLE_CPUS_NEEDED);
    if part > MOST_RUNNABLE && (crowded || held || per_op > QUOTA) {
        let is_most = part > 0.5;
        let blame = if is_most { CheckCause::CpuMost } else { CheckCause::CpuAdded };
        let detail = if is_most { cause(&seen) } else { format!("{ADDED} {seen}") };
        return Finding::fail(Some(phase), detail, ADVICE).weighing(part).caused_by(blame);
    }
    if part > MOST_RUNNABLE && (per_op > WAKE_UP || idle.is_none()) {
        let advice = "Set the CPU governor to performance and lift CPU quotas, then run again.";
        return Finding::unknown(Some(phase), seen, advice).weighing(part);
    }
    if steal > STEAL_SEEN {
        let detail = format!("The hypervisor took {} of the CPUs. {seen}", percent(steal));
        let advice = "Other machines share this host: run it when the host is quiet.";
        return Finding::unknown(Some(phase), detail, advice).weighing(steal);
    }
    Finding::pass(Some(phase), seen).weighing(part)
}

/// Whether the thread's time contains only operations: saves exclude the sleep of a schedule.
fn never_sleeps(phase: &Phase) -> bool {
    // The parts of a replay share their threads: each part's time is that of all.
    phase.replay.is_none() && (phase.closed_loop || phase.operation == Operation::Save)
}

/// The thread's time; for a phase that sleeps on a schedule, the time of its sampled operations.
fn time(phase: &Phase) -> Option<Time> {
    if never_sleeps(phase) {
        return phase.time.value().copied().filter(|time| time.total() > Nanos::ZERO);
    }
    let sampled = phase.waits.iter().fold(Time::default(), |sum, class| sum.plus(&class.time));
    (sampled.total() > Nanos::ZERO).then_some(sampled)
}

/// How many operations that time contains.
fn split_ops(phase: &Phase) -> u64 {
    if never_sleeps(phase) { phase.ops } else { phase.waits.iter().map(|class| class.ops).sum() }
}

/// The slowest operations, if they waited for a CPU for most of their time: how many were sampled,
/// and the share. They are in the classes that begin above the median and end above the p99. A
/// class within twice the median also holds ordinary operations and says nothing about the tail.
fn tail(phase: &Phase) -> Option<(u64, f64)> {
    let (median, p99) = (phase.latency_ns.p50?, phase.latency_ns.p99?);
    let slow = phase.waits.iter().filter(|class| class.from_ns > median && class.below_ns > p99);
    let (ops, time) = slow
        .fold((0, Time::default()), |(ops, time), class| (ops + class.ops, time.plus(&class.time)));
    let part = share(time.runnable_ns.0, time.total().0);
    (ops >= LEAST_TAIL && part > 0.5).then_some((ops, part))
}

/// Which process used the CPUs most, if it used at least a tenth of one.
fn busiest(counted: &CounterDelta) -> String {
    let neighbours = counted.neighbours.value().into_iter().flatten();
    let Some(busiest) = neighbours.max_by_key(|neighbour| neighbour.cpu) else {
        return String::new();
    };
    let cpus = share(busiest.cpu.0, counted.elapsed.0);
    if cpus < 0.1 {
        return String::new();
    }
    let how_many = match busiest.processes {
        1 => String::new(),
        count => format!(" ({count} processes)"),
    };
    let unit = if format!("{cpus:.1}") == "1.0" { "CPU" } else { "CPUs" };
    format!(" `{}`{how_many} used the most: {cpus:.1} {unit}.", busiest.name)
}

/// The work of the whole system in the meantime.
struct System {
    idle_cpus: Option<f64>,
    steal: f64,
    words: String,
}

fn system(counted: &CounterDelta) -> System {
    let cpu = counted.cpu.value().filter(|cpu| cpu.total > Nanos::ZERO);
    let pressure = counted.pressure_cpu.value().map(|time| share(time.0, counted.elapsed.0));
    let idle_cpus = cpu.map(|cpu: &CpuTimes| share(cpu.idle.0, counted.elapsed.0));
    let mut words = String::new();
    if let (Some(cpu), Some(_)) = (cpu, idle_cpus) {
        words +=
            &format!(" The CPUs were idle {} of the time", percent(share(cpu.idle.0, cpu.total.0)));
    }
    if let Some(pressure) = pressure {
        let waited = percent(pressure.min(1.0));
        words += &if words.is_empty() {
            format!(" Some task on the machine waited for one {waited} of the time")
        } else {
            format!(", and some task on the machine waited for one {waited} of it")
        };
    }
    words += if words.is_empty() { "" } else { "." };
    words += &busiest(counted);
    System { idle_cpus, steal: cpu.map_or(0.0, |cpu| share(cpu.steal.0, cpu.total.0)), words }
}

#[cfg(test)]
mod tests {
    use flashlag_schema::WaitRecord;
    use flashlag_schema::counters::{Counters, Neighbour};
    use flashlag_spec::Reading;
    use flashlag_units::Bytes;

    use super::*;
    use crate::testing::Case;

    /// Turns half of the phase's blocked time into waiting for a CPU.
    fn starve(case: &mut Case, index: usize, part: f64) {
        let elapsed = case.phases[index].elapsed_ns;
        let runnable = Nanos((elapsed.0 as f64 * part) as u64);
        case.phases[index].time = Reading::Value(Time {
            on_cpu_ns: Nanos::ZERO,
            runnable_ns: runnable,
            blocked_ns: elapsed.saturating_since(runnable),
            stopped_ns: Nanos::ZERO,
        });
    }

    #[test]
    fn a_quiet_machine_passes() {
        let found = Case::quiet().check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Pass, "{}", found.detail);
    }

    #[test]
    fn busy_loops_on_every_cpu_fail_and_are_named_as_the_cause() {
        let mut case = Case::quiet();
        let index = case.index_of("rand_write_4k");
        starve(&mut case, index, 0.15);
        case.cpu(index, |cpu| cpu.idle = Nanos::ZERO);
        let found = case.check(check).unwrap();
        assert_eq!((found.status, found.phases.len()), (CheckStatus::Fail, 1));
        assert_eq!(found.cause, Some(CheckCause::CpuAdded));
        assert!(found.detail.contains("The CPU added to these waits. "), "{}", found.detail);
        assert!(found.detail.contains("15%"), "{}", found.detail);
        starve(&mut case, index, 0.6);
        let found = case.check(check).unwrap();
        assert_eq!((found.status, found.phases.len()), (CheckStatus::Fail, 1));
        assert_eq!(found.cause, Some(CheckCause::CpuMost));
        assert!(found.detail.contains("The CPU was the cause"), "{}", found.detail);
        assert!(found.detail.contains("60%"), "{}", found.detail);
    }

    #[test]
    fn waking_idle_cpus_passes_and_a_quota_fails() {
        let mut case = Case::quiet();
        let index = case.index_of("rand_write_4k");
        starve(&mut case, index, 0.08);
        let per_op = case.phases[index].elapsed_ns.0 * 8 / 100 / case.phases[index].ops;
        assert!(per_op < WAKE_UP.0, "{per_op}");
        assert_eq!(case.status(check), Some(CheckStatus::Pass));
        starve(&mut case, index, 0.5);
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
        case.phases[index].ops = 100;
        assert_eq!(case.status(check), Some(CheckStatus::Fail));
    }

    #[test]
    fn a_tail_that_waited_for_a_cpu_fails_though_the_mean_is_small() {
        let mut case = Case::quiet();
        let index = case.index_of("rand_write_4k");
        case.phases[index].waits.push(WaitRecord {
            from_ns: Nanos(1 << 24),
            below_ns: Nanos(1 << 25),
            ops: 12,
            time: Time {
                on_cpu_ns: Nanos::ZERO,
                runnable_ns: Nanos::from_millis(200),
                blocked_ns: Nanos::from_millis(10),
                stopped_ns: Nanos::ZERO,
            },
        });
        let found = case.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Fail, "{}", found.detail);
        assert!(found.detail.contains("slowest"), "{}", found.detail);
    }

    #[test]
    fn stolen_time_is_unknown_then_fails() {
        for (stolen, status) in [(0.03, CheckStatus::Unknown), (0.2, CheckStatus::Fail)] {
            let mut case = Case::quiet();
            case.cpu(0, |cpu| cpu.steal = Nanos((cpu.total.0 as f64 * stolen) as u64));
            assert_eq!(case.status(check), Some(status), "{stolen}");
        }
    }

    #[test]
    fn a_kernel_that_keeps_no_times_is_unknown() {
        let mut case = Case::quiet();
        case.phases[0].time = Reading::unavailable("no scheduler statistics");
        let found = case.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Unknown);
        assert!(found.advice.is_some());
    }

    /// A phase of 20,000 operations whose thread was runnable for `runnable` of every `of`
    /// nanoseconds, `per_op` for each operation, while CPUs were idle for `idle`.
    fn waited(runnable: u64, of: u64, per_op: u64, idle: f64) -> (CheckStatus, Option<CheckCause>) {
        let mut case = Case::quiet();
        case.keep_only("rand_write_4k");
        let phase = &mut case.phases[0];
        let total = phase.ops * per_op / runnable * of;
        assert_eq!(phase.ops * per_op % runnable, 0, "whole numbers");
        phase.time = Reading::Value(Time {
            runnable_ns: Nanos(phase.ops * per_op),
            blocked_ns: Nanos(total - phase.ops * per_op),
            ..Time::default()
        });
        case.after(0, |(before, after)| after.at = before.at.plus(Nanos::from_secs(4)));
        case.cpu(0, |cpu| {
            cpu.idle = Nanos((4e9 * idle) as u64);
            cpu.total = Nanos::from_secs(8);
        });
        let found = case.check(check).unwrap();
        (found.status, found.cause)
    }

    #[test]
    fn five_percent_of_the_time_runnable_passes_on_busy_cpus_and_more_fails() {
        assert_eq!(waited(5, 100, 10_000, 0.0).0, CheckStatus::Pass);
        assert_eq!(
            waited(500, 9_999, 10_000, 0.0),
            (CheckStatus::Fail, Some(CheckCause::CpuAdded))
        );
    }

    #[test]
    fn the_same_wait_fails_where_less_than_half_a_cpu_was_idle_and_else_is_a_wake_up() {
        assert_eq!(waited(8, 100, 10_000, 0.499_999).0, CheckStatus::Fail);
        assert_eq!(waited(8, 100, 10_000, 0.5).0, CheckStatus::Pass);
    }

    #[test]
    fn up_to_50_us_an_operation_is_a_wake_up_and_above_a_millisecond_a_quota() {
        assert_eq!(waited(8, 100, 50_000, 1.0).0, CheckStatus::Pass);
        assert_eq!(waited(8, 100, 50_001, 1.0).0, CheckStatus::Unknown);
        assert_eq!(waited(8, 100, 1_000_000, 1.0).0, CheckStatus::Unknown);
        assert_eq!(waited(8, 100, 1_000_001, 1.0).0, CheckStatus::Fail);
        // A short time in total does no harm, however long each one waits.
        assert_eq!(waited(5, 100, 1_000_001, 1.0).0, CheckStatus::Pass);
    }

    #[test]
    fn the_cpu_is_the_cause_where_it_was_most_of_the_time_and_else_it_added() {
        assert_eq!(waited(1, 2, 10_000, 0.0), (CheckStatus::Fail, Some(CheckCause::CpuAdded)));
        assert_eq!(waited(500, 999, 10_000, 0.0), (CheckStatus::Fail, Some(CheckCause::CpuMost)));
    }

    #[test]
    fn a_wait_on_a_machine_whose_cpus_could_not_be_read_is_unknown() {
        let mut case = Case::quiet();
        let index = case.index_of("rand_write_4k");
        starve(&mut case, index, 0.08);
        case.after(index, |(_, after)| after.cpu = Reading::default());
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
    }

    #[test]
    fn a_hundredth_of_the_cpus_stolen_passes_a_twentieth_is_unknown_and_more_fails() {
        for (stolen, status) in [
            (10_000, CheckStatus::Pass),
            (10_001, CheckStatus::Unknown),
            (50_000, CheckStatus::Unknown),
            (50_001, CheckStatus::Fail),
        ] {
            let mut case = Case::quiet();
            case.cpu(0, |cpu| {
                cpu.total = Nanos(1_000_000);
                cpu.steal = Nanos(stolen);
            });
            let found = case.check(check).unwrap();
            assert_eq!(found.status, status, "{stolen}");
            let blamed = (status == CheckStatus::Fail).then_some(CheckCause::CpuMost);
            assert_eq!(found.cause, blamed, "{stolen}");
        }
    }

    /// A phase with p50 100 µs and p99 1 ms, and one class of sampled operations.
    fn sampled(from: Nanos, below: Nanos, ops: u64, runnable: u64, blocked: u64) -> CheckStatus {
        let mut case = Case::quiet();
        case.keep_only("rand_write_4k");
        case.phases[0].latency_ns.p50 = Some(Nanos::from_micros(100));
        case.phases[0].latency_ns.p99 = Some(Nanos::from_millis(1));
        case.phases[0].waits = vec![WaitRecord {
            from_ns: from,
            below_ns: below,
            ops,
            time: Time {
                runnable_ns: Nanos(runnable),
                blocked_ns: Nanos(blocked),
                ..Time::default()
            },
        }];
        case.status(check).unwrap()
    }

    #[test]
    fn ten_slow_operations_that_waited_more_than_half_of_their_time_fail() {
        let (from, below) = (Nanos(100_001), Nanos(1_000_001));
        assert_eq!(sampled(from, below, 10, 501, 500), CheckStatus::Fail);
        assert_eq!(sampled(from, below, 9, 501, 500), CheckStatus::Pass, "too few");
        assert_eq!(sampled(from, below, 10, 500, 500), CheckStatus::Pass, "half of the time");
    }

    #[test]
    fn a_class_that_holds_the_median_or_ends_at_the_p99_says_nothing_of_the_tail() {
        let (p50, p99) = (Nanos(100_000), Nanos(1_000_000));
        assert_eq!(sampled(p50, Nanos(1_000_001), 10, 501, 500), CheckStatus::Pass);
        assert_eq!(sampled(Nanos(100_001), p99, 10, 501, 500), CheckStatus::Pass);
    }

    #[test]
    fn an_open_loop_is_judged_by_its_sampled_operations_and_saves_by_their_own_time() {
        let mut case = Case::quiet();
        case.keep_only("rand_write_4k");
        case.phases[0].closed_loop = false;
        starve(&mut case, 0, 0.9);
        assert_eq!(case.status(check), Some(CheckStatus::Unknown), "nothing was sampled");
        let time = Time { blocked_ns: Nanos(900), runnable_ns: Nanos(100), ..Time::default() };
        let class = WaitRecord { from_ns: Nanos(1), below_ns: Nanos(2), ops: 50, time };
        case.phases[0].waits = vec![class, class];
        let found = case.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Pass);
        assert!(found.detail.contains("10% of its time, 2 ns an operation"), "{}", found.detail);
        case.phases[0].operation = Operation::Save;
        let found = case.check(check).unwrap();
        assert!(found.detail.contains("90% of its time"), "{}", found.detail);
    }

    #[test]
    fn a_process_is_named_from_a_tenth_of_a_cpu_on() {
        let named = |cpu: u64, processes: u32| {
            let second = Nanos::from_secs(1);
            let neighbour = Neighbour {
                name: "make".to_owned(),
                processes,
                cpu: Nanos(cpu),
                io_bytes: Bytes::ZERO,
            };
            let case = Case::quiet();
            let (before, after) = case.counters[0].clone().unwrap();
            busiest(&CounterDelta {
                elapsed: second,
                neighbours: Reading::Value(vec![Neighbour::default(), neighbour]),
                ..after.since(&before)
            })
        };
        assert_eq!(named(99_999_999, 1), "");
        assert_eq!(named(100_000_000, 1), " `make` used the most: 0.1 CPUs.");
        assert_eq!(named(1_000_000_000, 3), " `make` (3 processes) used the most: 1.0 CPU.");
    }

    #[test]
    fn the_phase_that_waited_most_for_a_cpu_is_quoted_and_a_waiting_tail_before_all() {
        let mut case = Case::twice("rand_write_4k");
        for (index, part) in [0.1, 0.2].into_iter().enumerate() {
            starve(&mut case, index, part);
            case.cpu(index, |cpu| cpu.idle = Nanos::ZERO);
        }
        assert_eq!(case.quoted(check), "worst");
        let tail = |runnable: u64| WaitRecord {
            from_ns: Nanos(1 << 24),
            below_ns: Nanos(1 << 25),
            ops: 12,
            time: Time {
                runnable_ns: Nanos(runnable),
                blocked_ns: Nanos(1_000 - runnable),
                ..Time::default()
            },
        };
        let mut tails = Case::twice("rand_write_4k");
        tails.phases[0].waits.push(tail(600));
        tails.phases[1].waits.push(tail(900));
        assert_eq!(tails.quoted(check), "worst");
        let mut stolen = Case::twice("rand_write_4k");
        stolen.cpu(0, |cpu| cpu.steal = Nanos(cpu.total.0 / 10 * 8));
        stolen.phases[1].waits.push(tail(600));
        assert_eq!(stolen.quoted(check), "worst");
    }

    #[test]
    fn what_the_rest_of_the_machine_did_is_reported_as_far_as_it_could_be_read() {
        let detail = |change: fn(&mut Counters)| {
            let mut case = Case::quiet();
            case.keep_only("rand_write_4k");
            case.after(0, |(_, after)| change(after));
            case.check(check).unwrap().detail
        };
        let both = detail(|_| {});
        assert!(
            both.ends_with(
                " The CPUs were idle 90% of the time, and some task on the machine waited for one \
                 0% of it."
            ),
            "{both}"
        );
        let pressure = detail(|after| after.cpu = Reading::default());
        let words = "an operation. Some task on the machine waited for one 0% of the time.";
        assert!(pressure.ends_with(words), "{pressure}");
        let idle = detail(|after| after.pressure_cpu = Reading::default());
        assert!(idle.ends_with("an operation. The CPUs were idle 90% of the time."), "{idle}");
        let nothing = detail(|after| {
            (after.cpu, after.pressure_cpu) = (Reading::default(), Reading::default());
        });
        assert!(nothing.ends_with("an operation."), "{nothing}");
    }
}
