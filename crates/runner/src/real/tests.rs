//! A directory of this machine as a world, and a short run on one.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use flashlag_device::Budget;
use flashlag_engine::fill::free_space;
use flashlag_engine::{Job, ThreadWaitMeter};
use flashlag_schema::{Check, CheckId, CheckStatus, DeviceCount, HostRequests, Run, RunStatus};
use flashlag_spec::scenario::{Io, Save, Scenario, Test};
use flashlag_sqlite::SaveJob;
use flashlag_stats::live::Live;

use super::prepare::{DirectoryRequest, prepare};
use super::*;
use crate::events::{Event, Observer};
use crate::request::Request;
use crate::target::Target;
use crate::work::{
    BackgroundOrder, Controls, Direction, Edge, FillOrder, INTERVAL, Role, STALL_OVER, TestJob,
    Work, World,
};

/// Each kind of phase, as short as possible.
const KINDS: &str = r#"
name = "kinds"

[[io]]
name = "writes"
operation = "write"
pattern = "random"
block = "4KiB"
span = "1MiB"
bytes = "256KiB"
durable = "fdatasync"

[[io]]
name = "reads"
operation = "read"
pattern = "sequential"
block = "64KiB"
span = "2MiB"
bytes = "2MiB"
threads = 2
background = "beside"

[[io]]
name = "beside"
operation = "write"
pattern = "random"
block = "4KiB"
span = "1MiB"
time = "10s"

[[save]]
name = "saves"
journal = "wal"
rows = 20
saves = 10

[[io]]
name = "level"
operation = "write"
pattern = "sequential"
block = "64KiB"
bytes = "4MiB"

[[step]]
measure = ["writes", "reads", "saves"]
state = "new"

[[step]]
fill = "level"

[[step]]
delete = true
"#;

struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: Event<'_>) {}
}

fn request(directory: &Path) -> Request {
    let target = Target::Directory(directory.to_owned());
    let request = Request::new(Scenario::parse(KINDS, &[]).unwrap(), target, 1);
    Request { leave: Some(Bytes::from_mib(1)), verify: true, ..request }
}

fn check(run: &Run, id: CheckId) -> &Check {
    run.trust.checks.iter().find(|check| check.id == id).unwrap()
}

#[test]
fn a_run_measures_each_kind_of_phase_judges_it_and_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let run = crate::run(request(directory.path()), &mut Silent).unwrap();
    assert_eq!(run.status, RunStatus::Complete);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    let names: Vec<&str> = run.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["writes", "reads", "saves", "level"]);
    let [writes, reads, saves, level] = run.phases.as_slice() else { panic!() };
    assert_eq!([writes.ops, reads.ops, saves.ops, level.ops], [64, 32, 10, 64]);
    // Phases follow one another without overlap, on one clock.
    for pair in run.phases.windows(2) {
        assert!(pair[1].began_ns >= pair[0].began_ns.plus(pair[0].elapsed_ns), "{pair:#?}");
    }
    let written = writes.ledger.syscall_bytes.value().copied().unwrap();
    // Only a lower bound holds: the kernel counts the other tests of this process too.
    assert!(written >= Bytes::from_kib(256), "{written}");
    let beside = reads.ledger.syscall_bytes.value().copied().unwrap();
    assert!(beside >= Bytes::from_mib(2), "{beside} read, in two threads");
    let has_meter = ThreadWaitMeter::open().is_ok();
    assert_eq!(writes.time.value().is_some(), has_meter);
    let warm = run.environment.storage_temperature_millicelsius.value().is_some();
    let intervals = run.phases.iter().flat_map(|phase| &phase.intervals);
    assert!(intervals.into_iter().all(|one| warm || one.temperature_millicelsius.is_none()));
    assert_judged(&run);
}

/// The text of each check shows what the check was given.
fn assert_judged(run: &Run) {
    assert_eq!(check(run, CheckId::DataVerified).status, CheckStatus::Pass);
    assert_eq!(check(run, CheckId::PayloadIncompressible).status, CheckStatus::Pass);
    // The fill ended at its limit in bytes and left far more than the mebibyte that it had to leave
    // free.
    let room = check(run, CheckId::FreeSpace);
    assert_eq!(room.status, CheckStatus::Fail, "{room:?}");
    assert!(room.detail.contains("1.0 MB was to be spared"), "{room:?}");
    let clock = check(run, CheckId::Clock);
    assert!(clock.detail.contains("clocks agree over"), "from the baseline to the end: {clock:?}");
    let stopped = check(run, CheckId::NeverStopped);
    assert!(stopped.detail.contains("4 tests looked at"), "{stopped:?}");
    let bypass = check(run, CheckId::CacheBypass);
    assert!(bypass.detail.contains("This process counted"), "{bypass:?}");
}

