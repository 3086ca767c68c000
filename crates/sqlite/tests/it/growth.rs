//! Saves that made a file larger are counted apart from saves in place.

use crate::common::{done, in_memory, job, save};
use flashlag_spec::scenario::{JournalMode, Statement};

/// How many of 300 saves grew a file.
fn grown(statement: Statement, journal: JournalMode) -> u64 {
    let directory = in_memory();
    let saved = done(&job(&save(statement, journal, 400, 300), directory.path()));
    assert_eq!(saved.grew.count() + saved.in_place.count(), 300, "{statement:?} {journal:?}");
    saved.grew.count()
}

#[test]
fn updates_under_a_rollback_journal_stay_in_place() {
    for journal in [JournalMode::Delete, JournalMode::Truncate, JournalMode::Memory] {
        assert_eq!(grown(Statement::Update, journal), 0, "{journal:?}");
    }
}

#[test]
fn a_persistent_journal_grows_once_and_is_then_overwritten() {
    let grown = grown(Statement::Update, JournalMode::Persist);
    assert!((1..=3).contains(&grown), "{grown}");
}

#[test]
fn inserts_grow_the_database_once_a_page() {
    // 300 rows of some 106 bytes, in leaves of 4096.
    for journal in [JournalMode::Delete, JournalMode::Off] {
        let grown = grown(Statement::Insert, journal);
        assert!((6..=12).contains(&grown), "{journal:?}: {grown}");
    }
}

#[test]
fn a_log_grows_until_its_first_checkpoint_and_starts_over_in_place() {
    let directory = in_memory();
    let saved = done(&job(&save(Statement::Update, JournalMode::Wal, 400, 3000), directory.path()));
    let grown = saved.grew.count();
    // A frame a save, 1000 frames to a checkpoint; the save after it starts over.
    assert!((990..=1010).contains(&grown), "{grown}");
}
