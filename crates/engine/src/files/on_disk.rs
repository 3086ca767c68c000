//! The files of a set on a real filesystem.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashlag_device::DeviceError;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::FileSet;
use crate::presence::{Presence, gone};

impl FileSet {
    /// The same files in an open directory, which stays the same directory if its path changes.
    pub fn opened(self, directory: Arc<OwnedFd>) -> FileSet {
        FileSet { opened: Some(directory), ..self }
    }

    /// A path split into a directory and a name in it: relative to the open directory, if there is
    /// one.
    pub(crate) fn at(&self, path: &Path) -> (BorrowedFd<'_>, PathBuf) {
        match (&self.opened, path.file_name()) {
            (Some(opened), Some(name)) => (opened.as_fd(), PathBuf::from(name)),
            _ => (rustix::fs::CWD, path.to_owned()),
        }
    }

    /// Whether every file has its full length with every block allocated: laid out before, by this
    /// run or by the one that it resumes.
    pub fn is_laid_out(&self) -> bool {
        (0..self.count()).all(|index| {
            let path = self.path(index);
            let (directory, name) = self.at(&path);
            let found = rustix::fs::statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW);
            let Ok(stat) = found else { return false };
            let length = self.length(index).0;
            let allocated = stat.st_blocks as u64 * 512 >= length;
            stat.st_size as u64 == length && allocated
        })
    }

    /// Checks that the path of every file still leads to it, so that no unlinked file is measured.
    pub fn check_present(&self) -> Result<(), DeviceError> {
        for path in self.paths() {
            rustix::fs::stat(&path).map_err(|errno| gone(&path, errno))?;
        }
        Ok(())
    }

    /// The identity of the files, to check later that nobody has replaced them.
    pub fn presence(&self) -> Result<Presence, DeviceError> {
        allow_files(self.count() as u64 * 2);
        Presence::of(self.paths())
    }

    /// Drops the files from the page cache: their data must be durable already.
    pub fn evict(&self) -> Result<(), DeviceError> {
        for file in self.open_files(OFlags::RDONLY)? {
            // Only advice: a filesystem that ignores it is no error.
            let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
        }
        Ok(())
    }

    /// Removes the files; one that is gone already is no error.
    pub fn remove(&self) -> Result<(), DeviceError> {
        for path in self.paths() {
            let (directory, name) = self.at(&path);
            match rustix::fs::unlinkat(directory, &name, AtFlags::empty()) {
                Ok(()) | Err(rustix::io::Errno::NOENT) => {}
                Err(errno) => {
                    let subject = path.display().to_string();
                    return Err(DeviceError::os("unlink", subject, None, errno));
                }
            }
        }
        Ok(())
    }

    /// Opens every file. Does not follow symbolic links: their targets do not belong to the run.
    pub(crate) fn open_files(&self, flags: OFlags) -> Result<Vec<OwnedFd>, DeviceError> {
        // Each file is opened once for the I/O and once for a `Presence`.
        allow_files(self.count() as u64 * 2);
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let open_one = |path: PathBuf| {
            let (directory, name) = self.at(&path);
            rustix::fs::openat(directory, &name, flags, Mode::RUSR | Mode::WUSR)
                .map_err(|errno| DeviceError::os("open", path.display().to_string(), None, errno))
        };
        self.paths().map(open_one).collect()
    }
}

/// Raises the soft limit of open files so that `files` more fit. If the hard limit is too low,
/// `open` fails and reports it.
fn allow_files(files: u64) {
    const SPARE: u64 = 256;
    let limit = getrlimit(Resource::Nofile);
    let wanted = files + SPARE;
    if limit.current.is_some_and(|current| current < wanted) {
        let current = Some(limit.maximum.map_or(wanted, |maximum| maximum.min(wanted)));
        // If this is refused, `open` reports the error.
        let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum: limit.maximum });
    }
}
