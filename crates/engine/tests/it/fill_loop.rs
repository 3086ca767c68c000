//! Fills of a real ext4, on a loop image of 256 MB.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::faulty::FaultyMount;
use crate::common::loop_mount::{LoopMount, run};
use flashlag_device::DeviceError;
use flashlag_engine::ThreadWaitMeter;
use flashlag_engine::drive::{EndReason, Watch};
use flashlag_engine::fill::{FillOutcome, FillSpec, fill, free_space};
use flashlag_engine::guard::{Remainder, Workspace, clean};
use flashlag_spec::scenario::{Arrivals, Durability, EngineKind, Io, IoOperation, Pattern, Until};
use flashlag_units::{Bytes, Nanos, Text};
use rustix::io::Errno;
use tempfile::TempDir;

fn io(pattern: Pattern, block: Bytes) -> Io {
    Io {
        name: "fill".to_owned(),
        operation: IoOperation::Write,
        pattern,
        block: Text(block),
        offset: None,
        span: None,
        bytes: None,
        time: None,
        min_ops: None,
        warmup: None,
        until: Until::Limits,
        at_least: None,
        queue_depth: 1,
        threads: 1,
        thread_spans: flashlag_spec::scenario::ThreadSpans::Disjoint,
        read_percent: None,
        durable: Durability::None,
        direct: true,
        engine: EngineKind::Auto,
        arrivals: Arrivals::default(),
        think: None,
        background: None,
        fresh: false,
        grown: false,
        prepares: false,
    }
}

const SEQUENTIAL: (Pattern, Bytes) = (Pattern::Sequential, Bytes::from_mib(1));
const RANDOM: (Pattern, Bytes) = (Pattern::Random, Bytes::from_kib(4));

struct Asked<'a> {
    io: Io,
    leave: Bytes,
    budget: Option<Bytes>,
    verify: bool,
    stop: &'a AtomicBool,
}

static NEVER: AtomicBool = AtomicBool::new(false);

impl Asked<'static> {
    fn new(how: (Pattern, Bytes), leave: Bytes) -> Asked<'static> {
        Asked { io: io(how.0, how.1), leave, budget: None, verify: false, stop: &NEVER }
    }
}

fn do_fill(directory: &Path, asked: &Asked<'_>) -> Result<FillOutcome, DeviceError> {
    let spec = FillSpec {
        opened: None,
        directory,
        stem: "fill",
        io: &asked.io,
        leave: asked.leave,
        budget: asked.budget,
        seed: 11,
        verify: asked.verify,
        interval: Nanos::from_millis(20),
        stall_over: Nanos::from_millis(500),
    };
    fill(&spec, Watch::new(asked.stop, ThreadWaitMeter::open().unwrap()))
}

fn available(path: &Path) -> Bytes {
    free_space(path).unwrap().available
}

/// A mounted image, and a directory of ours on it.
fn workspace(mount: &LoopMount) -> (Workspace, std::path::PathBuf) {
    let mut work = Workspace::create(mount.path()).unwrap();
    let directory = work.subdirectory("fill").unwrap();
    (work, directory)
}

#[test]
fn a_fill_ends_at_its_level_with_the_level_in_every_interval() {
    let mount = flashlag_need::or_skip!(LoopMount::ext4(256, ""));
    let (work, directory) = workspace(&mount);
    for (how, leave) in [(SEQUENTIAL, 120), (SEQUENTIAL, 64), (RANDOM, 48)] {
        let leave = Bytes::from_mb(leave);
        let before = available(mount.path());
        let filled = do_fill(&directory, &Asked::new(how, leave)).unwrap();
        assert_eq!(filled.driven.ended, EndReason::Limit, "{filled:?}");
        let left = available(mount.path());
        // One block of ours, and what ext4 takes for its extents.
        assert!(left <= leave.plus(how.1) && left.plus(Bytes::from_kib(512)) >= leave, "{left}");
        assert!(filled.driven.recorded.bytes.plus(Bytes::from_mib(2)) >= before.minus(leave));
        assert_eq!((filled.before.available, filled.after.available), (before, left));
        let levels: Vec<_> =
            filled.driven.recorded.intervals.iter().map(|one| one.filled).collect();
        assert!(levels.iter().all(Option::is_some) && levels.is_sorted(), "{levels:?}");
        assert!(levels.last().unwrap().unwrap() >= filled.before.used());
        assert!(filled.direct && filled.downgrades.is_empty() && filled.notes.is_empty());
    }
    let cleaned = work.remove();
    assert!(cleaned.is_complete() && cleaned.removed.bytes > Bytes::from_mb(150), "{cleaned:?}");
}

