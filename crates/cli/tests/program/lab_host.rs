//! Saves on a virtual device that the host's own kernel mounts.
//!
//! Needs root, nbdkit, nbdfuse, loop devices, and the filesystem in the host's kernel.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "a test that skips says so")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::processes::processes_of;
use crate::support::program::{flashlag, has, plugin};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// No run of a test takes so long, however busy the machine is.
const PATIENCE: &str = "300";
/// Nor does a process take so long to end.
const LONG: Duration = Duration::from_secs(120);

/// What mounting here needs; says what is missing. Whether the machine lets root mount at all is
/// tried, for a container's root may not.
fn can_mount(programs: &[&str]) -> bool {
    let needed = ["nbdkit", "nbdfuse", "losetup", "mkfs.ext4", "unshare", "setpriv"];
    let all = needed.iter().chain(programs);
    let mut missing: Vec<&str> = all.copied().filter(|program| !has(program)).collect();
    if !rustix::process::geteuid().is_root() {
        missing.push("root");
    }
    if plugin().is_none() {
        missing.push("plugin (cargo build -p flashlag-nbd)");
    }
    let files = ["/dev/fuse", "/dev/loop-control"];
    missing.extend(files.into_iter().filter(|file| !Path::new(file).exists()));
    let tried = Command::new("unshare").args(["--mount", "true"]).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        missing.push("right to mount");
    }
    if !missing.is_empty() {
        flashlag_need::skip(format!("there is no {}", missing.join(", no ")));
    }
    missing.is_empty()
}

/// A run whose files all lie in `folder`.
fn prepare(command: &mut Command, target: &str, folder: &Path, more: &[&str]) {
    command.args(["run", "sqlite", "--on", target, "-o"]).arg(folder.join("run.json"));
    command.args(["--set", "statement=insert", "--set", "synchronous=full"]).args(more);
    let temporary = folder.join("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    command.env("TMPDIR", temporary).env_remove("XDG_RUNTIME_DIR");
    if let Some(plugin) = plugin() {
        command.env("FLASHLAG_NBD_PLUGIN", plugin);
    }
}

fn run(target: &str, folder: &Path, more: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["--foreground", "-s", "KILL", PATIENCE]).arg(flashlag());
    let short = ["--set", "saves=60", "--set", "time=60s"];
    prepare(&mut command, target, folder, &[&short, more].concat());
    command.output().unwrap()
}

/// A run that leaves its file, with all that it said.
fn stored(target: &str, folder: &Path, more: &[&str]) -> (Value, String) {
    let output = run(target, folder, more);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let file = folder.join("run.json");
    assert!(file.is_file(), "{target}: {said}");
    (serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap(), said)
}

/// Loop devices and processes that still have something of the folder, by name.
fn left_of(folder: &Path) -> Vec<String> {
    let processes = processes_of(folder).into_iter().map(|process| process.words);
    let folder = folder.to_string_lossy().into_owned();
    let loops = Path::new("/sys/block").read_dir().unwrap().flatten().filter_map(|entry| {
        let backing = std::fs::read_to_string(entry.path().join("loop/backing_file")).ok()?;
        backing.contains(&folder).then_some(backing)
    });
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let mounts = mounts.lines().filter(|line| line.contains(&folder)).map(str::to_owned);
    loops.chain(processes).chain(mounts).collect()
}

#[track_caller]
fn assert_nothing_is_left(folder: &Path) {
    assert_eq!(left_of(folder), Vec::<String>::new());
    let temporary: Vec<_> = folder.join("tmp").read_dir().unwrap().flatten().collect();
    assert!(temporary.is_empty(), "{temporary:?}");
}

/// Writes and flushes of a save of a phase.
fn costs(run: &Value, phase: usize) -> [f64; 2] {
    let phase = &run["phases"][phase];
    let ops = phase["ops"].as_f64().unwrap();
    ["block_writes", "flushes"].map(|field| phase["ledger"][field].as_f64().unwrap() / ops)
}

