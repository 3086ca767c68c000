//! A simulation as a world.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_device::{Budget, SyncCall};
use flashlag_engine::Job;
use flashlag_spec::scenario::{Durability, Io, Scenario, Test};
use flashlag_sqlite::SaveJob;
use flashlag_stats::live::Live;

use super::*;
use crate::work::{
    BackgroundOrder, Controls, Edge, FillOrder, INTERVAL, Role, STALL_OVER, TestJob, World,
};
use flashlag_schema::TargetKind as Kind;

const TESTS: &str = r#"
name = "tests"

[[io]]
name = "durable"
operation = "write"
pattern = "random"
block = "4KiB"
span = "1MiB"
time = "1s"
durable = "fdatasync"

[[io]]
name = "paced"
operation = "write"
pattern = "sequential"
block = "4KiB"
span = "1MiB"
time = "1s"
arrivals = { per_second = 100.0 }

[[io]]
name = "reads"
operation = "read"
pattern = "random"
block = "4KiB"
span = "1MiB"
time = "1s"

[[io]]
name = "level"
operation = "write"
pattern = "random"
block = "64KiB"

[[save]]
name = "many"
journal = "wal"
row = "1MiB"
rows = 2000
saves = 10

[[save]]
name = "few"
journal = "wal"
rows = 20
saves = 10

[[step]]
measure = ["durable", "paced", "reads", "many", "few"]
state = "new"

[[step]]
fill = "level"
"#;

fn work() -> Work<Simulation> {
    work_on("nexus5-2013+ext4,size=256MiB")
}

fn work_on(device: &str) -> Work<Simulation> {
    let target = SimTarget::parse(&format!("sim:{device}")).unwrap();
    let scenario = Scenario::parse(TESTS, &[]).unwrap();
    let on = crate::target::Target::Simulated(target.clone());
    let request = Request { leave: Some(Bytes::from_mib(8)), ..Request::new(scenario, on, 1) };
    prepare(request, &target).unwrap()
}

fn io(work: &Work<Simulation>, name: &str) -> Io {
    match work.request.scenario.tests.get(name) {
        Some(Test::Io(io)) => io.clone(),
        other => panic!("{other:?}"),
    }
}

fn controls() -> Controls {
    Controls { seed: 1, stop: Arc::new(AtomicBool::new(false)), budget: None, verify: false }
}

#[test]
fn waiting_in_a_simulation_passes_virtual_time_and_no_other() {
    let mut world = work().world;
    assert!(!world.in_real_time() && World::meter(&world).is_none());
    let before = world.now();
    world.idle(Nanos::from_secs(3600), &AtomicBool::new(false));
    assert_eq!(world.now().since(before), Nanos::from_secs(3600));
}

#[test]
fn a_file_is_laid_out_in_whole_blocks_and_used_again_for_a_span_that_it_holds() {
    let mut world = work().world;
    let empty = world.free_at(&());
    let (file, written) = world.lay_out(Role::Test, Bytes(5000), &controls()).unwrap();
    assert_eq!((written, world.size_of(&file)), (Bytes(4096), Bytes(4096)));
    assert!(world.files(Role::Test, Bytes(5000)).is_some(), "as a directory's, down to a grain");
    assert!(world.files(Role::Test, Bytes(8192)).is_none());
    assert!(world.files(Role::Background, Bytes(1)).is_none());
    let (large, span) = (Bytes::from_mib(3), Bytes(2 * 1024 * 1024 + 512 * 1024));
    let (beside, written) = world.lay_out(Role::Background, span, &controls()).unwrap();
    assert_eq!((written, world.size_of(&beside)), (span, span));
    assert!(world.files(Role::Test, Bytes(5000)).is_some(), "a file of its own");
    // Laid out anew, a file takes its new size and no more.
    world.lay_out(Role::Test, large, &controls()).unwrap();
    let used = empty.minus(world.free_at(&()));
    let files = large.plus(span);
    assert!(used >= files && used < files.plus(Bytes::from_mib(1)), "{used} of {files}");
    assert_eq!(world.storage_size(), Some(world.stack.total()));
}

