//! What changed within a phase: a write cache was used up, heat, periodic stalls, or space ran
//! short.

use flashlag_schema::finding::{
    Counted, Effect, EffectBasis, Estimate, Finding, FindingId, Severity,
};
use flashlag_schema::{Change, ChangeKind, IntervalRecord, Phase, StallCause};
use flashlag_spec::{Operation, Reading};
use flashlag_units::{Bytes, Nanos};

use super::phases::{felt, of_phase, per_thousand};
use crate::candidate::Context;
use crate::doubt::is_trusted;
use crate::histograms::restored;
use crate::pairs::counted;
use crate::remedy::finding;

/// Beyond this share of what a fill writes, free space is short.
const LATE: f64 = 0.9;
/// If the mean write beyond it is this many times as long as before, the spare area is small.
const CLIFF: f64 = 3.0;
/// Minimum writes on either side.
const WRITES: u64 = 20;

/// The findings of every phase that can be believed.
pub(super) fn all(context: &Context<'_>) -> Vec<Finding> {
    let run = context.run;
    let phases = run.phases.iter().enumerate().filter(|(_, phase)| is_trusted(run, phase));
    let found = phases.flat_map(|(index, phase)| {
        let changes = phase.changes.iter().enumerate();
        let changes =
            changes.filter_map(move |(at, change)| changed(context, index, phase, at, change));
        changes.chain(cliff(index, phase)).chain(used_up(context, index, phase))
    });
    found.collect()
}

/// Whether a phase fills the storage: its rate falls for want of space.
fn fills(phase: &Phase) -> bool {
    phase.intervals.iter().any(|interval| interval.filled_bytes.is_some())
}

fn changed(
    context: &Context<'_>,
    index: usize,
    phase: &Phase,
    at: usize,
    change: &Change,
) -> Option<Finding> {
    let writes = !matches!(phase.operation, Operation::RandomRead | Operation::SequentialRead);
    let (id, effect, source) = match change.kind {
        ChangeKind::CacheExhausted if writes && !fills(phase) => (
            FindingId::WriteCacheExhausted,
            slower(phase, change.t_ns),
            "docs/measuring.md: throughput fell once and stayed low",
        ),
        ChangeKind::Throttled => (
            FindingId::Throttled,
            slower(phase, change.t_ns),
            "docs/measuring.md: throughput fell while the device was hot",
        ),
        ChangeKind::PeriodicStalls if writes => (
            FindingId::CollectionPeriod,
            stalled(phase),
            "docs/measuring.md: stalls at a regular distance are the device's own work",
        ),
        _ => return None,
    };
    let effect = effect.ok_or_else(|| "its waits before and after are not known".to_owned());
    let evidence = vec![of_phase(index, &format!("changes[{at}]"), change.detail.clone())];
    Some(finding(id, felt(context, Some(phase)), source, evidence, effect.into()))
}

/// The mean wait of an operation before and after a time, from the intervals' own histograms. Bytes
/// are no measure: those of a save are not those that reach storage, and several operations may be
/// in flight.
fn slower(phase: &Phase, at: Nanos) -> Option<Effect> {
    let split = phase.intervals.partition_point(|interval| interval.t_ns <= at);
    let (before, after) = phase.intervals.split_at_checked(split)?;
    let (fixed, now) = (Waits::of(before).mean()?, Waits::of(after).mean()?);
    (fixed > 0.0 && now > fixed).then(|| course(phase, counted(phase), fixed, now))
}

/// The effect of a mean wait that changed from one number of seconds to another.
fn course(phase: &Phase, per: Counted, fixed: f64, now: f64) -> Effect {
    Effect {
        basis: EffectBasis::Course { phase: phase.label() },
        per,
        now_ns: seconds(now),
        fixed_ns: Some(seconds(fixed)),
        cost_s_per_1000: Estimate { value: (now - fixed) * 1e3, interval: None },
    }
}

/// The number of operations of some intervals, and the sum of their waits in nanoseconds.
#[derive(Clone, Copy, Default)]
struct Waits {
    count: u64,
    sum: u128,
}

impl Waits {
    fn of<'a>(intervals: impl IntoIterator<Item = &'a IntervalRecord>) -> Waits {
        let histograms = intervals.into_iter().filter_map(|interval| restored(&interval.histogram));
        histograms.fold(Waits::default(), |Waits { count, sum }, waits| Waits {
            count: count.saturating_add(waits.count()),
            sum: sum.saturating_add(u128::from(waits.sum().0)),
        })
    }

    /// In seconds; `None` without operations.
    fn mean(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64 / 1e9)
    }
}

/// Fewest intervals on either side of the time at which a write cache was used up.
const INTERVALS: usize = 3;
/// The rate after that divided by the rate before, up to which it is a fall.
const FELL: f64 = 0.7;