/// A device that counts how often it is asked.
#[derive(Debug, Default)]
struct Counting {
    begun: Vec<String>,
    asked: u64,
}

impl Witness for Counting {
    fn phase_begins(&mut self, label: &str) {
        self.begun.push(label.to_owned());
    }

    fn count(&mut self) -> Option<DeviceCount> {
        self.asked += 1;
        let host = HostRequests { writes: self.asked, ..HostRequests::default() };
        Some(DeviceCount { host, ..DeviceCount::default() })
    }

    fn phase_note(&self) -> Option<String> {
        self.begun.last().map(|label| format!("after {label}"))
    }
}

/// A device without notes.
#[derive(Debug)]
struct Mute;

impl Witness for Mute {
    fn phase_begins(&mut self, _: &str) {}

    fn count(&mut self) -> Option<DeviceCount> {
        None
    }
}

fn world(directory: &Path, witness: Option<Box<dyn Witness>>) -> Directory<'static> {
    work(directory, witness).world
}

fn work(directory: &Path, witness: Option<Box<dyn Witness>>) -> Work<Directory<'static>> {
    let on = DirectoryRequest {
        name: "here".to_owned(),
        path: directory.to_owned(),
        witness,
        watches_stops: true,
        rootdir: false,
    };
    let (work, first, cost) = prepare(request(directory), on).unwrap();
    assert_eq!((first, cost.leave.0), (0, Bytes::from_mib(1)));
    work
}

fn test(name: &str) -> Test {
    Scenario::parse(KINDS, &[]).unwrap().tests.remove(name).unwrap()
}

fn io(name: &str) -> Io {
    match test(name) {
        Test::Io(io) => io,
        other => panic!("{other:?}"),
    }
}

fn save(name: &str) -> Save {
    match test(name) {
        Test::Save(save) => save,
        other => panic!("{other:?}"),
    }
}

fn controls(budget: Option<Budget>) -> Controls {
    Controls { seed: 1, stop: Arc::default(), budget, verify: false }
}

/// Gives a world storage of 41 degrees. Returns the temperature that it reads, or nothing if this
/// kernel allows no heartbeat.
fn warmed(world: &mut Directory<'_>) -> Option<i64> {
    world.heartbeat = Heartbeat::start(Box::new(|| Some(41_000))).ok();
    let heartbeat = world.heartbeat.as_ref()?;
    // The first temperature is read before the first beat.
    heartbeat.stops().unwrap();
    Some(41_000)
}

#[test]
fn temperature_and_stops_are_those_of_the_heartbeat_and_unknown_without_one() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = world(directory.path(), None);
    let warmth = warmed(&mut world);
    assert_eq!(world.temperature(), warmth);
    assert_eq!(world.stops().is_some(), warmth.is_some());
    world.heartbeat = None;
    assert_eq!(world.temperature(), None);
    assert!(world.stops().is_none());
    world.abandon();
}

#[test]
fn one_thread_measures_the_files_that_were_opened_and_several_open_them_each_for_itself() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = world(directory.path(), None);
    let (span, controls) = (Bytes::from_mib(1), controls(None));
    let (files, _) = world.lay_out(Role::Test, span, &controls).unwrap();
    let tests = [1, 2].map(|threads| Io { threads, ..io("writes") });
    let devices = tests.each_ref().map(|io| world.open(&files, io).unwrap().device);
    // A file that is open can be written when its name is gone.
    std::fs::remove_file(files.path(0)).unwrap();
    let driven = devices.into_iter().zip(&tests).map(|(device, io)| {
        let job = Job::of(io, span, 1);
        let test = TestJob { io, job: &job, live: Arc::default(), controls: &controls };
        world.drive(device, &files, &test).map(|driven| driven.moved)
    });
    let [one, two] = driven.collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(one, Ok(Bytes::from_kib(256)));
    assert!(two.is_err(), "{two:?}");
    world.abandon();
}

