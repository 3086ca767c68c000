//! Did a limit set on this machine hold the run back?
//!
//! A control group can limit requests to a disk, CPUs and memory. Waiting for such a limit looks
//! like slow storage, and a figure measured at a limit is a figure of the limit. A limit that is
//! merely set does nothing: the group's counters during a phase decide.
//! - Rates (`io.max`, `blkio.throttle.*`): what the group moved, by its own counters, which count
//!   the same bytes and requests as the limit (a flush is a request). From 90 % of what the limit
//!   allows in that time, the limit paced the phase: **fail**. From 60 %, requests that came close
//!   together may have been throttled: unknown. If operations come in bursts, the phase's mean is
//!   far below the limit although each burst waits. So it also fails if what the limit allows fills
//!   the operations' own time, and the disk was idle for more than half of that.
//! - CPUs (`cpu.max`, `cpu.cfs_quota_us`): how long the scheduler throttled the group. Above 5 % of
//!   the phase, if the thread waited as long for a CPU: **fail**. Above 1 %: unknown.
//! - Memory (`memory.high`, `memory.max`): the group's memory pressure, the time in which some task
//!   of it waited for memory. Above 5 % of the phase, if the limit was hit during it: **fail**.
//!   Hits without pressure: unknown, since a group that is full of cached pages hits its limit with
//!   every new page and seldom waits.
//! - `io.cost`: how long the group was throttled, if the kernel counts it; else unknown. So is
//!   `io.latency`, which counts nothing.
//!
//! A group that can't be seen (a parent outside a container's namespace) is unknown: its limit
//! applies all the same. Limits of a virtual machine's host (QEMU's throttling) can't be seen from
//! inside.

use flashlag_schema::counters::{CounterDelta, Counters};
use flashlag_schema::{Check, CheckCause, CheckId, Limit, LimitCount, LimitKind, Limits, Phase};
use flashlag_spec::Reading;
use flashlag_units::Nanos;

use crate::evidence::{Evidence, latency_sum};
use crate::finding::{Finding, combine, percent, share};

const CLAIM: &str = "No limit of a control group held it back";
/// Share of the allowed rate from which the limit paced the phase.
const PACED: f64 = 0.90;
/// Share from which requests that came close together may have been throttled.
const NEAR: f64 = 0.60;
/// A throttled operation waits at least for the kernel's timer.
const TIMER: Nanos = Nanos::from_millis(1);
const HELD_MUCH: f64 = 0.05;
const HELD: f64 = 0.01;
const LOOK: &str =
    "Run it on the machine itself, outside of the container, or as a user who may read the groups.";

pub(super) fn check(evidence: &Evidence<'_>) -> Option<Check> {
    if evidence.phases.is_empty() {
        return None;
    }
    let Some(limits) = &evidence.environment.limits else {
        let detail = "Whether a control group limits it is not known: its groups were not read.";
        let finding = Finding::unknown(None, detail, "Measure with this version of flashlag.");
        return combine(CheckId::MachineLimits, CLAIM, vec![finding]);
    };
    let mut findings: Vec<Finding> = unseen(limits).into_iter().collect();
    for (index, (phase, counted)) in evidence.counted().enumerate() {
        let around = evidence.counters.get(index).and_then(Option::as_ref);
        let (Some((before, after)), Some(counted)) = (around, counted) else { continue };
        for limit in all_of(&before.limits, &after.limits) {
            let pair = (find(&before.limits, limit), find(&after.limits, limit));
            findings.push(judge(phase, &counted, limit, pair));
        }
    }
    if findings.is_empty() {
        findings.push(none_found(evidence, limits));
    }
    combine(CheckId::MachineLimits, CLAIM, findings)
}

/// Reports limits that are set although no phase has counters, or that there are none.
fn none_found(evidence: &Evidence<'_>, limits: &Limits) -> Finding {
    if evidence.counters.iter().flatten().next().is_none() {
        let detail = "What the groups used during the phases was not counted.";
        return Finding::unknown(None, detail, "Run it again from the beginning.");
    }
    if limits.set.is_empty() {
        Finding::pass(None, "No control group limits its I/O, its CPUs or its memory.")
    } else {
        Finding::unknown(
            None,
            "A limit that was set before the phases was removed during the run.",
            "Run it again.",
        )
    }
}