#[test]
fn nothing_left_means_full_and_full_is_no_failure() {
    let mount = flashlag_need::or_skip!(LoopMount::ext4(256, ""));
    let (work, directory) = workspace(&mount);
    fs::write(mount.path().join("canary.txt"), "a user's letter").unwrap();
    let filled = do_fill(&directory, &Asked::new(SEQUENTIAL, Bytes::ZERO)).unwrap();
    assert!(matches!(filled.driven.ended, EndReason::NoSpace(_)), "{:?}", filled.driven.ended);
    assert!(filled.driven.recorded.latency.count() > 150);
    assert!(filled.notes.is_empty(), "{:?}", filled.notes);
    assert!(available(mount.path()) < Bytes::from_mib(1));
    // Nothing more fits, and that is no failure either.
    let again = do_fill(&directory, &Asked::new(RANDOM, Bytes::from_mib(1))).unwrap();
    assert_eq!((again.driven.ended, again.driven.moved), (EndReason::Limit, Bytes::ZERO));
    assert!(again.notes[0].contains("nothing to fill"), "{:?}", again.notes);
    // On full storage a clean-up must work without room.
    work.keep();
    assert!(clean(mount.path()).unwrap()[0].is_complete());
    assert_eq!(fs::read_to_string(mount.path().join("canary.txt")).unwrap(), "a user's letter");
}

#[test]
fn a_random_fill_writes_every_block_once_and_is_proved() {
    let mount = flashlag_need::or_skip!(LoopMount::ext4(96, ""));
    let (_work, directory) = workspace(&mount);
    for (engine, depth) in [(EngineKind::Psync, 1), (EngineKind::IoUring, 8)] {
        let mut asked = Asked::new(RANDOM, available(mount.path()).minus(Bytes::from_mib(16)));
        (asked.io.engine, asked.io.queue_depth, asked.verify) = (engine, depth, true);
        let filled = do_fill(&directory, &asked).unwrap();
        assert_eq!(filled.driven.ended, EndReason::Limit);
        let verified = filled.driven.verified.as_ref().unwrap();
        assert!(verified.is_proved(), "{verified:?}");
        assert_eq!(verified.blocks, filled.driven.recorded.latency.count());
        // No block was written twice: they all take space.
        let on_disk: u64 =
            filled.files.paths().map(|path| fs::metadata(path).unwrap().blocks()).sum();
        assert!(on_disk * 512 >= filled.driven.moved.0, "{on_disk}");
        // And no sequence of neighbours: it is random.
        let first = File::open(filled.files.path(0)).unwrap().metadata().unwrap();
        assert!(first.len() > 0);
    }
}

