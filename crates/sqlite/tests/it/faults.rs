//! What happens when the storage fails in the middle: what was recorded is kept, and the error says
//! where, what, and what to try.

// The mounts of the engine's tests; both crates test real filesystems, neither imports the other.
#[path = "../../../engine/tests/it/common/faulty.rs"]
#[allow(dead_code, clippy::unwrap_used)]
mod faulty;
#[path = "../../../engine/tests/it/common/loop_mount.rs"]
#[allow(dead_code, clippy::unwrap_used)]
mod loop_mount;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::common::{JOURNALS, job, save};
use faulty::FaultyMount;
use flashlag_device::{DeviceError, NoWaitMeter};
use flashlag_spec::scenario::{JournalMode, Save, Statement};
use flashlag_sqlite::{SaveWatch, SavesOutcome, SqliteError, run};
use flashlag_stats::Recorder;
use flashlag_units::{Bytes, Nanos};
use loop_mount::LoopMount;
use rustix::io::Errno;
use tempfile::TempDir;

/// Inserts rows of 32 kB for ever; `then` is done at the end of the third interval.
fn until_it_fails(directory: &Path, journal: JournalMode, mut then: impl FnMut()) -> SavesOutcome {
    let mut save: Save = save(Statement::Insert, journal, 10, u64::MAX);
    save.row.0 = Bytes(32_000);
    let stop = AtomicBool::new(false);
    let mut intervals = 0;
    let mut watch = |_: &mut Recorder| {
        intervals += 1;
        if intervals == 3 {
            then();
        }
        // The fault must come long before this.
        if intervals < 3000 {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break("no fault".into())
        }
    };
    let mut job = job(&save, directory);
    job.interval = Nanos::from_millis(10);
    let watch =
        SaveWatch { on_interval: Some(&mut watch), ..SaveWatch::new(&stop, Some(NoWaitMeter)) };
    run(&job, watch).unwrap()
}

/// The error of a phase that kept what it had.
fn error_of(saved: &SavesOutcome, case: &str) -> SqliteError {
    assert!(saved.cut_short, "{case}");
    assert!(saved.recorded.latency.count() > 0, "{case}: nothing was kept");
    assert_eq!(saved.grew.count() + saved.in_place.count(), saved.recorded.latency.count());
    let error = saved.error.clone();
    error.unwrap_or_else(|| panic!("{case}: no error, but {:?}", saved.notes))
}

#[test]
fn a_full_disk_keeps_the_saves_before_it_in_every_journal_mode() {
    for journal in JOURNALS {
        let mount = flashlag_need::or_skip!(LoopMount::ext4(8, ""));
        let saved = until_it_fails(mount.path(), journal, || {});
        let error = error_of(&saved, &format!("{journal:?}"));
        assert!(error.is_no_space(), "{journal:?}: {error}");
        let said = error.to_string();
        for part in ["save to", "save-0.db", "SQLITE_FULL (13)", "free some space"] {
            assert!(said.contains(part), "{journal:?}: {said}");
        }
        assert!(DeviceError::from(error).is_no_space());
    }
}

#[test]
fn a_directory_that_is_too_full_to_begin_in_is_an_error_with_what_to_try() {
    let mount = flashlag_need::or_skip!(LoopMount::ext4(8, ""));
    let save = save(Statement::Insert, JournalMode::Delete, 1_000_000, 1);
    let stop = AtomicBool::new(false);
    let error = run(&job(&save, mount.path()), SaveWatch::new(&stop, Some(NoWaitMeter)));
    let error = error.unwrap_err();
    assert!(error.is_no_space() && error.operation == "add rows to", "{error}");
}

#[test]
fn a_quota_that_is_used_up_is_called_a_quota() {
    let mount = flashlag_need::or_skip!(LoopMount::btrfs_with_quota(128, 6));
    // Not WAL: its index is mapped memory, and a kernel that has no room for a page of a mapping on
    // btrfs ends the process (SIGBUS) and reports no error.
    let saved = until_it_fails(mount.path(), JournalMode::Delete, || {});
    let error = error_of(&saved, "quota");
    assert_eq!(error.errno, Some(Errno::DQUOT.raw_os_error()), "{error}");
    assert!(error.is_no_space() && error.to_string().contains("quota"), "{error}");
}

#[test]
fn a_filesystem_that_turns_read_only_is_an_error_with_what_to_try() {
    for journal in [JournalMode::Wal, JournalMode::Delete] {
        let mount = flashlag_need::or_skip!(LoopMount::ext4(64, "errors=remount-ro"));
        let mut done = Ok(());
        let saved = until_it_fails(mount.path(), journal, || done = mount.fail_to_read_only());
        flashlag_need::or_skip!(done);
        let said = error_of(&saved, "read-only").to_string();
        assert!(said.contains("SQLITE_") && said.contains("read-only"), "{journal:?}: {said}");
    }
}

#[test]
fn a_device_that_fails_is_an_error_that_says_so() {
    for journal in [JournalMode::Wal, JournalMode::Delete] {
        let faulty = flashlag_need::or_skip!(FaultyMount::ext4(64));
        let saved = until_it_fails(faulty.mount.path(), journal, || faulty.fail_writes());
        faulty.heal();
        let error = error_of(&saved, "EIO");
        let said = error.to_string();
        // Either the write itself failed, or ext4 had turned read-only over it.
        assert!(said.contains("SQLITE_IOERR") || said.contains("read-only"), "{journal:?}: {said}");
        assert!(!error.is_no_space(), "{journal:?}: {said}");
    }
}

#[test]
fn a_directory_that_vanishes_is_an_error_that_says_so() {
    for journal in JOURNALS {
        let parent = TempDir::new().unwrap();
        let directory = parent.path().join("gone");
        std::fs::create_dir(&directory).unwrap();
        let saved =
            until_it_fails(&directory, journal, || std::fs::remove_dir_all(&directory).unwrap());
        let error = error_of(&saved, &format!("{journal:?}"));
        assert_eq!(error.errno, Some(Errno::NOENT.raw_os_error()), "{journal:?}: {error}");
        assert!(error.to_string().contains("no longer exists"), "{journal:?}: {error}");
    }
}

#[test]
fn a_directory_that_is_not_there_is_an_error_before_anything_is_made() {
    let parent = TempDir::new().unwrap();
    let nowhere = parent.path().join("nowhere");
    let save = save(Statement::Insert, JournalMode::Wal, 1, 1);
    let stop = AtomicBool::new(false);
    let error = run(&job(&save, &nowhere), SaveWatch::new(&stop, Some(NoWaitMeter))).unwrap_err();
    assert_eq!(error.errno, Some(Errno::NOENT.raw_os_error()), "{error}");
    assert!(error.to_string().contains("nowhere"), "{error}");
}
