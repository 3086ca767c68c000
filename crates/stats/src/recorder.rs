use std::sync::Arc;

use flashlag_units::{Bytes, Nanos};

use crate::histogram::Histogram;
use crate::interval::{Interval, IntervalSeries};
use crate::live::Live;
use crate::percentile::Percentile;
use crate::stall::{Stall, StallList, Stalls};
use crate::wait::{WaitSplit, WaitTable};
use crate::waited::Waited;

/// Times of one operation, all on the same clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpTimes {
    /// Intended start on the schedule; `None` in a closed loop.
    pub intended: Option<Nanos>,
    /// When it was submitted to the device.
    pub started: Nanos,
    /// Start of its flush, if the flush is a separate call.
    pub flush_from: Option<Nanos>,
    /// When it completed (and was durable, if asked for).
    pub ended: Nanos,
    /// Bytes moved.
    pub bytes: Bytes,
}

/// Parameters of a [`Recorder`].
#[derive(Clone, Debug)]
pub struct RecorderConfig {
    /// Start of the phase.
    pub start: Nanos,
    /// Width of intervals at first; doubles as needed.
    pub interval: Nanos,
    /// Only waits longer than this can be stalls ([`PhaseRecord::final_stalls`]).
    pub stall_over: Nanos,
    /// Where to publish progress, if anywhere.
    pub live: Option<Arc<Live>>,
}

/// Recorder of a phase. [`Recorder::record`] allocates nothing; at the end of an interval it stores
/// the interval's buckets.
#[derive(Debug)]
pub struct Recorder {
    config: RecorderConfig,
    total: Histogram,
    current: Histogram,
    flush: Histogram,
    response: Histogram,
    series: IntervalSeries,
    current_bytes: Bytes,
    total_bytes: Bytes,
    current_ends: Nanos,
    filled: Option<Bytes>,
    levels: Option<Levels>,
    temperature_millicelsius: Option<i64>,
    stalls: StallList,
    waits: WaitTable,
    missed_slots: u64,
    /// Whether intervals end on a grid counted from the start of the phase.
    aligned: bool,
    series_ended: bool,
    behind: Nanos,
    /// What the next recorded operation waited for, and the sum for the present interval.
    waited: Option<Waited>,
    current_waited: Option<Waited>,
}

/// Intervals by fill level: in a fill, intervals also end by level, since a fast fill can pass half
/// the storage within one interval of time.
#[derive(Clone, Copy, Debug)]
struct Levels {
    step: Bytes,
    /// The level at which the present interval ends.
    ends: Option<Bytes>,
}

/// Result of a phase, ready to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseRecord {
    /// Start of the phase, on the clock that timed it.
    pub began: Nanos,
    /// How far that clock was behind the machine's at the end: the pauses, which are not part of
    /// the phase.
    pub behind: Nanos,
    /// Length of the phase.
    pub elapsed: Nanos,
    /// Bytes moved.
    pub bytes: Bytes,
    /// Latencies from submission.
    pub latency: Histogram,
    /// The flushes' part of the latencies, if flushes are separate calls; otherwise empty.
    pub flush: Histogram,
    /// Response times, from the intended start, of an open loop; otherwise empty.
    pub response: Histogram,
    /// Slots of the schedule at which no operation could start in time.
    pub missed_slots: u64,
    /// Interval series.
    pub intervals: Vec<Interval>,
    /// The least limit for a stall.
    pub stall_over: Nanos,
    /// The longest waits over that limit, in order of time.
    pub stalls: Vec<Stall>,
    /// Number of waits over that limit.
    pub stalls_seen: u64,
    /// Sampled wait splits by latency class.
    pub waits: WaitTable,
}

