//! Real files behind psync and io_uring keep the promises of the seam, direct and buffered.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use flashlag_device::Device;
use flashlag_engine::{FileSet, OpenDevice, OpenOptions, open};
use flashlag_spec::scenario::{Durability, EngineKind};
use flashlag_testing::conformance::check;
use flashlag_testing::{FaultDevice, Faults};
use flashlag_units::Bytes;
use flashlag_workload::Payload;

fn files(directory: &Path) -> FileSet {
    let files = FileSet::new(directory, "conformance", Bytes::from_kib(256));
    let stop = AtomicBool::new(false);
    files.lay_out(&Payload::new(1), &stop, &mut |_| {}).expect("layout");
    files
}

fn options(engine: EngineKind, depth: u32, direct: bool, durable: Durability) -> OpenOptions {
    OpenOptions {
        direct,
        engine,
        queue_depth: depth,
        durable,
        block: Bytes(4096),
        buffer: Bytes(8192),
        write: true,
        create: false,
    }
}

fn opened(files: &FileSet, options: &OpenOptions) -> OpenDevice {
    open(files, options).expect("open")
}

fn assert_conforms(files: &FileSet, options: &OpenOptions) {
    let report = check(|| opened(files, options).device);
    assert_eq!(report.broken(), Vec::<String>::new(), "{options:?}");
    assert!(report.held() >= 14, "{options:?}: {report:?}");
}

const DURABLE: [Durability; 3] = [Durability::Fdatasync, Durability::Dsync, Durability::RwfDsync];

#[test]
fn psync_files_conform() {
    let directory = tempfile::tempdir().expect("directory");
    let files = files(directory.path());
    for direct in [true, false] {
        for durable in DURABLE {
            assert_conforms(&files, &options(EngineKind::Psync, 1, direct, durable));
        }
    }
}

#[test]
fn io_uring_files_conform() {
    let directory = tempfile::tempdir().expect("directory");
    let files = files(directory.path());
    let first = opened(&files, &options(EngineKind::IoUring, 4, true, Durability::Fdatasync));
    if first.engine != EngineKind::IoUring {
        return flashlag_need::skip(format!("{:?}", first.downgrades));
    }
    for depth in [1, 8] {
        for direct in [true, false] {
            for durable in DURABLE {
                assert_conforms(&files, &options(EngineKind::IoUring, depth, direct, durable));
            }
        }
    }
}

#[test]
fn a_faulty_wrapper_around_files_conforms() {
    let directory = tempfile::tempdir().expect("directory");
    let files = files(directory.path());
    for engine in [EngineKind::Psync, EngineKind::IoUring] {
        let options = options(engine, 4, true, Durability::Fdatasync);
        let wrapped = || FaultDevice::new(opened(&files, &options).device, Faults::default());
        assert_eq!(check(wrapped).broken(), Vec::<String>::new(), "{engine:?}");
    }
}

#[test]
fn what_cannot_be_had_is_a_recorded_downgrade() {
    let directory = tempfile::tempdir().expect("directory");
    let files = files(directory.path());
    // One at a time is all that pread does.
    let psync = opened(&files, &options(EngineKind::Psync, 8, true, Durability::None));
    assert_eq!(psync.queue_depth, 1);
    assert!(psync.downgrades.iter().any(|one| one.requested == "queue depth 8"));
    // 1,000 bytes are a multiple of no sector.
    let mut odd = options(EngineKind::Psync, 1, true, Durability::None);
    odd.block = Bytes(1_000);
    let odd = opened(&files, &odd);
    assert!(!odd.direct);
    assert!(odd.downgrades.iter().any(|one| one.requested == "O_DIRECT"), "{:?}", odd.downgrades);
}

#[test]
fn an_engine_that_is_not_ours_is_refused() {
    let directory = tempfile::tempdir().expect("directory");
    let files = files(directory.path());
    for engine in [EngineKind::Sqlite, EngineKind::Fio] {
        let error = open(&files, &options(engine, 1, true, Durability::None)).expect_err("refused");
        assert!(error.advice.contains("psync"), "{error}");
    }
}

