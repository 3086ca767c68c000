//! What is done where the kernel or the filesystem refuses a call: the next best, which is reported.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::common::refused::refused;
use flashlag_device::Durability;
use flashlag_engine::ThreadWaitMeter;
use flashlag_engine::{EndReason, FileSet, Job, Limits, OpenOptions, Watch, drive, open};
use flashlag_spec::scenario::{self, Arrivals, EngineKind, IoOperation, Pattern};
use flashlag_units::{Bytes, Nanos};
use flashlag_workload::Payload;

static NEVER: AtomicBool = AtomicBool::new(false);

fn writes(depth: u32) -> Job {
    Job {
        operation: IoOperation::Write,
        pattern: Pattern::Random,
        block: Bytes(4096),
        span: Bytes::from_mib(1),
        queue_depth: depth,
        threads: 1,
        thread: None,
        thread_spans: flashlag_spec::scenario::ThreadSpans::Disjoint,
        read_percent: 0,
        durability: Durability::None,
        arrivals: Arrivals::default(),
        think: Nanos::ZERO,
        limits: Limits { bytes: Some(Bytes::from_kib(512)), ..Limits::default() },
        seed: 3,
        interval: Nanos::from_millis(100),
        stall_over: Nanos::from_millis(100),
        verify: true,
    }
}

/// Opens for a ring of 8, writes, and says what was had instead, with its reasons.
fn had_instead(directory: &Path, asked: EngineKind) -> (EngineKind, u32, Vec<(String, String)>) {
    let files = FileSet::new(directory, "test", Bytes::from_mib(1));
    files.lay_out(&Payload::new(3), &NEVER, &mut |_| {}).unwrap();
    let options = OpenOptions {
        direct: true,
        engine: asked,
        queue_depth: 8,
        durable: scenario::Durability::None,
        block: Bytes(4096),
        buffer: Bytes(4096),
        write: true,
        create: false,
    };
    let mut opened = open(&files, &options).unwrap();
    let watch = &mut Watch::new(&NEVER, ThreadWaitMeter::open().ok());
    let driven = drive(&mut opened.device, &writes(opened.queue_depth), watch);
    assert_eq!(driven.ended, EndReason::Limit);
    assert!(driven.verified.unwrap().is_proved());
    let downgrades_of = |one: flashlag_spec::Downgrade| (one.requested, one.reason);
    (opened.engine, opened.queue_depth, opened.downgrades.into_iter().map(downgrades_of).collect())
}

#[test]
fn a_forbidden_io_uring_becomes_pread_and_pwrite_one_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    // A container's filter, kernel.io_uring_disabled, and a kernel without it.
    for errno in [libc::EPERM, libc::EACCES, libc::ENOSYS] {
        for asked in [EngineKind::IoUring, EngineKind::Auto] {
            let had = || had_instead(directory.path(), asked);
            let had = flashlag_need::or_skip!(refused(libc::SYS_io_uring_setup, errno, had));
            let (engine, depth, downgrades) = had;
            assert_eq!((engine, depth), (EngineKind::Psync, 1), "{asked:?}, errno {errno}");
            let requested: Vec<&str> = downgrades.iter().map(|(what, _)| what.as_str()).collect();
            let ring_and_depth =
                requested.contains(&"io_uring") && { requested.contains(&"queue depth 8") };
            assert!(ring_and_depth, "{asked:?}, errno {errno}: {downgrades:?}");
            assert!(downgrades.iter().all(|(_, reason)| !reason.is_empty()), "{downgrades:?}");
        }
    }
}