#[test]
fn a_random_fill_of_a_filesystem_without_sparse_files_ascends_and_says_so() {
    let kinds = ["vfat", "exfat-fuse"].map(|kind| (kind, LoopMount::portable(96, kind, "")));
    if let [(_, Err(vfat)), (_, Err(exfat))] = &kinds {
        return flashlag_need::skip(format!("{vfat}; {exfat}"));
    }
    for (kind, mount) in kinds {
        let Ok(mount) = mount else { continue };
        let (work, directory) = workspace(&mount);
        let leave = available(mount.path()).minus(Bytes::from_mib(16));
        let mut asked = Asked::new(RANDOM, leave);
        asked.verify = true;
        let filled = do_fill(&directory, &asked).unwrap();
        assert_eq!(filled.driven.ended, EndReason::Limit, "{kind}");
        let said: Vec<_> = filled.downgrades.iter().map(|one| one.effective.as_str()).collect();
        assert!(said.contains(&"ascending order"), "{kind}: {:?}", filled.downgrades);
        // Written once: no gap was filled with zeroes first, neither by us nor below.
        let moved = filled.driven.moved;
        assert!(moved.plus(Bytes::from_mib(1)) >= Bytes::from_mib(16), "{kind}: {moved}");
        assert!(moved <= Bytes::from_mib(17), "{kind}: {moved}");
        let left = available(mount.path());
        assert!(left.plus(Bytes::from_mib(1)) >= leave, "{kind}: {left}");
        assert!(filled.driven.verified.as_ref().unwrap().is_proved(), "{kind}");
        // Inode numbers are made up there, and are the same while something holds the file.
        let presence = filled.files.presence().unwrap();
        fs::write("/proc/sys/vm/drop_caches", "2").unwrap();
        presence.check().unwrap();
        work.check_present().unwrap();
        drop(presence);
        let cleaned = work.remove();
        assert!(cleaned.is_complete(), "{kind}: {cleaned:?}");
        assert!(fs::read_dir(mount.path()).unwrap().next().is_none(), "{kind}: nothing is left");
    }
}

#[test]
fn a_changed_byte_is_found() {
    let mount = flashlag_need::or_skip!(LoopMount::ext4(64, ""));
    let (_work, directory) = workspace(&mount);
    let stop = AtomicBool::new(false);
    let asked = Asked {
        verify: true,
        stop: &stop,
        ..Asked::new(SEQUENTIAL, available(mount.path()).minus(Bytes::from_mib(8)))
    };
    // A busy neighbour that overwrites the first block once it is there.
    let path = directory.join("fill-1-0000.dat");
    let neighbour = std::thread::spawn(move || {
        for _ in 0..20_000 {
            if fs::metadata(&path).is_ok_and(|file| file.len() > 2 << 20) {
                use std::os::unix::fs::FileExt;
                let file = File::options().write(true).open(&path).unwrap();
                file.write_all_at(b"changed!", 5000).unwrap();
                return file.sync_all().unwrap();
            }
            std::thread::sleep(Duration::from_micros(100));
        }
    });
    let filled = do_fill(&directory, &asked).unwrap();
    neighbour.join().unwrap();
    let verified = filled.driven.verified.unwrap();
    assert_eq!((verified.mismatches, verified.is_proved()), (1, false), "{verified:?}");
}

#[test]
fn a_budget_ends_it_and_says_so() {
    let mount = flashlag_need::or_skip!(LoopMount::ext4(64, ""));
    let (_work, directory) = workspace(&mount);
    let budget = Some(Bytes::from_mb(10));
    let asked = Asked { budget, ..Asked::new(SEQUENTIAL, Bytes::from_mb(5)) };
    let filled = do_fill(&directory, &asked).unwrap();
    assert_eq!(filled.driven.ended, EndReason::Limit);
    assert!(filled.driven.moved <= Bytes::from_mb(10));
    assert!(filled.notes[0].contains("--budget"), "{:?}", filled.notes);
}

#[test]
fn space_that_others_take_meanwhile_is_not_taken_twice() {
    let mount = flashlag_need::or_skip!(LoopMount::ext4(256, ""));
    let (_work, directory) = workspace(&mount);
    let leave = Bytes::from_mb(60);
    let other = mount.path().join("others");
    let neighbour = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        let file = File::create(other).unwrap();
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 70 << 20).unwrap();
    });
    let filled = do_fill(&directory, &Asked::new(RANDOM, leave)).unwrap();
    neighbour.join().unwrap();
    assert_eq!(filled.driven.ended, EndReason::Limit);
    let left = available(mount.path());
    assert!(
        left.plus(Bytes::from_mib(1)) >= leave && left <= leave.plus(Bytes::from_mib(1)),
        "{left}"
    );
    assert!(filled.driven.moved < filled.before.available.minus(leave).minus(Bytes::from_mib(60)));
}

