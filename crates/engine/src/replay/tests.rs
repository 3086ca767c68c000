use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_device::{
    Budget, Call, CallDevice, CallRequest, Clock, Completion, DeviceError, Latency, NoWaitMeter,
    RamDevice, SchedulerTimes, Service, VirtualClock, WaitMeter,
};
use flashlag_spec::TraceFileKind;
use flashlag_spec::replay::{
    ReplayCall, ReplayFile, ReplayKind, ReplayOp, ReplaySave, ReplayStream,
};
use flashlag_spec::scenario::{Replay, Scenario, Test};
use flashlag_units::{Bytes, Nanos};
use flashlag_workload::Payload;

use super::*;
use crate::drive::EndReason;

/// Calls that take a millisecond each, and the order in which they began.
#[derive(Default)]
struct Slow {
    clock: VirtualClock,
    under_way: Vec<(u32, Nanos)>,
    began: Vec<(Nanos, u32, u32)>,
}

const SERVICE: Nanos = Nanos::from_millis(1);

impl CallDevice for Slow {
    type Clock = VirtualClock;

    fn clock(&self) -> &VirtualClock {
        &self.clock
    }

    fn submit(&mut self, request: CallRequest) -> Result<(), DeviceError> {
        let now = self.clock.now();
        assert!(self.under_way.iter().all(|(slot, _)| *slot != request.slot), "one call a thread");
        self.under_way.push((request.slot, now));
        self.began.push((now, request.slot, request.file));
        Ok(())
    }

    fn reap(&mut self, at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError> {
        if at_least > 0
            && let Some(first) = self.under_way.iter().map(|(_, from)| from.plus(SERVICE)).min()
        {
            self.clock.advance_to(first);
        }
        let now = self.clock.now();
        self.under_way.retain(|&(slot, started)| {
            let ended = started.plus(SERVICE);
            let done = ended <= now;
            if done {
                completed.push(Completion {
                    slot,
                    started,
                    flush_from: None,
                    ended,
                    result: Ok(()),
                });
            }
            !done
        });
        Ok(())
    }

    fn wait_until(&mut self, time: Nanos) {
        let first = self.under_way.iter().map(|(_, from)| from.plus(SERVICE)).min();
        self.clock.advance_to(first.map_or(time, |first| first.min(time)));
    }
}

fn replay(keys: &str) -> Replay {
    let text = format!(
        "name = \"x\"\n[[replay]]\nname = \"r\"\ntrace = \"t\"\n{keys}\n[[step]]\nmeasure = [\"r\"]\n"
    );
    match Scenario::parse(&text, &[]).unwrap().tests.remove("r") {
        Some(Test::Replay(replay)) => replay,
        other => panic!("{other:?}"),
    }
}

fn op(at_us: u64, thread: u32, call: ReplayCall, file: u32) -> ReplayOp {
    let bytes = if call.moves() { 4096 } else { 0 };
    let (at, took) = (Nanos::from_micros(at_us), Some(Nanos(9)));
    ReplayOp { at, thread, call, file, offset: 0, bytes, took, depth: 1 }
}

fn job<'a>(stream: &'a ReplayStream, replay: &'a Replay) -> ReplayJob<'a> {
    let (interval, stall_over) = (Nanos::from_millis(10), Nanos::from_millis(1));
    ReplayJob { stream, replay, seed: 1, interval, stall_over }
}

fn part(outcome: &ReplayOutcome, kind: ReplayKind) -> &ReplayPart {
    outcome.parts.iter().find(|part| part.kind == kind).unwrap()
}

fn watch(stop: &AtomicBool) -> ReplayWatch<'_, NoWaitMeter> {
    ReplayWatch { stop, live: None, budget: None, meter: NoWaitMeter }
}

/// Two threads: one has three writes due at once, the other a sync at 5 ms.
fn two_threads() -> ReplayStream {
    let write = |n: u64| op(n, 0, ReplayCall::Write, n as u32);
    let ops = vec![write(0), write(1), write(2), op(5000, 1, ReplayCall::Sync, 0)];
    let files = vec![ReplayFile::default(); 3];
    let saves = vec![ReplaySave { first: 0, last: 2, log: false }];
    ReplayStream { threads: 2, files, ops, saves, ..ReplayStream::default() }
}

