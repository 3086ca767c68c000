//! Traces of real phones and odd traces, replayed on simulated devices and in a directory.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use flashlag_runner::{Event, Observer, Request, Target, run};
use flashlag_schema::trace::{Trace, TraceAction, TraceEvent, TraceFile, TraceSource};
use flashlag_schema::{Phase, Run, RunStatus};
use flashlag_spec::replay::ReplayLevel;
use flashlag_spec::scenario::Scenario;
use flashlag_spec::{TraceFileKind, TraceSourceKind};
use flashlag_units::{Bytes, Nanos};

struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: Event<'_>) {}
}

/// The small trace of a form, and the public one where it is.
fn both(small: &str, public: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces");
    std::iter::once(folder.join(small)).chain(flashlag_need::public_trace(public)).collect()
}

fn replayed(trace: &Path, on: &str, set: &[(&str, &str)]) -> Run {
    let text = flashlag_runner::builtin("app").unwrap().text();
    let mut settings = vec![("trace".to_owned(), trace.display().to_string())];
    settings.extend(set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    let scenario = Scenario::parse(text, &settings).unwrap();
    let target = Target::parse(on).unwrap();
    run(Request::new(scenario, target, 7), &mut Silent).unwrap()
}

fn phase<'a>(run: &'a Run, name: &str) -> &'a Phase {
    let found = run.phases.iter().find(|phase| phase.name == name);
    found.unwrap_or_else(|| panic!("no {name}: {:?} {:?}", run.status, run.skipped))
}

/// fsyncs and bytes written in the text of a list of system calls, counted without an importer.
fn counted(text: &str) -> (u64, u64) {
    let (mut fsyncs, mut bytes) = (0, 0);
    for line in text.lines() {
        match line.split_whitespace().collect::<Vec<&str>>().as_slice() {
            [_, _, "fsync", ..] => fsyncs += 1,
            [_, _, "pwrite", _, _, size] | [_, _, "write", _, size] => {
                bytes += size.parse::<u64>().unwrap_or(0);
            }
            _ => {}
        }
    }
    (fsyncs, bytes)
}

/// Commits of all databases as the table of `flashlag trace` has them, by a recogniser of its own: it follows
/// journals and databases by file, a replay by thread.
fn committed(path: &Path) -> u64 {
    let trace = flashlag_trace::import(std::fs::File::open(path).unwrap(), None).unwrap().trace;
    flashlag_trace::add_up(&trace).databases.iter().map(|database| database.commits).sum()
}

