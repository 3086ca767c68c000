//! A full disk of the host below a stored device: errors while it is full, and nothing else.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "a test that skips says so")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{BLOCK, block, read, settings};
use flashlag_serve::{Answer, Command as ControlCommand, ServedDevice, Settings};
use flashlag_spec::FlashState;

/// Where a small filesystem is mounted, for the process that does the test.
const PLACE: &str = "FLASHLAG_TEST_SMALL_DISK";

/// Does a test again, in a namespace of mounts of its own, with a small filesystem.
fn on_a_small_disk(test: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    let script = "mount -t tmpfs -o size=24m none \"$1\" || exit 77
                  exec \"$2\" --exact \"$3\" --nocapture";
    command.args(["--mount", "sh", "-c", script, "sh"]).arg(folder.path());
    command.arg(std::env::current_exe().unwrap()).arg(test).env(PLACE, folder.path());
    match command.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) if output.status.code() == Some(77) => flashlag_need::skip("no right to mount"),
        Ok(output) => {
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            assert!(said.contains("unshare"), "{said}");
            flashlag_need::skip(format!("no namespace of mounts: {said}"));
        }
        Err(error) => flashlag_need::skip(format!("no unshare: {error}")),
    }
}

fn flash(device: &ServedDevice) -> FlashState {
    match device.tell(&ControlCommand::Stat).unwrap() {
        Answer::Stats(stats) => stats.flash.unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Takes all room that is left.
fn fill(path: &Path) {
    let mut file = std::fs::File::create(path).unwrap();
    let (piece, mut size) = (vec![7; 64 << 10], 64 << 10);
    while size > 0 {
        if file.write_all(&piece[..size]).is_err() {
            size /= 2;
        }
    }
}

#[test]
fn a_full_disk_of_the_host_costs_errors_and_never_the_log() {
    let Some(folder) = std::env::var_os(PLACE).map(PathBuf::from) else {
        return on_a_small_disk("a_full_disk_of_the_host_costs_errors_and_never_the_log");
    };
    let (store, filler) = (folder.join("device"), folder.join("filler"));
    let settings = Settings { store: Some(store), ..settings("nexus5-2013", 1) };
    let write =
        |device: &ServedDevice, at: u64, number| device.write(at * BLOCK, &block(number), false);
    let device = ServedDevice::open(&settings).unwrap();
    (0..10).for_each(|at| write(&device, at, at + 1).unwrap());
    device.close().unwrap();
    drop(device);

    // A log that has set no room aside yet.
    let device = ServedDevice::open(&settings).unwrap();
    fill(&filler);
    for at in 0..600 {
        assert_eq!(read(&device, at % 10, "on a full disk"), at % 10 + 1);
    }
    let refused = (0..300).filter(|at| write(&device, 100 + at, 1).is_err()).count();
    assert!(refused > 0, "the disk was not full: this tests nothing");
    let error = write(&device, 500, 1).unwrap_err();
    assert!(error.reason.contains("No space left"), "{error}");
    assert!(device.flush().is_err());
    assert!(device.tell(&ControlCommand::Stat).is_ok());

    std::fs::remove_file(&filler).unwrap();
    (0..100).for_each(|at| write(&device, at, at + 1000).unwrap());
    device.flush().unwrap();
    let before = flash(&device);
    // As if it were killed.
    drop(device);
    let device = ServedDevice::open(&settings).unwrap();
    (0..100).for_each(|at| assert_eq!(read(&device, at, "after the restart"), at + 1000));
    let after = flash(&device);
    assert_eq!(after.page_reads - 100, before.page_reads, "reads on the full disk are known");
    assert_eq!((after.programs, after.erases), (before.programs, before.erases));

    // Full again while a log with room goes on, and while the device ends.
    write(&device, 0, 5).unwrap();
    fill(&filler);
    for at in 0..40_000 {
        let _ = write(&device, at % 10, at);
    }
    assert!(device.close().is_err(), "a state was stored on a full disk");
    drop(device);
    std::fs::remove_file(&filler).unwrap();
    ServedDevice::open(&settings).unwrap().close().unwrap();
    let left: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}
