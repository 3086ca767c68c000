//! The figures of one phase.

use std::collections::HashSet;

use flashlag_spec::Operation;
use flashlag_spec::scenario::EngineKind;
use flashlag_stats::{Histogram, Percentile};
use flashlag_units::{Nanos, per_second};

use super::figures::Figures;
use crate::histogram::{LatencySummary, StoredHistogram};
use crate::lag::Lag;
use crate::phase::Phase;
use crate::run::TargetKind;
use crate::stall::{CauseBasis, StallCause, StallRecord, WaitPart};

/// The most stalls that a phase lists; it counts the rest.
const STALLS_KEPT: u64 = 1000;

pub(super) fn verify(phase: &Phase, target: TargetKind, figures: &mut Figures) {
    let rate = |count| per_second(count, phase.elapsed_ns).unwrap_or_default();
    figures.same("ops_per_sec", &phase.ops_per_sec, &rate(phase.ops));
    figures.same("bytes_per_sec", &phase.bytes_per_sec, &rate(phase.bytes.0));
    let paths = ("histogram", "latency_ns");
    let latency = verify_histogram(figures, paths, &phase.histogram, &phase.latency_ns);
    let flush = optional(
        figures,
        ("flush_histogram", "flush_latency_ns"),
        (&phase.flush_histogram, &phase.flush_latency_ns),
    );
    let response = optional(
        figures,
        ("response_histogram", "response_ns"),
        (&phase.response_histogram, &phase.response_ns),
    );
    if phase.closed_loop && (response.is_some() || phase.missed_slots.is_some()) {
        figures.differs("closed_loop", "true", "false: it has a schedule's figures");
    }
    verify_think(phase, figures);
    let Some(latency) = latency else { return };
    figures.same("ops", &phase.ops, &latency.count());
    for (at, part) in [("flush_histogram", &flush), ("response_histogram", &response)] {
        if let Some(part) = part {
            figures.at_most(at, part.count(), latency.count());
        }
    }
    let felt = if phase.closed_loop { Some(&latency) } else { response.as_ref() };
    let lag = felt.map_or_else(Lag::default, Lag::of);
    figures.same("lag", &phase.lag, &(phase.operation == Operation::Save).then_some(lag));
    verify_growth(phase, &latency, figures);
    verify_floor(phase, figures);
    verify_intervals(phase, &latency, figures);
    verify_stalls(phase, &latency, target, figures);
    verify_waits(phase, figures);
    verify_replay(phase, figures);
    verify_flush_and_stops(phase, figures);
    for (index, change) in phase.changes.iter().enumerate() {
        figures.at_most(&format!("changes[{index}].t_ns"), change.t_ns.0, phase.elapsed_ns.0);
    }
}

/// Think times are at most the elapsed time of all slots, and only a closed loop has them.
fn verify_think(phase: &Phase, figures: &mut Figures) {
    let Some(think) = phase.think else { return };
    if !phase.closed_loop {
        figures.differs("think", "given", "absent: a schedule says when operations begin");
    }
    let slots = u64::from(phase.in_flight());
    let most = phase.elapsed_ns.0.saturating_mul(slots);
    figures.at_most("think.total_ns", think.total_ns.0, most);
}

/// A histogram and its summary: both are present, or both absent.
fn optional(
    figures: &mut Figures,
    paths: (&str, &str),
    stored: (&Option<StoredHistogram>, &Option<LatencySummary>),
) -> Option<Histogram> {
    match stored {
        (Some(histogram), Some(summary)) => verify_histogram(figures, paths, histogram, summary),
        (None, None) => None,
        (None, Some(_)) => {
            figures.differs(paths.1, "a summary", "absent: there is no histogram");
            None
        }
        (Some(_), None) => {
            figures.differs(paths.1, "absent", "the summary of the histogram");
            None
        }
    }
}

/// The trace has at most as many times as there are operations, and only an open loop has a
/// schedule.
fn verify_replay(phase: &Phase, figures: &mut Figures) {
    let Some(replay) = &phase.replay else {
        if phase.operation.is_replay() {
            figures.differs("replay", "absent", "the trace that was replayed");
        }
        return;
    };
    figures.same("closed_loop", &phase.closed_loop, &replay.scheduled_ns.is_none());
    figures.within("replay".to_owned(), |figures| {
        let traced = optional(
            figures,
            ("traced_histogram", "traced_ns"),
            (&replay.traced_histogram, &replay.traced_ns),
        );
        if let Some(traced) = traced {
            figures.at_most("traced_histogram", traced.count(), phase.ops);
        }
    });
}

fn verify_floor(phase: &Phase, figures: &mut Figures) {
    let Some(floor) = &phase.floor else { return };
    figures.within("floor".to_owned(), |figures| {
        let paths = ("histogram", "latency_ns");
        if let Some(histogram) =
            verify_histogram(figures, paths, &floor.histogram, &floor.latency_ns)
        {
            figures.same("ops", &floor.ops, &histogram.count());
        }
    });
}

