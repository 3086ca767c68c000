//! A guest that hangs while it boots: how long that is waited for, and what is left of it.
//!
//! A script takes QEMU's place: it opens the port, and then nothing. Needs nbdkit, `mkfs.ext4`, the kernel that
//! `scripts/lab-packages` fetches, and Python.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "a test that skips says so")]

#[allow(dead_code, reason = "each test uses some of it")]
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::lab::{can_boot, kernel};
use crate::support::processes::{have_ended, processes_of, wait_until};
use crate::support::program::{flashlag, plugin};
use rustix::process::{Pid, Signal, kill_process};

const HANGS: &str = "#!/usr/bin/env python3
import os, re, socket, sys, time
path = next(re.search('path=([^,]*)', word).group(1) for word in sys.argv if 'id=port' in word)
port = socket.socket(socket.AF_UNIX)
os.path.exists(path) and os.unlink(path)
port.bind(path)
port.listen()
taken = port.accept()
time.sleep(1000)
";

/// A run whose guest hangs, with all that it makes in `folder`.
fn start(folder: &Path, patience: &str) -> Child {
    let programs = folder.join("programs");
    let qemu = programs.join("qemu-system-x86_64");
    let temporary = folder.join("tmp");
    // The lab's folder, where what is found out about this QEMU may be kept.
    let lab = folder.join("lab");
    for made in [&programs, &temporary, &lab] {
        std::fs::create_dir_all(made).unwrap();
    }
    for part in ["vmlinux", "lib"] {
        let _ = std::os::unix::fs::symlink(kernel().unwrap().join(part), lab.join(part));
    }
    flashlag_need::write_script(&qemu, HANGS).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(flashlag());
    command.args(["run", "sqlite", "--on", "lab:zero+ext4,size=1GiB", "-o"]);
    command.arg(folder.join("run.json")).env("FLASHLAG_LAB_PATIENCE", patience);
    command.env("PATH", format!("{}:{path}", programs.display()));
    command.env("FLASHLAG_LAB", lab).env("TMPDIR", temporary).env_remove("XDG_RUNTIME_DIR");
    command.env("FLASHLAG_NBD_PLUGIN", plugin().unwrap());
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn can_hang() -> bool {
    flashlag_need::program("python3", "python3").is_some() && can_boot("mkfs.ext4")
}

/// Starts a run, and waits until its guest hangs.
fn hanging(folder: &Path) -> Child {
    let mut run = start(folder, "3600");
    wait_until("no guest was booted", || {
        assert!(run.try_wait().unwrap().is_none(), "it ended: {:?}", said(&mut run));
        processes_of(folder).iter().any(|process| process.words.contains("-chardev"))
    });
    run
}

fn said(run: &mut Child) -> String {
    std::io::read_to_string(run.stderr.take().unwrap()).unwrap()
}

#[test]
fn a_guest_that_hangs_is_waited_for_as_long_as_is_said() {
    if !can_hang() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut run = start(folder.path(), "6");
    wait_until("it goes on", || run.try_wait().unwrap().is_some());
    let said = said(&mut run);
    assert_eq!(run.wait().unwrap().code(), Some(2), "{said}");
    assert!(said.contains("did not come up in time (attempt 1, 6 s for all"), "{said}");
    assert!(processes_of(folder.path()).is_empty(), "{:?}", processes_of(folder.path()));
    assert_eq!(folder.path().join("tmp").read_dir().unwrap().count(), 0);
}

#[test]
fn a_stop_ends_a_boot_that_hangs() {
    if !can_hang() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut run = hanging(folder.path());
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    wait_until("it goes on", || run.try_wait().unwrap().is_some());
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert!(processes_of(folder.path()).is_empty(), "{:?}", processes_of(folder.path()));
}

#[test]
fn a_kill_in_a_boot_that_hangs_ends_all_that_was_started() {
    if !can_hang() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut run = hanging(folder.path());
    let processes = processes_of(folder.path());
    kill_process(Pid::from_child(&run), Signal::KILL).unwrap();
    run.wait().unwrap();
    wait_until("something goes on", || have_ended(&processes));
    wait_until("something goes on", || processes_of(folder.path()).is_empty());
    let left = || folder.path().join("tmp").read_dir().unwrap().count();
    assert!(left() > 0, "it was killed: this tests nothing");
    let mut next = start(folder.path(), "1");
    wait_until("it goes on", || next.try_wait().unwrap().is_some());
    assert_eq!(left(), 0, "the next start removes what is left");
}