#[test]
fn space_that_others_free_meanwhile_is_filled_too() {
    let mount = flashlag_need::or_skip!(LoopMount::ext4(256, ""));
    let (_work, directory) = workspace(&mount);
    let leave = Bytes::from_mb(60);
    let other = mount.path().join("others");
    let file = File::create(&other).unwrap();
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 40 << 20).unwrap();
    drop(file);
    let neighbour = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        fs::remove_file(other).unwrap();
    });
    let filled = do_fill(&directory, &Asked::new(RANDOM, leave)).unwrap();
    neighbour.join().unwrap();
    assert_eq!(filled.driven.ended, EndReason::Limit);
    let left = available(mount.path());
    assert!(
        left.plus(Bytes::from_mib(1)) >= leave && left <= leave.plus(Bytes::from_mib(1)),
        "{left}"
    );
}

#[test]
fn the_stop_flag_ends_it_with_everything_kept() {
    let mount = flashlag_need::or_skip!(LoopMount::ext4(256, ""));
    let (_work, directory) = workspace(&mount);
    let stop = AtomicBool::new(false);
    let asked = Asked {
        io: Io { durable: Durability::Fdatasync, ..io(RANDOM.0, RANDOM.1) },
        leave: Bytes::ZERO,
        budget: None,
        verify: true,
        stop: &stop,
    };
    let filled = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            stop.store(true, Ordering::Relaxed);
        });
        do_fill(&directory, &asked).unwrap()
    });
    assert_eq!(filled.driven.ended, EndReason::Stopped);
    assert!(filled.driven.recorded.latency.count() > 0 && filled.driven.verified.is_none());
}

#[test]
fn a_read_only_remount_is_reported_with_path_operation_and_advice() {
    let mount = flashlag_need::or_skip!(LoopMount::ext4(256, "errors=remount-ro"));
    let (_work, directory) = workspace(&mount);
    let filled = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(150));
            mount.fail_to_read_only().unwrap();
        });
        let asked = Asked {
            io: Io { durable: Durability::Fdatasync, ..io(RANDOM.0, RANDOM.1) },
            ..Asked::new(RANDOM, Bytes::ZERO)
        };
        do_fill(&directory, &asked).unwrap()
    });
    let EndReason::Error(error) = &filled.driven.ended else { panic!("{:?}", filled.driven.ended) };
    assert!(filled.driven.recorded.latency.count() > 0);
    let text = error.to_string();
    assert!(text.contains("fill-1-0000.dat") && text.contains("read-only"), "{text}");
    // The write that was under way may get a plain I/O error: then the text says more.
    let known = [Errno::ROFS, Errno::IO].map(|errno| Some(errno.raw_os_error()));
    assert!(known.contains(&error.errno), "{text}");
}

#[test]
fn a_device_that_fails_is_reported_with_path_operation_and_advice() {
    let faulty = flashlag_need::or_skip!(FaultyMount::ext4(256));
    let (work, directory) = workspace(&faulty.mount);
    let filled = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(150));
            faulty.fail_writes();
        });
        let durable = Io { durable: Durability::Fdatasync, ..io(RANDOM.0, RANDOM.1) };
        do_fill(&directory, &Asked { io: durable, ..Asked::new(RANDOM, Bytes::ZERO) }).unwrap()
    });
    let EndReason::Error(error) = &filled.driven.ended else { panic!("{:?}", filled.driven.ended) };
    assert!(filled.driven.recorded.latency.count() > 0);
    let text = error.to_string();
    assert!(text.contains("fill-1-0000.dat") && text.contains("kernel log"), "{text}");
    // What can't be removed now is reported, not lost.
    work.keep();
    let cleaned = clean(faulty.mount.path()).unwrap();
    faulty.heal();
    let is_reported =
        |kept: &Remainder| kept.reason.contains('(') && kept.path.starts_with(faulty.mount.path());
    assert!(cleaned.iter().flat_map(|one| &one.kept).all(is_reported), "{cleaned:#?}");
}

