use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_device::Budget;
use flashlag_spec::scenario::Save;
use flashlag_spec::{Downgrade, Reading};
use flashlag_stats::live::Live;
use flashlag_stats::{Histogram, PhaseRecord, Recorder, WaitSplit};
use flashlag_units::{Bytes, Nanos};

use crate::error::SqliteError;

/// A job: what to save, and where. `T` is a test of transactions or one of a file
/// ([`flashlag_spec::scenario::FileSave`]).
#[derive(Debug)]
pub struct SaveJob<'a, T = Save> {
    /// The save test of the scenario.
    pub save: &'a T,
    /// An existing directory for the databases (`save-0.db`, `save-1.db`, ...) or the file. They replace
    /// files of the same name and remain afterwards.
    pub directory: &'a Path,
    /// Seed of contents, choices of rows and arrivals.
    pub seed: u64,
    /// Initial width of the series' intervals.
    pub interval: Nanos,
    /// A save longer than this is a stall.
    pub stall_over: Nanos,
}

impl<T> Clone for SaveJob<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SaveJob<'_, T> {}

/// Callback at the end of each interval, between two saves and outside of every latency: it may set
/// temperature and fill level, or end the phase ([`ControlFlow::Break`] with the reason, which
/// becomes a note).
pub type OnInterval<'a> = &'a mut dyn FnMut(&mut Recorder) -> ControlFlow<String>;

/// Observers and limits of a job.
pub struct SaveWatch<'a, M> {
    /// Stop flag: ends the job after the present save.
    pub stop: &'a AtomicBool,
    /// Where progress is published.
    pub live: Option<Arc<Live>>,
    /// Meter of this thread's states, opened on the thread that calls [`crate::run`].
    pub meter: Option<M>,
    /// Callback at the end of each interval.
    pub on_interval: Option<OnInterval<'a>>,
    /// Write budget, shared with other writers: a save begins only if the most that it can write is
    /// left.
    pub budget: Option<Budget>,
    /// Callback after the last save, before the databases are closed: what closing writes (the
    /// checkpoint of a write-ahead log) belongs to no save.
    pub on_end: Option<&'a mut dyn FnMut()>,
}

impl<'a, M> SaveWatch<'a, M> {
    /// A stop flag and, if there is one, a meter.
    pub fn new(stop: &'a AtomicBool, meter: Option<M>) -> SaveWatch<'a, M> {
        SaveWatch { stop, live: None, meter, on_interval: None, budget: None, on_end: None }
    }
}

impl<M: fmt::Debug> fmt::Debug for SaveWatch<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SaveWatch").field("meter", &self.meter).finish_non_exhaustive()
    }
}

/// Result of a job, also of one that failed or was stopped: everything recorded until then.
#[derive(Clone, Debug)]
pub struct SavesOutcome {
    /// All saves. Elapsed time and the times of intervals and stalls leave out pauses
    /// ([`SavesOutcome::top_ups`]).
    pub recorded: PhaseRecord,
    /// States of this thread, without pauses, think times and waits for the schedule of an open loop,
    /// so that blocked means blocked on storage. `None` without a meter.
    pub time: Option<WaitSplit>,
    /// The total of the think times between saves, including how late each one ended; it is part of
    /// the elapsed time.
    pub thought: Nanos,
    /// Saves that made a lasting file larger than ever before.
    pub grew: Histogram,
    pub in_place: Histogram,
    /// Content of the rows that saves inserted, updated or deleted.
    pub app_bytes: Bytes,
    /// Bytes that SQLite wrote for saves by write calls: pages, journal records, log frames.
    pub page_bytes: Reading<Bytes>,
    /// Number of those write calls.
    pub write_calls: Reading<u64>,
    /// Size of all databases with their journals after the last save.
    pub database_bytes: Bytes,
    /// Rows put back outside of all latencies, so that deletes don't run out.
    pub top_ups: TopUps,
    /// Bytes written before the first save, to make the databases and their first rows.
    pub prepared_bytes: Reading<Bytes>,
    /// Bytes written by closing the databases: the rest of a write-ahead log, which belongs to no
    /// save.
    pub closed_bytes: Reading<Bytes>,
    /// Whether the job ended because another save might have exceeded the budget.
    pub out_of_budget: bool,
    /// Whether the job ended early: stopped, by an error, or by a callback.
    pub cut_short: bool,
    /// The error of the save that failed.
    pub error: Option<SqliteError>,
    /// Requests that SQLite did not honour.
    pub downgrades: Vec<Downgrade>,
    /// Notes for the reader of the run.
    pub notes: Vec<String>,
}

/// Rows put back so that deletes don't run out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopUps {
    /// Number of times.
    pub count: u64,
    /// Number of rows, per database.
    pub rows: u64,
    /// Time it took, which is in no latency and not in the elapsed time.
    pub took: Nanos,
    /// Bytes written for it.
    pub page_bytes: Bytes,
}