#[test]
fn an_operation_waits_for_the_one_before_in_its_thread_and_its_response_counts_from_its_time() {
    let (stream, replay, stop) = (two_threads(), replay(""), AtomicBool::new(false));
    let mut device = Slow::default();
    let done = drive_calls(&mut device, &job(&stream, &replay), 0..2, None, &mut watch(&stop));
    let began: Vec<_> =
        device.began.iter().map(|(at, slot, file)| (at.0 / 1000, *slot, *file)).collect();
    assert_eq!(began, [(0, 0, 0), (1000, 0, 1), (2000, 0, 2), (5000, 1, 0)]);
    let writes = &part(&done, ReplayKind::Write).recorded;
    assert_eq!(
        (writes.latency.max(), writes.response.max()),
        (Some(SERVICE), Some(Nanos(2_998_000)))
    );
    assert_eq!((writes.latency.count(), writes.bytes), (3, Bytes(3 * 4096)));
    let save = &part(&done, ReplayKind::Save).recorded;
    assert_eq!((save.latency.max(), save.bytes), (Some(Nanos(3_000_000)), Bytes(3 * 4096)));
    assert_eq!(part(&done, ReplayKind::Sync).traced.max(), Some(Nanos(9)));
    assert_eq!((done.elapsed, done.left, done.written), (Nanos(6_000_000), 0, Bytes(3 * 4096)));
}

#[test]
fn flat_out_nothing_waits_for_its_time_and_there_is_no_response() {
    let stream = two_threads();
    let (replay, stop) = (replay("pace = \"flat\""), AtomicBool::new(false));
    let mut device = Slow::default();
    let done = drive_calls(&mut device, &job(&stream, &replay), 0..2, None, &mut watch(&stop));
    assert_eq!(done.elapsed, Nanos(3_000_000));
    assert_eq!(part(&done, ReplayKind::Write).recorded.response.count(), 0);
    assert_eq!(device.began[1].1, 1, "the other thread begins at once");
}

#[test]
fn a_stop_and_a_budget_end_a_replay_and_what_is_left_is_counted() {
    let (stream, own) = (two_threads(), replay(""));
    let stop = AtomicBool::new(true);
    let done =
        drive_calls(&mut Slow::default(), &job(&stream, &own), 0..2, None, &mut watch(&stop));
    assert_eq!((done.ended, done.left, done.parts.len()), (EndReason::Stopped, 4, 0));
    let stop = AtomicBool::new(false);
    let budget = Some(Budget::of(Bytes(2 * 4096)));
    let mut limited = ReplayWatch { budget, ..watch(&stop) };
    let done = drive_calls(&mut Slow::default(), &job(&stream, &own), 0..2, None, &mut limited);
    assert!(done.out_of_budget && done.ended == EndReason::Limit);
    assert_eq!((done.written, done.left), (Bytes(2 * 4096), 2));
}

/// The times of a thread that sleeps.
struct Asleep;

impl WaitMeter for Asleep {
    fn read(&self) -> Option<SchedulerTimes> {
        Some(SchedulerTimes::default())
    }
}

#[test]
fn where_a_thread_slept_each_sampled_operation_and_each_stall_was_blocked() {
    let (stream, own, stop) = (two_threads(), replay(""), AtomicBool::new(false));
    for (stall_over, stalls) in [(SERVICE.plus(Nanos(1)), 0), (Nanos(1000), 3)] {
        let job = ReplayJob { stall_over, ..job(&stream, &own) };
        let mut watch = ReplayWatch { stop: &stop, live: None, budget: None, meter: Asleep };
        let done = drive_calls(&mut Slow::default(), &job, 0..2, None, &mut watch);
        let writes = &part(&done, ReplayKind::Write).recorded;
        let sampled: Vec<_> = writes.waits.occupied().map(|(_, class)| class).collect();
        let [class] = sampled.as_slice() else { panic!("{sampled:?}") };
        assert_eq!((class.ops, class.split.blocked), (3, Nanos(3 * SERVICE.0)));
        assert_eq!(writes.stalls_seen, stalls);
        for stall in &writes.stalls {
            assert_eq!(stall.split.map(|split| split.blocked), Some(SERVICE));
        }
        assert_eq!(writes.stalls.len() as u64, stalls);
    }
}

#[test]
fn flat_out_as_many_requests_are_in_flight_as_where_they_were_traced() {
    let depth = |depth| ReplayOp { depth, ..op(0, 0, ReplayCall::BlockRead, 0) };
    let time = Latency::Fixed(SERVICE);
    let service = Service { read: time, write: time, flush: time, units: 8 };
    let elapsed = |depths: &[u32], keys: &str| {
        let ops = depths.iter().map(|one| depth(*one)).collect();
        let stream = ReplayStream { threads: 1, span: Bytes(8192), ops, ..ReplayStream::default() };
        let (replay, stop) = (replay(keys), AtomicBool::new(false));
        let mut device = RamDevice::simulated(Bytes(8192), 8, Bytes(4096), service, 1);
        drive_requests(&mut device, &job(&stream, &replay), &mut watch(&stop)).elapsed
    };
    assert_eq!(elapsed(&[1; 4], "pace = \"flat\""), Nanos::from_millis(4));
    assert_eq!(elapsed(&[1, 2, 3, 4], "pace = \"flat\""), Nanos::from_millis(1));
    assert_eq!(elapsed(&[1, 2, 3, 4], "pace = \"flat\"\nqueue_depth = 2"), Nanos::from_millis(2));
    assert_eq!(elapsed(&[1; 4], ""), Nanos::from_millis(1), "all are due at once");
}