#[test]
fn what_a_layout_writes_is_in_the_counters_of_each_layer() {
    let mut world = work().world;
    let before = world.counters(Edge::Begin);
    world.lay_out(Role::Test, Bytes::from_mib(4), &controls()).unwrap();
    let after = world.counters(Edge::End);
    let ledger = world.ledger((&before, &after), crate::work::Direction::Write, Bytes(7));
    assert_eq!(ledger.app_bytes, Reading::Value(Bytes(7)));
    for bytes in [&ledger.syscall_bytes, &ledger.storage_bytes, &ledger.device_bytes] {
        assert!(bytes.value().is_some_and(|bytes| *bytes >= Bytes::from_mib(4)), "{ledger:?}");
    }
    assert!(ledger.flushes.value().is_some_and(|flushes| *flushes > 0), "{ledger:?}");
}

#[test]
fn databases_that_memory_does_not_hold_are_refused_before_they_are_made() {
    let work = work();
    let check = |name: &str| match work.request.scenario.tests.get(name) {
        Some(Test::Save(save)) => work.world.check_saves(save),
        other => panic!("{other:?}"),
    };
    assert!(check("few").is_ok());
    let error = check("many").unwrap_err();
    assert!(error.to_string().contains("take at most 1023 rows"), "{error}");
}

/// Runs this test as a background for a second, with nothing beside it. Returns the bytes moved and
/// the device's flushes.
fn beside(name: &str) -> (Bytes, Nanos, u64) {
    let mut work = work();
    assert_eq!(work.world.temperature(), None, "no sensor is modelled");
    assert_eq!(work.world.phase_note(), None, "nor anything else that a phase has to say");
    assert!(work.world.stops().is_none(), "nothing stands still in virtual time");
    let io = io(&work, name);
    let span = Bytes::from_mib(1);
    let (file, _) = work.world.lay_out(Role::Background, span, &controls()).unwrap();
    let flushes = |world: &Simulation| world.stack.ledger().flushes;
    let before = flushes(&work.world);
    let order = BackgroundOrder { io: &io, span, seed: 1 };
    let begun = work.world.start_background(&file, order, &controls()).unwrap();
    work.world.idle(Nanos::from_secs(1), &AtomicBool::new(false));
    let end = work.world.end_background(begun.running).unwrap();
    assert!(end.error.is_none() && !end.out_of_budget);
    (end.moved, end.elapsed, flushes(&work.world) - before)
}

#[test]
fn a_background_goes_on_while_time_passes_durable_or_paced_as_it_is_asked_to() {
    let (moved, elapsed, flushes) = beside("durable");
    assert!(elapsed >= Nanos::from_secs(1), "{elapsed}");
    assert!(moved > Bytes::ZERO && flushes >= moved.0 / 4096 - 1, "{moved}, {flushes} flushes");
    let (moved, _, flushes) = beside("paced");
    assert!(moved.0.abs_diff(100 * 4096) <= 4096, "{moved} in a second of a hundred");
    assert!(flushes < 10, "{flushes} flushes");
}

#[test]
fn a_background_has_the_pattern_operation_and_durability_of_its_test() {
    let work = work();
    let files = work
        .world
        .make(FileSet::new(std::path::Path::new(""), "beside", Bytes::from_mib(1)))
        .unwrap();
    let of = |name: &str| {
        let order = BackgroundOrder { io: &io(&work, name), span: Bytes(7), seed: 3 };
        let job = super::world::background_job(&files, order);
        assert_eq!((job.span, job.block), (Bytes(7), Bytes(4096)));
        assert_eq!(job.files, files.row);
        (job.writes, job.random, job.durable)
    };
    assert_eq!(of("durable"), (true, true, Some(SyncCall::Data)));
    assert_eq!(of("paced"), (true, false, None));
    let fsync = Io { durable: Durability::Fsync, ..io(&work, "durable") };
    let order = BackgroundOrder { io: &fsync, span: Bytes(7), seed: 3 };
    assert_eq!(super::world::background_job(&files, order).durable, Some(SyncCall::All));
    assert_eq!(of("reads"), (false, true, None));
}

