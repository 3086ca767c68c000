//! Saves without SQLite in a trace: those of libraries as strace prints them, counted by hand, and random ones
//! counted as they are made.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::collections::BTreeMap;
use std::fmt::Write;

use flashlag_schema::trace::{
    Trace, TraceAction, TraceFile, TraceSaveKind, TraceSaves, TraceSource, TraceTask,
};
use flashlag_spec::{TraceFileKind, TraceSourceKind};
use flashlag_trace::{Builder, add_up, import};
use flashlag_units::{Bytes, Nanos};
use proptest::prelude::*;

use TraceSaveKind::{
    AppendLog, AtomicFile, Backup, Datastore, InPlace, Rename, SharedPreferences, Unknown,
};

/// The rows of calls, each of which lasts 1 ms and begins 2 ms after the one before it.
fn rows(calls: &[&str]) -> Vec<TraceSaves> {
    let mut text =
        String::from("7 00:00:00.000000 execve(\"/bin/app\", [\"app\"], []) = 0 <0.0001>\n");
    for (call, at) in calls.iter().zip(1..) {
        writeln!(text, "7 00:00:{:02}.{:03}000 {call} <0.001000>", at * 2 / 1000, at * 2 % 1000)
            .unwrap();
    }
    let imported = import(text.as_bytes(), None).unwrap();
    add_up(&imported.trace).saves
}

/// Kind, file, saves, syncs, bytes and waits in ms of the only row.
fn only(calls: &[&str]) -> (TraceSaveKind, String, u64, u64, u64, f64) {
    let rows = rows(calls);
    assert_eq!(rows.len(), 1, "{rows:?}");
    let row = rows[0].clone();
    let waited = row.waits.unwrap().waited_ns.as_millis_f64();
    assert_eq!((row.unsynced, row.main), (0, Some(true)));
    (row.kind, row.file, row.saves, row.syncs, row.bytes.0, waited)
}

const PREFS: &str = "/data/data/a/shared_prefs/p.xml";

/// `SharedPreferencesImpl.writeToFile`, with the file and its backup.
fn kept(file: &str) -> Vec<String> {
    vec![
        format!("rename(\"{file}\", \"{file}.bak\") = 0"),
        format!("openat(AT_FDCWD, \"{file}\", O_WRONLY|O_CREAT|O_TRUNC, 0600) = 3<{file}>"),
        format!("write(3<{file}>, \"\"..., 32768) = 32768"),
        format!("write(3<{file}>, \"\"..., 1000) = 1000"),
        format!("fsync(3<{file}>) = 0"),
        format!("close(3<{file}>) = 0"),
        format!("unlink(\"{file}.bak\") = 0"),
    ]
}

/// A file that is written as `beside` and renamed.
fn renamed(beside: &str, file: &str, with_sync: bool) -> Vec<String> {
    let mut calls = vec![
        format!("openat(AT_FDCWD, \"{beside}\", O_WRONLY|O_CREAT|O_TRUNC, 0600) = 3<{beside}>"),
        format!("write(3<{beside}>, \"\"..., 5000) = 5000"),
        format!("fsync(3<{beside}>) = 0"),
        format!("close(3<{beside}>) = 0"),
        format!("rename(\"{beside}\", \"{file}\") = 0"),
    ];
    if !with_sync {
        calls.remove(2);
    }
    calls
}

fn twice(calls: &[String]) -> Vec<&str> {
    calls.iter().chain(calls).map(String::as_str).collect()
}

#[test]
fn the_saves_of_androids_libraries_are_known_by_their_calls_and_names() {
    // Seven calls of 1 ms, of which two write and one syncs.
    let of = |kind, file: &str| (kind, file.to_owned(), 2, 2, 67_536, 14.0);
    assert_eq!(only(&twice(&kept(PREFS))), of(SharedPreferences, PREFS));
    let system = "/data/system/users/0/settings_global.xml";
    assert_eq!(only(&twice(&kept(system))), of(AtomicFile, system));
    assert_eq!(only(&twice(&kept("/home/u/p.xml"))), of(Backup, "/home/u/p.xml"));
    // The same after the file was made, and synced.
    let make = &renamed(PREFS, "", true)[..4];
    let calls = [make, &kept(PREFS)].concat();
    let rows = rows(&calls.iter().map(String::as_str).collect::<Vec<_>>());
    let kinds: Vec<_> = rows.iter().map(|row| (row.kind, row.saves, row.file.as_str())).collect();
    assert_eq!(kinds, [(SharedPreferences, 1, PREFS), (InPlace, 1, PREFS)]);
    let of = |kind, file: &str| (kind, file.to_owned(), 2, 2, 10_000, 10.0);
    let calls = renamed(&format!("{system}.new"), system, true);
    assert_eq!(only(&twice(&calls)), of(AtomicFile, system));
    let calls = renamed("/home/u/p.json.tmp", "/home/u/p.json", true);
    assert_eq!(only(&twice(&calls)), of(Rename, "/home/u/p.json"));
    // `Files.move` removes the file before it renames: a sixth call that the thread waits for.
    let file = "/data/data/a/files/datastore/s.preferences_pb";
    let mut calls = renamed(&format!("{file}.tmp"), file, true);
    calls.insert(4, format!("unlink(\"{file}\") = 0"));
    assert_eq!(only(&twice(&calls)), (Datastore, file.to_owned(), 2, 2, 10_000, 12.0));
}