/// Writes without flushes that filled a write cache, if a model reports what they waited for: from
/// some interval on, most of the time was spent waiting for room in the cache, and the rate fell.
fn used_up(context: &Context<'_>, index: usize, phase: &Phase) -> Option<Finding> {
    let reads = matches!(phase.operation, Operation::RandomRead | Operation::SequentialRead);
    let known = phase.changes.iter().any(|change| change.kind == ChangeKind::CacheExhausted);
    if reads || known || fills(phase) {
        return None;
    }
    let at = phase.intervals.iter().position(waits_for_room)?;
    let (before, after) = phase.intervals.split_at_checked(at)?;
    let most = after.iter().filter(|interval| waits_for_room(interval)).count() * 2 > after.len();
    if before.len() < INTERVALS || after.len() < INTERVALS || !most {
        return None;
    }
    let (split, end) = (before.last()?.t_ns, after.last()?.t_ns);
    // For saves the user sees their number, for writes the bytes.
    let saves = counted(phase) == Counted::Saves;
    let amount = |interval: &IntervalRecord| {
        if saves { interval.ops as f64 } else { interval.bytes.0 as f64 }
    };
    let rate = |part: &[IntervalRecord], time: Nanos| {
        part.iter().map(amount).sum::<f64>() / time.as_secs_f64()
    };
    let rates = (rate(before, split), rate(after, end.saturating_since(split)));
    if !(rates.1 > 0.0 && rates.1 < FELL * rates.0) {
        return None;
    }
    let said = |rate: f64| {
        if saves {
            format!("{rate:.0} saves a second")
        } else {
            format!("{} a second", Bytes(rate as u64))
        }
    };
    let value = format!(
        "{} until {split}, then {}, most of the time waiting for room",
        said(rates.0),
        said(rates.1)
    );
    let effect = slower(phase, split)
        .ok_or_else(|| "a mean operation did not wait longer after it".to_owned());
    Some(finding(
        FindingId::WriteCacheExhausted,
        felt(context, Some(phase)),
        "docs/model.md: writes past a full cache wait for the flash",
        vec![of_phase(index, "intervals", value)],
        effect.into(),
    ))
}

/// Whether at least half of an interval's waits were for room in the write cache.
fn waits_for_room(interval: &IntervalRecord) -> bool {
    let all = interval.waited.iter().fold(Nanos::ZERO, |sum, part| sum.plus(part.ns));
    let room = interval.waited.iter().filter(|part| part.cause == StallCause::WriteCacheFull);
    let room = room.fold(Nanos::ZERO, |sum, part| sum.plus(part.ns));
    all > Nanos::ZERO && room.0 >= all.0 / 2
}

/// The listed stalls of a phase, divided by the number of its operations.
fn stalled(phase: &Phase) -> Option<Effect> {
    let total = phase.stalls.iter().fold(Nanos::ZERO, |sum, stall| sum.plus(stall.ns));
    let mean = phase.latency_ns.mean?;
    let each = Nanos(total.0 / phase.ops.max(1));
    (each > Nanos::ZERO).then(|| Effect {
        basis: EffectBasis::Part { phase: phase.label() },
        per: counted(phase),
        now_ns: mean,
        fixed_ns: Some(mean.saturating_since(each)),
        cost_s_per_1000: Estimate { value: per_thousand(total, phase.ops), interval: None },
    })
}

fn seconds(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9).min(u64::MAX as f64) as u64)
}

/// The mean write on the last free space of a fill, compared with the mean before.
fn cliff(index: usize, phase: &Phase) -> Option<Finding> {
    let filled = |interval: &IntervalRecord| interval.filled_bytes.map(|bytes| bytes.0 as f64);
    let end = phase.intervals.iter().filter_map(filled).fold(0.0, f64::max);
    let side = |late: bool| {
        let on_side = |interval: &&IntervalRecord| {
            filled(interval).is_some_and(|level| (level > end * LATE) == late)
        };
        Waits::of(phase.intervals.iter().filter(on_side))
    };
    let (early, late) = (side(false), side(true));
    if early.count < WRITES || late.count < WRITES {
        return None;
    }
    let (fixed, now) = (early.mean()?, late.mean()?);
    if fixed <= 0.0 || now < CLIFF * fixed {
        return None;
    }
    let effect = course(phase, Counted::Writes, fixed, now);
    let value = format!("{} on the last tenth, {} before", seconds(now), seconds(fixed));
    Some(finding(
        FindingId::SmallSpare,
        Severity::Costly,
        "docs/model.md: with little spare area each write of a full device waits for collection",
        vec![of_phase(index, "intervals", value)],
        Reading::Value(effect),
    ))
}