fn unseen(limits: &Limits) -> Option<Finding> {
    let first = limits.unseen.first()?;
    let more = match limits.unseen.len() {
        1 => String::new(),
        many => format!(" and {} more", many - 1),
    };
    let detail = format!("It is not known whether a limit held it back: {first}{more}.");
    Some(Finding::unknown(None, detail, LOOK))
}

/// Each limit that was set before or after.
fn all_of<'a>(before: &'a [LimitCount], after: &'a [LimitCount]) -> Vec<&'a Limit> {
    let mut all: Vec<&Limit> = after.iter().map(|count| &count.limit).collect();
    for count in before {
        if !all.iter().any(|limit| limit.is_same_as(&count.limit)) {
            all.push(&count.limit);
        }
    }
    all
}

fn find<'a>(counts: &'a [LimitCount], limit: &Limit) -> Option<&'a LimitCount> {
    counts.iter().find(|count| count.limit.is_same_as(limit))
}

/// A limit with the file that sets it: ``/sys/fs/cgroup/x/io.max` allows 400 kB/s of writes to loop7`.
fn named(limit: &Limit) -> String {
    format!("`{}` allows {}", limit.file, limit.in_words())
}

fn judge(
    phase: &Phase,
    counted: &CounterDelta,
    limit: &Limit,
    pair: (Option<&LimitCount>, Option<&LimitCount>),
) -> Finding {
    let (Some(before), Some(after)) = pair else {
        let detail = format!("{}; it was set or removed meanwhile.", named(limit));
        return Finding::unknown(Some(phase), detail, advice(limit));
    };
    if before.limit.value != after.limit.value {
        let detail = format!("{}; that was changed meanwhile.", named(limit));
        return Finding::unknown(Some(phase), detail, advice(limit));
    }
    let amount = between(&before.amount, &after.amount);
    let times = between(&before.times, &after.times);
    match limit.kind {
        kind if kind.is_of_rate() => rate(phase, counted, limit, amount),
        LimitKind::Cpu => cpu(phase, counted, limit, amount, times),
        kind if kind.is_of_memory() => memory(phase, counted, limit, amount, times),
        _ => held(phase, counted, limit, amount),
    }
}

fn between(before: &Reading<u64>, after: &Reading<u64>) -> Reading<u64> {
    match (before, after) {
        (Reading::Value(before), Reading::Value(after)) => {
            after.checked_sub(*before).ok_or("a counter went back").into()
        }
        (missing @ Reading::Unavailable { .. }, _) | (_, missing) => missing.clone(),
    }
}

/// What to do about a limit.
fn advice(limit: &Limit) -> String {
    let lift = match limit.kind {
        LimitKind::Cpu => "Raise the CPU quota",
        LimitKind::MemoryHigh | LimitKind::MemoryMax => "Raise the memory limit",
        LimitKind::Latency | LimitKind::Cost => "Switch the control of I/O off",
        _ => "Raise the I/O limit",
    };
    format!("{lift} in `{}`, or run it outside of that control group; then run again.", limit.file)
}

/// The CPU quota that held the group back during a phase, in words, and what to do about it.
pub(super) fn quota(before: &Counters, after: &Counters) -> Option<(String, String)> {
    let of_cpu = |count: &&LimitCount| count.limit.kind == LimitKind::Cpu;
    let held = after.limits.iter().filter(of_cpu).filter_map(|count| {
        let earlier = find(&before.limits, &count.limit)?;
        Some((*between(&earlier.amount, &count.amount).value()?, &count.limit))
    });
    let (held, limit) = held.max_by_key(|(held, _)| *held)?;
    let elapsed = after.at.saturating_since(before.at);
    (share(held, elapsed.0) > HELD).then(|| {
        let words = format!(" {}; it was held back {} in all.", named(limit), Nanos(held));
        (words, advice(limit))
    })
}

