//! Upper bounds of what SQLite writes, to reserve from the budget before it writes.

use flashlag_spec::scenario::{FIRST_ROWS, JournalMode, Save};
use flashlag_units::Bytes;

const PAGE: u64 = 4096;
/// Pages at which a write-ahead log is checkpointed (SQLite's default), by the save that fills it
/// or when the database is closed.
const CHECKPOINT_PAGES: u64 = 1000;
/// Pages that changing one row can touch: its path in the tree, twice for splits, and the first
/// page; each once in the database and once in the journal.
const PAGES_PER_CHANGE: u64 = 64;

/// Most bytes that one save writes, including a checkpoint that it triggers.
pub fn most_of_a_save(save: &Save) -> Bytes {
    let row = save.row.0.0.saturating_mul(4);
    let changes = (PAGES_PER_CHANGE * PAGE)
        .saturating_add(row)
        .saturating_mul(u64::from(save.statements.max(1)));
    // A log is checkpointed with the transaction that fills it.
    let checkpoint = match save.journal {
        JournalMode::Wal if save.statements > 1 => changes.saturating_add(CHECKPOINT_PAGES * PAGE),
        JournalMode::Wal => CHECKPOINT_PAGES * PAGE,
        _ => 0,
    };
    let of_one = changes.saturating_add(checkpoint);
    Bytes(of_one.saturating_mul(u64::from(save.databases.max(1))))
}

/// Most bytes written by making the databases with their first rows, or by putting rows back.
pub fn most_to_prepare(save: &Save) -> Bytes {
    let rows = save.rows.max(FIRST_ROWS);
    // A row has a header, half-full pages double the size, and the journal needs as much again.
    let of_one = rows.saturating_mul(save.row.0.0.saturating_add(64)).saturating_mul(4);
    Bytes(of_one.saturating_add(1 << 20).saturating_mul(u64::from(save.databases.max(1))))
}

/// Most bytes written by closing the databases: what their logs still hold.
pub(crate) fn most_to_close(save: &Save) -> Bytes {
    match save.journal {
        JournalMode::Wal => most_of_a_save(save),
        _ => Bytes::ZERO,
    }
}
