//! Spans over 2 GiB lie in several files. These are sparse, so that they take no room.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use flashlag_device::{Completion, Device, Durability, Op, Request};
use flashlag_engine::ThreadWaitMeter;
use flashlag_engine::{
    EndReason, FileSet, Job, Limits, OpenDevice, OpenOptions, Watch, drive, open,
};
use flashlag_spec::scenario::{self, Arrivals, EngineKind, IoOperation, Pattern};
use flashlag_units::{Bytes, Nanos};

const GIB: u64 = 1 << 30;
/// Two whole files and a piece.
const SPAN: Bytes = Bytes(4 * GIB + (8 << 20));

fn sparse(directory: &Path) -> FileSet {
    let files = FileSet::new(directory, "test", SPAN);
    assert_eq!(files.count(), 3);
    for (index, path) in files.paths().enumerate() {
        File::create(path).unwrap().set_len(files.length(index).0).unwrap();
    }
    files
}

fn opened(files: &FileSet, engine: EngineKind, depth: u32, block: u64, direct: bool) -> OpenDevice {
    let options = OpenOptions {
        direct,
        engine,
        queue_depth: depth,
        durable: scenario::Durability::Fdatasync,
        block: Bytes(block),
        buffer: Bytes(block),
        write: true,
        create: false,
    };
    open(files, &options).unwrap()
}

fn perform(device: &mut impl Device, op: Op, offset: u64, length: u64, durability: Durability) {
    let (offset, length) = (Bytes(offset), Bytes(length));
    device.submit(Request { slot: 0, op, offset, length, durability }).unwrap();
    let mut completed: Vec<Completion> = Vec::new();
    device.reap(1, &mut completed).unwrap();
    assert!(completed.len() == 1 && completed[0].result.is_ok(), "{completed:?}");
}

/// A byte that is another on each side of every border.
fn byte(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8 | 1
}

#[test]
fn a_block_across_two_files_is_half_in_each_and_reads_back_whole() {
    // 12 KiB: the one that begins 4 KiB before 2 GiB ends 8 KiB after it.
    const BLOCK: u64 = 3 * 4096;
    for direct in [true, false] {
        for border in [2 * GIB, 4 * GIB] {
            let directory = tempfile::tempdir().unwrap();
            let files = sparse(directory.path());
            let mut opened = opened(&files, EngineKind::Psync, 1, BLOCK, direct);
            let at = border - 4096;
            let written: Vec<u8> = (at..at + BLOCK).map(byte).collect();
            opened.device.buffer(0)[..BLOCK as usize].copy_from_slice(&written);
            perform(&mut opened.device, Op::Write, at, BLOCK, Durability::Flush);
            // What lies where, by the files themselves.
            let index = (border / (2 * GIB)) as usize;
            let piece = |index: usize, at: u64, length: usize| {
                let mut bytes = vec![0; length];
                File::open(files.path(index)).unwrap().read_exact_at(&mut bytes, at).unwrap();
                bytes
            };
            assert_eq!(piece(index - 1, 2 * GIB - 4096, 4096), written[..4096], "{border}");
            assert_eq!(piece(index, 0, 8192), written[4096..], "{border}");
            let length = |index: usize| File::open(files.path(index)).unwrap().metadata().unwrap();
            assert!((0..3).all(|index| length(index).len() == files.length(index).0));
            opened.device.buffer(0).fill(0);
            perform(&mut opened.device, Op::Read, at, BLOCK, Durability::None);
            assert_eq!(opened.device.buffer(0)[..BLOCK as usize], written, "{border} {direct}");
        }
    }
}

#[test]
fn a_ring_is_not_given_blocks_that_cross_files() {
    let directory = tempfile::tempdir().unwrap();
    let files = sparse(directory.path());
    let crossing = opened(&files, EngineKind::IoUring, 4, 3 * 4096, true);
    assert_eq!(crossing.engine, EngineKind::Psync);
    let reasons: Vec<&str> = crossing.downgrades.iter().map(|one| one.reason.as_str()).collect();
    assert!(reasons.iter().any(|reason| reason.contains("cross")), "{reasons:?}");
    let fitting = opened(&files, EngineKind::IoUring, 4, 8192, true).downgrades;
    assert!(fitting.iter().all(|one| !one.reason.contains("cross")), "{fitting:?}");
}

#[test]
fn random_writes_reach_every_file_and_every_byte_is_proved() {
    for (engine, depth) in [(EngineKind::Psync, 1), (EngineKind::IoUring, 16)] {
        let directory = tempfile::tempdir().unwrap();
        let files = sparse(directory.path());
        let mut opened = opened(&files, engine, depth, 4096, true);
        if opened.engine != engine {
            flashlag_need::skip(format!("{engine:?}: {:?}", opened.downgrades));
            continue;
        }
        let job = Job {
            operation: IoOperation::Write,
            pattern: Pattern::Random,
            block: Bytes(4096),
            span: files.span(),
            queue_depth: depth,
            threads: 1,
            thread: None,
            thread_spans: flashlag_spec::scenario::ThreadSpans::Disjoint,
            read_percent: 0,
            durability: Durability::None,
            arrivals: Arrivals::default(),
            think: Nanos::ZERO,
            limits: Limits { bytes: Some(Bytes::from_mib(4)), ..Limits::default() },
            seed: 5,
            interval: Nanos::from_millis(100),
            stall_over: Nanos::from_millis(100),
            verify: true,
        };
        let stop = AtomicBool::new(false);
        let watch = &mut Watch::new(&stop, ThreadWaitMeter::open().ok());
        let driven = drive(&mut opened.device, &job, watch);
        assert_eq!(driven.ended, EndReason::Limit, "{engine:?}");
        let verified = driven.verified.unwrap();
        assert!(verified.is_proved() && verified.blocks > 1000, "{engine:?}: {verified:?}");
        use std::os::unix::fs::MetadataExt;
        let taken = |path| std::fs::metadata(path).unwrap().blocks() * 512;
        let taken: Vec<u64> = files.paths().map(taken).collect();
        // A thousand blocks over 4 GiB: half of them in each of the first two files.
        assert!(taken[0] > 1 << 20 && taken[1] > 1 << 20, "{engine:?}: {taken:?}");
    }
}

#[test]
fn a_file_that_is_missing_from_the_middle_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let files = sparse(directory.path());
    let presence = files.presence().unwrap();
    presence.check().unwrap();
    std::fs::remove_file(files.path(1)).unwrap();
    for error in [presence.check().unwrap_err(), files.check_present().unwrap_err()] {
        assert!(error.subject.ends_with("test-0001.dat"), "{error}");
        assert!(error.reason.contains("deleted") && !error.advice.is_empty(), "{error}");
    }
}