fn not_counted(phase: &Phase, limit: &Limit, reason: &str) -> Finding {
    let detail = format!("{}; whether it throttled the run is not known: {reason}.", named(limit));
    Finding::unknown(Some(phase), detail, advice(limit))
}

fn rate(phase: &Phase, counted: &CounterDelta, limit: &Limit, amount: Reading<u64>) -> Finding {
    let amount = match amount {
        Reading::Value(amount) => amount,
        Reading::Unavailable { unavailable: reason } => return not_counted(phase, limit, &reason),
    };
    // How long the limit takes to allow what was moved.
    let needed = amount as f64 / limit.value.max(1) as f64;
    let reached = needed / counted.elapsed.as_secs_f64().max(1e-9);
    let detail = format!(
        "{}, and the group used {} of that.",
        named(limit),
        percent(reached).replace("times", "times as much")
    );
    let caused = |finding: Finding| finding.weighing(reached).caused_by(CheckCause::IoLimit);
    let failed = |detail: &str| {
        let detail = format!("The limit was the cause, not the storage. {detail}");
        caused(Finding::fail(Some(phase), detail, advice(limit)))
    };
    if reached >= PACED {
        return failed(&detail);
    }
    match in_bursts(phase, counted, needed) {
        Some(true) => return failed(&(detail + " It came in bursts, and each waited.")),
        None if reached < NEAR => return not_counted(phase, limit, "the disk was not counted"),
        _ => {}
    }
    if reached >= NEAR {
        let detail = detail + " Requests that came close together may have waited.";
        return caused(Finding::unknown(Some(phase), detail, advice(limit)));
    }
    Finding::pass(Some(phase), detail).weighing(reached)
}

/// Whether operations that came in bursts were throttled: what the limit allows fills their own
/// time, and the disk was busy for less than half of it. `None` if that is not known.
fn in_bursts(phase: &Phase, counted: &CounterDelta, needed: f64) -> Option<bool> {
    let each = latency_sum(phase).0.checked_div(phase.ops).map(Nanos).unwrap_or_default();
    let depth = f64::from(phase.in_flight().max(1));
    let under_way = latency_sum(phase).as_secs_f64() / depth;
    if each < TIMER || needed < PACED * under_way {
        return Some(false);
    }
    let busy = counted.disk.value()?.io_ticks;
    Some(busy.as_secs_f64() < under_way / 2.0)
}

fn cpu(
    phase: &Phase,
    counted: &CounterDelta,
    limit: &Limit,
    amount: Reading<u64>,
    times: Reading<u64>,
) -> Finding {
    let held = match amount {
        Reading::Value(held) => Nanos(held),
        Reading::Unavailable { unavailable: reason } => return not_counted(phase, limit, &reason),
    };
    let part = share(held.0, counted.elapsed.0);
    let times = times.value().map(|times| format!(" {times} times,")).unwrap_or_default();
    let detail = format!("{}, and the group was held back{times} {held} in all.", named(limit));
    let waited = phase.time.value().map(|time| share(time.runnable_ns.0, time.total().0));
    let finding = if part > HELD_MUCH && waited.is_none_or(|waited| waited > HELD_MUCH) {
        let detail = format!("The quota of CPUs was the cause, not the storage. {detail}");
        Finding::fail(Some(phase), detail, advice(limit))
    } else if part > HELD {
        Finding::unknown(Some(phase), detail, advice(limit))
    } else {
        Finding::pass(Some(phase), detail)
    };
    finding.weighing(part).caused_by(CheckCause::CpuQuota)
}

