//! Every statement in every journal mode at both levels, on a real directory.

use std::collections::BTreeSet;

use crate::common::{
    JOURNALS, LEVELS, STATEMENTS, count_rows, done, in_memory, is_sound, job, open, rows, save,
};
use flashlag_spec::scenario::{JournalMode, Statement};
use flashlag_units::Bytes;

const ROWS: u64 = 40;
const SAVES: u64 = 25;

#[test]
fn every_cell_of_the_matrix_saves_what_it_says_in_every_database() {
    for statement in STATEMENTS {
        for journal in JOURNALS {
            for level in LEVELS {
                let cell = format!("{statement:?} {journal:?} {level:?}");
                let directory = in_memory();
                let mut save = save(statement, journal, ROWS, SAVES);
                (save.synchronous, save.databases) = (level, 2);
                let saved = done(&job(&save, directory.path()));
                assert_eq!(saved.error, None, "{cell}");
                assert_eq!(saved.downgrades, vec![], "{cell}");
                assert_eq!(saved.recorded.latency.count(), SAVES, "{cell}");
                assert_eq!(saved.grew.count() + saved.in_place.count(), SAVES, "{cell}");
                assert_eq!(saved.app_bytes, Bytes(SAVES * 100 * 2), "{cell}");
                assert!(!saved.cut_short, "{cell}");
                for index in 0..2 {
                    let database = open(directory.path(), index);
                    assert!(is_sound(&database), "{cell}");
                    let expected = match statement {
                        Statement::Insert => ROWS + SAVES,
                        Statement::Update => ROWS,
                        Statement::Delete => ROWS - SAVES + saved.top_ups.rows,
                    };
                    assert_eq!(count_rows(&database), expected, "{cell}");
                    let contents = rows(&database);
                    assert!(contents.iter().all(|(_, content)| content.len() == 100), "{cell}");
                    let different: BTreeSet<_> =
                        contents.iter().map(|(_, content)| content).collect();
                    assert_eq!(different.len(), contents.len(), "{cell}: two rows are alike");
                }
                assert_ne!(rows(&open(directory.path(), 0)), rows(&open(directory.path(), 1)));
            }
        }
    }
}

#[test]
fn an_update_changes_the_content_of_some_rows_and_of_no_other() {
    let before = in_memory();
    let untouched = save(Statement::Update, JournalMode::Wal, ROWS, 0);
    done(&job(&untouched, before.path()));
    let after = in_memory();
    done(&job(&save(Statement::Update, JournalMode::Wal, ROWS, 5), after.path()));
    let (before, after) = (rows(&open(before.path(), 0)), rows(&open(after.path(), 0)));
    let changed = before.iter().zip(&after).filter(|(before, after)| before != after).count();
    assert!((1..=5).contains(&changed), "{changed} of {} rows changed", before.len());
}

#[test]
fn the_same_seed_gives_the_same_rows_and_another_seed_others() {
    for statement in STATEMENTS {
        let save = save(statement, JournalMode::Memory, ROWS, SAVES);
        let of_seed = |seed| {
            let directory = in_memory();
            let mut job = job(&save, directory.path());
            job.seed = seed;
            done(&job);
            rows(&open(directory.path(), 0))
        };
        assert_eq!(of_seed(3), of_seed(3), "{statement:?}");
        assert_ne!(of_seed(3), of_seed(4), "{statement:?}");
    }
}

#[test]
fn deletes_never_run_out_of_rows() {
    let directory = in_memory();
    let saved =
        done(&job(&save(Statement::Delete, JournalMode::Memory, 10, 200), directory.path()));
    assert_eq!((saved.error, saved.recorded.latency.count()), (None, 200));
    assert_eq!(saved.top_ups.rows + 10, 200 + count_rows(&open(directory.path(), 0)));
    assert!(saved.top_ups.count >= 30 && saved.top_ups.page_bytes > Bytes::ZERO);
    assert!(saved.notes.iter().any(|note| note.contains("put back")), "{:?}", saved.notes);
}

#[test]
fn without_rows_named_there_is_something_to_change_and_a_note_says_so() {
    for statement in [Statement::Update, Statement::Delete] {
        let directory = in_memory();
        let saved = done(&job(&save(statement, JournalMode::Off, 0, 3), directory.path()));
        assert_eq!((saved.error, saved.recorded.latency.count()), (None, 3));
        assert!(saved.notes.iter().any(|note| note.contains("1000 were made")));
    }
}

#[test]
fn rows_of_every_size_are_written_whole() {
    for row in [0, 1, 511, 512, 513, 5000, 1 << 20] {
        let directory = in_memory();
        let mut save = save(Statement::Insert, JournalMode::Wal, 1, 2);
        save.row.0 = Bytes(row);
        let saved = done(&job(&save, directory.path()));
        assert_eq!(saved.error, None, "{row}");
        let lengths = rows(&open(directory.path(), 0));
        assert!(lengths.iter().all(|(_, content)| content.len() as u64 == row), "{row}");
        assert_eq!(lengths.len(), 3, "{row}");
    }
}

#[test]
fn old_databases_of_the_same_name_are_replaced() {
    let directory = in_memory();
    let save = save(Statement::Insert, JournalMode::Persist, 5, 5);
    done(&job(&save, directory.path()));
    std::fs::write(directory.path().join("save-0.db-wal"), b"left by a crash").unwrap();
    done(&job(&save, directory.path()));
    assert_eq!(count_rows(&open(directory.path(), 0)), 10);
    flashlag_sqlite::remove_databases(&job(&save, directory.path())).unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
