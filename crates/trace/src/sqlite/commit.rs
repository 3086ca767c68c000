//! What one transaction did, and the transactions of one database.

use flashlag_schema::trace::TraceEvent;
use flashlag_spec::scenario::JournalMode;
use flashlag_units::Nanos;

/// A transaction that was committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Commit {
    /// The first write.
    pub(crate) begun: Nanos,
    /// The end of the last write or fsync.
    pub(crate) ended: Nanos,
    /// Whether the length of every fsync is known.
    pub(crate) timed: bool,
    /// The thread.
    pub(crate) task: Option<u32>,
    /// How the transaction ended; `None` if the trace does not show it.
    pub(crate) mode: Option<JournalMode>,
    pub(crate) syncs: u64,
    pub(crate) writes: u64,
    pub(crate) bytes: u64,
    /// Bytes and number of the changed pages.
    pub(crate) page_bytes: u64,
    pub(crate) pages: u64,
}

/// What SQLite did to one database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Database {
    /// Index of the database's file; if that is not in the trace, of its journal.
    pub(crate) file: u32,
    pub(crate) commits: Vec<Commit>,
    pub(crate) rolled_back: u64,
    pub(crate) unsynced_bytes: u64,
    /// Whether the mode is inferred from what is not in the trace.
    pub(crate) mode_inferred: bool,
}

/// What happens to a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Happening {
    pub(super) t: Nanos,
    pub(super) end: Nanos,
    pub(super) timed: bool,
    pub(super) task: Option<u32>,
}

impl Happening {
    pub(super) fn of(event: &TraceEvent) -> Happening {
        let end = event.t_ns.plus(event.took_ns.unwrap_or_default());
        Happening { t: event.t_ns, end, timed: event.took_ns.is_some(), task: event.task }
    }
}

impl Commit {
    /// Adds a write or an fsync to the transaction.
    pub(super) fn takes(&mut self, happening: Happening) {
        if self.writes + self.syncs == 0 {
            (self.begun, self.timed) = (happening.t, true);
        }
        self.ended = self.ended.max(happening.end);
        self.task = self.task.or(happening.task);
    }

    pub(super) fn writes(&mut self, happening: Happening, bytes: u64) {
        self.takes(happening);
        self.writes += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    pub(super) fn syncs(&mut self, happening: Happening) {
        self.takes(happening);
        self.syncs += 1;
        self.timed &= happening.timed;
    }
}

impl Database {
    /// Whether SQLite did anything to the database.
    pub(super) fn is_used(&self) -> bool {
        !self.commits.is_empty() || self.rolled_back > 0 || self.unsynced_bytes > 0
    }
}
