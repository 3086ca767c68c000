//! Limits of journals and logs, and atomic writes where there are none.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::common::{in_memory, job, save};
use flashlag_device::NoWaitMeter;
use flashlag_spec::scenario::{JournalMode, Save, Statement};
use flashlag_sqlite::{PreparedSaves, SaveWatch};
use flashlag_units::{Bytes, Text};

/// Size of the file beside the database after the last save.
fn beside(save: &Save, directory: &Path, suffix: &str) -> u64 {
    let stop = AtomicBool::new(false);
    let prepared = PreparedSaves::prepare(&job(save, directory), &stop).unwrap();
    assert_eq!(prepared.lacks(), None);
    let mut size = 0;
    let mut look =
        || size = fs::metadata(directory.join(format!("save-0.db{suffix}"))).unwrap().len();
    let watch = SaveWatch { on_end: Some(&mut look), ..SaveWatch::new(&stop, None::<NoWaitMeter>) };
    let saved = prepared.run(watch).unwrap();
    assert_eq!((saved.error, saved.downgrades), (None, Vec::new()));
    size
}

#[test]
fn a_log_is_checkpointed_at_the_pages_that_the_test_says() {
    let folder = in_memory();
    let plain = save(Statement::Update, JournalMode::Wal, 200, 600);
    let android = Save { wal_autocheckpoint: Some(100), ..plain.clone() };
    let long = beside(&plain, folder.path(), "-wal");
    let short = beside(&android, folder.path(), "-wal");
    // A page in a log has 24 bytes of its own.
    assert!(short <= 110 * 4120 && long > 500 * 4120, "{short} and {long}");
}

#[test]
fn a_journal_that_remains_is_cut_to_the_size_that_the_test_says() {
    let folder = in_memory();
    let row = Text(Bytes::from_kib(64));
    let plain = Save { row, ..save(Statement::Update, JournalMode::Persist, 10, 5) };
    let limit = Some(Text(Bytes::from_kib(16)));
    let cut = Save { journal_size_limit: limit, ..plain.clone() };
    let (whole, cut) =
        (beside(&plain, folder.path(), "-journal"), beside(&cut, folder.path(), "-journal"));
    assert!(whole > 64 << 10 && cut == 16 << 10, "{whole} and {cut}");
}

#[test]
fn where_a_filesystem_has_no_atomic_writes_no_row_is_made_and_the_reason_is_given() {
    let folder = in_memory();
    let plain = save(Statement::Update, JournalMode::Truncate, 1000, 5);
    let atomic = Save { atomic: Some(true), ..plain.clone() };
    let stop = AtomicBool::new(false);
    let prepared = PreparedSaves::prepare(&job(&atomic, folder.path()), &stop).unwrap();
    // Tests may run on F2FS.
    if let Some(reason) = prepared.lacks() {
        assert!(reason.contains("atomic writes"), "{reason}");
        let size = fs::metadata(folder.path().join("save-0.db")).unwrap().len();
        assert!(size <= 8192, "{size}");
    }
    drop(prepared);
    // The next test of the thread is not asked for what this one was.
    let prepared = PreparedSaves::prepare(&job(&plain, folder.path()), &stop).unwrap();
    assert_eq!(prepared.lacks(), None);
}
