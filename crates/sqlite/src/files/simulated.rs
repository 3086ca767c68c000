use std::cell::{Cell, RefCell};
use std::path::Path;

use flashlag_device::{Clock, DeviceError};
use flashlag_spec::Reading;
use flashlag_spec::scenario::SyncCall;
use flashlag_stats::Waited;
use rustix::io::Errno;

use super::place::FilePlace;
use crate::error::SqliteError;
use crate::storage::Place;
use crate::vfs::Files;
use crate::writes::Writes;

/// Files of a simulated phone, in virtual time. A `stat` takes none: it finds what is in memory.
#[derive(Debug)]
pub(crate) struct SimulatedFiles {
    files: Box<dyn Files>,
    open: RefCell<Option<Open>>,
    writes: Cell<Writes>,
}

#[derive(Clone, Debug)]
struct Open {
    file: u64,
    name: String,
    at: u64,
}

impl SimulatedFiles {
    pub(crate) fn new(files: Box<dyn Files>) -> SimulatedFiles {
        SimulatedFiles { files, open: RefCell::default(), writes: Cell::default() }
    }

    /// The open file.
    fn of_open(&self, operation: &'static str) -> Result<Open, SqliteError> {
        let open = self.open.borrow().clone();
        open.ok_or_else(|| SqliteError::os(operation, Path::new(""), Errno::BADF))
    }
}

fn failed(operation: &'static str, name: &str) -> impl FnOnce(DeviceError) -> SqliteError {
    move |error| SqliteError::simulated(operation, Path::new(name), 0, &error)
}

impl Place for SimulatedFiles {
    fn clock(&self) -> &dyn Clock {
        self.files.clock()
    }

    fn written(&self) -> Reading<Writes> {
        Reading::Value(self.writes.get())
    }

    fn waited(&self) -> Option<Waited> {
        self.files.waited()
    }
}

impl FilePlace for SimulatedFiles {
    fn stat(&self, name: &str) -> Result<Option<u64>, SqliteError> {
        let size = self.files.find(name).map(|file| self.files.size(file));
        size.transpose().map_err(failed("find", name))
    }

    fn open(&self, name: &str) -> Result<(), SqliteError> {
        let file = match self.files.find(name) {
            Some(file) => self.files.truncate(file, 0).map(|()| file),
            None => self.files.create(name),
        };
        let file = file.map_err(failed("open", name))?;
        self.open.replace(Some(Open { file, name: name.to_owned(), at: 0 }));
        Ok(())
    }

    fn write(&self, from: &[u8]) -> Result<(), SqliteError> {
        let Open { file, name, at } = self.of_open("write")?;
        self.files.write(file, at, from).map_err(failed("write", &name))?;
        let length = from.len() as u64;
        self.open.replace(Some(Open { file, name, at: at + length }));
        let Writes { bytes, calls } = self.writes.get();
        self.writes.set(Writes { bytes: bytes + length, calls: calls + 1 });
        Ok(())
    }

    fn sync(&self, data_only: bool) -> Result<(), SqliteError> {
        let Open { file, name, .. } = self.of_open("fsync")?;
        let call = if data_only { SyncCall::Fdatasync } else { SyncCall::Fsync };
        self.files.sync(file, call).map_err(failed("fsync", &name))
    }

    fn close(&self) -> Result<(), SqliteError> {
        if let Some(open) = self.open.replace(None) {
            self.files.close(open.file);
        }
        Ok(())
    }

    fn chmod(&self, name: &str) -> Result<(), SqliteError> {
        match self.files.find(name) {
            Some(file) => self.files.change_mode(file).map_err(failed("chmod", name)),
            None => Err(SqliteError::os("chmod", Path::new(name), Errno::NOENT)),
        }
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), SqliteError> {
        self.files.rename(from, to).map_err(failed("rename", from))
    }

    fn unlink(&self, name: &str) -> Result<(), SqliteError> {
        match self.files.find(name) {
            Some(_) => self.files.delete(name).map_err(failed("remove", name)),
            None => Ok(()),
        }
    }

    fn sync_directory(&self) -> Result<(), SqliteError> {
        self.files.sync_directory().map_err(failed("fsync", "the directory"))
    }
}
