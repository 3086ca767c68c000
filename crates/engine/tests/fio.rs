//! Phases through a real fio. Skipped, visibly, where there is none.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flashlag_engine::fio::{Fio, FioError, FioPhase, find_fio, run_io};
use flashlag_engine::{FileSet, Job, Limits};
use flashlag_schema::scenario::{Durability, Io, Scenario, Test};
use flashlag_units::{Bytes, Nanos};
use flashlag_workload::Payload;

fn fio() -> Option<Fio> {
    find_fio().map_err(|error| eprintln!("skipped: {error}")).ok()
}

fn io(lines: &str) -> Io {
    let text = format!(
        "name = \"x\"\nabout = \"x\"\n[[io]]\nname = \"t\"\nblock = \"4KiB\"\nspan = \"8MiB\"\n\
         {lines}\n[[step]]\nmeasure = [\"t\"]\nstate = \"new\"\n"
    );
    match Scenario::parse(&text, &[]).unwrap().tests.remove("t") {
        Some(Test::Io(io)) => io,
        other => panic!("{other:?}"),
    }
}

fn laid_out(directory: &Path) -> FileSet {
    let files = FileSet::new(directory, "test", Bytes(8 << 20));
    files.lay_out(&Payload::new(1), &AtomicBool::new(false), &mut |_| {}).unwrap();
    files
}

fn run(fio: &Fio, io: &Io, files: &FileSet) -> Result<FioPhase, FioError> {
    let limits = Job::of(io, files.span(), 1).limits;
    run_io(fio, io, limits, files, 42, &AtomicBool::new(false))
}

#[test]
fn a_durable_write_has_one_latency_and_says_how() {
    let Some(fio) = fio() else { return };
    let directory = tempfile::tempdir_in(".").unwrap();
    let files = laid_out(directory.path());
    let io = io("operation = \"write\"\npattern = \"random\"\ndurable = \"fdatasync\"\n\
                 time = \"500ms\"");
    let phase = run(&fio, &io, &files).unwrap();
    assert!(phase.ops > 10, "{} operations", phase.ops);
    assert_eq!(phase.bytes, Bytes(phase.ops * 4096));
    assert_eq!(phase.ops, phase.latency.count());
    assert!(phase.elapsed >= Nanos::from_millis(450) && phase.elapsed < Nanos::from_secs(5));
    // One at a time: the latencies fill the time, less what fio itself takes.
    let share = phase.latency.sum().0 as f64 / phase.elapsed.0 as f64;
    assert!((0.2..1.01).contains(&share), "{share}");
    assert_eq!(phase.durable, Durability::Dsync);
    assert_eq!(phase.downgrades.len(), 1 + usize::from(!phase.direct), "{:?}", phase.downgrades);
    assert!(phase.downgrades[0].requested.contains("fdatasync"));
    assert!(phase.cpu_system.0 > 0 && phase.cpu_system < phase.elapsed);
    assert!(phase.command.iter().any(|argument| argument == "--sync=dsync"));
    assert!(!phase.stopped);
    let recorded = phase.recorded(Nanos(1));
    assert_eq!(recorded.stalls_seen, phase.ops);
    // It made and left nothing of its own.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn bytes_depth_and_direction_are_as_asked() {
    let Some(fio) = fio() else { return };
    let directory = tempfile::tempdir_in(".").unwrap();
    let files = laid_out(directory.path());
    let read = io("operation = \"read\"\npattern = \"sequential\"\nbytes = \"16MiB\"\n\
                   time = \"20s\"\nqueue_depth = 4\nengine = \"io_uring\"");
    match run(&fio, &read, &files) {
        Ok(phase) => {
            assert_eq!((phase.bytes, phase.ops), (Bytes(16 << 20), 4096));
            assert_eq!((phase.queue_depth, phase.durable), (4, Durability::None));
        }
        // Some machines forbid io_uring.
        Err(error) => eprintln!("skipped: io_uring through fio: {error}"),
    }
    let write = io("operation = \"write\"\npattern = \"sequential\"\nbytes = \"8MiB\"");
    let phase = run(&fio, &write, &files).unwrap();
    assert_eq!((phase.bytes, phase.ops), (Bytes(8 << 20), 2048));
    assert!(phase.command.contains(&"--end_fsync=1".to_owned()));
}

#[test]
fn too_few_operations_for_the_time_go_on() {
    let Some(fio) = fio() else { return };
    let directory = tempfile::tempdir_in(".").unwrap();
    let files = laid_out(directory.path());
    let io = io("operation = \"read\"\npattern = \"random\"\ntime = \"200ms\"\nmin_ops = 60\n\
                 arrivals = { per_second = 100.0 }");
    let phase = run(&fio, &io, &files).unwrap();
    assert!((55..=90).contains(&phase.ops), "{} operations", phase.ops);
    assert!(phase.elapsed > Nanos::from_millis(400), "{}", phase.elapsed);
    assert!(phase.downgrades.iter().any(|d| d.requested.contains("intended start")));
}

#[test]
fn stopping_ends_it_at_once_and_keeps_what_was_done() {
    let Some(fio) = fio() else { return };
    let directory = tempfile::tempdir_in(".").unwrap();
    let files = laid_out(directory.path());
    let io = io("operation = \"read\"\npattern = \"random\"\ntime = \"60s\"");
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    let timer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1500));
        raised.store(true, Ordering::Relaxed);
    });
    let began = Instant::now();
    let limits = Limits { time: Some(Nanos::from_secs(60)), ..Limits::default() };
    let phase = run_io(&fio, &io, limits, &files, 1, &stop).unwrap();
    timer.join().unwrap();
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert!(phase.stopped && phase.ops > 0, "{} operations", phase.ops);
}

#[test]
fn a_failure_names_the_directory_the_reason_and_what_to_try() {
    let Some(fio) = fio() else { return };
    let directory = tempfile::tempdir_in(".").unwrap();
    let files = laid_out(directory.path());
    files.remove().unwrap();
    let io = io("operation = \"read\"\npattern = \"random\"\ntime = \"1s\"");
    let error = run(&fio, &io, &files).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, FioError::Failed { .. }), "{text}");
    assert!(text.contains(&directory.path().display().to_string()), "{text}");
}