#[test]
fn a_sync_of_the_directory_belongs_to_the_save_and_relative_names_are_resolved() {
    let calls = [
        "getcwd(\"/home/u\", 4096) = 8",
        "openat(AT_FDCWD</home/u>, \"x.tmp\", O_WRONLY|O_CREAT|O_EXCL, 0600) = 3</home/u/x.tmp>",
        "write(3</home/u/x.tmp>, \"\"..., 10) = 10",
        "fsync(3</home/u/x.tmp>) = 0",
        "rename(\"x.tmp\", \"x\") = 0",
        "openat(AT_FDCWD</home/u>, \".\", O_RDONLY|O_DIRECTORY) = 4</home/u>",
        "fsync(4</home/u>) = 0",
    ];
    assert_eq!(only(&calls), (Rename, "/home/u/x".to_owned(), 1, 2, 10, 5.0));
}

#[test]
fn logs_are_not_taken_for_files_that_are_written_over_and_from_those_without_a_path() {
    let of = |open: &str, fd: &str, again: &[&str]| {
        let mut calls = vec![open.to_owned()];
        for _ in 0..3 {
            calls.extend(again.iter().map(|call| call.replace("FD", fd)));
        }
        let calls: Vec<&str> = calls.iter().map(String::as_str).filter(|c| !c.is_empty()).collect();
        only(&calls)
    };
    let open = "openat(AT_FDCWD, \"/l/0.log\", O_WRONLY|O_CREAT|O_TRUNC, 0600) = 3</l/0.log>";
    let append = ["write(FD, \"\"..., 100) = 100", "fdatasync(FD) = 0"];
    assert_eq!(
        of(open, "3</l/0.log>", &append),
        (AppendLog, "/l/0.log".to_owned(), 3, 3, 300, 7.0)
    );
    let over = ["pwrite64(FD, \"\"..., 100, 0) = 100", "fsync(FD) = 0"];
    assert_eq!(of(open, "3</l/0.log>", &over), (InPlace, "/l/0.log".to_owned(), 3, 3, 300, 7.0));
    // Without -y, of a descriptor that was open before.
    assert_eq!(of("", "9", &append), (Unknown, "descriptor 9".to_owned(), 3, 3, 300, 6.0));
    let at = ["pwrite64(FD, \"\"..., 100, 0) = 100", "fdatasync(FD) = 0"];
    assert_eq!(of("", "9", &at).0, InPlace, "the same place of the same file, again and again");
}

#[test]
fn what_no_sync_made_durable_is_not_a_save() {
    let unsynced = renamed("/home/u/x.tmp", "/home/u/x", false);
    let rows_of = rows(&twice(&unsynced));
    assert_eq!((rows_of[0].saves, rows_of[0].unsynced, rows_of.len()), (0, 2, 1));
    assert_eq!(rows_of[0].waits, None);
    let open = "openat(AT_FDCWD, \"/x\", O_WRONLY|O_CREAT|O_APPEND, 0600) = 3</x>";
    let write = "write(3</x>, \"\"..., 9) = 9";
    let failed = "fsync(3</x>) = -1 EIO (Input/output error)";
    assert!(rows(&[open, write, failed]).is_empty());
    assert!(rows(&[open, "fsync(3</x>) = 0"]).is_empty(), "nothing was written");
    // A log that makes way for the next one is not renamed over a file.
    assert!(rows(&[open, write, "rename(\"/x\", \"/x.1\") = 0"]).is_empty());
    // An editor that empties the file and writes it, twice: no log.
    let open = "openat(AT_FDCWD, \"/x\", O_WRONLY|O_CREAT, 0600) = 3</x>";
    let over = [open, "ftruncate(3</x>, 0) = 0", write, "fsync(3</x>) = 0", "close(3</x>) = 0"];
    assert_eq!(only(&[over, over].concat()).0, InPlace);
    // SQLite's are its own.
    let database = "openat(AT_FDCWD, \"/x.db\", O_RDWR|O_CREAT, 0600) = 3</x.db>";
    assert!(rows(&[database, "write(3</x.db>, \"\"..., 9) = 9", "fsync(3</x.db>) = 0"]).is_empty());
}

