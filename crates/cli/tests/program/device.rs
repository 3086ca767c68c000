//! `flashlag device`, from its start to its end.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "a test that skips says so")]

use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::processes::{have_ended, processes_of, wait_until};
use rustix::process::{Pid, Signal, kill_process};

/// The plugin beside the program; `None`, visibly, where it or nbdkit is missing.
fn plugin() -> Option<PathBuf> {
    let nbdkit =
        ["/usr/bin/nbdkit", "/usr/sbin/nbdkit"].iter().any(|path| Path::new(path).exists());
    let plugin = Path::new(env!("CARGO_BIN_EXE_flashlag")).with_file_name("libflashlag_nbd.so");
    if nbdkit && plugin.is_file() {
        return Some(plugin);
    }
    let plugin = plugin.display();
    flashlag_need::skip(format!("no nbdkit, or no {plugin} (cargo build -p flashlag-nbd)"));
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
    assert!(!text.is_empty(), "it did not start: {:?}", child.wait());
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
    let answer = |words: &[&str]| said(flashlag(path).arg("device").args(words));
    let (found, text) = answer(&["stat"]);
    assert!(found && text.contains("nexus5-2013") && text.contains("free blocks"), "{text}");
    assert!(answer(&["stat", "--format", "openmetrics"]).1.ends_with("# EOF\n"));
    assert!(answer(&["stat", "--format", "prometheus"]).1.starts_with("# HELP flashlag_device_"));
    let json = answer(&["stat", socket.to_str().unwrap(), "--format", "json"]).1;
    let stats: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(stats["size_bytes"], 256 << 20);
    assert!(answer(&["cut"]).1.contains("The power was cut"));
    assert!(answer(&["cut", "--within-commands", "10", "--seed", "3"]).0);
    assert!(answer(&["fault", "read", "--offset", "1MiB", "--times", "2"]).0);
    assert!(answer(&["stat"]).1.contains("faults set"));
    assert!(answer(&["repair"]).0);
    let second = said(flashlag(path).args(["device", "nexus5-2013", "--size", "256MiB"]));
    assert!(!second.0 && second.1.contains("another server listens there"), "{}", second.1);
    kill_process(Pid::from_child(&device), Signal::TERM).unwrap();
    assert!(device.wait().unwrap().success());
    assert_eq!(std::fs::read_dir(path).unwrap().count(), 0, "something is left behind");
    let (found, text) = answer(&["stat"]);
    assert!(!found && text.contains("no device is running"), "{text}");
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

#[test]
fn a_device_that_is_killed_takes_its_server_along_and_the_next_start_removes_the_rest() {
    if plugin().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (mut device, _) = start(path, &["zero", "--size", "256MiB"]);
    // A client that does not leave.
    let mut client = UnixStream::connect(path.join("flashlag-device-zero")).unwrap();
    client.read_exact(&mut [0; 18]).unwrap();
    let processes = processes_of(path);
    assert!(processes.iter().any(|process| process.words.contains("nbdkit")), "{processes:?}");
    kill_process(Pid::from_child(&device), Signal::KILL).unwrap();
    device.wait().unwrap();
    wait_until("its server goes on", || have_ended(&processes));
    drop(client);
    let (mut device, _) = start(path, &["zero", "--size", "256MiB"]);
    kill_process(Pid::from_child(&device), Signal::TERM).unwrap();
    assert!(device.wait().unwrap().success());
    let left: Vec<_> = path.read_dir().unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_device_that_is_killed_while_it_prepares_takes_its_server_along() {
    if plugin().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Nobody writes to it: it is never loaded.
    let image = folder.path().join("image");
    assert!(Command::new("mkfifo").arg(&image).status().unwrap().success());
    let mut command = flashlag(folder.path());
    let mut device = command.args(["device", "zero", "--image"]).arg(&image).spawn().unwrap();
    let serves = || processes_of(folder.path()).iter().any(|it| it.words.contains("nbdkit"));
    wait_until("no server began", serves);
    kill_process(Pid::from_child(&device), Signal::KILL).unwrap();
    device.wait().unwrap();
    wait_until("its server goes on", || processes_of(folder.path()).is_empty());
}

#[test]
fn an_image_is_not_loaded_over_a_store_whatever_is_typed() {
    if plugin().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [store, image] = ["store", "image"].map(|name| folder.path().join(name));
    std::fs::File::create(&store).unwrap().set_len(256 << 20).unwrap();
    std::fs::write(&image, [7; 4096]).unwrap();
    let words = ["device", "nexus5-2013", "--size", "256MiB", "--store"];
    let mut command = flashlag(folder.path());
    let (done, text) = said(command.args(words).arg(&store).arg("--image").arg(&image));
    assert!(!done && text.contains("leave out --image to go on with that device"), "{text}");
    assert!(!text.contains("nbdkit"), "it is said before anything starts: {text}");
    assert_eq!(std::fs::read(&store).unwrap()[..4096], [0; 4096]);
    let mut command = flashlag(folder.path());
    let (done, text) =
        said(command.args(["device", "zero", "--size", "1GiB", "--store"]).arg(&store));
    assert!(!done && text.contains("give --size 268435456B"), "{text}");
}

#[test]
fn the_address_that_is_printed_is_one_whatever_is_in_it() {
    if plugin().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("a b&c=%d,ü");
    let listen = format!("unix:{}", socket.display());
    let words = ["zero", "--size", "256MiB", "--listen", &listen];
    let (mut device, attach) = start(folder.path(), &words);
    let address = attach.lines().next().unwrap().trim_start_matches("The device is at ").to_owned();
    assert!(address.ends_with("/a%20b%26c%3D%25d%2C%C3%BC"), "{address}");
    assert!(attach.contains("/a b&c=%d,,ü,if=virtio"), "{attach}");
    match Command::new("nbdinfo").args(["--size", &address]).output() {
        Ok(seen) => assert_eq!(String::from_utf8_lossy(&seen.stdout).trim(), "268435456"),
        Err(error) => flashlag_need::skip(format!("no nbdinfo (package libnbd-bin): {error}")),
    }
    kill_process(Pid::from_child(&device), Signal::TERM).unwrap();
    assert!(device.wait().unwrap().success());
    let refused = said(flashlag(folder.path()).args(["device", "zero", "--listen", "tcp:0"])).1;
    assert!(refused.contains("such as tcp:10809"), "{refused}");
}