/// Number of writes that reach the device for ten durable writes to a file that is laid out.
fn writes_of(durable: Durability) -> u64 {
    // So slow that each write falls into a tick of its own, by which files' times are kept.
    let mut work = work_on("nexus7-2012+ext4,size=2GiB");
    let io = Io { durable, ..io(&work, "durable") };
    let (span, controls) = (Bytes::from_mib(1), controls());
    let (file, _) = work.world.lay_out(Role::Test, span, &controls).unwrap();
    let device = work.world.open(&file, &io).unwrap().device;
    let mut job = Job::of(&io, span, 1);
    (job.limits.bytes, job.limits.time) = (Some(Bytes(10 * 4096)), None);
    let before = work.world.stack.ledger().writes;
    let test = TestJob { io: &io, job: &job, live: Arc::default(), controls: &controls };
    let driven = work.world.drive(device, &file, &test).unwrap();
    assert_eq!(driven.moved, Bytes(10 * 4096));
    work.world.stack.ledger().writes - before
}

#[test]
fn fsync_writes_the_time_stamps_of_a_file_and_fdatasync_does_not() {
    let (data, all) = (writes_of(Durability::Fdatasync), writes_of(Durability::Fsync));
    assert!(data >= 10 && all >= data + 10, "{all} writes against {data}");
}

#[test]
fn databases_are_files_of_the_simulation_and_removed_after_their_test() {
    let mut work = work();
    let Some(Test::Save(save)) = work.request.scenario.tests.get("few").cloned() else {
        panic!("saves");
    };
    let directory = work.world.saves_directory().unwrap();
    assert_eq!(directory, std::path::Path::new("sim"), "for messages alone");
    let job = SaveJob {
        save: &save,
        directory: &directory,
        seed: 1,
        interval: INTERVAL,
        stall_over: STALL_OVER,
    };
    drop(work.world.prepare_saves(&job, &AtomicBool::new(false)).unwrap().0);
    assert!(work.world.stack.find("save-0.db").is_some());
    work.world.remove_saves((), &job).unwrap();
    assert!(work.world.stack.find("save-0.db").is_none());
}

#[test]
fn the_environment_is_that_of_the_profile_and_the_mount() {
    let environment = work().run.environment;
    assert_eq!(environment.device.kind, Reading::Value("simulated".to_owned()));
    assert_eq!(environment.device.name, Reading::Value("nexus5-2013".to_owned()));
    assert_eq!(environment.filesystem.kind, Reading::Value("ext4".to_owned()));
    assert_eq!(environment.filesystem.source, Reading::Value("sim:nexus5-2013".to_owned()));
    assert!(environment.memory_bytes.value().is_none(), "nothing of this machine");
}

#[test]
fn a_fill_ends_where_the_budget_does() {
    let mut work = work();
    let io = io(&work, "level");
    let controls = Controls { budget: Some(Budget::of(Bytes::from_mib(2))), ..controls() };
    let order = FillOrder { io: &io, leave: Bytes::from_mib(100), seed: 1, live: Arc::default() };
    let filled = work.world.fill(&(), order, &controls).unwrap();
    assert!(filled.driven.out_of_budget);
    assert_eq!(filled.driven.written, Bytes::from_mib(2));
}

#[test]
fn a_fill_leaves_what_it_is_to_shows_its_levels_and_is_deleted_with_the_others() {
    let mut work = work();
    let io = io(&work, "level");
    let empty = work.world.free_at(&());
    let live = Arc::<Live>::default();
    let leave = Bytes::from_mib(100);
    work.world.next_fill(None).unwrap();
    let order = FillOrder { io: &io, leave, seed: 1, live: Arc::clone(&live) };
    let filled = work.world.fill(&(), order, &controls()).unwrap();
    assert_eq!(filled.free, work.world.free_at(&()));
    let off = filled.free.0.abs_diff(leave.0);
    assert!(off < Bytes::from_mib(2).0, "{} of {leave}", filled.free);
    assert_eq!(filled.driven.written, filled.span);
    assert_eq!(live.snapshot().bytes, filled.span);
    let intervals = &filled.driven.recorded.intervals;
    let levels: Vec<Bytes> = intervals.iter().map(|one| one.filled.unwrap()).collect();
    assert!(levels.is_sorted() && levels.len() >= 64, "{} levels", levels.len());
    let total = work.world.stack.total();
    let full = total.saturating_minus(*levels.last().unwrap());
    assert!(full.0.abs_diff(filled.free.0) < Bytes::from_mib(2).0, "{full} free at the end");
    // A second one has a name of its own; both are deleted.
    let order = FillOrder { io: &io, leave: Bytes::from_mib(50), seed: 1, live };
    work.world.fill(&(), order, &controls()).unwrap();
    assert_eq!(work.world.delete_fills().unwrap(), None);
    let freed = work.world.free_at(&());
    assert!(empty.saturating_minus(freed) < Bytes::from_mib(1), "{freed} of {empty}");
    assert!(work.world.trim().unwrap().discards_at_once);
}

