use std::sync::Arc;

use flashlag_units::{Bytes, Nanos};

use crate::histogram::Histogram;
use crate::interval::{Interval, IntervalSeries};
use crate::live::Live;
use crate::stall::{Stall, StallList};
use crate::wait::{WaitSplit, WaitTable};

/// The moments of one operation, all on the same clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpTimes {
    /// When the schedule wanted it to begin; `None` in a closed loop.
    pub intended: Option<Nanos>,
    /// When it was handed to the device.
    pub started: Nanos,
    /// When its flush began, where the flush is a call of its own.
    pub flush_from: Option<Nanos>,
    /// When it was done (and durable, if it was asked to be).
    pub ended: Nanos,
    /// How much it moved.
    pub bytes: Bytes,
}

/// How a [`Recorder`] keeps what it sees.
#[derive(Clone, Debug)]
pub struct RecorderConfig {
    /// The start of the phase.
    pub start: Nanos,
    /// Width of an interval at first; it doubles as needed.
    pub interval: Nanos,
    /// A wait longer than this is a stall.
    pub stall_over: Nanos,
    /// Where to show progress, if anywhere.
    pub live: Option<Arc<Live>>,
}

/// Takes the times of every operation of a phase. [`Recorder::record`] allocates nothing; once an
/// interval it stores that interval's buckets.
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
    temperature_millicelsius: Option<i64>,
    stalls: StallList,
    waits: WaitTable,
    missed_slots: u64,
    /// Whether intervals end on the lines of a grid from the start.
    aligned: bool,
}

/// Everything a phase saw, ready to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// From the start of the phase to its end.
    pub elapsed: Nanos,
    /// Bytes moved.
    pub bytes: Bytes,
    /// Latency from the moment the operation was handed to the device.
    pub latency: Histogram,
    /// The flush's part of it, where the flush is a call of its own; else empty.
    pub flush: Histogram,
    /// Latency from the intended start, in an open loop; else empty.
    pub response: Histogram,
    /// Slots of the schedule at which no operation could be started in time.
    pub missed_slots: u64,
    /// The interval series.
    pub intervals: Vec<Interval>,
    /// The longest stalls, in order of time.
    pub stalls: Vec<Stall>,
    /// How many stalls there were.
    pub stalls_seen: u64,
    /// Sampled waits by latency class.
    pub waits: WaitTable,
}

impl Recorder {
    /// An empty recorder. Allocates everything it will need for most phases.
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
            temperature_millicelsius: None,
            stalls: StallList::default(),
            waits: WaitTable::default(),
            missed_slots: 0,
            aligned: false,
        }
    }

    /// The same, with intervals that end on the lines of a grid from the start, so that those of
    /// several threads can be joined; else each is as wide after the end of the one before it.
    pub fn aligned(mut self) -> Recorder {
        self.aligned = true;
        self
    }

    /// Takes one operation. Returns whether it was a stall, for which the caller then gives the
    /// split by [`Recorder::record_stall`].
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

    /// Takes a stall with its split, where that is known.
    pub fn record_stall(&mut self, op: OpTimes, split: Option<WaitSplit>) {
        let at = op.started.since(self.config.start);
        self.stalls.push(Stall { at, length: op.ended.since(op.started), split });
    }

    /// Takes the split of one sampled operation.
    pub fn record_wait(&mut self, latency: Nanos, split: WaitSplit) {
        self.waits.record(latency, split);
    }

    /// Counts slots of the schedule that passed without an operation.
    pub fn miss_slots(&mut self, slots: u64) {
        self.missed_slots += slots;
    }

    /// Says how full the storage is, for the interval under way.
    pub fn set_filled(&mut self, filled: Bytes) {
        self.filled = Some(filled);
    }

    /// Says how warm the storage is, for the interval under way.
    pub fn set_temperature(&mut self, millicelsius: i64) {
        self.temperature_millicelsius = Some(millicelsius);
    }

    /// Where it shows progress, if anywhere.
    pub fn live(&self) -> Option<&Live> {
        self.config.live.as_deref()
    }

    /// The longest a wait may be before it is a stall.
    pub fn stall_over(&self) -> Nanos {
        self.config.stall_over
    }

    /// How many operations were recorded.
    pub fn ops(&self) -> u64 {
        self.total.count() + self.current.count()
    }

    /// How many bytes were moved.
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
            });
        }
        if let Some(live) = &self.config.live {
            let on_schedule = self.response.count() > 0;
            let felt = if on_schedule { &self.response } else { &self.total };
            live.publish((&self.total, felt), exact.1, ends, self.total_bytes, self.filled);
        }
        self.current.clear();
        self.current_bytes = Bytes::ZERO;
        let width = self.series.width();
        self.current_ends = match self.aligned {
            true => self.config.start.plus(Nanos((ends.0 / width.0.max(1) + 1) * width.0)),
            false => now.plus(width),
        };
    }

    /// Ends the phase at `now`.
    pub fn finish(mut self, now: Nanos) -> Recorded {
        self.end_interval(now);
        Recorded {
            elapsed: now.since(self.config.start),
            bytes: self.total_bytes,
            latency: self.total,
            flush: self.flush,
            response: self.response,
            missed_slots: self.missed_slots,
            intervals: self.series.as_slice().to_vec(),
            stalls: self.stalls.in_order(),
            stalls_seen: self.stalls.seen(),
            waits: self.waits,
        }
    }
}
