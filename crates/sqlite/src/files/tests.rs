//! Saves of a file, in virtual time on fake files and in real time in a directory.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::path::Path;
use std::sync::atomic::AtomicBool;

use flashlag_device::{Budget, NoWaitMeter};
use flashlag_spec::scenario::{Arrivals, FileKind, FileSave, PrefsCall};
use flashlag_units::{Bytes, Nanos, Text};

use super::{Found, Named, PreparedFile, calls_of, examine_file, examine_salvage, remove_file_on};
use crate::vfs::fake::Fake;
use crate::{SaveJob, SaveWatch, SavesOutcome};

fn save(kind: FileKind, size: u64) -> FileSave {
    FileSave {
        name: "test".to_owned(),
        kind,
        android: None,
        call: PrefsCall::Commit,
        size: Text(Bytes(size)),
        change: Text(Bytes(100)),
        changes: 1,
        sync_directory: false,
        saves: Some(1),
        time: None,
        min_saves: None,
        arrivals: Arrivals::default(),
        think: None,
        background: None,
    }
}

fn job(save: &FileSave) -> SaveJob<'_, FileSave> {
    let (interval, stall_over) = (Nanos::from_millis(20), Nanos::from_millis(100));
    SaveJob { save, directory: Path::new(""), seed: 7, interval, stall_over }
}

fn ran_on(save: &FileSave, files: &Fake) -> SavesOutcome {
    let prepared = PreparedFile::prepare_on(Box::new(files.clone()), &job(save)).unwrap();
    files.take_calls();
    let stop = AtomicBool::new(false);
    prepared.run(SaveWatch::new(&stop, None::<NoWaitMeter>)).unwrap()
}

/// The calls that change or sync something, of the saves of a test.
fn recorded(save: &FileSave) -> Vec<String> {
    let files = Fake::new(1 << 24);
    let saved = ran_on(save, &files);
    assert_eq!(saved.error, None);
    files.take_calls()
}

/// Each kind with what its library does, as the comments of its source say it: a stat is no call that the fake
/// records.
#[test]
fn the_calls_of_each_kind_are_those_of_the_source_in_its_order() {
    // "Rename the current file so it may be used as a backup during the next read", then the new file, sync,
    // close, permissions, and "Writing was successful, delete the backup file if there is one".
    let prefs = [
        "rename save-0.xml save-0.xml.bak",
        "create save-0.xml 0+0",
        "write save-0.xml 0+9000",
        "fsync save-0.xml 0+0",
        "close save-0.xml 0+0",
        "chmod save-0.xml 0+0",
        "delete save-0.xml.bak 0+0",
    ];
    assert_eq!(recorded(&save(FileKind::SharedPreferences, 9000)), prefs);
    // A scratch file, synced, then moved: with REPLACE_EXISTING the target is removed first.
    let scratch = |rest: &[&str]| {
        let mut calls = vec!["create save-0.preferences_pb.tmp 0+0".to_owned()];
        for (at, length) in [(0, 4096), (4096, 4096), (8192, 808)] {
            calls.push(format!("write save-0.preferences_pb.tmp {at}+{length}"));
        }
        calls.push("fsync save-0.preferences_pb.tmp 0+0".to_owned());
        calls.push("close save-0.preferences_pb.tmp 0+0".to_owned());
        calls.extend(rest.iter().map(|call| (*call).to_owned()));
        calls
    };
    let rename = "rename save-0.preferences_pb.tmp save-0.preferences_pb";
    let datastore = save(FileKind::Datastore, 9000);
    assert_eq!(recorded(&datastore), scratch(&["delete save-0.preferences_pb 0+0", rename]));
    let old = FileSave { android: Some(7), ..datastore };
    assert_eq!(recorded(&old), scratch(&[rename]));
    // ".new" since Android 11, ".bak" before.
    let atomic = save(FileKind::AtomicFile, 9000);
    assert_eq!(
        recorded(&atomic),
        [
            "create save-0.xml.new 0+0",
            "write save-0.xml.new 0+9000",
            "fsync save-0.xml.new 0+0",
            "close save-0.xml.new 0+0",
            "rename save-0.xml.new save-0.xml",
        ]
    );
    let old = FileSave { android: Some(10), ..atomic };
    let without_chmod: Vec<&str> =
        prefs.into_iter().filter(|call| !call.starts_with("chmod")).collect();
    assert_eq!(recorded(&old), without_chmod);
    let renamed = save(FileKind::Rename, 9000);
    let plain = [
        "create save-0.json.tmp 0+0",
        "write save-0.json.tmp 0+9000",
        "fsync save-0.json.tmp 0+0",
        "close save-0.json.tmp 0+0",
        "rename save-0.json.tmp save-0.json",
    ];
    assert_eq!(recorded(&renamed), plain);
    let synced = FileSave { sync_directory: true, ..renamed };
    assert_eq!(recorded(&synced), [&plain[..], &["sync the directory"]].concat());
    assert_eq!(
        recorded(&save(FileKind::AppendLog, 9000)),
        ["write save-0.log 0+100", "sync save-0.log 0+0"]
    );
}