impl Recorder {
    /// An empty recorder, with all the memory that most phases need.
    pub fn new(config: RecorderConfig) -> Recorder {
        Recorder {
            current_ends: config.start.plus(config.interval),
            series: IntervalSeries::new(config.interval),
            config,
            total: Histogram::new(),
            current: Histogram::new(),
            flush: Histogram::new(),
            response: Histogram::new(),
            current_bytes: Bytes::ZERO,
            total_bytes: Bytes::ZERO,
            filled: None,
            levels: None,
            temperature_millicelsius: None,
            stalls: StallList::default(),
            waits: WaitTable::default(),
            missed_slots: 0,
            aligned: false,
            series_ended: false,
            behind: Nanos::ZERO,
            waited: None,
            current_waited: None,
        }
    }

    /// Makes intervals end on a grid counted from the start of the phase, so that those of several
    /// threads can be joined. By default each ends one width after the previous one.
    pub fn aligned(mut self) -> Recorder {
        self.aligned = true;
        self
    }

    /// Moves the start of the phase to `start`. To be called before the first operation: making a
    /// recorder takes a moment, which is no part of the phase.
    pub fn begin_at(&mut self, start: Nanos) {
        self.config.start = start;
        self.current_ends = start.plus(self.config.interval);
    }

    /// Sets what the next recorded operation waited for: parts of its latency.
    pub fn set_waited(&mut self, waited: Waited) {
        let sum = self.current_waited.get_or_insert_default();
        *sum = sum.plus(&waited);
        self.waited = Some(waited);
    }

    /// Records an operation. Returns whether it may be a stall, whose split the caller then adds by
    /// [`Recorder::record_stall`].
    #[inline]
    pub fn record(&mut self, op: OpTimes) -> bool {
        let latency = op.ended.since(op.started);
        self.current.record(latency);
        self.current_bytes.0 += op.bytes.0;
        if let Some(flush_from) = op.flush_from {
            self.flush.record(op.ended.since(flush_from));
        }
        if let Some(intended) = op.intended {
            self.response.record(op.ended.since(intended));
        }
        if op.ended >= self.current_ends {
            self.end_interval(op.ended);
        }
        latency > self.config.stall_over
    }

    /// Records what may be a stall: the operation that was recorded last, and its split, if known.
    pub fn record_stall(&mut self, op: OpTimes, split: Option<WaitSplit>) {
        let at = op.started.since(self.config.start);
        let length = op.ended.since(op.started);
        let (behind, waited) = (self.behind, self.waited);
        self.stalls.push(Stall { at, length, behind, split, waited });
    }

    /// Records the split of a sampled operation.
    pub fn record_wait(&mut self, latency: Nanos, split: WaitSplit) {
        self.waits.record(latency, split);
    }

    /// Counts slots of the schedule that passed without an operation.
    pub fn miss_slots(&mut self, slots: u64) {
        self.missed_slots += slots;
    }

    /// Ends intervals also when the storage has become fuller by `step` since their start. Like the
    /// width, the step doubles as needed.
    pub fn end_intervals_every(&mut self, step: Bytes) {
        self.levels = Some(Levels { step: step.max(Bytes(1)), ends: None });
    }

    /// Sets how full the storage is, for the present interval.
    #[inline]
    pub fn set_filled(&mut self, filled: Bytes) {
        self.filled = Some(filled);
        let Some(levels) = &mut self.levels else { return };
        match levels.ends {
            None => levels.ends = Some(filled.plus(levels.step)),
            // The interval ends with the next operation, as at the end of its width.
            Some(ends) if filled >= ends => self.current_ends = Nanos::ZERO,
            Some(_) => {}
        }
    }

    /// Sets how far the phase's clock is behind the machine's, if it pauses at times.
    #[inline]
    pub fn set_behind(&mut self, behind: Nanos) {
        self.behind = behind;
    }

    /// Sets the storage temperature, for the present interval.
    pub fn set_temperature(&mut self, millicelsius: i64) {
        self.temperature_millicelsius = Some(millicelsius);
    }

    /// Where progress is published, if anywhere.
    pub fn live(&self) -> Option<&Live> {
        self.config.live.as_deref()
    }

