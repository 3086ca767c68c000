use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashlag_device::{Clock, MonotonicClock};
use flashlag_spec::Reading;
use flashlag_spec::scenario::SyncCall;
use rusqlite::OpenFlags;
use rustix::fs::{AtFlags, Mode, OFlags, open, statat, unlinkat};
use rustix::io::Errno;

use crate::error::SqliteError;
use crate::redirect::{Redirection, commit_atomically, refused_atomic_writes};
use crate::storage::{Place, Storage};
use crate::sync_vfs;
use crate::thread_io::ThreadIo;
use crate::writes::Writes;

/// A real directory, in real time: the [`Storage`] of databases on real storage.
///
/// Sizes are read by name (`fstatat`, about 1 µs per file) and never through a descriptor of our
/// own: under POSIX, closing one would drop SQLite's locks on the file.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    opened: Arc<OwnedFd>,
    counter: ThreadIo,
    /// The VFS for SQLite to open files with; `None` is SQLite's own.
    vfs: Option<&'static str>,
    /// Redirects SQLite's own opens to the same descriptor.
    _held: Redirection,
}

impl Directory {
    /// Resolves symbolic links in the directory's path once, so that none need be followed later.
    pub(crate) fn open(path: &Path) -> Result<Directory, SqliteError> {
        let canonical = path.canonicalize().map_err(|error| {
            SqliteError::os("find", path, Errno::from_io_error(&error).unwrap_or(Errno::IO))
        })?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = open(&canonical, flags, Mode::empty());
        let opened = opened.map_err(|errno| SqliteError::os("open", &canonical, errno))?;
        Ok(Directory::holding(canonical, Arc::new(opened)))
    }

    /// A directory that is already open; it does not matter where its path leads now.
    pub(crate) fn opened(path: &Path, opened: &Arc<OwnedFd>) -> Result<Directory, SqliteError> {
        let absolute = path.canonicalize().or_else(|_| std::path::absolute(path));
        let absolute = absolute.map_err(|error| {
            SqliteError::os("find", path, Errno::from_io_error(&error).unwrap_or(Errno::IO))
        })?;
        Ok(Directory::holding(absolute, Arc::clone(opened)))
    }

    fn holding(path: PathBuf, opened: Arc<OwnedFd>) -> Directory {
        let held = Redirection::new(&path, Arc::clone(&opened));
        Directory { path, opened, counter: ThreadIo::open(), vfs: None, _held: held }
    }

    /// The same directory; whether this thread's saves commit by F2FS's atomic writes. `None`: as
    /// the process does.
    pub(crate) fn committing(self, atomic: Option<bool>) -> Directory {
        commit_atomically(atomic);
        self
    }

    /// The same directory whose files SQLite makes durable by this call.
    ///
    /// # Errors
    /// If SQLite refuses the VFS that makes another call than SQLite was built with.
    pub(crate) fn syncing(self, call: SyncCall) -> Result<Directory, SqliteError> {
        let vfs = sync_vfs::for_call(call);
        let vfs =
            vfs.map_err(|reason| SqliteError::wrong("open", &self.path, reason.to_string()))?;
        Ok(Directory { vfs, ..self })
    }
}

impl Place for Directory {
    fn clock(&self) -> &dyn Clock {
        &MonotonicClock
    }

    fn written(&self) -> Reading<Writes> {
        self.counter.read()
    }
}

impl Storage for Directory {
    fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn vfs(&self) -> Option<&'static str> {
        self.vfs
    }

    fn open_flags(&self) -> OpenFlags {
        // No URI flag: any path is taken literally. Symbolic links are not followed.
        OpenFlags::SQLITE_OPEN_NOFOLLOW
    }

    fn remove(&self, name: &str) -> Result<(), SqliteError> {
        match unlinkat(&*self.opened, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(SqliteError::os("remove", &self.path(name), errno)),
        }
    }

    fn size(&self, name: &str) -> Result<u64, Errno> {
        let found = statat(&*self.opened, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(u64::try_from(found.st_size).unwrap_or_default())
    }

    fn compute(&self) {}

    fn refused_atomic_writes(&self) -> u64 {
        refused_atomic_writes()
    }

    fn failure(
        &self,
        operation: &'static str,
        path: &Path,
        error: &rusqlite::Error,
    ) -> SqliteError {
        SqliteError::sqlite(operation, path, error)
    }
}
