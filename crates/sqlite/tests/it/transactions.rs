//! Several statements in one transaction, think times and fsync, in a real directory.

use crate::common::{JOURNALS, STATEMENTS, count_rows, done, in_memory, is_sound, job, open, save};
use flashlag_spec::scenario::{JournalMode, Save, Statement, SyncCall};
use flashlag_units::{Bytes, Nanos, Text};

#[test]
fn every_statement_of_every_transaction_is_in_a_sound_database_by_either_call() {
    for statement in STATEMENTS {
        for journal in JOURNALS {
            for sync_call in [SyncCall::Fdatasync, SyncCall::Fsync] {
                let directory = in_memory();
                let transactions = Save {
                    sync_call,
                    statements: 20,
                    databases: 2,
                    ..save(statement, journal, 100, 12)
                };
                let saved = done(&job(&transactions, directory.path()));
                let cell = format!("{statement:?} {journal:?} {sync_call:?}");
                assert_eq!((saved.error, saved.downgrades), (None, vec![]), "{cell}");
                assert_eq!(saved.app_bytes, Bytes(12 * 20 * 2 * 100), "{cell}");
                let expected = match statement {
                    Statement::Insert => 100 + 240,
                    Statement::Update => 100,
                    Statement::Delete => 100 + saved.top_ups.rows - 240,
                };
                for index in 0..2 {
                    let database = open(directory.path(), index);
                    assert!(is_sound(&database), "{cell}");
                    assert_eq!(count_rows(&database), expected, "{cell}");
                }
            }
        }
    }
}

#[test]
fn fsync_writes_what_fdatasync_writes() {
    for journal in JOURNALS {
        let wrote = |sync_call| {
            let directory = in_memory();
            let save = Save { sync_call, ..save(Statement::Update, journal, 100, 25) };
            let saved = done(&job(&save, directory.path()));
            (saved.page_bytes, saved.write_calls, saved.database_bytes, saved.grew.count())
        };
        assert_eq!(wrote(SyncCall::Fsync), wrote(SyncCall::Fdatasync), "{journal:?}");
    }
}

#[test]
fn a_think_time_is_slept_and_is_no_time_of_a_save() {
    let directory = in_memory();
    let think = Some(Text(Nanos::from_millis(5)));
    let resting = Save { think, ..save(Statement::Update, JournalMode::Wal, 100, 20) };
    let saved = done(&job(&resting, directory.path()));
    assert!(saved.thought >= Nanos::from_millis(19 * 5), "{}", saved.thought);
    let saving = saved.recorded.latency.sum();
    assert!(saved.recorded.elapsed >= saving.plus(saved.thought), "{}", saved.recorded.elapsed);
    let Some(time) = saved.time else { return flashlag_need::skip("no scheduler statistics") };
    let outside_of_rests = saved.recorded.elapsed.saturating_since(saved.thought);
    assert!(time.total() <= outside_of_rests.plus(Nanos::from_millis(5)), "{time:?}");
}
