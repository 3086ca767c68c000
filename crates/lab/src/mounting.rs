//! Mounting and unmounting, in a guest and on the host.

use std::ffi::CString;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};

use crate::error::LabError;

/// A FUSE daemon that is told to end holds what is below it a moment longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Mounts at a directory, which is made where it is not there.
pub(crate) fn put(
    source: &str,
    kind: &str,
    at: &Path,
    flags: MountFlags,
    options: &str,
) -> Result<(), LabError> {
    std::fs::create_dir_all(at).map_err(LabError::file("create", at))?;
    let text = CString::new(options).map_err(|_| LabError::Plain("a zero in options".into()))?;
    rustix::mount::mount(source, at, kind, flags, text.as_c_str()).map_err(|error| {
        let place = at.display();
        LabError::Plain(format!("cannot mount {source} as {kind} at {place} ({options}): {error}"))
    })
}

/// Mounts a disk. Access times are as on phones: not written at every read.
pub(crate) fn put_filesystem(
    disk: &Path,
    kind: &str,
    at: &Path,
    options: &str,
) -> Result<(), LabError> {
    let flags = MountFlags::NOATIME | MountFlags::NODIRATIME;
    put(&disk.to_string_lossy(), kind, at, flags, options)
}

/// Unmounts, and waits for who still holds it.
pub(crate) fn take_off(at: &Path) -> Result<(), LabError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match rustix::mount::unmount(at, UnmountFlags::empty()) {
            // It is not mounted, or not any more.
            Ok(()) | Err(Errno::INVAL | Errno::NOENT) => return Ok(()),
            Err(Errno::BUSY) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(error) => {
                let place = at.display();
                return Err(LabError::Plain(format!("cannot unmount {place}: {error}")));
            }
        }
    }
}