/// A run that was killed leaves them, and another removes them by their names.
#[test]
fn every_name_that_a_save_uses_is_known_as_one_of_flashlags() {
    for kind in FileKind::ALL {
        for android in [None, kind.changed_with().map(|changed| changed - 1)] {
            let save = FileSave { android, ..save(kind, 500) };
            for named in [Named::Base, Named::Beside, Named::Former] {
                assert!(flashlag_engine::guard::is_ours(named.of(&save)), "{kind:?} {named:?}");
            }
        }
    }
}

#[test]
fn what_apply_leaves_is_written_once_since_android_8_and_each_time_before() {
    let several = FileSave { changes: 3, ..save(FileKind::SharedPreferences, 500) };
    let syncs =
        |save: &FileSave| recorded(save).iter().filter(|call| call.starts_with("fsync")).count();
    let apply = FileSave { call: PrefsCall::Apply, ..several.clone() };
    let old = FileSave { android: Some(7), ..apply.clone() };
    let new = FileSave { android: Some(8), ..apply.clone() };
    assert_eq!([&several, &apply, &old, &new].map(syncs), [3, 1, 3, 1]);
    // Two calls find that a newer state waits; the third writes.
    let stats = |save: &FileSave| {
        calls_of(save).iter().filter(|call| format!("{call:?}").starts_with("Stat(Base)")).count()
    };
    assert_eq!((stats(&apply), stats(&old)), (2 + 2, 3 * 2));
}

#[test]
fn a_file_larger_than_the_buffer_of_its_library_takes_a_write_for_each() {
    let writes = |kind, size| {
        let calls = recorded(&save(kind, size));
        calls.iter().filter(|call| call.starts_with("write")).count()
    };
    assert_eq!(writes(FileKind::SharedPreferences, 400_000), 400_000usize.div_ceil(32 * 1024));
    assert_eq!(writes(FileKind::AtomicFile, 32 * 1024), 1);
    assert_eq!(writes(FileKind::Datastore, 400_000), 400_000usize.div_ceil(4096));
    assert_eq!(writes(FileKind::Rename, 400_000), 1);
}

#[test]
fn a_log_that_would_exceed_its_size_is_begun_anew_and_the_old_one_removed() {
    let log = FileSave { saves: Some(5), ..save(FileKind::AppendLog, 250) };
    assert_eq!(
        recorded(&log),
        [
            "write save-0.log 0+100",
            "sync save-0.log 0+0",
            "write save-0.log 100+100",
            "sync save-0.log 0+0",
            "close save-0.log 0+0",
            "create save-1.log 0+0",
            "delete save-0.log 0+0",
            "write save-1.log 0+100",
            "sync save-1.log 0+0",
            "write save-1.log 100+100",
            "sync save-1.log 0+0",
            "close save-1.log 0+0",
            "create save-0.log 0+0",
            "delete save-1.log 0+0",
            "write save-0.log 0+100",
            "sync save-0.log 0+0",
        ]
    );
}

