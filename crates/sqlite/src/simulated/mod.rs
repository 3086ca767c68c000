#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use flashlag_device::{Clock, DeviceError};
use flashlag_spec::Reading;
use flashlag_stats::Waited;
use flashlag_units::Nanos;
use rusqlite::OpenFlags;
use rustix::io::Errno;

use crate::error::SqliteError;
use crate::job::SaveJob;
use crate::storage::{Place, Storage};
use crate::vfs::{Files, MountGuard, NAME, register};
use crate::writes::Writes;

/// Files of a simulated phone, in virtual time: the [`Storage`] of simulated saves.
#[derive(Debug)]
pub(crate) struct Simulated {
    mounted: MountGuard,
    /// Time that SQLite computes for a statement.
    cpu: Nanos,
}

impl Simulated {
    pub(crate) fn mount(
        files: Box<dyn Files>,
        cpu: Nanos,
        job: &SaveJob<'_>,
    ) -> Result<Simulated, SqliteError> {
        register().map_err(|reason| SqliteError::wrong("open", Path::new(NAME), reason))?;
        let mounted = MountGuard::new(files, job.seed).syncing(job.save.sync_call);
        let mounted = mounted.committing(job.save.atomic);
        Ok(Simulated { mounted, cpu })
    }

    fn os(&self, operation: &'static str, name: &str, error: &DeviceError) -> SqliteError {
        SqliteError::simulated(operation, Path::new(name), 0, error)
    }
}

impl Place for Simulated {
    fn clock(&self) -> &dyn Clock {
        self.mounted.files().clock()
    }

    fn written(&self) -> Reading<Writes> {
        Reading::Value(self.mounted.writes())
    }

    fn waited(&self) -> Option<Waited> {
        self.mounted.files().waited()
    }
}

impl Storage for Simulated {
    fn path(&self, name: &str) -> PathBuf {
        self.mounted.path(name).into()
    }

    fn vfs(&self) -> Option<&'static str> {
        Some(NAME)
    }

    fn open_flags(&self) -> OpenFlags {
        OpenFlags::empty()
    }

    fn remove(&self, name: &str) -> Result<(), SqliteError> {
        match self.mounted.files().find(name) {
            None => Ok(()),
            Some(_) => {
                let deleted = self.mounted.files().delete(name);
                deleted.map_err(|error| self.os("remove", name, &error))
            }
        }
    }

    fn size(&self, name: &str) -> Result<u64, Errno> {
        let file = self.mounted.files().find(name).ok_or(Errno::NOENT)?;
        let errno = |error: DeviceError| error.errno.map_or(Errno::IO, Errno::from_raw_os_error);
        self.mounted.files().size(file).map_err(errno)
    }

    fn compute(&self) {
        self.mounted.files().compute(self.cpu);
    }

    fn failure(
        &self,
        operation: &'static str,
        path: &Path,
        error: &rusqlite::Error,
    ) -> SqliteError {
        let code = error.sqlite_extended_error_code().unwrap_or_default();
        // The path without the number of the mount, which is internal.
        let name = path.file_name().map_or(path, Path::new);
        match self.mounted.take_failure() {
            Some(failure) if SqliteError::is_storage(code) => {
                SqliteError::simulated(operation, name, code, &failure)
            }
            _ => SqliteError::own(operation, name, code, error),
        }
    }
}
