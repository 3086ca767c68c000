use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_device::Budget;
use flashlag_schema::scenario::Save;
use flashlag_schema::{Downgrade, Reading};
use flashlag_stats::live::Live;
use flashlag_stats::{Histogram, Recorded, Recorder, WaitSplit};
use flashlag_units::{Bytes, Nanos};

use crate::error::SqliteError;

/// What is to be done, and where.
#[derive(Clone, Copy, Debug)]
pub struct SaveJob<'a> {
    /// The test.
    pub save: &'a Save,
    /// An existing directory for the databases (`save-0.db`, `save-1.db`, ...), which replace any
    /// of the same name and stay there afterwards.
    pub directory: &'a Path,
    /// What contents, choices of rows and arrivals follow from.
    pub seed: u64,
    /// Width of an interval of the series, at first.
    pub interval: Nanos,
    /// A save longer than this is a stall.
    pub stall_over: Nanos,
}

/// Called at the end of each interval, between two saves, outside of every latency: to say how warm
/// or full the storage is, or to end the phase ([`ControlFlow::Break`] with the reason, which
/// becomes a note).
pub type OnInterval<'a> = &'a mut dyn FnMut(&mut Recorder) -> ControlFlow<String>;

/// What looks on while saves are made.
pub struct SaveWatch<'a, M> {
    /// Raised to end it, after the save under way.
    pub stop: &'a AtomicBool,
    /// Where progress is shown.
    pub live: Option<Arc<Live>>,
    /// Tells where this thread's time goes: opened on the thread that calls [`crate::run`].
    pub meter: Option<M>,
    /// Called at the end of each interval.
    pub on_interval: Option<OnInterval<'a>>,
    /// What may be written, shared with whatever writes beside it: a save begins only where the most
    /// that it can write is left.
    pub budget: Option<Budget>,
    /// Called after the last save, before the databases are closed: what closing writes (a write-ahead
    /// log's checkpoint) belongs to no save.
    pub on_end: Option<&'a mut dyn FnMut()>,
}

impl<'a, M> SaveWatch<'a, M> {
    /// Only a stop flag and, where there is one, a meter.
    pub fn new(stop: &'a AtomicBool, meter: Option<M>) -> SaveWatch<'a, M> {
        SaveWatch { stop, live: None, meter, on_interval: None, budget: None, on_end: None }
    }
}

impl<M: fmt::Debug> fmt::Debug for SaveWatch<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SaveWatch").field("meter", &self.meter).finish_non_exhaustive()
    }
}

/// What came of a job. Whatever ended it, what was recorded until then is here.
#[derive(Clone, Debug)]
pub struct Saved {
    /// Every save. Elapsed time and the times of intervals and stalls leave out pauses
    /// ([`Saved::top_ups`]).
    pub recorded: Recorded,
    /// Where this thread's time went: without pauses and without waits for the schedule of an open
    /// loop, so that what is blocked was blocked on storage. `None` without a meter.
    pub time: Option<WaitSplit>,
    /// Saves after which a lasting file was larger than ever before.
    pub grew: Histogram,
    /// All other saves.
    pub in_place: Histogram,
    /// Content of the rows that saves added, changed or removed.
    pub app_bytes: Bytes,
    /// What SQLite wrote for it by write calls: pages, journal records, log frames.
    pub page_bytes: Reading<Bytes>,
    /// How many write calls that took.
    pub write_calls: Reading<u64>,
    /// Size of all databases with their journals, when the last save was done.
    pub database_bytes: Bytes,
    /// Rows put back outside of all latencies, so that deletes do not run out.
    pub top_ups: TopUps,
    /// What was written before the first save, to make the databases and their first rows.
    pub prepared_bytes: Reading<Bytes>,
    /// What closing the databases wrote: the rest of a write-ahead log, which belongs to no save.
    pub closed_bytes: Reading<Bytes>,
    /// Whether it ended because another save might have exceeded the budget.
    pub out_of_budget: bool,
    /// Whether it ended before its time: stopped, an error, or a word from the watch.
    pub cut_short: bool,
    /// Why it ended, where a save failed.
    pub error: Option<SqliteError>,
    /// What SQLite did not do as asked.
    pub downgrades: Vec<Downgrade>,
    /// What the reader must know.
    pub notes: Vec<String>,
}

/// Rows put back so that deletes do not run out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopUps {
    /// How many times.
    pub count: u64,
    /// How many rows, in each database.
    pub rows: u64,
    /// How long it took, in no latency and not in the elapsed time.
    pub took: Nanos,
    /// What was written for it.
    pub page_bytes: Bytes,
}