/// Both parts together are the whole.
fn verify_growth(phase: &Phase, latency: &Histogram, figures: &mut Figures) {
    let Some(growth) = &phase.growth else { return };
    let mut sum = Histogram::new();
    for (name, part) in [("grew", &growth.grew), ("in_place", &growth.in_place)] {
        figures.within(format!("growth.{name}"), |figures| {
            let paths = ("histogram", "latency_ns");
            if let Some(histogram) =
                verify_histogram(figures, paths, &part.histogram, &part.latency_ns)
            {
                figures.same("ops", &part.ops, &histogram.count());
                sum.merge(&histogram);
            }
        });
    }
    same_histogram(figures, "growth", &sum, latency);
}

fn verify_intervals(phase: &Phase, latency: &Histogram, figures: &mut Figures) {
    if phase.intervals.is_empty() {
        return;
    }
    let mut sum = Histogram::new();
    let (mut bytes, mut before) = (0u64, Nanos::ZERO);
    for (index, interval) in phase.intervals.iter().enumerate() {
        bytes = bytes.saturating_add(interval.bytes.0);
        figures.within(format!("intervals[{index}]"), |figures| {
            figures.at_most("t_ns", interval.t_ns.0, phase.elapsed_ns.0);
            figures.holds("t_ns", interval.t_ns.0, "at least", before.0, |a, b| a >= b);
            before = interval.t_ns;
            let Some(histogram) = restored(figures, "histogram", &interval.histogram) else {
                return;
            };
            figures.same("ops", &interval.ops, &histogram.count());
            figures.time("p50", interval.p50, histogram.percentile(Percentile::P50));
            figures.time("p90", interval.p90, histogram.percentile(Percentile::P90));
            figures.time("p99", interval.p99, histogram.percentile(Percentile::P99));
            figures.time("max", Some(interval.max), histogram.max().or(Some(Nanos::ZERO)));
            verify_parts(&interval.waited, histogram.sum(), figures);
            sum.merge(&histogram);
        });
    }
    same_histogram(figures, "intervals", &sum, latency);
    figures.same("bytes", &phase.bytes.0, &bytes);
}

fn same_histogram(figures: &mut Figures, at: &str, parts: &Histogram, whole: &Histogram) {
    if StoredHistogram::from(parts) != StoredHistogram::from(whole) {
        let text = |histogram: &Histogram| {
            let largest = histogram.max().unwrap_or_default().0;
            format!(
                "{} values, largest {largest} ns, sum {} ns",
                histogram.count(),
                histogram.sum().0
            )
        };
        figures.differs(
            at,
            format!("parts of {}", text(parts)),
            format!("the phase's histogram of {}", text(whole)),
        );
    }
}

/// The parts of a wait: each cause once, none empty, and their sum is the whole.
fn verify_parts(parts: &[WaitPart], whole: Nanos, figures: &mut Figures) {
    if parts.is_empty() {
        return;
    }
    let sum = parts.iter().fold(Nanos::ZERO, |sum, part| Nanos(sum.0.saturating_add(part.ns.0)));
    figures.same("waited", &sum.0, &whole.0);
    let causes: HashSet<StallCause> = parts.iter().map(|part| part.cause).collect();
    figures.same("waited", &causes.len(), &parts.len());
    if parts.iter().any(|part| part.ns == Nanos::ZERO) {
        figures.differs("waited", "an empty part", "parts of more than nothing");
    }
}

/// The count lies between the number of values surely over the limit and the number possibly over
/// it; the longest one is listed.
fn verify_stalls(phase: &Phase, latency: &Histogram, target: TargetKind, figures: &mut Figures) {
    let limit = phase.stall_over_ns;
    let (mut surely, mut perhaps) = (0u64, 0u64);
    for (index, count) in latency.occupied() {
        let (start, end) = Histogram::bounds_of(index as usize);
        surely = surely.saturating_add(if start > limit { count } else { 0 });
        perhaps = perhaps.saturating_add(if end > limit { count } else { 0 });
    }
    figures.holds("stalls_seen", phase.stalls_seen, "at least", surely, |a, b| a >= b);
    figures.at_most("stalls_seen", phase.stalls_seen, perhaps);
    let listed = phase.stalls.len() as u64;
    figures.at_most("stalls", listed, phase.stalls_seen.min(STALLS_KEPT));
    // fio counts stalls in its histogram, but does not give their times.
    let by_fio = target == TargetKind::Imported || phase.engine == EngineKind::Fio;
    if listed == 0 && phase.stalls_seen > 0 && !by_fio {
        figures.differs("stalls", "none", format!("the longest of {}", phase.stalls_seen));
    }
    let longest = phase.stalls.iter().map(|stall| stall.ns).max();
    if longest.is_some() {
        figures.time("stalls", longest, latency.max());
    }
    let mut before = Nanos::ZERO;
    for (index, stall) in phase.stalls.iter().enumerate() {
        figures.within(format!("stalls[{index}]"), |figures| {
            figures.holds("ns", stall.ns.0, "more than", limit.0, |a, b| a > b);
            figures.at_most("t_ns", stall.t_ns.0, phase.elapsed_ns.0);
            figures.holds("t_ns", stall.t_ns.0, "at least", before.0, |a, b| a >= b);
            before = stall.t_ns;
            verify_cause(stall, figures);
            verify_parts(&stall.waited, stall.ns, figures);
        });
    }
}

