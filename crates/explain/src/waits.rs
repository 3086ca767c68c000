//! Where operations spent their time (on a CPU, waiting for one, blocked on storage), by how slow
//! they were.

use flashlag_schema::finding::{WaitFinding, WaitGroupRecord, WaitRange};
use flashlag_schema::{CheckId, Phase, Run, StallCause};
use flashlag_stats::{Histogram, Percentile};
use flashlag_units::Nanos;

use crate::doubt::failed_for;
use crate::histograms::restored;
use crate::subjects::Subjects;

/// From this share of the wait on, a part is the main one.
const HELD: f64 = 0.5;

/// Ranks in ten-thousandths: above the first, up to the second.
fn ranks(range: WaitRange) -> (u64, u64) {
    match range {
        WaitRange::Typical => (4500, 5500),
        WaitRange::Slow => (9000, 9900),
        WaitRange::Slowest => (9900, 10_000),
    }
}

/// The waits of the test that explains the run; `None` if no operation's time was split.
pub fn waits(run: &Run, subjects: &Subjects<'_>) -> Option<WaitFinding> {
    let split = |phase: &&Phase| !phase.waits.is_empty();
    let main = subjects.main.filter(split);
    let main = main.or_else(|| subjects.writes.last().copied().filter(split));
    let main = main.or_else(|| run.phases.iter().rev().find(split))?;
    let new = subjects.new.filter(|new| new.name == main.name && new.state != main.state);
    let mut groups: Vec<WaitGroupRecord> = Vec::new();
    groups.extend(new.filter(split).and_then(|new| group(new, WaitRange::Typical)));
    let ranges = [WaitRange::Typical, WaitRange::Slow, WaitRange::Slowest];
    groups.extend(ranges.into_iter().filter_map(|range| group(main, range)));
    if groups.is_empty() {
        return None;
    }
    let phase = main.label();
    let of_main: Vec<&WaitGroupRecord> =
        groups.iter().filter(|group| group.phase == phase).collect();
    let doubted_by = doubt(run, main, &of_main);
    let cause = match (doubted_by, of_main.first()) {
        (None, Some(first)) => cause(first),
        _ => StallCause::Unknown,
    };
    Some(WaitFinding { phase, cause, doubted_by, groups })
}

/// The first failed check that leaves the cause open. A busy CPU does not, if each group shows it:
/// the split exists to show that.
fn doubt(run: &Run, main: &Phase, groups: &[&WaitGroupRecord]) -> Option<CheckId> {
    let first = failed_for(run, main).next()?.id;
    let cpu_failed = failed_for(run, main).any(|check| check.id == CheckId::CpuContention);
    let shown = cpu_failed && groups.iter().all(|group| group.waiting_for_cpu > HELD);
    (!shown).then_some(first)
}

/// The part that makes up at least half of a group's wait.
fn cause(group: &WaitGroupRecord) -> StallCause {
    let parts = [
        (StallCause::Storage, group.blocked),
        (StallCause::Cpu, group.waiting_for_cpu),
        (StallCause::Executing, group.on_cpu),
    ];
    let largest = parts.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    match largest {
        Some((cause, share)) if share >= HELD => cause,
        _ => StallCause::Mixed,
    }
}

/// The waits of a range of percentiles. Their mean comes from the histogram. Their split comes from
/// the sampled operations of the same latency classes, each weighted by its time in the range.
fn group(phase: &Phase, range: WaitRange) -> Option<WaitGroupRecord> {
    let histogram = restored(&phase.histogram)?;
    let count = histogram.count();
    if range == WaitRange::Slowest && !Percentile::P99.supported_by(count) {
        return None;
    }
    let (from, to) = ranks(range);
    let rank = |part: u64| (u128::from(count) * u128::from(part) / 10_000) as u64;
    let (first, last) = (rank(from), rank(to));
    let (mut seen, mut ops, mut time) = (0u64, 0u64, 0.0f64);
    let mut classes = [0.0f64; 64];
    for (index, count) in histogram.occupied() {
        let inside = (seen + count).min(last).saturating_sub(seen.max(first));
        seen += count;
        let middle = Histogram::middle_of(index as usize);
        let waited = inside as f64 * middle.0 as f64;
        ops += inside;
        time += waited;
        classes[middle.0.max(1).ilog2() as usize] += waited;
    }
    if ops == 0 {
        return None;
    }
    let split = split_of(phase, &classes)?;
    Some(WaitGroupRecord {
        phase: phase.label(),
        range,
        ops,
        mean_ns: Nanos((time / ops as f64) as u64),
        sampled: split.sampled,
        sampled_from_ns: split.from,
        sampled_below_ns: split.below,
        on_cpu: split.shares[0],
        waiting_for_cpu: split.shares[1],
        blocked: split.shares[2],
    })
}

struct Split {
    /// On a CPU, waiting for one, blocked.
    shares: [f64; 3],
    sampled: u64,
    from: Nanos,
    below: Nanos,
}

fn split_of(phase: &Phase, classes: &[f64; 64]) -> Option<Split> {
    let (mut parts, mut sampled) = ([0.0f64; 3], 0u64);
    let (mut from, mut below) = (Nanos::MAX, Nanos::ZERO);
    for record in &phase.waits {
        let weight = classes[record.from_ns.0.max(1).ilog2() as usize];
        let time = [record.time.on_cpu_ns, record.time.runnable_ns, record.time.blocked_ns];
        let whole: f64 = time.iter().map(|part| part.0 as f64).sum();
        if weight <= 0.0 || whole <= 0.0 {
            continue;
        }
        sampled = sampled.saturating_add(record.ops);
        (from, below) = (from.min(record.from_ns), below.max(record.below_ns));
        for (sum, part) in parts.iter_mut().zip(time) {
            *sum += weight * part.0 as f64 / whole;
        }
    }
    let whole: f64 = parts.iter().sum();
    (whole > 0.0).then(|| Split { shares: parts.map(|part| part / whole), sampled, from, below })
}
