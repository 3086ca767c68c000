//! Transactions of every database of a trace.

use std::collections::HashMap;

use flashlag_schema::scenario::JournalMode;
use flashlag_schema::trace::{Trace, TraceAction, TraceEvent, TraceFileKind};
use flashlag_units::Nanos;

use super::names::database_of;
use super::rollback::Rollback;
use super::wal::Log;

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
    /// How the transaction ended; `None` where the trace does not show that.
    pub(crate) mode: Option<JournalMode>,
    pub(crate) syncs: u64,
    pub(crate) writes: u64,
    pub(crate) bytes: u64,
    /// Bytes and number of the pages that were changed.
    pub(crate) page_bytes: u64,
    pub(crate) pages: u64,
}

/// What SQLite did to one database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Database {
    /// The database, or where it is not in the trace its journal, by index.
    pub(crate) file: u32,
    pub(crate) commits: Vec<Commit>,
    pub(crate) rolled_back: u64,
    pub(crate) unsynced_bytes: u64,
    /// Whether a mode follows from what is not in the trace.
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
    fn of(event: &TraceEvent) -> Happening {
        let end = event.t_ns.plus(event.took_ns.unwrap_or_default());
        Happening { t: event.t_ns, end, timed: event.took_ns.is_some(), task: event.task }
    }
}

impl Commit {
    /// Takes a write or an fsync into the transaction.
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

/// The databases of a trace with their transactions. The kinds of the files are those of
/// [`super::recognize`].
pub(crate) fn databases(trace: &Trace) -> Vec<Database> {
    let mut following = Following::of(trace);
    for event in &trace.events {
        following.event(event);
    }
    following.finish(trace)
}

/// The transactions under way.
struct Following<'a> {
    trace: &'a Trace,
    /// The journal and the log of each database.
    journal_of: HashMap<u32, u32>,
    log_of: HashMap<u32, u32>,
    rollbacks: HashMap<u32, Rollback>,
    logs: HashMap<u32, Log>,
    /// The journal that a thread wrote last: the directory that it syncs is that journal's.
    active: HashMap<Option<u32>, u32>,
}

