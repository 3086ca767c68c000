//! The loop on real files.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use flashlag_device::Durability;
use flashlag_engine::ThreadWaitMeter;
use flashlag_engine::{
    Background, EndReason, FileSet, Job, Limits, OpenDevice, OpenOptions, Watch, drive, open,
};
use flashlag_spec::scenario::{self, Arrivals, EngineKind, IoOperation, Pattern};
use flashlag_units::{Bytes, Nanos};
use flashlag_workload::Payload;

const SEED: u64 = 7;

fn laid_out(directory: &Path, span: Bytes) -> FileSet {
    let files = FileSet::new(directory, "test", span);
    let stop = AtomicBool::new(false);
    files.lay_out(&Payload::new(SEED), &stop, &mut |_| {}).expect("layout");
    assert!(files.is_laid_out(), "the files are there and whole");
    files
}

fn job(operation: IoOperation, pattern: Pattern, depth: u32, durability: Durability) -> Job {
    Job {
        operation,
        pattern,
        block: Bytes(4096),
        span: Bytes::from_mib(4),
        queue_depth: depth,
        threads: 1,
        thread: None,
        thread_spans: flashlag_spec::scenario::ThreadSpans::Disjoint,
        read_percent: 0,
        durability,
        arrivals: Arrivals::default(),
        think: Nanos::ZERO,
        limits: Limits { bytes: Some(Bytes::from_kib(512)), ..Limits::default() },
        seed: SEED,
        interval: Nanos::from_millis(100),
        stall_over: Nanos::from_millis(100),
        verify: operation == IoOperation::Write,
    }
}

fn opened(files: &FileSet, job: &Job, engine: EngineKind, direct: bool) -> OpenDevice {
    let durable = match job.durability {
        Durability::None => scenario::Durability::None,
        Durability::Flush => scenario::Durability::Fdatasync,
        Durability::Write => scenario::Durability::RwfDsync,
    };
    let options = OpenOptions {
        direct,
        engine,
        queue_depth: job.queue_depth,
        durable,
        block: job.block,
        buffer: job.block,
        write: job.operation == IoOperation::Write,
        create: false,
    };
    open(files, &options).expect("open")
}

#[test]
fn every_engine_writes_and_proves_every_byte() {
    let directory = tempfile::tempdir().expect("directory");
    let files = laid_out(directory.path(), Bytes::from_mib(4));
    let meter = ThreadWaitMeter::open().ok();
    for (engine, depth) in
        [(EngineKind::Psync, 1), (EngineKind::IoUring, 1), (EngineKind::IoUring, 32)]
    {
        for direct in [true, false] {
            for durability in [Durability::None, Durability::Flush, Durability::Write] {
                for pattern in [Pattern::Sequential, Pattern::Random] {
                    let job = job(IoOperation::Write, pattern, depth, durability);
                    let mut opened = opened(&files, &job, engine, direct);
                    let stop = AtomicBool::new(false);
                    let mut watch = Watch::new(&stop, meter.as_ref());
                    let driven = drive(&mut opened.device, &job, &mut watch);
                    let what = format!(
                        "{engine:?} depth {depth} direct {direct} {durability:?} {pattern:?}: \
                         {:?} {:?} {:?}",
                        driven.ended, driven.verified, opened.downgrades
                    );
                    assert_eq!(driven.ended, EndReason::Limit, "{what}");
                    assert_eq!(driven.recorded.latency.count(), 128, "{what}");
                    assert!(driven.verified.expect("asked for").is_proved(), "{what}");
                    let flushes = driven.recorded.flush.count();
                    assert_eq!(flushes > 0, durability == Durability::Flush, "{what}");
                }
            }
        }
    }
    assert!(meter.is_some(), "this kernel keeps scheduler statistics");
}

#[test]
fn a_background_job_runs_until_it_is_finished() {
    let directory = tempfile::tempdir().expect("directory");
    let files = laid_out(directory.path(), Bytes::from_mib(4));
    let mut job = job(IoOperation::Write, Pattern::Sequential, 1, Durability::None);
    job.limits = Limits::default();
    job.verify = false;
    let options = OpenOptions {
        direct: true,
        engine: EngineKind::Auto,
        queue_depth: 1,
        durable: scenario::Durability::None,
        block: job.block,
        buffer: job.block,
        write: true,
        create: false,
    };
    let background = Background::start(files, options, job).expect("started");
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(!background.has_ended());
    let live = std::sync::Arc::clone(background.live());
    let driven = background.finish().expect("driven");
    assert_eq!(live.snapshot().bytes, driven.moved, "what was shown is what was written");
    assert_eq!(driven.ended, EndReason::Stopped);
    assert!(driven.recorded.latency.count() > 0 && driven.moved > Bytes::ZERO);
}

#[test]
fn a_background_job_that_cannot_open_its_files_says_so_at_the_start() {
    let files = FileSet::new(Path::new("/nonexistent"), "test", Bytes(8192));
    let job = job(IoOperation::Write, Pattern::Sequential, 1, Durability::None);
    let options = OpenOptions {
        direct: false,
        engine: EngineKind::Psync,
        queue_depth: 1,
        durable: scenario::Durability::None,
        block: job.block,
        buffer: job.block,
        write: true,
        create: false,
    };
    let error = Background::start(files, options, job).expect_err("no such directory");
    assert!(error.to_string().contains("/nonexistent/test-0000.dat"), "{error}");
}

#[test]
fn an_open_loop_on_a_real_file_keeps_its_schedule() {
    let directory = tempfile::tempdir().expect("directory");
    let files = laid_out(directory.path(), Bytes::from_mib(4));
    for (engine, depth) in [(EngineKind::Psync, 1), (EngineKind::IoUring, 4)] {
        let mut job = job(IoOperation::Read, Pattern::Random, depth, Durability::None);
        job.arrivals = Arrivals { per_second: Some(500.0), schedule: Default::default() };
        job.limits = Limits { time: Some(Nanos::from_millis(400)), ..Limits::default() };
        let mut opened = opened(&files, &job, engine, true);
        let stop = AtomicBool::new(false);
        let meter = ThreadWaitMeter::open().ok();
        let driven = drive(&mut opened.device, &job, &mut Watch::new(&stop, meter));
        let recorded = &driven.recorded;
        // 200 slots, begun or missed, whatever this machine was busy with.
        let began = recorded.latency.count();
        assert_eq!(recorded.response.count(), began, "{engine:?}");
        assert!(began <= 200, "{engine:?}: {began}");
        assert!(began + recorded.missed_slots >= 200, "{engine:?}: {began} {recorded:?}");
        let (latency, response) = (recorded.latency.mean(), recorded.response.mean());
        assert!(response >= latency, "{engine:?}: {response:?} {latency:?}");
    }
}