#[test]
fn a_save_takes_what_its_calls_take_and_counts_what_changed_and_what_was_written() {
    let several = FileSave { changes: 2, saves: Some(10), ..save(FileKind::Rename, 5000) };
    let files = Fake::new(1 << 24);
    let saved = ran_on(&several, &files);
    // Two writes of 10 µs and two syncs of 1 ms.
    let each = Nanos(2 * (10_000 + 1_000_000));
    assert_eq!((saved.recorded.latency.count(), saved.recorded.latency.max()), (10, Some(each)));
    assert_eq!(saved.recorded.elapsed, Nanos(10 * each.0));
    assert_eq!(saved.app_bytes, Bytes(10 * 2 * 100));
    assert_eq!(saved.page_bytes.value(), Some(&Bytes(10 * 2 * 5000)));
    assert_eq!(saved.prepared_bytes.value(), Some(&Bytes(5000)));
    assert!(!saved.cut_short && saved.in_place.count() == 10);
    remove_file_on(Box::new(files.clone()), &several).unwrap();
    assert_eq!(files.names(), Vec::<String>::new());
}

#[test]
fn in_a_directory_as_much_is_written_in_as_many_calls_as_on_simulated_files() {
    for kind in [
        FileKind::SharedPreferences,
        FileKind::Datastore,
        FileKind::AtomicFile,
        FileKind::Rename,
        FileKind::AppendLog,
    ] {
        let save = FileSave { saves: Some(25), changes: 2, ..save(kind, 70_000) };
        let directory = tempfile::tempdir().unwrap();
        let job = SaveJob { directory: directory.path(), ..job(&save) };
        let stop = AtomicBool::new(false);
        let watch = SaveWatch::new(&stop, None::<NoWaitMeter>);
        let real = PreparedFile::prepare(&job).unwrap().run(watch).unwrap();
        if real.page_bytes.value().is_none() {
            return flashlag_need::skip(real.page_bytes.reason().unwrap_or_default());
        }
        let simulated = ran_on(&save, &Fake::new(1 << 24));
        assert_eq!(real.page_bytes, simulated.page_bytes, "{kind:?}");
        assert_eq!(real.write_calls, simulated.write_calls, "{kind:?}");
    }
}

#[test]
fn each_save_writes_other_bytes_and_the_file_has_those_of_the_last() {
    let contents = |saves| {
        let directory = tempfile::tempdir().unwrap();
        let save = FileSave { saves: Some(saves), ..save(FileKind::SharedPreferences, 5000) };
        let job = SaveJob { directory: directory.path(), ..job(&save) };
        let stop = AtomicBool::new(false);
        let watch = SaveWatch::new(&stop, None::<NoWaitMeter>);
        let saved = PreparedFile::prepare(&job).unwrap().run(watch).unwrap();
        assert_eq!(saved.error, None);
        let mut left: Vec<_> =
            std::fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left.len(), 1, "{left:?}");
        std::fs::read(directory.path().join(left.remove(0))).unwrap()
    };
    let all = [contents(1), contents(2), contents(3)];
    assert!(all.iter().all(|one| one.len() == 5000));
    assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2]);
    assert_eq!(contents(2), all[1]);
}

#[test]
fn a_budget_ends_the_saves_before_it_is_exceeded_and_a_full_place_with_the_reason() {
    let timed = FileSave {
        saves: None,
        time: Some(Text(Nanos::from_secs(1))),
        ..{ save(FileKind::Rename, 5000) }
    };
    let prepared = PreparedFile::prepare_on(Box::new(Fake::new(1 << 24)), &job(&timed)).unwrap();
    let stop = AtomicBool::new(false);
    let budget = Some(Budget::of(Bytes(5000 * 7 + 4999)));
    let watch = SaveWatch { budget, ..SaveWatch::new(&stop, None::<NoWaitMeter>) };
    let saved = prepared.run(watch).unwrap();
    assert!(saved.out_of_budget);
    assert_eq!(saved.recorded.latency.count(), 7);
    let saved = ran_on(&timed, &Fake::new(9999));
    let error = saved.error.unwrap();
    assert!(error.is_no_space() && error.to_string().contains("save-0.json.tmp"), "{error}");
}

