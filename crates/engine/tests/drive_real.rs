//! The loop on real files.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use flashlag_device::{Durability, ThreadWaitMeter};
use flashlag_engine::{Ended, FileSet, Job, Limits, OpenOptions, Opened, Watch, drive, open};
use flashlag_schema::scenario::{self, Arrivals, EngineKind, IoOperation, Pattern};
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
        durability,
        arrivals: Arrivals::default(),
        limits: Limits { bytes: Some(Bytes::from_kib(512)), ..Limits::default() },
        seed: SEED,
        interval: Nanos::from_millis(100),
        stall_over: Nanos::from_millis(100),
        verify: operation == IoOperation::Write,
    }
}

fn opened(files: &FileSet, job: &Job, engine: EngineKind, direct: bool) -> Opened {
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
                    assert_eq!(driven.ended, Ended::Limit, "{what}");
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
