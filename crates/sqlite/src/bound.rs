//! The most that SQLite writes, so that it can be taken from a budget before it is written.

use flashlag_schema::scenario::{JournalMode, Save};
use flashlag_units::Bytes;

const PAGE: u64 = 4096;
/// A log is checkpointed when it holds this many pages (SQLite's default), by the save that fills it
/// or when the database is closed.
const CHECKPOINT_PAGES: u64 = 1000;
/// Pages of a tree that one change of a row can touch: its path, twice over for splits, and the
/// file's first page; each once in the database and once in the journal.
const PAGES_PER_CHANGE: u64 = 64;

/// Rows of an update or delete job whose scenario sets none, so that there are rows to change.
pub(crate) const FIRST_ROWS: u64 = 1000;

/// The most that one save writes, a checkpoint that it triggers included.
pub fn most_of_a_save(save: &Save) -> Bytes {
    let row = save.row.0.0.saturating_mul(4);
    let checkpoint = match save.journal {
        JournalMode::Wal => CHECKPOINT_PAGES * PAGE,
        _ => 0,
    };
    let of_one = PAGES_PER_CHANGE * PAGE + row + checkpoint;
    Bytes(of_one.saturating_mul(u64::from(save.databases.max(1))))
}

/// The most that making the databases with their first rows writes, and putting rows back.
pub fn most_to_prepare(save: &Save) -> Bytes {
    let rows = save.rows.max(FIRST_ROWS);
    // A row has a header; a page that is half full costs twice its rows; the journal as much again.
    let of_one = rows.saturating_mul(save.row.0.0.saturating_add(64)).saturating_mul(4);
    Bytes(of_one.saturating_add(1 << 20).saturating_mul(u64::from(save.databases.max(1))))
}

/// The most that closing the databases writes: what is left in their logs.
pub(crate) fn most_to_close(save: &Save) -> Bytes {
    match save.journal {
        JournalMode::Wal => most_of_a_save(save),
        _ => Bytes::ZERO,
    }
}