/// How a random save is made.
#[derive(Clone, Copy, Debug)]
struct Made {
    kind: TraceSaveKind,
    thread: u32,
    writes: u64,
    size: u64,
    took: u64,
    /// Time until the next save of anything.
    pause: u64,
}

fn made() -> impl Strategy<Value = Made> {
    let kinds = vec![SharedPreferences, AtomicFile, Datastore, Backup, Rename, AppendLog];
    let figures = (1..4_u64, 1..200_000_u64, 1..40_000_000_u64, 0..40_000_000_u64);
    (prop::sample::select(kinds), 0..3_u32, figures).prop_map(
        |(kind, thread, (writes, size, took, pause))| Made {
            kind,
            thread,
            writes,
            size,
            took,
            pause,
        },
    )
}

/// The path of a thread's file of a kind, and what it is written as or renamed to.
fn paths(made: Made) -> (String, String) {
    let (of, beside) = match made.kind {
        SharedPreferences => ("/data/data/a/shared_prefs/NAME.xml", ".bak"),
        AtomicFile => ("/data/system/NAME", ".new"),
        Datastore => ("/data/data/a/NAME.preferences_pb", ".tmp"),
        Backup => ("/etc/NAME", "~"),
        Rename => ("/etc/NAME.json", ".swp"),
        _ => ("/var/NAME.log", "-"),
    };
    let file = of.replace("NAME", &made.thread.to_string());
    (file.clone(), format!("{file}{beside}"))
}

fn calls_of(made: Made, logged: u64, of: &mut Builder) -> Vec<TraceAction> {
    let (file, beside) = paths(made);
    let mut named = |path: String| of.file(TraceFile { path: Some(path), ..TraceFile::default() });
    let (file, beside) = (named(file), named(beside));
    let writes = |to: u32, from: u64| {
        (0..made.writes).map(move |at| TraceAction::Write {
            file: to,
            offset: Some(from + at * made.size),
            bytes: Bytes(made.size),
        })
    };
    let open = |file| TraceAction::Open { file, truncated: true, created: true };
    let sync = |file, data_only| TraceAction::Sync { file, data_only };
    let close = |file| TraceAction::Close { file };
    match made.kind {
        SharedPreferences | Backup => {
            let mut calls = vec![TraceAction::Rename { file, to: beside }, open(file)];
            calls.extend(writes(file, 0));
            calls.extend([sync(file, false), close(file), TraceAction::Unlink { file: beside }]);
            calls
        }
        AppendLog => writes(file, logged).chain([sync(file, true)]).collect(),
        kind => {
            let mut calls = vec![open(beside)];
            calls.extend(writes(beside, 0));
            calls.extend([sync(beside, false), close(beside)]);
            let removes = kind == Datastore;
            calls.extend(removes.then_some(TraceAction::Unlink { file }));
            calls.push(TraceAction::Rename { file: beside, to: file });
            calls
        }
    }
}

/// A trace of saves, one after the other, and of each thread and kind: saves, bytes, time waited, and how many were
/// longer than a frame.
fn traced(all: &[Made]) -> (Trace, BTreeMap<(u32, String), [u64; 4]>) {
    let mut builder = Builder::new(TraceSource::default());
    for tid in 0..3 {
        builder.task(TraceTask { tid: Some(tid + 1), pid: Some(1), ..TraceTask::default() });
    }
    let (mut t, mut sums, mut logged) = (0, BTreeMap::new(), BTreeMap::new());
    for made in all {
        let end: &mut u64 = logged.entry(made.thread).or_default();
        let calls = calls_of(*made, *end, &mut builder);
        if made.kind == AppendLog {
            *end += made.writes * made.size;
        }
        let waited = made.took * calls.len() as u64;
        for call in calls {
            builder.event(Nanos(t), Some(Nanos(made.took)), Some(made.thread), call);
            t += made.took;
        }
        t += made.pause;
        let sum: &mut [u64; 4] = sums.entry((made.thread, paths(*made).0)).or_default();
        sum[0] += 1;
        sum[1] += made.writes * made.size;
        sum[2] += waited;
        sum[3] += u64::from(waited > 16_666_667);
    }
    (builder.finish(), sums)
}

