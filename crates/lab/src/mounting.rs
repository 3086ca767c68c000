//! Mounting and unmounting, in a guest and on the host.

use std::ffi::CString;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};

use crate::error::LabError;

/// Limit for a busy mount: a FUSE daemon that ends may keep its mount busy for a moment.
const PATIENCE: Duration = Duration::from_secs(20);

/// Mounts at a directory, which is made if missing.
pub(crate) fn put(
    source: &str,
    kind: &str,
    at: &Path,
    flags: MountFlags,
    options: &str,
) -> Result<(), LabError> {
    std::fs::create_dir_all(at).map_err(LabError::file("create", at))?;
    let refused = |error: std::io::Error| LabError::Mount {
        device: source.to_owned(),
        kind: kind.to_owned(),
        at: at.to_owned(),
        options: options.to_owned(),
        source: error,
    };
    let text = CString::new(options).map_err(|error| refused(error.into()))?;
    let mounted = rustix::mount::mount(source, at, kind, flags, text.as_c_str());
    mounted.map_err(|errno| refused(errno.into()))
}

/// Mounts a disk. As on phones, not every read updates the access time.
pub(crate) fn put_filesystem(
    disk: &Path,
    kind: &str,
    at: &Path,
    options: &str,
) -> Result<(), LabError> {
    let flags = MountFlags::NOATIME | MountFlags::NODIRATIME;
    put(&disk.to_string_lossy(), kind, at, flags, options)
}

/// Unmounts a mount point, and waits while it is busy.
pub(crate) fn take_off(at: &Path) -> Result<(), LabError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match rustix::mount::unmount(at, UnmountFlags::empty()) {
            // Not mounted, or not any more.
            Ok(()) | Err(Errno::INVAL | Errno::NOENT) => return Ok(()),
            Err(Errno::BUSY) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(errno) => {
                return Err(LabError::Unmount { at: at.to_owned(), source: errno.into() });
            }
        }
    }
}