/// A directory after three saves.
fn after_three(save: &FileSave) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let job = SaveJob { directory: directory.path(), ..job(save) };
    let stop = AtomicBool::new(false);
    let watch = SaveWatch::new(&stop, None::<NoWaitMeter>);
    assert_eq!(PreparedFile::prepare(&job).unwrap().run(watch).unwrap().error, None);
    directory
}

#[test]
fn after_a_crash_a_file_is_that_of_a_save_or_empty_or_damaged() {
    for kind in
        [FileKind::SharedPreferences, FileKind::Datastore, FileKind::AtomicFile, FileKind::Rename]
    {
        let save = FileSave { saves: Some(3), ..save(kind, 5000) };
        let directory = after_three(&save);
        let path = directory.path().join(Named::Base.of(&save));
        let found = || examine_file(directory.path(), &save, 7).unwrap();
        assert_eq!(found(), Found::Saves(3), "{kind:?}");
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..2000]).unwrap();
        assert_eq!(found(), Found::Damaged("2000 of 5000 bytes".to_owned()));
        let mut zeroes = whole.clone();
        zeroes[1024..2048].fill(0);
        std::fs::write(&path, &zeroes).unwrap();
        assert!(matches!(found(), Found::Damaged(_)), "{:?}", found());
        std::fs::write(&path, "").unwrap();
        assert_eq!(found(), Found::Empty);
        // A backup is what counts, and a file that was not renamed yet is none.
        let beside = directory.path().join(Named::Beside.of(&save));
        std::fs::write(&beside, &whole).unwrap();
        let wanted =
            if kind == FileKind::SharedPreferences { Found::Saves(3) } else { Found::Empty };
        assert_eq!(found(), wanted, "{kind:?}");
        let _ = std::fs::remove_file(&path);
        assert_eq!(found(), Found::Empty, "{kind:?}");
    }
}

#[test]
fn a_file_that_a_repair_made_holds_a_save_whatever_fills_its_last_cluster() {
    let save = FileSave { saves: Some(3), ..save(FileKind::Rename, 5000) };
    let directory = after_three(&save);
    let whole = std::fs::read(directory.path().join(Named::Base.of(&save))).unwrap();
    let root = tempfile::tempdir().unwrap();
    let found = || examine_salvage(root.path(), &save, 7);
    let put = |name: &str, bytes: &[u8]| std::fs::write(root.path().join(name), bytes).unwrap();
    put("save-0.json", &whole);
    assert_eq!(found(), None, "it was there before a repair");
    put("fsck0000.rec", &whole[..4999]);
    assert_eq!(found(), None, "a part");
    put("FSCK0001.REC", &[&whole[..], &[0; 3192]].concat());
    assert_eq!(found(), Some(3));
    std::fs::remove_file(root.path().join("FSCK0001.REC")).unwrap();
    std::fs::create_dir(root.path().join("lost+found")).unwrap();
    put("lost+found/#12", &whole);
    assert_eq!(found(), Some(3));
}

#[test]
fn of_a_log_the_records_before_the_first_broken_one_are_found() {
    let log = FileSave { saves: Some(3), ..save(FileKind::AppendLog, 1 << 20) };
    let directory = after_three(&log);
    let path = directory.path().join(Named::Base.of(&log));
    let found = || examine_file(directory.path(), &log, 7).unwrap();
    assert_eq!(found(), Found::Saves(3));
    let whole = std::fs::read(&path).unwrap();
    for (bytes, saves) in [(&whole[..299], Found::Saves(2)), (&whole[..99], Found::Empty)] {
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(found(), saves);
    }
    let mut torn = whole.clone();
    torn[150] ^= 1;
    std::fs::write(&path, torn).unwrap();
    assert_eq!(found(), Found::Saves(1));
}