/// The cause is that of the parts or of the split; an inferred one refines time blocked on storage,
/// which only its rules could repeat.
fn verify_cause(stall: &StallRecord, figures: &mut Figures) {
    let known = StallCause::known(&stall.waited, stall.time.as_ref());
    let basis = stall.cause_basis;
    match basis {
        CauseBasis::Inferred => {
            figures.same("the split's cause", &StallCause::Storage, &known);
            let measured = matches!(
                stall.cause,
                StallCause::Cpu
                    | StallCause::Executing
                    | StallCause::Stopped
                    | StallCause::Mixed
                    | StallCause::Unknown
            );
            if measured || stall.around.is_none() {
                figures.differs(
                    "cause_basis",
                    "inferred",
                    "measured: no counter shows such a cause",
                );
            }
        }
        CauseBasis::Measured | CauseBasis::Modelled | CauseBasis::Reported => {
            figures.same("cause", &stall.cause, &known);
            // Before 0.4 a file did not record how a cause is known.
            let parts = basis != CauseBasis::Measured;
            if parts && stall.waited.is_empty() {
                figures.differs("cause_basis", "of parts", "measured: there are no parts");
            }
        }
    }
}

/// A flush at the end comes after the last interval; no wait has more stopped time than the phase.
fn verify_flush_and_stops(phase: &Phase, figures: &mut Figures) {
    if let Some(flush) = phase.final_flush_ns {
        let last = phase.intervals.last().map_or(Nanos::ZERO, |interval| interval.t_ns);
        let bound = phase.elapsed_ns.0.saturating_sub(last.0);
        figures.at_most("final_flush_ns", flush.0, bound);
        if !phase.operation.writes_blocks() {
            figures.differs("final_flush_ns", "a flush", "absent: it does not write blocks");
        }
    }
    let stopped = phase.stopped_ns.unwrap_or_default();
    figures.at_most("stopped_ns", stopped.0, phase.elapsed_ns.0);
    if let Some(time) = phase.time.value() {
        figures.at_most("time.stopped_ns", time.stopped_ns.0, stopped.0);
    }
    let stalls = phase.stalls.iter().enumerate();
    for (index, time) in stalls.filter_map(|(index, stall)| Some((index, stall.time?))) {
        let at = format!("stalls[{index}].time.stopped_ns");
        figures.at_most(&at, time.stopped_ns.0, stopped.0);
    }
}

/// Classes are powers of two in ascending order, with at most as many samples as operations.
fn verify_waits(phase: &Phase, figures: &mut Figures) {
    let mut sampled = 0u64;
    let mut from = Nanos::ZERO;
    for (index, wait) in phase.waits.iter().enumerate() {
        sampled = sampled.saturating_add(wait.ops);
        figures.within(format!("waits[{index}]"), |figures| {
            let below = wait.from_ns.0.saturating_mul(2);
            let is_power = wait.from_ns.0.is_power_of_two();
            figures.same("below_ns", &wait.below_ns.0, &below);
            figures.holds("from_ns", wait.from_ns.0, "a power of two above", from.0, |a, b| {
                is_power && a > b
            });
            from = wait.from_ns;
        });
    }
    figures.at_most("waits", sampled, phase.ops);
}

/// Verifies a stored histogram and its summary; returns the histogram if it is valid.
pub(super) fn verify_histogram(
    figures: &mut Figures,
    (histogram_at, summary_at): (&str, &str),
    stored: &StoredHistogram,
    summary: &LatencySummary,
) -> Option<Histogram> {
    let histogram = restored(figures, histogram_at, stored)?;
    figures.summary(summary_at, summary, &LatencySummary::from(&histogram));
    Some(histogram)
}

/// The histogram, if it is stored in exactly the canonical form.
pub(super) fn restored(
    figures: &mut Figures,
    at: &str,
    stored: &StoredHistogram,
) -> Option<Histogram> {
    match stored.restore() {
        Ok(histogram) => {
            let again = StoredHistogram::from(&histogram);
            if &again != stored {
                let text = "empty buckets or figures that no histogram has".to_owned();
                figures.differs(at, text, "buckets that hold values, grouping power 6".to_owned());
            }
            Some(histogram)
        }
        Err(error) => {
            figures.differs(at, "buckets", format!("no histogram: {error}"));
            None
        }
    }
}