    /// Length above which a wait may be a stall.
    pub fn stall_over(&self) -> Nanos {
        self.config.stall_over
    }

    /// Number of recorded operations.
    pub fn ops(&self) -> u64 {
        self.total.count() + self.current.count()
    }

    /// Bytes moved.
    pub fn bytes(&self) -> Bytes {
        self.total_bytes.plus(self.current_bytes)
    }

    /// Intervals that have ended, for a caller that decides by them when to stop.
    pub fn intervals(&self) -> &[Interval] {
        self.series.as_slice()
    }

    #[cold]
    fn end_interval(&mut self, now: Nanos) {
        let exact = (
            self.current.min().unwrap_or_default(),
            self.current.max().unwrap_or_default(),
            self.current.sum(),
        );
        let ends = now.since(self.config.start);
        if self.current.count() > 0 {
            self.total.merge(&self.current);
            self.total_bytes = self.total_bytes.plus(self.current_bytes);
            self.series.push(Interval {
                ends,
                bytes: self.current_bytes,
                filled: self.filled,
                temperature_millicelsius: self.temperature_millicelsius,
                exact,
                buckets: self.current.occupied().collect(),
                waited: self.current_waited,
            });
        }
        if let Some(live) = &self.config.live {
            let on_schedule = self.response.count() > 0;
            let felt = if on_schedule { &self.response } else { &self.total };
            live.publish(&self.total, felt, exact.1, ends, self.total_bytes, self.filled);
        }
        self.current.clear();
        self.current_waited = None;
        self.current_bytes = Bytes::ZERO;
        let width = self.series.width();
        self.current_ends = if self.aligned {
            self.config.start.plus(Nanos((ends.0 / width.0.max(1) + 1) * width.0))
        } else {
            now.plus(width)
        };
        if let (Some(levels), Some(filled)) = (&mut self.levels, self.filled) {
            let doubled = self.series.width().0 / self.config.interval.0.max(1);
            let step = levels.step.0.saturating_mul(doubled.max(1));
            levels.ends = Some(filled.plus(Bytes(step)));
        }
    }

    /// Ends the last interval at `now`, if the phase continues without operations: with a final
    /// flush.
    pub fn end_series(&mut self, now: Nanos) {
        self.end_interval(now);
        self.series_ended = true;
    }

    /// Ends the phase at `now` and returns its result.
    pub fn finish(mut self, now: Nanos) -> PhaseRecord {
        if !self.series_ended {
            self.end_interval(now);
        }
        PhaseRecord {
            began: self.config.start,
            behind: self.behind,
            elapsed: now.since(self.config.start),
            bytes: self.total_bytes,
            latency: self.total,
            flush: self.flush,
            response: self.response,
            missed_slots: self.missed_slots,
            intervals: self.series.as_slice().to_vec(),
            stall_over: self.config.stall_over,
            stalls: self.stalls.in_order(),
            stalls_seen: self.stalls.seen(),
            waits: self.waits,
        }
    }
}

impl PhaseRecord {
    /// The stalls: waits over `least` and over [`Stalls::TIMES`] times the median, which is known
    /// only now. If more waits were recorded than kept, the stalls are counted in the histogram, as
    /// a reader of the stored phase can do, too.
    pub fn final_stalls(&self, least: Nanos) -> Stalls {
        let median = self.latency.quantile(Percentile::P50).unwrap_or_default();
        let usual = Nanos(median.0.saturating_mul(Stalls::TIMES));
        let over = self.stall_over.max(least).max(usual);
        let stalls = self.stalls.iter().filter(|stall| stall.length > over);
        let listed: Vec<Stall> = stalls.copied().collect();
        let known = listed.len() as u64;
        let seen = if over == self.stall_over {
            self.stalls_seen
        } else if self.stalls_seen == self.stalls.len() as u64 {
            known
        } else {
            self.latency.count_over(over).max(known)
        };
        Stalls { over, seen, listed }
    }
}