/// Every figure of a run is as `flashlag verify` recomputes it.
fn verified(run: &Run) {
    let found = flashlag_schema::verify::verify(run);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_trace_of_calls_issues_every_fsync_and_writes_its_bytes_on_a_nexus_5() {
    let known = [(22, 7), (997, 316)];
    for (path, (syncs, saves)) in both("calls.txt", "mobigen-facebook.txt").iter().zip(known) {
        let (fsyncs, bytes) = counted(&std::fs::read_to_string(path).unwrap());
        let run = replayed(path, "sim:nexus5-2013", &[]);
        assert_eq!(run.status, RunStatus::Complete);
        let (sync, write) = (phase(&run, "replay_sync"), phase(&run, "replay_write"));
        assert_eq!((fsyncs, sync.ops), (syncs, syncs));
        assert_eq!(write.bytes.0, bytes);
        let save = phase(&run, "replay_save");
        assert_eq!(save.ops, saves, "the transactions of its rollback journals");
        assert_eq!(save.ops, committed(path), "as `flashlag trace` recognises them");
        assert_eq!(save.lag.map(|lag| lag.saves), Some(saves));
        let replay = sync.replay.as_ref().unwrap();
        // A paced replay lasts as long as the trace, and counts from the intended start.
        let due = replay.scheduled_ns.unwrap();
        assert!(sync.elapsed_ns >= due && !sync.closed_loop, "{due}");
        assert_eq!(sync.response_ns.as_ref().map(|_| sync.missed_slots.is_some()), Some(true));
        verified(&run);
        // Virtual time: the same again, byte for byte.
        assert_eq!(run.phases, replayed(path, "sim:nexus5-2013", &[]).phases);
        let flat = replayed(path, "sim:nexus5-2013", &[("pace", "flat")]);
        let flat_sync = phase(&flat, "replay_sync");
        assert!(flat_sync.closed_loop && flat_sync.response_ns.is_none());
        assert_eq!((flat_sync.ops, phase(&flat, "replay_write").bytes), (syncs, write.bytes));
        assert!(flat_sync.elapsed_ns < due, "{}", flat_sync.elapsed_ns);
        verified(&flat);
    }
}

#[test]
fn block_requests_of_a_phone_are_all_done_within_the_time_of_the_trace() {
    for path in both("processes.csv", "pixel6a-telegram_exec.csv.gz") {
        let set = [("time", "20s"), ("span", "4GiB")];
        let run = replayed(&path, "sim:pixel6-2021", &set);
        assert_eq!(run.status, RunStatus::Complete);
        let moved: u64 = run.phases.iter().map(|phase| phase.ops).sum();
        assert!(moved > 100, "{moved}");
        let read = phase(&run, "replay_read");
        assert!(read.elapsed_ns < Nanos::from_secs(25), "{}", read.elapsed_ns);
        assert_eq!(read.replay.as_ref().map(|replay| replay.level), Some(ReplayLevel::Blocks));
        assert!(run.phases.iter().all(|phase| phase.operation.is_replay()));
        verified(&run);
    }
}

/// A trace of events on files of these kinds, stored in `folder`.
fn stored(folder: &Path, kinds: &[TraceFileKind], events: Vec<TraceEvent>) -> PathBuf {
    let file = |kind: &TraceFileKind| TraceFile {
        path: Some("/../../etc/pass\u{1b}[31mwd\n$(reboot).db".to_owned()),
        kind: *kind,
        ..TraceFile::default()
    };
    let source = TraceSource { kind: TraceSourceKind::Strace, ..TraceSource::default() };
    let files = kinds.iter().map(file).collect();
    let (tasks, events) = (vec![Default::default(); 2], events.into());
    let trace = Trace { source, files, tasks, events, ..Trace::default() };
    let path = folder.join("t.trace");
    let made = flashlag_trace::write_trace(Vec::new(), &trace).unwrap();
    std::fs::write(&path, made).unwrap();
    path
}

fn event(t_ms: u64, task: u32, action: TraceAction) -> TraceEvent {
    TraceEvent { t_ns: Nanos::from_millis(t_ms), took_ns: Some(Nanos(5)), task: Some(task), action }
}

/// Two threads, a transaction, a rename, a file that is never opened, a read of nothing, names that would
/// be dangerous.
fn odd(folder: &Path) -> PathBuf {
    use TraceAction::{Close, Open, Read, Rename, Sync, Truncate, Unlink, Write};
    let write = |file, offset, bytes| Write { file, offset: Some(offset), bytes: Bytes(bytes) };
    let sync = |file| Sync { file, data_only: true };
    let first = [
        Open { file: 1, truncated: false, created: true },
        write(1, 0, 512),
        sync(1),
        write(0, 8192, 4096),
        sync(0),
        Unlink { file: 1 },
        Read { file: 0, offset: Some(1 << 63), bytes: Bytes(10) },
        Truncate { file: 0, bytes: Bytes(100) },
    ];
    let second = [
        write(2, 1 << 40, 3 << 20),
        Rename { file: 2, to: 3 },
        Read { file: 3, offset: None, bytes: Bytes(0) },
        Close { file: 3 },
        Unlink { file: 2 },
        Unlink { file: 2 },
        TraceAction::SyncAll,
        write(2, 0, 1),
    ];
    let events = (0..8)
        .zip(first)
        .map(|(t, action)| event(t, 0, action))
        .chain((0..8).zip(second).map(|(_, action)| event(3, 1, action)));
    let kinds =
        [TraceFileKind::Database, TraceFileKind::Journal, TraceFileKind::Other, TraceFileKind::Wal];
    stored(folder, &kinds, events.collect())
}

/// What must hold of the odd trace on any target.
fn odd_is_done(run: &Run) {
    assert_eq!(run.status, RunStatus::Complete, "{:?}", run.skipped);
    let ops = |name| phase(run, name).ops;
    assert_eq!((ops("replay_write"), ops("replay_sync"), ops("replay_read")), (4, 3, 2));
    assert_eq!((ops("replay_names"), ops("replay_save")), (6, 1));
    assert_eq!(phase(run, "replay_write").bytes, Bytes(512 + 4096 + (3 << 20) + 1));
    assert_eq!(phase(run, "replay_write").threads, 2);
    let traced = phase(run, "replay_sync").replay.as_ref().unwrap();
    assert_eq!(traced.traced_ns.as_ref().and_then(|traced| traced.max), Some(Nanos(5)));
    assert!(
        run.wear.written_bytes >= Bytes(8192 + 512 + 4096 + (3 << 20)),
        "the files before count"
    );
    verified(run);
}

#[test]
fn an_odd_trace_is_replayed_in_a_directory_and_nothing_of_it_stays_or_gets_out() {
    let home = tempfile::tempdir().unwrap();
    let under_test = home.path().join("under test");
    std::fs::create_dir(&under_test).unwrap();
    let path = odd(home.path());
    let before = std::fs::read_to_string("/etc/passwd").ok();
    for pace in ["own", "flat"] {
        let run =
            replayed(&path, under_test.to_str().unwrap(), &[("pace", pace), ("span", "16MiB")]);
        odd_is_done(&run);
        assert_eq!(std::fs::read_dir(&under_test).unwrap().count(), 0, "all is removed");
    }
    assert_eq!(std::fs::read_to_string("/etc/passwd").ok(), before);
}

#[test]
fn an_odd_trace_is_replayed_on_each_modelled_filesystem() {
    let home = tempfile::tempdir().unwrap();
    let path = odd(home.path());
    for filesystem in ["ext4", "f2fs", "btrfs"] {
        let on = format!("sim:nexus5-2013+{filesystem}");
        odd_is_done(&replayed(&path, &on, &[("span", "16MiB")]));
    }
}

#[test]
fn a_trace_that_a_device_can_not_keep_up_with_is_overloaded_and_one_that_it_can_is_not() {
    let home = tempfile::tempdir().unwrap();
    let write = |n: u64| {
        let action = TraceAction::Write { file: 0, offset: Some(n * 4096), bytes: Bytes(4096) };
        let sync = TraceAction::Sync { file: 0, data_only: true };
        [event(n / 4, 0, action), event(n / 4, 0, sync)]
    };
    let events: Vec<TraceEvent> = (0..4000).flat_map(write).collect();
    let path = stored(home.path(), &[TraceFileKind::Other], events);
    let fast = replayed(&path, "sim:nexus5-2013", &[]);
    let slow = replayed(&path, "sim:nexus5-2013", &[("speed", "0.01")]);
    let judged = |run: &Run| flashlag_explain::is_overloaded(phase(run, "replay_sync"));
    assert_eq!((judged(&fast), judged(&slow)), (true, false));
    assert!(phase(&fast, "replay_sync").missed_slots.unwrap() > 1000);
}

#[test]
fn a_budget_below_the_room_that_a_replay_needs_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let write = |n: u64| TraceAction::Write { file: 0, offset: Some(n * 4096), bytes: Bytes(4096) };
    let events = (0..10).map(|n| event(0, 0, write(n))).collect();
    let path = stored(home.path(), &[TraceFileKind::Other], events);
    let text = flashlag_runner::builtin("app").unwrap().text();
    let settings = [("trace".to_owned(), path.display().to_string())];
    let scenario = Scenario::parse(text, &settings).unwrap();
    let on = Target::parse(home.path().to_str().unwrap()).unwrap();
    let request = Request { budget: Some(Bytes(3 * 4096)), ..Request::new(scenario, on, 7) };
    // Files of the replay grow to ten pages, for which there is no budget at all.
    let refused = run(request, &mut Silent).unwrap_err().to_string();
    assert!(refused.contains("--budget"), "{refused}");
}