#[test]
fn a_missing_directory_is_an_error_that_names_it() {
    let files = FileSet::new(Path::new("/nonexistent/flashlag"), "test", Bytes(8192));
    let error = open(&files, &options(EngineKind::Psync, 1, true, Durability::None));
    let error = error.expect_err("it is not there").to_string();
    assert!(error.contains("/nonexistent/flashlag/test-0000.dat"), "{error}");
    assert!(error.contains("no longer exists"), "{error}");
}

#[test]
fn a_symbolic_link_is_never_followed() {
    let directory = tempfile::tempdir().expect("directory");
    let canary = directory.path().join("canary");
    std::fs::write(&canary, vec![7; 8192]).expect("canary");
    let files = FileSet::new(directory.path(), "test", Bytes(8192));
    std::os::unix::fs::symlink(&canary, files.path(0)).expect("link");
    let options = options(EngineKind::Psync, 1, true, Durability::None);
    assert!(open(&files, &options).is_err());
    assert_eq!(std::fs::read(&canary).expect("canary"), vec![7; 8192]);
}

#[test]
fn a_file_that_ends_too_soon_is_an_error_not_zeroes() {
    let directory = tempfile::tempdir().expect("directory");
    let files = files(directory.path());
    for engine in [EngineKind::Psync, EngineKind::IoUring] {
        let mut device = opened(&files, &options(engine, 2, false, Durability::None)).device;
        let file = std::fs::OpenOptions::new().write(true).open(files.path(0)).expect("open");
        file.set_len(10_000).expect("truncate");
        let read = flashlag_device::Request {
            slot: 0,
            op: flashlag_device::Op::Read,
            offset: Bytes(8192),
            length: Bytes(4096),
            durability: flashlag_device::Durability::None,
        };
        let mut completed = Vec::new();
        device.submit(read).expect("handed over");
        device.reap(1, &mut completed).expect("reaped");
        let error = completed[0].result.as_ref().expect_err("the file has fewer bytes");
        assert!(error.to_string().contains("the file ends here"), "{error}");
    }
    assert!(!files.is_laid_out());
}

#[test]
fn a_span_is_laid_out_whole_and_removed_whole() {
    let directory = tempfile::tempdir().expect("directory");
    // Neither a multiple of a mebibyte nor of a page.
    let files = FileSet::new(directory.path(), "test", Bytes(3_300_000));
    assert_eq!(files.span(), Bytes(3_300_000 / 4096 * 4096));
    let payload = Payload::new(8);
    let mut seen = Bytes::ZERO;
    let stop = AtomicBool::new(false);
    let written = files.lay_out(&payload, &stop, &mut |bytes| seen = bytes).expect("layout");
    assert_eq!((written, seen), (files.span(), files.span()));
    let data = std::fs::read(files.path(0)).expect("data");
    assert_eq!(payload.check(&data, Bytes::ZERO, 0), Ok(()));
    assert!(files.is_laid_out() && files.check_present().is_ok());
    files.remove().expect("remove");
    assert!(files.check_present().is_err());
    files.remove().expect("removing nothing is no error");
}

#[test]
fn a_file_that_grows_by_turns_holds_what_one_that_is_laid_out_does_and_so_does_the_other() {
    let directory = tempfile::tempdir().expect("directory");
    let span = Bytes::from_kib(40);
    let set = |name: &str| FileSet::new(directory.path(), name, span);
    let (files, beside) = (set("grown"), set("grown-beside"));
    let payload = Payload::new(8);
    let stop = AtomicBool::new(false);
    let written = files.grow_by_turns(&beside, &payload, &stop).expect("growth");
    assert_eq!(written, span.plus(span));
    for grown in [&files, &beside] {
        let data = std::fs::read(grown.path(0)).expect("data");
        assert_eq!(data.len() as u64, span.0);
        assert_eq!(payload.check(&data, Bytes::ZERO, 0), Ok(()));
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(files.grow_by_turns(&beside, &payload, &stop), Ok(Bytes::ZERO), "stopped at once");
}
