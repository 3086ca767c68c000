//! Percentiles by fill level, from the intervals of a fill.

use flashlag_explain::{Figures, merged, restored};
use flashlag_schema::{Lag, Phase, Run};
use flashlag_spec::Operation;
use flashlag_spec::scenario::Durability;
use flashlag_stats::Histogram;
use flashlag_units::{Bytes, Nanos, per_second, ratio};

use crate::doubt::{Failure, failures_of};
use crate::format;

/// One fill.
#[derive(Clone, Debug, PartialEq)]
pub struct FillCurve {
    /// The result, as a heading: `Past half full the slowest 1% starts to miss frames …`.
    pub heading: String,
    /// The writes: `4 KiB durable random writes`.
    pub what: String,
    /// Index of its phase in the run.
    pub phase: usize,
    /// The size of the filesystem that levels are shares of.
    pub total_bytes: Bytes,
    /// The levels, emptiest first.
    pub levels: Vec<FillLevel>,
    /// The time of the single flush at its end, which belongs to no level: writes of all levels may have
    /// waited for it.
    pub final_flush: Option<Nanos>,
    /// Failed checks that cover it.
    pub failures: Vec<Failure>,
}

/// Minimum writes of the levels that a heading compares. A heading that says that a fill slows down
/// must also be true without the longest write of the slower level. So neither twenty writes nor a
/// single one can make a heading.
const SPEAKS: u64 = 100;

impl FillLevel {
    /// Bytes a second without the longest write.
    fn rate_without_its_longest(&self, block: Bytes) -> f64 {
        let bytes = self.figures.n as f64 * block.0 as f64;
        let time = bytes / self.bytes_per_sec - self.figures.max.unwrap_or_default().as_secs_f64();
        if time > 0.0 { (bytes - block.0 as f64) / time } else { self.bytes_per_sec }
    }
}

impl FillCurve {
    /// The note on the flush at its end: `One flush at its end took 274 ms; no level includes it.`
    pub fn flush_note(&self) -> Option<String> {
        let flush = self.final_flush?;
        Some(format!("One flush at its end took {}, which no level includes.", format::time(flush)))
    }
}

/// Neighbouring intervals of a fill, joined.
#[derive(Clone, Debug, PartialEq)]
pub struct FillLevel {
    /// Share of the storage in use at its end, 0 to 1.
    pub full: f64,
    /// Bytes in use at its end.
    pub filled_bytes: Bytes,
    /// Its figures, per operation of the fill.
    pub figures: Figures,
    /// Bytes a second over it.
    pub bytes_per_sec: f64,
}

/// Minimum operations of a level; a smaller one is joined with the next. A thousand support
/// a p99; a fill by few large writes has a level for each twentieth of them, but no median below
/// twenty.
fn least_ops(phase: &Phase) -> u64 {
    (phase.ops / 20).clamp(20, 1_000)
}

/// The fills of a run.
pub fn fill_curves(run: &Run) -> Vec<FillCurve> {
    let curves =
        run.phases.iter().enumerate().filter_map(|(index, phase)| curve(run, index, phase));
    curves.collect()
}

/// The levels of one fill, and the size that they are shares of: the capacity, or if it is unknown the
/// bytes in use at the end.
pub fn fill_levels(phase: &Phase, storage: Option<Bytes>) -> Option<(Bytes, Vec<FillLevel>)> {
    let last = phase.intervals.iter().rev().find_map(|interval| interval.filled_bytes)?;
    let total = storage.filter(|total| *total >= last).unwrap_or(last);
    Some((total, levels(phase, total)))
}

fn curve(run: &Run, index: usize, phase: &Phase) -> Option<FillCurve> {
    let known = run.environment.filesystem.total_bytes.value().copied();
    let (total, levels) = fill_levels(phase, known)?;
    if levels.is_empty() {
        return None;
    }
    Some(FillCurve {
        heading: heading(phase, &levels),
        what: what(phase),
        phase: index,
        total_bytes: total,
        final_flush: phase.final_flush_ns,
        failures: failures_of(run, phase),
        levels,
    })
}

/// The writes: `4 KiB durable random writes`.
fn what(phase: &Phase) -> String {
    let block = match phase.block_bytes.0 {
        bytes if bytes >= 1 << 20 && bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
        bytes if bytes >= 1 << 10 && bytes % (1 << 10) == 0 => format!("{} KiB", bytes >> 10),
        bytes => format!("{bytes} B"),
    };
    let durable = if phase.durable == Durability::None { "" } else { " durable" };
    let order = if phase.operation == Operation::RandomWrite { "random" } else { "sequential" };
    format!("{block}{durable} {order} writes")
}

/// Neighbouring intervals of the same tenth of the storage.
struct LevelBuilder {
    histogram: Histogram,
    filled: Bytes,
    bytes: Bytes,
    time: Nanos,
}