proptest! {
    #[test]
    fn random_saves_are_counted_as_they_are_made(all in prop::collection::vec(made(), 1..60)) {
        let (trace, sums) = traced(&all);
        let rows = add_up(&trace).saves;
        let mut found = BTreeMap::new();
        for row in &rows {
            let thread = row.tid.unwrap() - 1;
            prop_assert_eq!(row.main, Some(thread == 0));
            // The first record of a log that has no second is a file written.
            let of = |made: &&Made| paths(**made).0 == row.file && made.thread == thread;
            let kind = all.iter().find(of).unwrap().kind;
            if kind == AppendLog && row.saves == 1 {
                prop_assert_eq!(row.kind, InPlace);
            } else {
                prop_assert_eq!(row.kind, kind);
            }
            let waits = row.waits.as_ref().unwrap();
            let figures = [row.saves, row.bytes.0, waits.waited_ns.0, waits.over_frame];
            prop_assert!(found.insert((thread, row.file.clone()), figures).is_none());
            prop_assert_eq!(waits.histogram.restore().unwrap().count(), row.saves);
            prop_assert_eq!((row.unsynced, row.syncs), (0, row.saves));
        }
        prop_assert_eq!(found, sums);
    }

    #[test]
    fn a_source_without_renames_says_unknown_of_all_but_logs(
        all in prop::collection::vec(made(), 1..40),
    ) {
        let (mut trace, _) = traced(&all);
        trace.source.kind = TraceSourceKind::Ftrace;
        // Such a source has inodes: a new one for each file that is written anew.
        let mut builder = Builder::new(trace.source.clone());
        let mut inode = 1000_u64;
        let mut inodes: BTreeMap<u32, u64> = BTreeMap::new();
        let mut made_of = 0;
        for event in &trace.events {
            let file = match event.action {
                TraceAction::Open { file, .. } => {
                    inode += 1;
                    inodes.insert(file, inode);
                    continue;
                }
                TraceAction::Write { file, .. } | TraceAction::Sync { file, .. } => file,
                _ => continue,
            };
            let inode = *inodes.entry(file).or_insert(u64::from(file));
            let of = builder.file(TraceFile { inode: Some(inode), ..TraceFile::default() });
            let action = match event.action {
                TraceAction::Write { offset, bytes, .. } => TraceAction::Write { file: of, offset, bytes },
                _ => TraceAction::Sync { file: of, data_only: false },
            };
            made_of += u64::from(matches!(action, TraceAction::Sync { .. }));
            builder.event(event.t_ns, event.took_ns, event.task, action);
        }
        let rows = add_up(&builder.finish()).saves;
        prop_assert_eq!(rows.iter().map(|row| row.saves).sum::<u64>(), made_of);
        for row in rows {
            prop_assert_eq!(row.kind, if row.saves > 1 { AppendLog } else { Unknown });
        }
    }
}

#[test]
fn a_thread_that_syncs_what_another_wrote_waits_for_its_own_calls_alone() {
    let mut builder = Builder::new(TraceSource::default());
    for tid in 1..=2 {
        builder.task(TraceTask { tid: Some(tid), pid: Some(1), ..TraceTask::default() });
    }
    let (path, kind) = (Some("/x".to_owned()), TraceFileKind::Other);
    let file = builder.file(TraceFile { path, kind, ..TraceFile::default() });
    let write = TraceAction::Write { file, offset: Some(0), bytes: Bytes(10) };
    builder.event(Nanos(0), Some(Nanos(900)), Some(0), write);
    builder.event(
        Nanos(1000),
        Some(Nanos(70)),
        Some(1),
        TraceAction::Sync { file, data_only: true },
    );
    let rows = add_up(&builder.finish()).saves;
    assert_eq!((rows[0].tid, rows[0].main, rows[0].bytes), (Some(2), Some(false), Bytes(10)));
    assert_eq!(rows[0].waits.as_ref().unwrap().waited_ns, Nanos(70));
}

#[test]
fn saves_again_within_a_frame_are_counted_with_the_waits_that_one_save_would_spare() {
    // Seven calls of 1 ms each, 2 ms apart: the next save begins 2 ms after the last call began.
    let calls = kept(PREFS);
    let calls: Vec<&str> = calls.iter().cycle().take(calls.len() * 5).map(String::as_str).collect();
    let rows = rows(&calls);
    assert_eq!((rows[0].saves, rows[0].followed), (5, 4));
    assert_eq!(rows[0].waits.as_ref().unwrap().followed_ns, Nanos::from_millis(28));
}
