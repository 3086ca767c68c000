use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashlag_device::{Clock, MonotonicClock};
use flashlag_spec::Reading;
use rustix::fs::{
    AtFlags, Mode, OFlags, chmodat, fdatasync, fsync, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::place::FilePlace;
use crate::error::SqliteError;
use crate::storage::Place;
use crate::thread_io::ThreadIo;
use crate::writes::Writes;

/// A real directory, in real time. All names are used below its descriptor, wherever its path leads meanwhile,
/// and no symbolic link is followed.
#[derive(Debug)]
pub(crate) struct RealFiles {
    path: PathBuf,
    directory: Arc<OwnedFd>,
    open: RefCell<Option<Open>>,
    counter: ThreadIo,
}

#[derive(Debug)]
struct Open {
    file: OwnedFd,
    name: String,
}

impl RealFiles {
    pub(crate) fn opened(path: &Path, directory: &Arc<OwnedFd>) -> RealFiles {
        RealFiles {
            path: path.to_owned(),
            directory: Arc::clone(directory),
            open: RefCell::default(),
            counter: ThreadIo::open(),
        }
    }

    /// Opens the directory of that path.
    pub(crate) fn open_directory(path: &Path) -> Result<RealFiles, SqliteError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(path, flags, Mode::empty());
        let opened = opened.map_err(|errno| SqliteError::os("open", path, errno))?;
        Ok(RealFiles::opened(path, &Arc::new(opened)))
    }

    fn failed(&self, operation: &'static str, name: &str) -> impl FnOnce(Errno) -> SqliteError {
        let path = self.path.join(name);
        move |errno| SqliteError::os(operation, &path, errno)
    }

    /// Does something with the open file.
    fn with<T>(
        &self,
        operation: &'static str,
        call: impl FnOnce(&OwnedFd) -> rustix::io::Result<T>,
    ) -> Result<T, SqliteError> {
        let open = self.open.borrow();
        let Some(open) = &*open else { return Err(self.failed(operation, "")(Errno::BADF)) };
        call(&open.file).map_err(|errno| self.failed(operation, &open.name)(errno))
    }
}

impl Place for RealFiles {
    fn clock(&self) -> &dyn Clock {
        &MonotonicClock
    }

    fn written(&self) -> Reading<Writes> {
        self.counter.read()
    }
}

impl FilePlace for RealFiles {
    fn stat(&self, name: &str) -> Result<Option<u64>, SqliteError> {
        match statat(&*self.directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(u64::try_from(found.st_size).unwrap_or_default())),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.failed("find", name)(errno)),
        }
    }

    fn open(&self, name: &str) -> Result<(), SqliteError> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = openat(&*self.directory, name, flags, Mode::RUSR | Mode::WUSR);
        let file = file.map_err(self.failed("open", name))?;
        self.open.replace(Some(Open { file, name: name.to_owned() }));
        Ok(())
    }

    fn write(&self, from: &[u8]) -> Result<(), SqliteError> {
        let mut from = from;
        while !from.is_empty() {
            let written = self.with("write", |file| match rustix::io::write(file, from) {
                Err(Errno::INTR) => Ok(0),
                other => other,
            })?;
            from = from.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    fn sync(&self, data_only: bool) -> Result<(), SqliteError> {
        if data_only {
            self.with("fdatasync", |file| fdatasync(file))
        } else {
            self.with("fsync", |file| fsync(file))
        }
    }

    fn close(&self) -> Result<(), SqliteError> {
        // The sync has already reported any error that close could report.
        self.open.replace(None);
        Ok(())
    }

    fn chmod(&self, name: &str) -> Result<(), SqliteError> {
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP;
        let changed = chmodat(&*self.directory, name, mode, AtFlags::empty());
        changed.map_err(self.failed("chmod", name))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), SqliteError> {
        renameat(&*self.directory, from, &*self.directory, to).map_err(self.failed("rename", from))
    }

    fn unlink(&self, name: &str) -> Result<(), SqliteError> {
        match unlinkat(&*self.directory, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.failed("remove", name)(errno)),
        }
    }

    fn sync_directory(&self) -> Result<(), SqliteError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = openat(&*self.directory, ".", flags, Mode::empty());
        let synced = opened.and_then(fsync);
        synced.map_err(self.failed("fsync", ""))
    }
}
