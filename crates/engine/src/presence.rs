//! Checks that a path still leads to the file that is being measured.
//!
//! A file that is unlinked, renamed or unmounted while it is open keeps working through its
//! descriptor, and the I/O loop does not notice.

use std::path::{Path, PathBuf};

use flashlag_device::DeviceError;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, Stat, fstat, lstat};
use rustix::io::Errno;

/// Paths, each with the file or directory that it led to.
///  Each file is held by an `O_PATH` descriptor, which takes no lock and permits no I/O: FAT and
/// many FUSE filesystems invent inode numbers, and keep one only while the file is open. An
/// unlinked file frees its space only once this is dropped.
#[derive(Debug, Default)]
pub struct Presence {
    held: Vec<(PathBuf, OwnedFd)>,
}

impl Presence {
    /// Opens a descriptor of each path's file.
    pub fn of(paths: impl IntoIterator<Item = PathBuf>) -> Result<Presence, DeviceError> {
        let hold = |path: PathBuf| {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match rustix::fs::open(&path, flags, Mode::empty()) {
                Ok(held) => Ok((path, held)),
                Err(errno) => Err(gone(&path, errno)),
            }
        };
        let held = paths.into_iter().map(hold).collect::<Result<_, _>>()?;
        Ok(Presence { held })
    }

    /// Checks that each path still leads to its file.
    pub fn check(&self) -> Result<(), DeviceError> {
        self.held.iter().try_for_each(|(path, held)| check(path, held))
    }
}

/// Checks that `path` leads to the open file `held`.
pub(crate) fn check(path: &Path, held: impl AsFd) -> Result<(), DeviceError> {
    let named = lstat(path).map_err(|errno| gone(path, errno))?;
    let open = fstat(held).map_err(|errno| gone(path, errno))?;
    let identity = |stat: &Stat| (stat.st_dev, stat.st_ino);
    if identity(&named) != identity(&open) {
        let reason = "something other than the run's own is in its place";
        return Err(lost(path, None, reason.to_owned()));
    }
    Ok(())
}

/// The error for a path that does not exist or can't be followed.
pub(crate) fn gone(path: &Path, errno: Errno) -> DeviceError {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP => {
            let reason = "it was deleted, moved or unmounted while the run used it";
            lost(path, Some(errno.raw_os_error()), reason.to_owned())
        }
        errno => DeviceError::os("find", path.display().to_string(), None, errno),
    }
}

fn lost(path: &Path, errno: Option<i32>, reason: String) -> DeviceError {
    let advice = "what was written since then may not be on any storage: find out what removed \
         it, then continue with --resume";
    DeviceError {
        operation: "find",
        subject: path.display().to_string(),
        offset: None,
        errno,
        reason,
        advice: advice.to_owned(),
    }
}
