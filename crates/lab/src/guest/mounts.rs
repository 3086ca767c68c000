//! Mounting, in the guest.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::mount::MountFlags;

use crate::error::LabError;
use crate::layer::DAEMON;
use crate::layers::{places, put_all};
use crate::mounting::{put, put_filesystem, take_off};
use crate::protocol::Mount;

/// Limit for a driver to find its disks.
const PATIENCE: Duration = Duration::from_secs(20);

/// Mounts `/proc`, `/sys`, `/dev` and a filesystem in memory at `/tmp`.
pub fn system() -> Result<(), LabError> {
    for (kind, at) in
        [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp")]
    {
        put(kind, kind, Path::new(at), MountFlags::empty(), "")?;
    }
    Ok(())
}

pub(super) fn mount(mount: &Mount) -> Result<(), LabError> {
    let disk = disk(&mount.serial)?;
    let disk = match mount.encrypt {
        Some(cipher) => super::crypt::open(&disk, cipher, mount)?,
        None => disk,
    };
    let places = places(Path::new(&mount.at), &mount.above);
    put_filesystem(&disk, &mount.filesystem, &places[0], &mount.options)?;
    put_all(Path::new(&mount.at), &mount.above, &mut serve)
}

/// Starts the FUSE daemon, which goes to the background once it is mounted.
fn serve(words: &[String], _: &Path) -> Result<(), LabError> {
    let mut command = Command::new(DAEMON);
    let output = command.args(words).stdin(Stdio::null()).output();
    let output = output.map_err(LabError::file("start", DAEMON))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(LabError::Program { program: DAEMON.to_owned(), reason: said })
}

pub(super) fn unmount(mount: &Mount) -> Result<(), LabError> {
    let places = places(Path::new(&mount.at), &mount.above);
    places.iter().rev().try_for_each(|at| take_off(at))
}

/// The disk with this serial number; waits until the driver has found it.
fn disk(serial: &str) -> Result<PathBuf, LabError> {
    let until = Instant::now() + PATIENCE;
    loop {
        let entries = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
        let found = entries.map(|entry| entry.path()).find(|path| {
            let known = std::fs::read_to_string(path.join("serial")).unwrap_or_default();
            known.trim() == serial
        });
        if let Some(path) = found {
            return Ok(Path::new("/dev").join(path.file_name().unwrap_or_default()));
        }
        if Instant::now() > until {
            return Err(LabError::NoDisk(serial.to_owned()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
