//! A phase as stored, from the recorder's results.

use flashlag_schema::{
    ClockReading, Growth, GrowthPart, IntervalRecord, Lag, LatencySummary, Ledger, Looks, Mixed,
    Phase, StallRecord, StoredHistogram, Think, Time, WaitRecord, Watched,
};
use flashlag_spec::scenario::{Durability, EngineKind};
use flashlag_spec::{Operation, Reading, State};
use flashlag_stats::{Histogram, PhaseRecord, Stall, Stalls, WaitSplit};
use flashlag_units::{Bytes, InOrder, Nanos, Text, per_second};

use super::{Access, DeviceWait, device_wait};

/// The facts of a phase before it runs.
#[derive(Clone, Debug)]
pub struct PhaseHead {
    /// The test's name.
    pub name: String,
    /// The state of the device.
    pub state: State,
    /// The repetition, from 1.
    pub run: u32,
    pub operation: Operation,
    /// Bytes for each operation.
    pub block: Bytes,
    /// The span of addresses, in bytes.
    pub span: Bytes,
    /// Operations in flight, in each thread.
    pub queue_depth: u32,
    pub threads: u32,
    /// The mixed test of which this is one half.
    pub mixed: Option<Mixed>,
    /// How writes become durable.
    pub durable: Durability,
    /// Whether the page cache is bypassed.
    pub direct: bool,
    /// The I/O engine.
    pub engine: EngineKind,
    /// Whether each operation waits for the previous one.
    pub closed_loop: bool,
    /// How long the app does something else after each operation.
    pub think: Option<Nanos>,
    /// The background test.
    pub background: Option<String>,
    /// The phase's begin, from the start of the run.
    pub began: Nanos,
}

impl PhaseHead {
    /// The phase's label, before there is a phase ([`Phase::label`]).
    pub fn label(&self) -> String {
        self.state.label(self.run, &self.name)
    }

    /// The same head with the I/O as it was really done.
    pub fn with(self, how: Access) -> PhaseHead {
        let Access { engine, direct, durable, queue_depth } = how;
        PhaseHead { engine, direct, durable, queue_depth, ..self }
    }
}