#[test]
fn no_trace_a_missing_one_and_one_that_is_none_are_refused_before_anything_is_written() {
    let home = tempfile::tempdir().unwrap();
    let nothing = home.path().join("empty");
    std::fs::write(&nothing, "").unwrap();
    let refused = |trace: &str| {
        let text = flashlag_runner::builtin("app").unwrap().text();
        let scenario = Scenario::parse(text, &[("trace".to_owned(), trace.to_owned())]).unwrap();
        let on = Target::parse("sim:nexus5-2013").unwrap();
        run(Request::new(scenario, on, 1), &mut Silent).unwrap_err().to_string()
    };
    assert!(refused("").contains("--set trace=FILE"), "{}", refused(""));
    assert!(refused("/nowhere/at all").contains("No such file"));
    assert!(refused(nothing.to_str().unwrap()).contains("cannot replay"));
}

#[test]
fn a_trace_that_is_only_half_understood_is_refused_unless_it_is_asked_for() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("half.strace");
    let write = "10 1700000000.0 pwrite64(3</d/a>, \"x\"..., 4096, 0) = 4096 <0.1>\n";
    let lacking = [
        (
            "10 1700000000.5 io_uring_enter(6, 1, 1, 0, NULL, 8) = 1 <0.1>\n",
            "calls or requests left out: 1",
        ),
        ("10 1700000000.5 pwrite64(3</d/a>, \"x\n", "lines that can't be read: 1"),
    ];
    for (more, why) in lacking {
        std::fs::write(&path, format!("{write}{more}")).unwrap();
        let refused = refused_of(&path);
        assert!(refused.contains(why) && refused.contains("partial=true"), "{refused}");
        let run = replayed(&path, "sim:nexus5-2013", &[("partial", "true")]);
        assert_eq!(phase(&run, "replay_write").ops, 1);
    }
    // A stored trace that was copied in part.
    let trace = flashlag_trace::import(write.repeat(20).as_bytes(), None).unwrap().trace;
    let stored = flashlag_trace::write_trace(Vec::new(), &trace).unwrap();
    std::fs::write(&path, &stored[..stored.len() - 300]).unwrap();
    assert!(refused_of(&path).contains("its end is missing"), "{}", refused_of(&path));
    // A table whose columns nobody knows: the way is named.
    std::fs::write(&path, "when,what,where,size\n1,R,2,3\n4,W,5,6\n").unwrap();
    let refused = refused_of(&path);
    assert!(refused.contains("flashlag trace --from FILE --columns LIST"), "{refused}");
}

/// Why a trace is not replayed.
fn refused_of(path: &Path) -> String {
    let text = flashlag_runner::builtin("app").unwrap().text();
    let settings = [("trace".to_owned(), path.display().to_string())];
    let scenario = Scenario::parse(text, &settings).unwrap();
    let on = Target::parse("sim:nexus5-2013").unwrap();
    run(Request::new(scenario, on, 1), &mut Silent).unwrap_err().to_string()
}