/// What the child of the next test does, as another user. Run by itself it does nothing.
#[test]
fn child_that_fills_as_another_user() {
    let Some(parent) = std::env::var_os("FLASHLAG_TEST_FILL") else { return };
    let mut work = Workspace::create(Path::new(&parent)).unwrap();
    let directory = work.subdirectory("fill").unwrap();
    let filled = do_fill(&directory, &Asked::new(SEQUENTIAL, Bytes::from_mb(5))).unwrap();
    let EndReason::NoSpace(error) = &filled.driven.ended else {
        panic!("{:?}", filled.driven.ended)
    };
    println!("ended: {error}");
    println!("notes: {:?}", filled.notes);
    println!("written: {}", filled.driven.recorded.bytes.0);
    assert!(work.remove().is_complete());
}

#[test]
fn a_quota_ends_it_with_everything_kept_and_is_called_a_quota() {
    const LIMIT_MIB: u64 = 40;
    let mount = flashlag_need::or_skip!(LoopMount::btrfs_with_quota(256, LIMIT_MIB));
    let root = mount.path().join("nobody");
    fs::create_dir(&root).unwrap();
    std::os::unix::fs::chown(&root, Some(65534), Some(65534)).unwrap();
    // Another user may not reach this program where it is.
    let program = TempDir::new().unwrap();
    fs::set_permissions(program.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = program.path().join("test");
    flashlag_need::copy_program(&std::env::current_exe().unwrap(), &copy).unwrap();
    let mut child = Command::new(&copy);
    child.args(["--exact", "fill_loop::child_that_fills_as_another_user", "--nocapture"]);
    child.env("FLASHLAG_TEST_FILL", &root).current_dir("/").uid(65534).gid(65534);
    let said = String::from_utf8(run(&mut child).unwrap().stdout).unwrap();
    assert!(said.contains("Disk quota exceeded") && said.contains("raise the quota"), "{said}");
    assert!(said.contains("before its level"), "{said}");
    let written = said.lines().find_map(|line| line.strip_prefix("written: ")).unwrap();
    let written: u64 = written.parse().unwrap();
    assert!((30 << 20..=LIMIT_MIB << 20).contains(&written), "{said}");
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0, "all of it was removed");
}

#[test]
fn a_quota_that_holds_for_root_too_ends_it_the_same_way() {
    let mount = flashlag_need::or_skip!(LoopMount::btrfs_with_quota(256, 40));
    let (work, directory) = workspace(&mount);
    let filled = do_fill(&directory, &Asked::new(SEQUENTIAL, Bytes::from_mb(5))).unwrap();
    let EndReason::NoSpace(error) = &filled.driven.ended else {
        panic!("{:?}", filled.driven.ended)
    };
    let text = error.to_string();
    assert!(text.contains("quota exceeded") && text.contains("raise the quota"), "{text}");
    assert!(filled.notes[0].contains("before its level"), "{:?}", filled.notes);
    let written = filled.driven.recorded.bytes;
    assert!(written >= Bytes::from_mib(30) && written <= Bytes::from_mib(40), "{written}");
    assert!(work.remove().is_complete());
}

#[test]
fn a_directory_that_vanishes_before_the_fill_is_reported() {
    let mount = flashlag_need::or_skip!(LoopMount::ext4(64, ""));
    let (work, directory) = workspace(&mount);
    work.remove();
    let error = do_fill(&directory, &Asked::new(SEQUENTIAL, Bytes::ZERO)).unwrap_err().to_string();
    assert!(error.contains("fill") && error.contains("no longer exists"), "{error}");
}

#[test]
fn a_directory_that_vanishes_during_the_fill_is_reported() {
    let mount = flashlag_need::or_skip!(LoopMount::ext4(64, ""));
    let (_work, directory) = workspace(&mount);
    let mut asked = Asked::new(SEQUENTIAL, Bytes::ZERO);
    (asked.io.time, asked.io.arrivals.per_second) =
        (Some(Text(Nanos::from_millis(400))), Some(50.0));
    let filled = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            fs::remove_dir_all(&directory).unwrap();
        });
        do_fill(&directory, &asked).unwrap()
    });
    let EndReason::Error(error) = &filled.driven.ended else { panic!("{:?}", filled.driven.ended) };
    assert!(error.to_string().contains("deleted, moved or unmounted"), "{error}");
    assert!(filled.driven.recorded.latency.count() > 5);
}