/// The facts of a phase after it ran, besides the recorder's.
#[derive(Clone, Debug)]
pub struct PhaseTail {
    /// The split of the measuring thread's time.
    pub time: Option<WaitSplit>,
    /// Whether time passes by itself; in virtual time nothing waits for a CPU.
    pub in_real_time: bool,
    /// What the system's clocks said at its first operation.
    pub clocks: Option<ClockReading>,
    /// Bytes and calls by layer.
    pub ledger: Ledger,
    /// The sum of the rests between operations.
    pub thought: Nanos,
    /// Time of the flush at the end, if there was one.
    pub final_flush: Option<Nanos>,
    /// Time in which this process stood still, if that was watched.
    pub stopped: Option<Nanos>,
    /// Times of saves that grew a file, and of those that did not.
    pub growth: Option<(Histogram, Histogram)>,
    /// Readings of counters while it ran, if there were any.
    pub looks: Option<Looks>,
    /// Slow requests at a device that reports what they waited for.
    pub slow: Vec<DeviceWait>,
    /// Whether the phase ended before its time.
    pub cut_short: bool,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// Puts a phase together. Every figure in it is derived from its histograms.
pub fn phase(head: PhaseHead, recorded: &PhaseRecord, tail: PhaseTail) -> Phase {
    let ops = recorded.latency.count();
    let is_save = head.operation == Operation::Save;
    let open = !head.closed_loop;
    let felt = if open { &recorded.response } else { &recorded.latency };
    let stalls = recorded.final_stalls(Stalls::LEAST);
    let beside = head.background.is_some();
    let listed = stalls.listed.iter().map(|stall| stored(stall, recorded, &tail, beside)).collect();
    let looks = tail.looks.as_ref();
    let watched = looks.map(|looks| watched(looks, recorded, &stalls.listed));
    let think = head.think.map(|each_ns| Think { each_ns, total_ns: tail.thought });
    Phase {
        ops,
        bytes: recorded.bytes,
        elapsed_ns: recorded.elapsed,
        ops_per_sec: per_second(ops, recorded.elapsed).unwrap_or_default(),
        bytes_per_sec: per_second(recorded.bytes.0, recorded.elapsed).unwrap_or_default(),
        latency_ns: LatencySummary::from(&recorded.latency),
        histogram: StoredHistogram::from(&recorded.latency),
        flush_latency_ns: summary_if_any(&recorded.flush),
        flush_histogram: stored_if_any(&recorded.flush),
        response_ns: summary_if_any(&recorded.response),
        response_histogram: stored_if_any(&recorded.response),
        missed_slots: open.then_some(recorded.missed_slots),
        time: time_of(tail.time, tail.in_real_time),
        waits: WaitRecord::all(&recorded.waits),
        ledger: tail.ledger,
        floor: None,
        final_flush_ns: tail.final_flush,
        stopped_ns: tail.stopped,
        intervals: recorded.intervals.iter().map(IntervalRecord::from).collect(),
        stalls: listed,
        stalls_seen: stalls.seen,
        stall_over_ns: stalls.over,
        watched,
        changes: Vec::new(),
        growth: tail.growth.map(|(grew, in_place)| Growth {
            grew: GrowthPart::from(&grew),
            in_place: GrowthPart::from(&in_place),
        }),
        lag: is_save.then(|| Lag::of(felt)),
        cut_short: tail.cut_short,
        notes: tail.notes.into_iter().chain(think.map(think_in_words)).collect(),
        name: head.name,
        state: head.state,
        run: head.run,
        operation: head.operation,
        block_bytes: head.block,
        span_bytes: head.span,
        queue_depth: head.queue_depth,
        threads: head.threads,
        mixed: head.mixed,
        replay: None,
        durable: head.durable,
        direct: head.direct,
        engine: head.engine,
        closed_loop: head.closed_loop,
        think,
        background: head.background,
        began_ns: head.began,
        clocks: tail.clocks,
    }
}

/// When a stall began and ended, on the machine's clock.
fn moments(stall: &Stall, recorded: &PhaseRecord) -> (Nanos, Nanos) {
    let from = recorded.began.plus(stall.at).plus(stall.behind);
    (from, from.plus(stall.length))
}

/// A stall as stored, with the counters around it and the device's report. `beside`: a writer or
/// reader ran in parallel to the test.
fn stored(stall: &Stall, recorded: &PhaseRecord, tail: &PhaseTail, beside: bool) -> StallRecord {
    let (from, to) = moments(stall, recorded);
    let around = tail.looks.as_ref().and_then(|looks| looks.around(from, to));
    let mut stored = StallRecord { around, ..StallRecord::from(stall) };
    if stored.waited.is_empty() {
        device_wait::report(&mut stored, (from, to), &tail.slow, beside);
    }
    stored
}

/// The counters while a phase ran, outside its stalls.
fn watched(looks: &Looks, recorded: &PhaseRecord, stalls: &[Stall]) -> Watched {
    let ends = recorded.began.plus(recorded.elapsed).plus(recorded.behind);
    let mut stalled: Vec<_> = stalls.iter().map(|stall| moments(stall, recorded)).collect();
    stalled.order();
    Watched {
        rules: flashlag_explain::infer::RULES,
        readings: looks.between(recorded.began, ends),
        calm: looks.apart_from((recorded.began, ends), &stalled),
        missing: looks.missing.clone(),
    }
}

/// The think time of a scenario; `None` if it is zero.
pub(super) fn thinks(think: Option<Text<Nanos>>) -> Option<Nanos> {
    think.map(|think| think.0).filter(|think| *think > Nanos::ZERO)
}

/// The note on think times that a reader of rates needs.
fn think_in_words(think: Think) -> String {
    let Think { each_ns, total_ns } = think;
    format!(
        "{each_ns} of think time after each operation, {total_ns} together: in the elapsed time and in \
         the rates, in no latency"
    )
}

fn summary_if_any(histogram: &Histogram) -> Option<LatencySummary> {
    (histogram.count() > 0).then(|| LatencySummary::from(histogram))
}

fn stored_if_any(histogram: &Histogram) -> Option<StoredHistogram> {
    (histogram.count() > 0).then(|| StoredHistogram::from(histogram))
}

fn time_of(split: Option<WaitSplit>, in_real_time: bool) -> Reading<Time> {
    match split {
        Some(split) => Reading::Value(Time::from(split)),
        None if in_real_time => {
            Reading::unavailable("the kernel keeps no scheduler statistics for this thread")
        }
        None => Reading::unavailable("virtual time: nobody waits for a CPU"),
    }
}

/// A split of the measuring thread's time, without the moments in which the process stood still.
pub fn without_stops(time: Option<WaitSplit>, stopped: Option<Nanos>) -> Option<WaitSplit> {
    time.map(|split| split.with_stopped(stopped.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_without_times_is_explained_by_the_kernel_or_by_virtual_time() {
        let reason = |real| time_of(None, real).reason().map(str::to_owned).unwrap();
        assert!(reason(true).contains("the kernel keeps no scheduler statistics"));
        assert!(reason(false).contains("virtual time"));
        let split = WaitSplit { on_cpu: Nanos(3), ..WaitSplit::default() };
        let kept = time_of(Some(split), true);
        assert_eq!(kept.value().map(|time| time.on_cpu_ns), Some(Nanos(3)));
    }
}