fn memory(
    phase: &Phase,
    counted: &CounterDelta,
    limit: &Limit,
    amount: Reading<u64>,
    times: Reading<u64>,
) -> Finding {
    let hits = match times {
        Reading::Value(0) => {
            let detail = format!("{}, which was not reached.", named(limit));
            return Finding::pass(Some(phase), detail);
        }
        Reading::Value(hits) => flashlag_units::count(hits),
        Reading::Unavailable { unavailable: reason } => return not_counted(phase, limit, &reason),
    };
    let hit = format!("{}, which was reached {hits} times", named(limit));
    let waited = match amount {
        Reading::Value(waited) => Nanos(waited),
        Reading::Unavailable { unavailable: reason } => {
            let detail = format!("{hit}; how long it waited is not known: {reason}.");
            return Finding::unknown(Some(phase), detail, advice(limit));
        }
    };
    let part = share(waited.0, counted.elapsed.0);
    let detail = format!("{hit}; some task of the group waited {waited} for memory.");
    let finding = if part > HELD_MUCH {
        let detail = format!("The limit of memory was the cause, not the storage. {detail}");
        Finding::fail(Some(phase), detail, advice(limit))
    } else if part > HELD {
        Finding::unknown(Some(phase), detail, advice(limit))
    } else {
        Finding::pass(Some(phase), detail)
    };
    finding.weighing(part).caused_by(CheckCause::MemoryLimit)
}

/// Judges the limits of io.cost and io.latency.
fn held(phase: &Phase, counted: &CounterDelta, limit: &Limit, amount: Reading<u64>) -> Finding {
    let held = match amount {
        Reading::Value(held) => Nanos(held),
        Reading::Unavailable { unavailable: reason } => return not_counted(phase, limit, &reason),
    };
    let part = share(held.0, counted.elapsed.0);
    let detail = format!("{}, and requests were held back {held} in all.", named(limit));
    let finding = if part > HELD_MUCH {
        let detail = format!("The control of I/O was the cause, not the storage. {detail}");
        Finding::fail(Some(phase), detail, advice(limit))
    } else if part > HELD {
        Finding::unknown(Some(phase), detail, advice(limit))
    } else {
        Finding::pass(Some(phase), detail)
    };
    finding.weighing(part).caused_by(CheckCause::IoLimit)
}

#[cfg(test)]
mod tests {
    use flashlag_schema::CheckStatus;
    use flashlag_schema::counters::DiskCounters;

    use super::*;
    use crate::testing::Case;

    fn limit(kind: LimitKind, value: u64) -> Limit {
        let device = kind.is_of_io().then(|| "mmcblk0".to_owned());
        Limit { kind, file: "/sys/fs/cgroup/db/x".to_owned(), device, value, used: None }
    }

    /// The quiet case in a group that used `amount` during the phase with that name, and was
    /// throttled `times` times.
    fn within(name: &str, limit: &Limit, amount: u64, times: u64) -> Case {
        let mut case = Case::quiet();
        let index = case.index_of(name);
        let at = |amount: u64, times: u64| LimitCount {
            limit: limit.clone(),
            amount: Reading::Value(amount),
            times: Reading::Value(times),
        };
        for (other, edges) in case.counters.iter_mut().enumerate() {
            let (before, after) = edges.as_mut().unwrap();
            let used = if other == index { (amount, times) } else { (0, 0) };
            before.limits = vec![at(1_000_000, 7)];
            after.limits = vec![at(1_000_000 + used.0, 7 + used.1)];
        }
        case.environment.limits = Some(Limits { set: vec![limit.clone()], unseen: Vec::new() });
        case
    }

    /// Nanoseconds between the counters around a phase.
    fn lasts(name: &str) -> u64 {
        let case = Case::quiet();
        case.time_around(case.index_of(name)).0
    }