#[test]
fn a_background_shows_its_progress_until_it_is_ended() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = world(directory.path(), None);
    let (span, controls) = (Bytes::from_mib(1), controls(None));
    let (files, _) = world.lay_out(Role::Background, span, &controls).unwrap();
    let io = io("beside");
    let order = BackgroundOrder { io: &io, span, seed: 1 };
    let begun = world.start_background(&files, order, &controls).unwrap();
    let live = begun.live.expect("progress of the other thread");
    let waiting = Instant::now();
    while live.snapshot().bytes == Bytes::ZERO && waiting.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let shown = live.snapshot().elapsed;
    assert!(shown >= INTERVAL, "{shown}: shown at the end of an interval");
    let end = world.end_background(begun.running).unwrap();
    assert!(end.moved > Bytes::ZERO && end.elapsed > Nanos::ZERO, "{end:?}");
    assert_eq!(live.snapshot().bytes, end.moved);
    assert!(end.error.is_none() && !end.out_of_budget, "{end:?}");
    world.abandon();
}

#[test]
fn databases_are_made_below_the_directory_and_removed_after_their_test() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = world(directory.path(), None);
    let databases = world.saves_directory().unwrap();
    let save = save("saves");
    let job = SaveJob {
        save: &save,
        directory: &databases,
        seed: 1,
        interval: INTERVAL,
        stall_over: STALL_OVER,
    };
    let (prepared, made) = world.prepare_saves(&job, &AtomicBool::new(false)).unwrap();
    drop(prepared);
    assert!(databases.join("save-0.db").exists());
    world.remove_saves(made, &job).unwrap();
    assert!(!databases.join("save-0.db").exists());
    world.abandon();
}

#[test]
fn room_is_judged_by_the_free_space_and_the_runs_own_files_at_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let mut work = work(directory.path(), None);
    let mut phases = flashlag_testing::small_run().phases;
    phases.truncate(1);
    phases[0].state = flashlag_spec::State::New;
    (work.run.phases, work.evidence.phases) = (phases, vec![None]);
    work.refresh();
    let room = check(&work.run, CheckId::FreeSpace).clone();
    assert_eq!(room.status, CheckStatus::Pass, "{room:?}");
    assert!(room.detail.contains("1.0 MB is to stay free"), "{room:?}");
    // Without counters of the phase itself, those before the run are compared with those read now.
    let clock = check(&work.run, CheckId::Clock);
    assert!(clock.detail.contains("clocks agree over"), "{clock:?}");
    // No storage has this much space, and the run's own files are not the reason.
    work.evidence.leave = Bytes(u64::MAX / 2);
    work.refresh();
    let room = check(&work.run, CheckId::FreeSpace).clone();
    assert_eq!(room.status, CheckStatus::Fail, "{room:?}");
    assert!(room.advice.as_ref().is_some_and(|text| text.contains("something else")), "{room:?}");
    let written = work.run.wear.block_bytes.value();
    assert_eq!(written.is_some(), work.world.probe.counters().disk.value().is_some());
    work.world.abandon();
}

#[test]
fn a_resumed_run_keeps_its_failed_checks_and_adds_up_what_the_device_took() {
    let directory = tempfile::tempdir().unwrap();
    let mut work = work(directory.path(), None);
    let mut phases = flashlag_testing::small_run().phases;
    phases.truncate(1);
    phases[0].state = flashlag_spec::State::New;
    let mut before = Run { phases: phases.clone(), ..work.run.clone() };
    before.wear.block_bytes = Reading::Value(Bytes(u64::MAX / 4));
    before.trust.checks = vec![flashlag_schema::Check {
        id: CheckId::ForeignIo,
        status: CheckStatus::Fail,
        claim: "Nothing else used the device".to_owned(),
        detail: "Others moved 9.9 MB.".to_owned(),
        cause: None,
        advice: None,
        phases: vec![phases[0].label()],
    }];
    let kept = phases[0].label();
    (work.run.phases, work.evidence.phases) = (phases, vec![None]);
    work.evidence.earlier = Some(crate::work::Earlier::of(&before));
    // Every phase that is stored brings the run up to date anew.
    work.refresh();
    work.refresh();
    let foreign = check(&work.run, CheckId::ForeignIo).clone();
    assert_eq!((foreign.status, foreign.phases), (CheckStatus::Fail, vec![kept]));
    let taken = work.run.wear.block_bytes.value().copied();
    let counted = work.world.probe.counters().disk.value().is_some();
    assert_eq!(taken.is_some_and(|taken| taken >= Bytes(u64::MAX / 4)), counted, "{taken:?}");
    // Where the earlier process did not count, the sum is not known.
    let uncounted = Run { wear: flashlag_schema::Wear::default(), ..before };
    work.evidence.earlier = Some(crate::work::Earlier::of(&uncounted));
    work.refresh();
    assert_eq!(work.run.wear.block_bytes.value(), None);
    work.world.abandon();
}

