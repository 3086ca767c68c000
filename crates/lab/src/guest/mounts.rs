//! Mounting, in the guest.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::mount::{MountFlags, UnmountFlags};

use crate::error::LabError;
use crate::protocol::Mount;

/// A driver finds its disks within this.
const PATIENCE: Duration = Duration::from_secs(20);

/// `/proc`, `/sys`, `/dev`, and memory for files.
pub(super) fn system() -> Result<(), LabError> {
    for (kind, at) in
        [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp")]
    {
        put(kind, kind, Path::new(at), MountFlags::empty(), "")?;
    }
    Ok(())
}

fn put(
    source: &str,
    kind: &str,
    at: &Path,
    flags: MountFlags,
    options: &str,
) -> Result<(), LabError> {
    std::fs::create_dir_all(at).map_err(LabError::file("create", at))?;
    let options = CString::new(options).map_err(|_| LabError::Said("a zero in options".into()))?;
    rustix::mount::mount(source, at, kind, flags, options.as_c_str()).map_err(|error| {
        let with = options.to_string_lossy();
        LabError::Said(format!(
            "cannot mount {source} as {kind} at {} ({with}): {error}",
            at.display()
        ))
    })
}

pub(super) fn mount(mount: &Mount) -> Result<(), LabError> {
    let disk = disk(&mount.serial)?;
    let disk = match mount.encrypt {
        Some(cipher) => super::crypt::open(&disk, cipher, mount)?,
        None => disk,
    };
    // Access times are as on phones: not written at every read.
    let flags = MountFlags::NOATIME | MountFlags::NODIRATIME;
    put(&disk.to_string_lossy(), &mount.filesystem, Path::new(&mount.at), flags, &mount.options)
}

pub(super) fn unmount(mount: &Mount) -> Result<(), LabError> {
    match rustix::mount::unmount(mount.at.as_str(), UnmountFlags::empty()) {
        // It is not mounted any more.
        Ok(()) | Err(rustix::io::Errno::INVAL) => Ok(()),
        Err(error) => Err(LabError::Said(format!("cannot unmount {}: {error}", mount.at))),
    }
}

/// The disk with that serial number, as soon as it is there.
fn disk(serial: &str) -> Result<PathBuf, LabError> {
    let until = Instant::now() + PATIENCE;
    loop {
        let entries = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
        let found = entries.map(|entry| entry.path()).find(|path| {
            let told = std::fs::read_to_string(path.join("serial")).unwrap_or_default();
            told.trim() == serial
        });
        if let Some(path) = found {
            return Ok(Path::new("/dev").join(path.file_name().unwrap_or_default()));
        }
        if Instant::now() > until {
            return Err(LabError::Said(format!("no disk has the serial number {serial}")));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