    #[test]
    fn without_limits_it_passes_and_groups_that_were_not_read_are_unknown() {
        let mut case = Case::quiet();
        let found = case.check(check).unwrap();
        assert_eq!((found.status, found.cause), (CheckStatus::Pass, None));
        case.environment.limits = None;
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
        let unseen = vec!["/sys/fs/cgroup/io.max: no permission".to_owned()];
        case.environment.limits = Some(Limits { set: Vec::new(), unseen });
        let found = case.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Unknown);
        assert!(found.detail.contains("io.max: no permission"), "{}", found.detail);
    }

    #[test]
    fn a_group_that_used_nine_tenths_of_what_its_limit_allows_was_paced_by_it() {
        let second = lasts("rand_write_4k") as f64 / 1e9;
        for (kind, value) in [(LimitKind::WriteBytes, 400_000), (LimitKind::WriteOps, 2_000)] {
            let used = |part: f64| (value as f64 * second * part).ceil() as u64;
            let status = |part: f64| {
                within("rand_write_4k", &limit(kind, value), used(part), 0).check(check).unwrap()
            };
            let paced = status(0.9);
            assert_eq!(paced.status, CheckStatus::Fail, "{}", paced.detail);
            assert_eq!(paced.cause, Some(CheckCause::IoLimit));
            assert_eq!(paced.phases, ["new: rand_write_4k"]);
            assert!(paced.detail.contains("/sys/fs/cgroup/db/x"), "{}", paced.detail);
            assert!(paced.advice.unwrap().contains("/sys/fs/cgroup/db/x"));
            assert_eq!(status(0.89).status, CheckStatus::Unknown);
            assert_eq!(status(0.6).status, CheckStatus::Unknown);
            assert_eq!(status(0.59).status, CheckStatus::Pass, "far above what was measured");
        }
    }

    #[test]
    fn bursts_that_waited_for_a_limit_fail_though_the_mean_is_far_below_it() {
        let limit = limit(LimitKind::WriteBytes, 400_000);
        let burst = |ticks: u64, each: Nanos| {
            let mut case = within("rand_write_4k", &limit, 0, 0);
            let index = case.index_of("rand_write_4k");
            let phase = &mut case.phases[index];
            // Ten writes of 400 kB, one second each, with rests of nine seconds between them.
            phase.ops = 10;
            phase.histogram.sum_ns = Nanos(each.0 * 10);
            phase.elapsed_ns = Nanos::from_secs(100);
            let (before, after) = case.counters[index].as_mut().unwrap();
            after.at = before.at.plus(Nanos::from_secs(100));
            after.limits[0].amount = Reading::Value(1_000_000 + 4_000_000);
            case.disk(index, |disk: &mut DiskCounters| disk.io_ticks = Nanos::from_millis(ticks));
            case.check(check).unwrap()
        };
        let waited = burst(10, Nanos::from_secs(1));
        assert_eq!(waited.status, CheckStatus::Fail, "{}", waited.detail);
        assert!(waited.detail.contains("bursts"), "{}", waited.detail);
        // The disk itself was busy: its waits are its own.
        assert_eq!(burst(5_000, Nanos::from_secs(1)).status, CheckStatus::Pass);
        // Each completed at once, from the budget that the group had saved up during the rest.
        assert_eq!(burst(10, Nanos::from_micros(50)).status, CheckStatus::Pass);
    }

    #[test]
    fn a_limit_that_was_changed_meanwhile_or_not_counted_is_unknown() {
        let limit = limit(LimitKind::WriteOps, 100);
        let spoilt: [fn(&mut (Counters, Counters)); 4] = [
            |(before, _)| before.limits.clear(),
            |(_, after)| after.limits.clear(),
            |(before, _)| before.limits[0].limit.value = 99,
            |(_, after)| after.limits[0].amount = Reading::unavailable("no io.stat"),
        ];
        for (index, spoil) in spoilt.into_iter().enumerate() {
            let mut case = within("rand_write_4k", &limit, 0, 0);
            spoil(case.counters[0].as_mut().unwrap());
            assert_eq!(case.status(check), Some(CheckStatus::Unknown), "{index}");
        }
    }

    #[test]
    fn a_quota_fails_where_the_thread_waited_for_it_and_is_what_to_change() {
        let limit = limit(LimitKind::Cpu, 200);
        let elapsed = lasts("rand_write_4k");
        let held = |part: f64, waited: f64| {
            let mut case = within("rand_write_4k", &limit, (elapsed as f64 * part) as u64, 9);
            let index = case.index_of("rand_write_4k");
            let phase = &mut case.phases[index];
            let runnable = (phase.elapsed_ns.0 as f64 * waited) as u64;
            phase.time = Reading::Value(flashlag_schema::Time {
                runnable_ns: Nanos(runnable),
                blocked_ns: Nanos(phase.elapsed_ns.0 - runnable),
                ..Default::default()
            });
            case.cpu(index, |cpu| cpu.idle = Nanos::ZERO);
            case
        };
        let found = held(0.5, 0.5).check(check).unwrap();
        assert_eq!((found.status, found.cause), (CheckStatus::Fail, Some(CheckCause::CpuQuota)));
        assert!(found.detail.contains("0.20 CPUs"), "{}", found.detail);
        let cpu = held(0.5, 0.5).check(crate::cpu::check).unwrap();
        assert!(cpu.advice.unwrap().contains("Raise the CPU quota in `/sys/fs/cgroup/db/x`"));
        assert!(cpu.detail.contains("0.20 CPUs"), "{}", cpu.detail);
        // On idle CPUs, and with waits as short as those of a CPU that wakes up.
        let mut short = held(0.5, 0.5);
        let index = short.index_of("rand_write_4k");
        short.phases[index].ops *= 1_000;
        short.cpu(index, |cpu| cpu.idle = cpu.total);
        assert_eq!(short.status(crate::cpu::check), Some(CheckStatus::Fail));
        let busy = held(0.0, 0.5).check(crate::cpu::check).unwrap();
        assert!(busy.advice.unwrap().contains("Stop what else is running"));
        // Other tasks of the group waited for it.
        assert_eq!(held(0.5, 0.01).status(check), Some(CheckStatus::Unknown));
        assert_eq!(held(0.02, 0.5).status(check), Some(CheckStatus::Unknown));
        assert_eq!(held(0.009, 0.5).status(check), Some(CheckStatus::Pass));
        // Each bound is still within.
        assert_eq!(elapsed % 100, 0);
        assert_eq!(held(0.05, 0.5).status(check), Some(CheckStatus::Unknown));
        assert_eq!(held(0.5, 0.05).status(check), Some(CheckStatus::Unknown));
        assert_eq!(held(0.01, 0.5).status(check), Some(CheckStatus::Pass));
    }

    #[test]
    fn a_limit_of_memory_fails_by_what_was_waited_for_and_not_by_how_often_it_was_reached() {
        let limit = limit(LimitKind::MemoryMax, 256 << 20);
        let elapsed = lasts("save_wal") as f64;
        let status = |part: f64, hits: u64| {
            within("save_wal", &limit, (elapsed * part) as u64, hits).status(check).unwrap()
        };
        assert_eq!(status(0.06, 1), CheckStatus::Fail);
        assert_eq!(status(0.02, 1), CheckStatus::Unknown);
        assert_eq!(status(0.0, 5000), CheckStatus::Pass);
        assert_eq!(status(0.06, 0), CheckStatus::Pass, "the machine's memory, not this limit");
        let mut uncounted = within("save_wal", &limit, 0, 3);
        let index = uncounted.index_of("save_wal");
        uncounted.after(index, |(_, after)| {
            after.limits[0].amount = Reading::unavailable("version 1 counts none");
        });
        assert_eq!(uncounted.status(check), Some(CheckStatus::Unknown));
    }

    #[test]
    fn what_io_cost_held_back_fails_where_it_is_counted_and_is_unknown_elsewhere() {
        let limit = limit(LimitKind::Cost, 5_000);
        let elapsed = lasts("rand_read_4k") as f64;
        let held = |part: f64| within("rand_read_4k", &limit, (elapsed * part) as u64, 0);
        assert_eq!(held(0.06).status(check), Some(CheckStatus::Fail));
        assert_eq!(held(0.005).status(check), Some(CheckStatus::Pass));
        let mut uncounted = held(0.0);
        uncounted.from(0, |before| {
            before.limits[0].amount = Reading::unavailable("not counted");
        });
        assert_eq!(uncounted.status(check), Some(CheckStatus::Unknown));
    }
}
