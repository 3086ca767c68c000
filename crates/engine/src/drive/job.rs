use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_device::{Budget, DeviceError, Durability};
use flashlag_spec::scenario::{self, Arrivals, Io, IoOperation, Pattern, ThreadSpans};
use flashlag_stats::live::Live;
use flashlag_stats::{Interval, PhaseRecord, WaitSplit};
use flashlag_units::{Bytes, Nanos};
use flashlag_workload::Mismatch;

use super::together::SharedLimits;

/// A job of [`super::drive`]: operations, addresses, limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Read, write or both.
    pub operation: IoOperation,
    /// The percentage of reads in a mixed job.
    pub read_percent: u32,
    /// The order of addresses.
    pub pattern: Pattern,
    /// Bytes for each operation.
    pub block: Bytes,
    /// The part of the device that is addressed, from offset 0.
    pub span: Bytes,
    /// Operations in flight in each thread; at most the device's slots.
    pub queue_depth: u32,
    /// Threads that do the job.
    pub threads: u32,
    /// This thread's index; `None` if one device does the work of all threads: submitters in
    /// virtual time.
    pub thread: Option<u32>,
    /// Which part of the span each thread works on.
    pub thread_spans: ThreadSpans,
    /// How each write is made durable.
    pub durability: Durability,
    /// When operations begin.
    pub arrivals: Arrivals,
    /// In a closed loop: how long a slot rests between an operation and its next.
    pub think: Nanos,
    /// When it ends.
    pub limits: Limits,
    /// The seed of addresses, arrivals and payload.
    pub seed: u64,
    /// Width of an interval of the series, at first.
    pub interval: Nanos,
    /// A wait longer than this is a stall.
    pub stall_over: Nanos,
    /// Whether every written block is read back and compared afterwards.
    pub verify: bool,
}

/// When a phase ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// After this many bytes, warm-up not counted.
    pub bytes: Option<Bytes>,
    /// After this long, warm-up not counted.
    pub time: Option<Nanos>,
    /// Continues after `time` until this many operations are done, for at most four times `time`.
    pub min_ops: Option<u64>,
    /// Warm-up at the start, which is not counted.
    pub warmup: Option<Nanos>,
}

impl Limits {
    /// The limit in bytes, as a number of operations of `block`: at least one.
    pub(super) fn ops(&self, block: Bytes) -> Option<u64> {
        self.bytes.map(|bytes| (bytes.0 / block.0.max(1)).max(1))
    }
}

/// A phase may last this multiple of its `time` to reach `min_ops`.
pub(super) const STRETCH: u64 = 4;

impl Job {
    /// The job of a scenario's `[[io]]` over the first `span` bytes of a device. By default intervals
    /// are 100 ms wide and a stall is longer than 100 ms.
    pub fn of(io: &Io, span: Bytes, seed: u64) -> Job {
        Job {
            operation: io.operation,
            read_percent: io.read_percent.unwrap_or_default(),
            pattern: io.pattern,
            block: io.block.0,
            span,
            queue_depth: io.queue_depth,
            threads: io.threads,
            thread: None,
            thread_spans: io.thread_spans,
            durability: durability_of(io.durable),
            arrivals: io.arrivals,
            think: io.think.map(|think| think.0).unwrap_or_default(),
            limits: Limits {
                bytes: io.bytes.map(|bytes| bytes.0),
                time: io.time.map(|time| time.0),
                min_ops: io.min_ops,
                warmup: io.warmup.map(|warmup| warmup.0),
            },
            seed,
            interval: Nanos::from_millis(100),
            stall_over: Nanos::from_millis(100),
            verify: false,
        }
    }
}

/// The device's durability for the scenario's value.
pub fn durability_of(durable: scenario::Durability) -> Durability {
    match durable {
        scenario::Durability::None => Durability::None,
        scenario::Durability::Fdatasync | scenario::Durability::Fsync => Durability::Flush,
        scenario::Durability::Dsync | scenario::Durability::RwfDsync => Durability::Write,
    }
}

/// Called with all intervals so far at the end of each: returns whether the phase may end.
pub type Enough<'a> = &'a mut dyn FnMut(&[Interval]) -> bool;
/// Called at the beginning of each interval: the storage's temperature, in millidegrees Celsius.
pub type Temperature<'a> = &'a mut dyn FnMut() -> Option<i64>;