/// Files in a directory of their own.
fn files(home: &tempfile::TempDir, count: usize) -> ReplayFiles {
    let directory = OwnedFd::from(std::fs::File::open(home.path()).unwrap());
    let kind = TraceFileKind::Other;
    let made = vec![ReplayFile { before: Some(Bytes(10)), kind }; count];
    ReplayFiles::new(Arc::new(directory), home.path().to_owned(), &made)
}

fn result_of(device: &mut FileCalls<'_>, file: u32, call: Call) -> Result<(), DeviceError> {
    device.submit(CallRequest { slot: 0, file, call }).unwrap();
    let mut completed = Vec::new();
    device.reap(1, &mut completed).unwrap();
    completed.remove(0).result
}

fn called(device: &mut FileCalls<'_>, file: u32, call: Call) {
    result_of(device, file, call).unwrap();
}

#[test]
fn calls_on_real_files_do_what_they_say_whatever_is_there_before() {
    let home = tempfile::tempdir().unwrap();
    let files = files(&home, 3);
    let stop = AtomicBool::new(false);
    assert_eq!(files.lay_out(&Payload::new(1), &stop).unwrap(), Bytes(30));
    let size = |name: &str| std::fs::metadata(home.path().join(name)).ok().map(|file| file.len());
    let mut device = FileCalls::new(&files, 1);
    let write = |at, length| Call::Write { offset: Bytes(at), length: Bytes(length) };
    called(&mut device, 0, write(100, 3 << 20));
    assert_eq!(size("replay0.dat"), Some(100 + (3 << 20)));
    called(&mut device, 0, Call::Rename { to: 1 });
    assert_eq!((size("replay0.dat"), size("replay1.dat")), (None, Some(100 + (3 << 20))));
    called(&mut device, 1, Call::Truncate(Bytes(7)));
    assert_eq!(size("replay1.dat"), Some(7), "the open file has the new name");
    called(&mut device, 0, Call::Unlink);
    called(&mut device, 0, Call::Rename { to: 2 });
    called(&mut device, 2, Call::Unlink);
    called(&mut device, 2, Call::Read { offset: Bytes(0), length: Bytes(4 << 30) });
    assert_eq!(size("replay2.dat"), Some(0), "made again by a call on it");
    called(&mut device, 1, Call::Open { create: false, truncate: true });
    assert_eq!(size("replay1.dat"), Some(0));
    for call in [Call::Close, Call::Close, Call::Sync { data_only: true }, Call::SyncDirectory] {
        called(&mut device, 1, call);
    }
}

#[test]
fn a_link_in_a_files_place_is_not_followed_and_no_child_gets_an_open_file() {
    let home = tempfile::tempdir().unwrap();
    let elsewhere = home.path().join("elsewhere");
    std::fs::write(&elsewhere, "kept").unwrap();
    std::os::unix::fs::symlink(&elsewhere, home.path().join("replay0.dat")).unwrap();
    let files = files(&home, 2);
    let mut device = FileCalls::new(&files, 1);
    let call = Call::Open { create: false, truncate: true };
    let error = result_of(&mut device, 0, call).unwrap_err();
    assert_eq!(error.errno, Some(rustix::io::Errno::LOOP.raw_os_error()), "{error}");
    assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "kept");
    called(&mut device, 1, Call::Open { create: true, truncate: false });
    let listed = std::process::Command::new("ls").args(["-l", "/proc/self/fd"]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains("/proc/") && !listed.contains("replay1.dat"), "{listed}");
}

#[test]
fn more_files_than_a_process_may_open_are_open_by_turns() {
    let home = tempfile::tempdir().unwrap();
    let files = files(&home, 1200);
    let mut device = FileCalls::new(&files, 1);
    for file in 0..1200 {
        called(&mut device, file, Call::Open { create: true, truncate: false });
    }
    called(&mut device, 0, Call::Write { offset: Bytes(0), length: Bytes(1) });
    assert!(std::fs::read_dir("/proc/self/fd").unwrap().count() < 700);
}