fn levels(phase: &Phase, total: Bytes) -> Vec<FillLevel> {
    let tenth = |filled: Bytes| (share(filled, total) * 10.0 - 1e-9).max(0.0) as u64;
    let least = least_ops(phase);
    let mut joined: Vec<LevelBuilder> = Vec::new();
    let mut began = Nanos::ZERO;
    for interval in &phase.intervals {
        let Some(filled) = interval.filled_bytes else { continue };
        let Some(histogram) = restored(&interval.histogram) else { continue };
        let time = interval.t_ns.saturating_since(began);
        began = interval.t_ns;
        let goes_on = |last: &LevelBuilder| {
            tenth(last.filled) == tenth(filled) || last.histogram.count() < least
        };
        match joined.pop_if(|last| goes_on(last)) {
            Some(last) => joined.push(last.with(histogram, filled, interval.bytes, time)),
            None => joined.push(LevelBuilder { histogram, filled, bytes: interval.bytes, time }),
        }
    }
    if joined.len() > 1
        && let Some(short) = joined.pop_if(|last| last.histogram.count() < least)
        && let Some(before) = joined.pop()
    {
        joined.push(before.with(short.histogram, short.filled, short.bytes, short.time));
    }
    joined.iter().map(|joined| joined.level(total)).collect()
}

impl LevelBuilder {
    fn with(self, histogram: Histogram, filled: Bytes, bytes: Bytes, time: Nanos) -> LevelBuilder {
        LevelBuilder {
            histogram: merged(self.histogram, &histogram),
            filled: self.filled.max(filled),
            bytes: self.bytes.plus(bytes),
            time: self.time.plus(time),
        }
    }

    fn level(&self, total: Bytes) -> FillLevel {
        FillLevel {
            full: share(self.filled, total),
            filled_bytes: self.filled,
            figures: Figures::of(&self.histogram),
            bytes_per_sec: per_second(self.bytes.0, self.time).unwrap_or_default(),
        }
    }
}

/// From this share in use on, a fill that slows down is attributed to garbage collection rather
/// than to an exhausted cache. An SLC cache takes at most a third of the capacity of TLC flash (one
/// bit per cell instead of three), and half of that of MLC flash.
const PAST_ANY_CACHE: f64 = 0.5;

/// The share of the storage in use at a moment of a fill, if it is beyond any write cache.
pub(crate) fn full_at(run: &Run, phase: &Phase, at: Nanos) -> Option<f64> {
    let total = run.environment.filesystem.total_bytes.value().copied()?;
    let after = phase.intervals.iter().find(|interval| interval.t_ns >= at)?;
    let full = share(after.filled_bytes?, total);
    (full >= PAST_ANY_CACHE).then_some(full)
}

fn share(filled: Bytes, total: Bytes) -> f64 {
    ratio(filled.0, total.0).unwrap_or(1.0)
}

fn heading(phase: &Phase, levels: &[FillLevel]) -> String {
    if phase.durable == Durability::None {
        return throughput_heading(phase, levels);
    }
    let known: Vec<(&FillLevel, Nanos)> =
        levels.iter().filter_map(|level| level.figures.p99.map(|p99| (level, p99))).collect();
    let Some((last, last_p99)) = known.last() else {
        return format!("{} by fill level", what(phase));
    };
    let at = |level: &FillLevel| format::share(level.full);
    let end = at(last);
    let at_end = format!("at {end} full, 1 in 100 takes longer than {}", format::time(*last_p99));
    let late = |(_, p99): &&(&FillLevel, Nanos)| *p99 > Lag::FRAME_60HZ;
    let Some(first_late) = known.iter().position(|level| late(&level)) else {
        return format!("Up to {end} full, 99 in 100 writes fit a 60 Hz frame; {at_end}");
    };
    let recovers = !known.iter().skip(first_late).all(|level| late(&level));
    let before = first_late.checked_sub(1).and_then(|position| known.get(position));
    match (before, recovers) {
        (None, false) => {
            format!("At every level the slowest 1% of writes misses a frame; {at_end}")
        }
        (Some((before, _)), false) => {
            format!("Past {} full, the slowest 1% of writes misses a frame; {at_end}", at(before))
        }
        (_, true) => {
            let from = known.get(first_late).map_or(end, |(level, _)| at(level));
            format!("From {from} full on, the slowest 1% misses frames at times; {at_end}")
        }
    }
}

fn throughput_heading(phase: &Phase, levels: &[FillLevel]) -> String {
    let Some(end) = levels.last().map(|level| format::share(level.full)) else {
        return String::new();
    };
    let mut known = levels.iter().filter(|level| level.figures.n >= SPEAKS);
    let (Some(first), Some(last)) = (known.next(), known.next_back()) else {
        return format!("Filled up to {end} at {} MB/s", format::mb_per_s(phase.bytes_per_sec));
    };
    let (from, to) = (format::mb_per_s(first.bytes_per_sec), format::mb_per_s(last.bytes_per_sec));
    let by = format::share(last.full);
    let sure = last.rate_without_its_longest(phase.block_bytes);
    match sure / first.bytes_per_sec {
        ratio if ratio < 0.8 => format!("Filling slows from {from} to {to} MB/s by {by} full"),
        _ => format!("Filling keeps its speed up to {by} full: {to} MB/s"),
    }
}