#[test]
fn a_simulation_says_how_long_it_was_and_what_it_took_of_the_flash() {
    let mut work = work();
    work.world.lay_out(Role::Test, Bytes::from_mib(64), &controls()).unwrap();
    work.world.idle(Nanos::from_secs(5), &AtomicBool::new(false));
    work.refresh();
    assert_eq!(work.run.simulated_ns, Some(work.world.now()));
    let written = work.run.wear.block_bytes.value().copied().unwrap();
    assert!(written >= Bytes::from_mib(64), "{written}");
    assert_eq!(work.run.target.kind, Kind::Simulated);
}

#[test]
fn a_device_with_cycles_behind_it_has_used_that_share_of_its_life() {
    let mut worn = work();
    worn.world.stack.with_device_mut(|device| device.wear_out(300));
    worn.refresh();
    let stats = worn.world.stack.with_device(|device| device.stats());
    let (share, percent) = (stats.life_used.unwrap(), worn.run.wear.life_percent.value().copied());
    assert!(share > 0.01 && percent == Some(share * 100.0), "{percent:?} percent for {share}");
}

/// Reads at the device for each 128 KiB of a megabyte, and the share of the span that free space lost.
fn reads_of(filesystem: &str, role: Role) -> (u64, f64) {
    let mut work = work_on(&format!("nexus5-2013+{filesystem},size=256MiB"));
    let io = Io {
        grown: role == Role::Grown,
        block: flashlag_units::Text(Bytes::from_kib(128)),
        pattern: flashlag_spec::scenario::Pattern::Sequential,
        ..io(&work, "reads")
    };
    let (span, controls) = (Bytes::from_mib(1), controls());
    let free = work.world.free_at(&());
    let (file, written) = work.world.lay_out(role, span, &controls).unwrap();
    let (again, _) = work.world.lay_out(role, span, &controls).unwrap();
    assert_eq!(work.world.size_of(&file), work.world.size_of(&again));
    assert_eq!(written, role.to_write(span));
    let taken = free.minus(work.world.free_at(&()));
    let device = work.world.open(&again, &io).unwrap().device;
    let mut job = Job::of(&io, span, 1);
    (job.limits.bytes, job.limits.time) = (Some(span), None);
    let before = work.world.stack.ledger().reads;
    let test = TestJob { io: &io, job: &job, live: Arc::default(), controls: &controls };
    assert_eq!(work.world.drive(device, &again, &test).unwrap().moved, span);
    (work.world.stack.ledger().reads - before, taken.0 as f64 / span.0 as f64)
}

#[test]
fn a_file_that_grew_by_turns_is_read_in_the_pieces_that_its_filesystem_made_of_it() {
    for (filesystem, pieces) in [("ext4", 24), ("f2fs", 256), ("raw", 8)] {
        let (whole, taken) = reads_of(filesystem, Role::Test);
        assert_eq!(whole, 8, "{filesystem}: 128 KiB at a time");
        assert!((1.0..1.5).contains(&taken), "{filesystem}: {taken}");
        let (grown, taken) = reads_of(filesystem, Role::Grown);
        assert_eq!(grown, pieces, "{filesystem}");
        assert!((2.0..2.5).contains(&taken), "{filesystem}: it and the other, once: {taken}");
    }
}
