//! What one save did, and one that is under way.

use flashlag_schema::trace::{TraceEvent, TraceSaveKind};
use flashlag_units::Nanos;

/// A save that is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Save {
    /// The file that was saved.
    pub(crate) file: u32,
    pub(crate) kind: TraceSaveKind,
    /// The thread that synced it; without a sync the one that wrote it.
    pub(crate) task: Option<u32>,
    /// The first and the end of the last of its calls.
    pub(crate) begun: Nanos,
    pub(crate) ended: Nanos,
    /// The durations of the thread's calls.
    pub(crate) waited: Nanos,
    /// Whether the duration of each write and each sync is known.
    pub(crate) timed: bool,
    /// Syncs; none if the file was replaced without one.
    pub(crate) syncs: u32,
    pub(crate) bytes: u64,
    /// Whether its first write begins where the last one before it ended; `None` if either place is
    /// unknown.
    pub(super) continues: Option<bool>,
}

/// What a program does to a file since its last save.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pending {
    pub(super) begun: Nanos,
    ended: Nanos,
    waited: Nanos,
    untimed: bool,
    task: Option<u32>,
    pub(super) writes: u64,
    pub(super) syncs: u32,
    bytes: u64,
    pub(super) continues: Option<bool>,
    /// Whether the file was emptied, and whether all of its content was written since.
    pub(super) is_emptied: bool,
    pub(super) is_whole: bool,
    /// What the old file was renamed to.
    pub(super) backup: Option<u32>,
}

impl Pending {
    /// One that begins with a call.
    pub(super) fn begins(event: &TraceEvent) -> Pending {
        Pending { begun: event.t_ns, task: event.task, ..Pending::default() }
    }

    /// Adds a call on the file or its name.
    pub(super) fn takes(&mut self, event: &TraceEvent) {
        // The thread that syncs waits for its own calls, not for those of another that wrote before it.
        if self.syncs == 0 && self.task != event.task {
            (self.task, self.waited) = (event.task, Nanos::ZERO);
        }
        let took = event.took_ns.unwrap_or_default();
        if self.task == event.task {
            self.waited = self.waited.plus(took);
        }
        self.ended = self.ended.max(event.t_ns.plus(took));
    }

    pub(super) fn writes(&mut self, event: &TraceEvent, bytes: u64) {
        self.takes(event);
        self.writes += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.untimed |= event.took_ns.is_none();
    }

    /// Adds a close, unless a child closes what it inherited.
    pub(super) fn closes(&mut self, event: &TraceEvent) {
        if self.task == event.task {
            self.takes(event);
        }
    }

    pub(super) fn syncs(&mut self, event: &TraceEvent) {
        self.takes(event);
        self.syncs = self.syncs.saturating_add(1);
        self.untimed |= event.took_ns.is_none();
    }

    /// The save of this file.
    pub(super) fn ends(self, file: u32, kind: TraceSaveKind) -> Save {
        Save {
            file,
            kind,
            task: self.task,
            begun: self.begun,
            ended: self.ended,
            waited: self.waited,
            timed: !self.untimed,
            syncs: self.syncs,
            bytes: self.bytes,
            continues: self.continues,
        }
    }
}

impl Save {
    /// Adds a sync after the save's last call: of its directory, or of the file after its rename.
    pub(super) fn syncs(&mut self, event: &TraceEvent) {
        let took = event.took_ns.unwrap_or_default();
        self.syncs = self.syncs.saturating_add(1);
        self.timed &= event.took_ns.is_some();
        self.waited = self.waited.plus(took);
        self.ended = self.ended.max(event.t_ns.plus(took));
    }
}
