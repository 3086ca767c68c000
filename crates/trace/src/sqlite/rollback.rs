//! Transactions with a rollback journal.

use flashlag_spec::scenario::JournalMode;

use super::commit::{Commit, Database, Happening};

/// Bytes of zeros that end a transaction in the mode PERSIST (`zeroJournalHdr`).
const ZEROED: u64 = 28;

/// One journal, and the transaction in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Rollback {
    /// The database, if known.
    pub(super) database: Option<u32>,
    current: Commit,
    journal_writes: u64,
    database_writes: u64,
    commits: Vec<Commit>,
    rolled_back: u64,
    /// Whether the last transaction was ended by a sign of its mode, so that a following fsync
    /// belongs to it.
    just_ended: bool,
}

impl Rollback {
    pub(super) fn new(database: Option<u32>) -> Rollback {
        Rollback { database, ..Rollback::default() }
    }

    /// Whether a database without a known journal may be this journal's.
    pub(super) fn takes(&self, file: u32) -> bool {
        self.journal_writes > 0 && self.database.is_none_or(|database| database == file)
    }

    pub(super) fn journal_written(
        &mut self,
        offset: Option<u64>,
        bytes: u64,
        happening: Happening,
    ) {
        // SQLite writes the header again, with the number of records, before it writes the
        // database, not after.
        if offset == Some(0) && self.database_writes > 0 {
            if bytes <= ZEROED {
                self.current.writes(happening, bytes);
                self.ends(happening, JournalMode::Persist);
                return;
            }
            self.close(None);
        }
        if offset == Some(0) && bytes == ZEROED {
            self.current.writes(happening, bytes);
            self.ends(happening, JournalMode::Persist);
            return;
        }
        self.just_ended = false;
        self.journal_writes += 1;
        self.current.writes(happening, bytes);
    }

    /// The journal or its directory was synced.
    pub(super) fn synced(&mut self, happening: Happening) {
        match self.commits.last_mut() {
            Some(last) if self.just_ended => last.syncs(happening),
            _ if self.journal_writes > 0 => self.current.syncs(happening),
            _ => {}
        }
    }

    pub(super) fn database_written(&mut self, bytes: u64, happening: Happening) {
        if self.journal_writes > 0 {
            self.database_writes += 1;
            self.current.writes(happening, bytes);
            self.current.page_bytes = self.current.page_bytes.saturating_add(bytes);
            self.current.pages += 1;
        }
    }

    pub(super) fn database_synced(&mut self, happening: Happening) {
        if self.database_writes > 0 {
            self.current.syncs(happening);
        }
    }

    /// The journal was closed: SQLite does this at the end of a transaction in every mode.
    pub(super) fn closed(&mut self) {
        self.close(None);
        self.just_ended = false;
    }

    /// The journal was made invalid.
    pub(super) fn ends(&mut self, happening: Happening, mode: JournalMode) {
        if self.journal_writes > 0 {
            let is_commit = self.database_writes > 0;
            if is_commit {
                self.current.ended = self.current.ended.max(happening.end);
            }
            self.close(Some(mode));
            self.just_ended = is_commit;
        } else if let Some(last) = self.commits.last_mut().filter(|last| last.mode.is_none()) {
            // A journal is closed before it is unlinked.
            last.mode = Some(mode);
            last.ended = last.ended.max(happening.end);
            self.just_ended = true;
        }
    }

    fn close(&mut self, mode: Option<JournalMode>) {
        let commit = std::mem::take(&mut self.current);
        if self.database_writes > 0 {
            self.commits.push(Commit { mode, ..commit });
        } else if self.journal_writes > 0 {
            self.rolled_back += 1;
        }
        (self.journal_writes, self.database_writes) = (0, 0);
    }

    /// Adds the transactions to their database. `mode` is for those without a sign.
    pub(super) fn finish(mut self, database: &mut Database, mode: Option<JournalMode>) {
        // A transaction that was not synced may have continued after the end of the trace.
        if self.database_writes > 0 {
            self.close(None);
        }
        for commit in &mut self.commits {
            database.mode_inferred |= commit.mode.is_none() && mode.is_some();
            commit.mode = commit.mode.or(mode);
        }
        database.commits.append(&mut self.commits);
        database.rolled_back += self.rolled_back;
    }
}