#[test]
fn the_device_below_is_asked_at_both_edges_of_a_phase_and_for_its_note() {
    let directory = tempfile::tempdir().unwrap();
    let watched = world(directory.path(), Some(Box::new(Counting::default())));
    watched.phase_begins("new: writes");
    assert_eq!(watched.phase_note().as_deref(), Some("after new: writes"));
    let (before, after) = (watched.counters(Edge::Begin), watched.counters(Edge::End));
    let ledger = watched.ledger((&before, &after), Direction::Write, Bytes(7));
    assert_eq!(ledger.block_writes.value(), Some(&1));
    assert_eq!(ledger.app_bytes.value(), Some(&Bytes(7)));
    watched.abandon();
    let mute = world(directory.path(), Some(Box::new(Mute)));
    assert_eq!(mute.phase_note(), None);
    mute.abandon();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "all is removed");
}

#[test]
fn waiting_takes_its_time_unless_it_is_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = world(directory.path(), None);
    assert!(world.phase_note().is_none() && world.counters(Edge::Begin).device.is_none());
    let begun = Instant::now();
    let before = world.now();
    world.idle(Nanos::from_millis(30), &AtomicBool::new(false));
    let waited = world.now().since(before);
    assert!(waited >= Nanos::from_millis(30), "{waited}");
    assert!(Duration::from(waited) <= begun.elapsed(), "of one clock");
    world.idle(Nanos::from_secs(3600), &AtomicBool::new(true));
    assert!(begun.elapsed() < Duration::from_secs(60), "stopped");
    assert!(world.stops().is_some_and(|stops| stops.len() < 100), "this process is watched");
    world.abandon();
}

#[test]
fn files_are_sized_in_grains_and_missed_where_they_are_gone() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = world(directory.path(), None);
    assert_eq!(world.storage_size(), free_space(directory.path()).ok().map(|free| free.total));
    let span = Bytes::from_mib(1);
    let (files, written) = world.lay_out(Role::Test, span, &controls(None)).unwrap();
    assert_eq!((world.size_of(&files), written), (span, span));
    assert!(world.most_to_lay_out(Role::Test, span) >= written.plus(Bytes(1)));
    assert!(world.files(Role::Test, span).is_some());
    assert!(world.files(Role::Background, span).is_none());
    assert!(world.check_present().is_ok());
    std::fs::remove_file(files.path(0)).unwrap();
    assert!(world.check_present().is_err());
    let databases = world.saves_directory().unwrap();
    assert!(databases.starts_with(directory.path()) && databases.is_dir());
    let database = databases.join("0.db");
    std::fs::write(&database, "rows").unwrap();
    let made = files::databases(&databases).unwrap();
    assert!(world.check_databases(&made).is_ok());
    std::fs::remove_file(&database).unwrap();
    assert!(world.check_databases(&made).is_err());
    world.abandon();
}

#[test]
fn a_fill_shows_its_progress_keeps_to_the_budget_and_is_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = world(directory.path(), None);
    let warmth = warmed(&mut world);
    let io = &io("level");
    let place = world.next_fill(None).unwrap();
    assert_eq!(place.1, "fill0");
    assert!(world.free_at(&place) > Bytes::from_mib(8));
    let (live, budget) = (Arc::<Live>::default(), Budget::of(Bytes::from_mib(2)));
    let order = FillOrder { io, leave: Bytes::from_mib(1), seed: 1, live: Arc::clone(&live) };
    let filled = world.fill(&place, order, &controls(Some(budget))).unwrap();
    assert!(filled.driven.out_of_budget);
    assert_eq!(filled.driven.written, Bytes::from_mib(2));
    assert_eq!(live.snapshot().bytes, Bytes::from_mib(2));
    let intervals = &filled.driven.recorded.intervals;
    assert_eq!(intervals.last().unwrap().temperature_millicelsius, warmth);
    let deleted = world.delete_fills().unwrap().unwrap();
    assert!(deleted >= Bytes::from_mib(2), "{deleted}");
    world.abandon();
}
