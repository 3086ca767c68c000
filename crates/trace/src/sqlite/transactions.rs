//! Transactions of every database of a trace.

use std::collections::HashMap;

use flashlag_schema::trace::{Trace, TraceAction, TraceEvent};
use flashlag_spec::TraceFileKind;
use flashlag_spec::scenario::JournalMode;
use flashlag_units::InOrder;

use super::commit::{Database, Happening};
use super::names::database_of;
use super::rollback::Rollback;
use super::wal::Log;

/// The databases of a trace with their transactions. The kinds of the files are those of
/// [`super::recognize`].
pub(crate) fn databases(trace: &Trace) -> Vec<Database> {
    let mut following = Following::of(trace);
    for event in &trace.events {
        following.event(&event);
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
    /// The journal that a thread wrote last: if the thread syncs a directory, it is that journal's.
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

    /// The journal of a database whose journal has no name: the one that the thread has just
    /// written.
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
        all.iter_mut().for_each(|database| database.commits.order_by_key(|commit| commit.begun));
        all.order_by_key(|database| (std::cmp::Reverse(database.commits.len()), database.file));
        all
    }
}

/// The journal mode of transactions for whose end the trace has no sign. A trace with deletions and
/// without any truncations, such as Mobibench's, lacks the calls that truncate; it would show a
/// deleted journal or an overwritten header.
fn mode_without_a_sign(trace: &Trace) -> Option<JournalMode> {
    let is =
        |wanted: fn(&TraceAction) -> bool| trace.events.iter().any(|event| wanted(&event.action));
    let deletes = is(|action| matches!(action, TraceAction::Unlink { .. }));
    let truncates = is(|action| matches!(action, TraceAction::Truncate { .. }));
    (deletes && !truncates).then_some(JournalMode::Truncate)
}