#[test]
fn a_commit_costs_the_device_on_the_hosts_kernel_what_it_costs_in_a_guest() {
    if !can_mount(&[]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let journal = ["--set", "journal=delete"];
    let (run, said) = stored("lab:zero+ext4,host,size=1GiB", folder.path(), &journal);
    assert_eq!(run["status"]["kind"], "complete", "{said}");
    assert_eq!(run["target"]["kind"], "lab", "{said}");
    let [writes, flushes] = costs(&run, 0);
    // As in the guest: the rollback journal, then the database, and ext4 commits after each.
    assert!((3.9..4.5).contains(&flushes), "{flushes} flushes");
    assert!((5.5..7.5).contains(&writes), "{writes} writes");
    let ledger = &run["phases"][0]["ledger"];
    let kinds =
        ["data", "journal", "metadata"].map(|kind| ledger["kinds"][kind]["writes"].as_u64());
    let sum: u64 = kinds.into_iter().map(Option::unwrap).sum();
    assert_eq!(sum, ledger["block_writes"].as_u64().unwrap(), "{ledger}");
    let file = folder.path().join("run.json");
    let verified = Command::new(flashlag()).arg("verify").arg(file).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
    assert_nothing_is_left(folder.path());
}

#[test]
fn a_bind_mount_and_an_overlay_cost_the_device_no_flush_more() {
    if !can_mount(&[]) {
        return;
    }
    let flushes = |layers: &str| {
        let folder = tempfile::tempdir().unwrap();
        let target = format!("lab:zero+ext4{layers},host,size=1GiB");
        let (run, _) = stored(&target, folder.path(), &["--set", "journal=wal"]);
        assert_nothing_is_left(folder.path());
        costs(&run, 0)[1]
    };
    let plain = flushes("");
    for layers in [",bind", ",overlay", ",overlay,bind"] {
        let above = flushes(layers);
        assert!((above - plain).abs() < 0.3, "{layers}: {above} for {plain}");
    }
}

#[test]
fn a_fuse_daemon_passes_on_each_sync_and_no_more() {
    if !can_mount(&["fuse-overlayfs"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let journals = ["--set", "journal=delete,wal"];
    let (run, said) = stored("lab:zero+ext4,fuse,host,size=1GiB", folder.path(), &journals);
    assert_eq!(run["status"]["kind"], "complete", "{said}");
    assert_eq!(run["environment"]["filesystem"]["kind"], "fuse.fuse-overlayfs", "{said}");
    // What the filesystem takes without a daemon above it.
    for (index, flushes) in [(0, 4.0), (1, 2.0)] {
        let seen = costs(&run, index)[1];
        assert!((flushes - 0.1..flushes + 0.5).contains(&seen), "{seen}: {said}");
    }
    assert_nothing_is_left(folder.path());
}

#[test]
fn the_device_reports_what_stalls_waited_for() {
    if !can_mount(&[]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, temporary) = (folder.path().join("run.json"), folder.path().join("tmp"));
    std::fs::create_dir_all(&temporary).unwrap();
    let mut command = Command::new("timeout");
    command.args(["--foreground", "-s", "KILL", PATIENCE]).arg(flashlag()).arg("run");
    command.args(crate::support::reported::arguments(folder.path(), "host,")).arg("-o").arg(&file);
    command.env("TMPDIR", temporary).env_remove("XDG_RUNTIME_DIR");
    let output = command.env("FLASHLAG_NBD_PLUGIN", plugin().unwrap()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(file.is_file(), "{said}");
    crate::support::reported::assert_reported(&file, &said);
    assert_nothing_is_left(folder.path());
}

/// The loop devices on files of the folder that go with their last user.
fn loops_of(folder: &Path) -> Vec<PathBuf> {
    let folder = folder.to_string_lossy().into_owned();
    let attribute = |path: &Path, file: &str| std::fs::read_to_string(path.join("loop").join(file));
    let entries = Path::new("/sys/block").read_dir().unwrap().flatten().map(|entry| entry.path());
    let ours = entries.filter(|path| {
        attribute(path, "backing_file").is_ok_and(|file| file.contains(&folder))
            && attribute(path, "autoclear").is_ok_and(|goes| goes.trim() == "1")
    });
    ours.collect()
}

/// Whether a loop device is still there on a file whose server is gone.
fn is_orphan(device: &Path) -> bool {
    let backing = std::fs::read_to_string(device.join("loop/backing_file"));
    backing.is_ok_and(|file| file.trim() == "/disk")
}

/// Starts a run of minutes, and waits until its device is attached.
fn start_long(folder: &Path) -> (Child, Pid, Vec<PathBuf>) {
    let mut command = Command::new(flashlag());
    let more = ["--set", "journal=wal", "--set", "saves=1000000", "--set", "time=200s"];
    prepare(&mut command, "lab:nexus5-2013+ext4,host,size=1GiB", folder, &more);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let id = Pid::from_child(&child);
    let until = Instant::now() + LONG;
    let mut loops = loops_of(folder);
    while loops.is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
        loops = loops_of(folder);
    }
    if loops.is_empty() {
        let _ = child.kill();
        panic!("nothing was attached: {:?}", child.wait());
    }
    (child, id, loops)
}

#[test]
fn a_run_that_is_stopped_leaves_nothing_mounted_attached_or_running() {
    if !can_mount(&[]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut child, id, loops) = start_long(folder.path());
    kill_process(id, Signal::INT).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130), "{status}");
    assert_nothing_is_left(folder.path());
    assert!(!loops.iter().any(|device| is_orphan(device)), "{loops:?}");
}

#[test]
fn a_run_that_is_killed_leaves_nothing_attached_or_running() {
    if !can_mount(&[]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut child, id, loops) = start_long(folder.path());
    kill_process(id, Signal::KILL).unwrap();
    child.wait().unwrap();
    let until = Instant::now() + LONG;
    while !left_of(folder.path()).is_empty() || loops.iter().any(|device| is_orphan(device)) {
        assert!(Instant::now() < until, "{:?}, {loops:?}", left_of(folder.path()));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_the_host_can_not_is_refused_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    for (target, said) in [
        ("lab:zero+f2fs,host", "a guest mounts f2fs"),
        ("lab:zero+ext4,encrypt,host", "leave out `host`, or `encrypt`"),
    ] {
        let output = run(target, folder.path(), &[]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{target}: {error}");
        assert!(error.contains(said), "{target}: {error}");
        assert!(!folder.path().join("run.json").exists(), "{target}");
    }
    let mut cuts = Command::new(flashlag());
    let output = cuts.args(["cuts", "lab:zero+ext4,host"]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("without the host's kernel"), "{error}");
}
