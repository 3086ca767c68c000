//! Transactions in a write-ahead log.

use flashlag_spec::scenario::JournalMode;

use super::commit::{Commit, Database, Happening};

/// Bytes of the log's own header.
const HEAD: u64 = 32;
/// Bytes before each page in the log.
const FRAME_HEAD: u64 = 24;

/// A write-ahead log, and the transaction being written to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    /// The database, if known.
    pub(super) database: Option<u32>,
    current: Commit,
    /// A synced transaction that waits for proof that the fsync was not a checkpoint's.
    synced: Option<Commit>,
    commits: Vec<Commit>,
    unsynced_bytes: u64,
}

impl Log {
    pub(super) fn new(database: Option<u32>) -> Log {
        Log { database, ..Log::default() }
    }

    pub(super) fn written(&mut self, offset: Option<u64>, bytes: u64, happening: Happening) {
        self.confirm();
        self.current.writes(happening, bytes);
        let page = match bytes {
            FRAME_HEAD => 0,
            HEAD if offset == Some(0) => 0,
            // A frame header and its page in one write.
            bytes if bytes.checked_sub(FRAME_HEAD).is_some_and(u64::is_power_of_two) => {
                bytes - FRAME_HEAD
            }
            bytes => bytes,
        };
        self.current.page_bytes = self.current.page_bytes.saturating_add(page);
        self.current.pages += u64::from(page > 0);
    }

    pub(super) fn synced(&mut self, happening: Happening) {
        if self.current.pages == 0 {
            // Either the log's header alone, which is synced before the first frame; or a
            // checkpoint begins, and what was synced before was a commit.
            self.confirm();
            if self.current.writes > 0 {
                self.current.syncs(happening);
            }
            return;
        }
        self.current.syncs(happening);
        self.synced = Some(std::mem::take(&mut self.current));
    }

    /// A page was copied to the database: the previous fsync was the checkpoint's.
    pub(super) fn database_written(&mut self) {
        let not_commits = self.synced.take().map_or(0, |commit| commit.bytes);
        self.unsynced_bytes = self.unsynced_bytes.saturating_add(not_commits);
    }

    /// The log was truncated or removed.
    pub(super) fn restarted(&mut self) {
        self.confirm();
        self.unsynced_bytes =
            self.unsynced_bytes.saturating_add(std::mem::take(&mut self.current).bytes);
    }

    fn confirm(&mut self) {
        let mode = Some(JournalMode::Wal);
        self.commits.extend(self.synced.take().map(|commit| Commit { mode, ..commit }));
    }

    pub(super) fn finish(mut self, database: &mut Database) {
        self.confirm();
        database.commits.append(&mut self.commits);
        database.unsynced_bytes += self.unsynced_bytes.saturating_add(self.current.bytes);
    }
}
