//! `flashlag device`, from its start to its end.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "a test that skips says so")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// The plugin beside the program; `None`, visibly, where it or nbdkit is missing.
fn plugin() -> Option<PathBuf> {
    let nbdkit =
        ["/usr/bin/nbdkit", "/usr/sbin/nbdkit"].iter().any(|path| Path::new(path).exists());
    let plugin = Path::new(env!("CARGO_BIN_EXE_flashlag")).with_file_name("libflashlag_nbd.so");
    if nbdkit && plugin.is_file() {
        return Some(plugin);
    }
    println!("skipped: needs nbdkit and {} (cargo build -p flashlag-nbd)", plugin.display());
    None
}

fn flashlag(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    command.env("XDG_RUNTIME_DIR", folder).env_remove("FLASHLAG_NBD_PLUGIN");
    command
}

fn said(command: &mut Command) -> (bool, String) {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

/// A device that says how to attach.
fn start(folder: &Path, words: &[&str]) -> (Child, String) {
    let mut command = flashlag(folder);
    command.arg("device").args(words).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let text: Vec<String> =
        lines.by_ref().map(Result::unwrap).take_while(|line| !line.contains("Ctrl-C")).collect();
    (child, text.join("\n"))
}

#[test]
fn a_device_is_served_asked_cut_and_ended() {
    if plugin().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (mut device, attach) = start(path, &["nexus5-2013", "--size", "256MiB"]);
    let socket = path.join("flashlag-device-nexus5-2013");
    for client in ["nbd-client -unix", "nbdfuse", "qemu-system", "--ioengine=nbd"] {
        assert!(attach.contains(client), "{attach}");
    }
    assert!(attach.contains(&socket.display().to_string()), "{attach}");
    let told = |words: &[&str]| said(flashlag(path).arg("device").args(words));
    let (found, text) = told(&["stat"]);
    assert!(found && text.contains("nexus5-2013") && text.contains("free blocks"), "{text}");
    assert!(told(&["stat", "--format", "openmetrics"]).1.ends_with("# EOF\n"));
    let json = told(&["stat", socket.to_str().unwrap(), "--format", "json"]).1;
    let stats: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(stats["size_bytes"], 256 << 20);
    assert!(told(&["cut"]).1.contains("The power was cut"));
    assert!(told(&["cut", "--within-commands", "10", "--seed", "3"]).0);
    assert!(told(&["fault", "read", "--offset", "1MiB", "--times", "2"]).0);
    assert!(told(&["stat"]).1.contains("faults set"));
    assert!(told(&["repair"]).0);
    let second = said(flashlag(path).args(["device", "nexus5-2013", "--size", "256MiB"]));
    assert!(!second.0 && second.1.contains("another server listens there"), "{}", second.1);
    kill_process(Pid::from_child(&device), Signal::TERM).unwrap();
    assert!(device.wait().unwrap().success());
    assert_eq!(std::fs::read_dir(path).unwrap().count(), 0, "something is left behind");
    let (found, text) = told(&["stat"]);
    assert!(!found && text.contains("no device runs here"), "{text}");
}

#[test]
fn what_can_not_be_served_is_said() {
    if plugin().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let refused = |words: &[&str]| {
        let (done, text) = said(flashlag(folder.path()).arg("device").args(words));
        assert!(!done, "{text}");
        text
    };
    assert!(refused(&["nexus-9000"]).contains("there is none of that name"));
    assert!(refused(&["nexus5-2013", "--size", "1MiB"]).contains("MiB at least"));
    let open = refused(&["zero", "--listen", "tcp:0.0.0.0:10999"]);
    assert!(open.contains("--tls-psk"), "{open}");
    let path = folder.path().join("no.so");
    let missing = refused(&["zero", "--plugin", path.to_str().unwrap()]);
    assert!(missing.contains("cargo build"), "{missing}");
    let mut without = flashlag(folder.path());
    let without = without.args(["device", "stat", "/nowhere/at/all"]).output().unwrap();
    assert_eq!(without.status.code(), Some(2));
}