/// The watch over a running job: stop flag, progress, budget, meter.
pub struct Watch<'a, M> {
    /// Raised to end the job.
    pub stop: &'a AtomicBool,
    /// Where progress is shown.
    pub live: Option<Arc<Live>>,
    /// Decides by the intervals whether the phase may end.
    pub enough: Option<Enough<'a>>,
    /// Reads the temperature of the storage.
    pub temperature: Option<Temperature<'a>>,
    /// The fill level of the storage, updated by the device of a fill.
    pub filled: Option<&'a Cell<Bytes>>,
    /// The state shared with the other threads of a test, if any.
    pub together: Option<&'a SharedLimits>,
    /// The bytes that may be written, warm-up included; shared with a background job.
    pub budget: Option<Budget>,
    /// The meter of this thread's time.
    pub meter: M,
}

impl<'a, M> Watch<'a, M> {
    /// Only a stop flag and a meter.
    pub fn new(stop: &'a AtomicBool, meter: M) -> Watch<'a, M> {
        Watch {
            stop,
            live: None,
            enough: None,
            temperature: None,
            filled: None,
            together: None,
            budget: None,
            meter,
        }
    }
}

impl<M: std::fmt::Debug> std::fmt::Debug for Watch<'_, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("meter", &self.meter).finish_non_exhaustive()
    }
}

/// The outcome of a job, with everything that was recorded before its end.
#[derive(Clone, Debug)]
pub struct JobOutcome {
    /// Everything that was recorded. `elapsed` has the final flush in it.
    pub recorded: PhaseRecord,
    /// The same for reads and for writes separately, if the job did both.
    pub sides: Option<Box<Sides>>,
    /// The split of this thread's time, from the first counted moment to the end, without think
    /// times;
    /// `None` without a meter.
    pub time: Option<WaitSplit>,
    /// The sum of the rests of all slots: think times, and how late each ended.
    pub thought: Nanos,
    /// The duration of the final flush, if the writes were not durable one by one.
    pub final_flush: Option<Nanos>,
    /// Bytes written and read, warm-up included.
    pub moved: Bytes,
    /// Bytes written, warm-up included.
    pub written: Bytes,
    /// Why it ended.
    pub ended: EndReason,
    /// Whether it ended because the next operation would have exceeded the budget.
    pub out_of_budget: bool,
    /// The result of reading back, if that was requested and done.
    pub verified: Option<Verification>,
}

/// The records of a mixed job: its reads and its writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides {
    /// Its reads.
    pub read: PhaseRecord,
    pub write: PhaseRecord,
}

/// Why a phase ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// A limit was reached.
    Limit,
    /// The stop flag was raised.
    Stopped,
    /// [`Watch::enough`] returned `true`.
    Enough,
    /// There is no space left, or a quota is used up.
    NoSpace(DeviceError),
    /// An operation failed.
    Error(DeviceError),
}

impl EndReason {
    pub(crate) fn from_error(error: DeviceError) -> EndReason {
        if error.is_no_space() { EndReason::NoSpace(error) } else { EndReason::Error(error) }
    }

    /// The error that ended the job, if one did.
    pub fn error(&self) -> Option<&DeviceError> {
        match self {
            EndReason::NoSpace(error) | EndReason::Error(error) => Some(error),
            EndReason::Limit | EndReason::Stopped | EndReason::Enough => None,
        }
    }
}

/// The result of reading back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Blocks that were read back.
    pub blocks: u64,
    /// Blocks that don't hold what was last written to them.
    pub mismatches: u64,
    /// The first few mismatches.
    pub first: Vec<Mismatch>,
    /// Blocks that could not be read, and the first reason.
    pub unreadable: u64,
    /// The error of the first unreadable block.
    pub error: Option<DeviceError>,
    /// Whether every written block was read back; `false` if the job was stopped before.
    pub complete: bool,
}

impl Verification {
    /// Whether every written block was read back and holds every byte that was written to it.
    pub fn is_proved(&self) -> bool {
        self.complete && self.mismatches == 0 && self.unreadable == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_proved_only_where_every_block_was_read_back_and_none_differs() {
        let proved = Verification { blocks: 3, complete: true, ..Verification::default() };
        assert!(proved.is_proved());
        assert!(!Verification { complete: false, ..proved.clone() }.is_proved());
        assert!(!Verification { mismatches: 1, ..proved.clone() }.is_proved());
        assert!(!Verification { unreadable: 1, ..proved }.is_proved());
    }

    #[test]
    fn each_word_of_a_scenario_is_the_durability_that_its_system_calls_give() {
        use scenario::Durability as Word;
        assert_eq!(durability_of(Word::None), Durability::None);
        assert_eq!([Word::Fdatasync, Word::Fsync].map(durability_of), [Durability::Flush; 2]);
        assert_eq!([Word::Dsync, Word::RwfDsync].map(durability_of), [Durability::Write; 2]);
    }
}