impl<'a> Following<'a> {
    fn of(trace: &'a Trace) -> Following<'a> {
        let mut following = Following {
            trace,
            journal_of: HashMap::new(),
            log_of: HashMap::new(),
            rollbacks: HashMap::new(),
            logs: HashMap::new(),
            active: HashMap::new(),
        };
        let paths = trace.files.iter().map(|file| file.path.as_deref());
        let indices: HashMap<&str, u32> = paths
            .enumerate()
            .filter_map(|(at, path)| Some((path?, u32::try_from(at).ok()?)))
            .collect();
        for (at, file) in trace.files.iter().enumerate() {
            let Ok(at) = u32::try_from(at) else { break };
            let named = file.path.as_deref().and_then(database_of);
            let database = named.and_then(|(path, _)| indices.get(path)).copied();
            match file.kind {
                TraceFileKind::Journal => {
                    following.rollbacks.insert(at, Rollback::new(database));
                    database.map(|database| following.journal_of.insert(database, at));
                }
                TraceFileKind::Wal => {
                    following.logs.insert(at, Log::new(database));
                    database.map(|database| following.log_of.insert(database, at));
                }
                _ => {}
            }
        }
        following
    }

    fn kind(&self, file: u32) -> TraceFileKind {
        self.trace.files.get(file as usize).map_or(TraceFileKind::Other, |file| file.kind)
    }

    fn event(&mut self, event: &TraceEvent) {
        let happening = Happening::of(event);
        match &event.action {
            TraceAction::Write { file, offset, bytes } => {
                self.write(*file, *offset, bytes.0, happening)
            }
            TraceAction::Sync { file, .. } => self.sync(*file, happening),
            TraceAction::Truncate { file, bytes } if bytes.0 == 0 => {
                self.ends(*file, happening, JournalMode::Truncate);
            }
            TraceAction::Open { file, truncated: true, .. } => {
                self.ends(*file, happening, JournalMode::Truncate);
            }
            TraceAction::Unlink { file } => self.ends(*file, happening, JournalMode::Delete),
            TraceAction::Close { file } => {
                if let Some(rollback) = self.rollbacks.get_mut(file) {
                    rollback.closed();
                }
            }
            _ => {}
        }
    }

    fn write(&mut self, file: u32, offset: Option<u64>, bytes: u64, happening: Happening) {
        if let Some(rollback) = self.rollbacks.get_mut(&file) {
            rollback.journal_written(offset, bytes, happening);
            self.active.insert(happening.task, file);
            return;
        }
        if let Some(log) = self.logs.get_mut(&file) {
            log.written(offset, bytes, happening);
            return;
        }
        if let Some(log) = self.log_of.get(&file).and_then(|log| self.logs.get_mut(log)) {
            log.database_written();
        }
        let journal =
            self.journal_of.get(&file).copied().or_else(|| self.belongs(file, happening.task));
        if let Some(rollback) = journal.and_then(|journal| self.rollbacks.get_mut(&journal)) {
            rollback.database_written(bytes, happening);
        }
    }

    /// The journal of a database whose journal has no name: the one that the thread has just filled.
    fn belongs(&mut self, file: u32, task: Option<u32>) -> Option<u32> {
        if self.kind(file) != TraceFileKind::Database {
            return None;
        }
        let journal = *self.active.get(&task)?;
        let rollback = self.rollbacks.get_mut(&journal).filter(|rollback| rollback.takes(file))?;
        rollback.database = Some(file);
        self.journal_of.insert(file, journal);
        Some(journal)
    }

    fn sync(&mut self, file: u32, happening: Happening) {
        if let Some(rollback) = self.rollbacks.get_mut(&file) {
            rollback.synced(happening);
        } else if let Some(log) = self.logs.get_mut(&file) {
            log.synced(happening);
        } else if let Some(journal) = self.journal_of.get(&file) {
            if let Some(rollback) = self.rollbacks.get_mut(journal) {
                rollback.database_synced(happening);
            }
        } else if self.kind(file) == TraceFileKind::Directory
            && let Some(journal) = self.active.get(&happening.task)
            && let Some(rollback) = self.rollbacks.get_mut(journal)
        {
            rollback.synced(happening);
        }
    }

    fn ends(&mut self, file: u32, happening: Happening, mode: JournalMode) {
        if let Some(rollback) = self.rollbacks.get_mut(&file) {
            rollback.ends(happening, mode);
        } else if let Some(log) = self.logs.get_mut(&file) {
            log.restarted();
        }
    }

    fn finish(self, trace: &Trace) -> Vec<Database> {
        let mode = mode_without_a_sign(trace);
        let mut all: HashMap<u32, Database> = HashMap::new();
        for (journal, rollback) in self.rollbacks {
            let file = rollback.database.unwrap_or(journal);
            let database =
                all.entry(file).or_insert_with(|| Database { file, ..Database::default() });
            rollback.finish(database, mode);
        }
        for (log, state) in self.logs {
            let file = state.database.unwrap_or(log);
            let database =
                all.entry(file).or_insert_with(|| Database { file, ..Database::default() });
            state.finish(database);
        }
        let mut all: Vec<Database> = all.into_values().filter(Database::is_used).collect();
        all.iter_mut().for_each(|database| database.commits.sort_by_key(|commit| commit.begun));
        all.sort_by_key(|database| (std::cmp::Reverse(database.commits.len()), database.file));
        all
    }
}

impl Database {
    fn is_used(&self) -> bool {
        !self.commits.is_empty() || self.rolled_back > 0 || self.unsynced_bytes > 0
    }
}

/// The journal mode of transactions of whose end a trace has no sign. A trace with deletions and
/// without truncations, as those of Mobibench, does not have the calls that truncate; a deleted journal
/// or an overwritten head would be in it.
fn mode_without_a_sign(trace: &Trace) -> Option<JournalMode> {
    let is =
        |wanted: fn(&TraceAction) -> bool| trace.events.iter().any(|event| wanted(&event.action));
    let deletes = is(|action| matches!(action, TraceAction::Unlink { .. }));
    let truncates = is(|action| matches!(action, TraceAction::Truncate { .. }));
    (deletes && !truncates).then_some(JournalMode::Truncate)
}
