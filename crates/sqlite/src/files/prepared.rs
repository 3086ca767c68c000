use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;

use flashlag_device::WaitMeter;
use flashlag_spec::Reading;
use flashlag_spec::scenario::FileSave;
use flashlag_units::Bytes;

use super::place::FilePlace;
use super::real::RealFiles;
use super::saver::FileSaver;
use super::simulated::SimulatedFiles;
use crate::error::SqliteError;
use crate::job::{SaveJob, SaveWatch, SavesOutcome};
use crate::phase::{self, Terms};
use crate::storage::{Place, written_since};
use crate::vfs::Files;
use crate::writes::bytes_of;

/// A file as it is before the first save.
#[derive(Debug)]
pub struct PreparedFile<'a> {
    job: SaveJob<'a, FileSave>,
    place: Rc<dyn FilePlace>,
    saver: FileSaver<'a>,
    written: Reading<Bytes>,
}

impl<'a> PreparedFile<'a> {
    /// Makes the file of `job` in its directory, durable.
    ///
    /// # Errors
    /// If the directory can't be used.
    pub fn prepare(job: &SaveJob<'a, FileSave>) -> Result<Self, SqliteError> {
        PreparedFile::prepare_in(Rc::new(RealFiles::open_directory(job.directory)?), job)
    }

    /// As [`PreparedFile::prepare`], in a directory that is open, wherever its path leads meanwhile.
    ///
    /// # Errors
    /// Fails as [`PreparedFile::prepare`] does.
    pub fn prepare_opened(
        job: &SaveJob<'a, FileSave>,
        opened: &Arc<OwnedFd>,
    ) -> Result<Self, SqliteError> {
        PreparedFile::prepare_in(Rc::new(RealFiles::opened(job.directory, opened)), job)
    }

    /// As [`PreparedFile::prepare`], with files of a simulated phone, in virtual time. The job's directory is
    /// ignored.
    ///
    /// # Errors
    /// As the simulated filesystem says.
    pub fn prepare_on(
        files: Box<dyn Files>,
        job: &SaveJob<'a, FileSave>,
    ) -> Result<Self, SqliteError> {
        PreparedFile::prepare_in(Rc::new(SimulatedFiles::new(files)), job)
    }

    fn prepare_in(
        place: Rc<dyn FilePlace>,
        job: &SaveJob<'a, FileSave>,
    ) -> Result<Self, SqliteError> {
        let before = place.written();
        let mut saver = FileSaver::new(job.save, Rc::clone(&place), job.seed);
        saver.make_file()?;
        let written = bytes_of(&written_since(place.as_ref(), &before));
        Ok(PreparedFile { job: *job, place, saver, written })
    }

    /// Most bytes that [`PreparedFile::prepare`] writes.
    pub fn most_to_prepare(save: &FileSave) -> Bytes {
        save.written_at_once()
    }

    /// Bytes that preparing the file wrote.
    pub fn written(&self) -> &Reading<Bytes> {
        &self.written
    }

    /// Saves until a limit, an error or the stop flag of `watch`.
    ///
    /// # Errors
    /// No save could begin. A save that fails is in [`SavesOutcome::error`], with everything that was recorded
    /// before.
    pub fn run<M: WaitMeter>(self, watch: SaveWatch<'_, M>) -> Result<SavesOutcome, SqliteError> {
        let PreparedFile { job, place, saver, written } = self;
        let terms = Terms::of(&job, job.save.pace());
        let mut saved = phase::run(saver, place as Rc<dyn Place>, terms, watch)?;
        (saved.prepared_bytes, saved.closed_bytes) = (written, Reading::Value(Bytes::ZERO));
        Ok(saved)
    }
}

/// Removes the file of a job that is not running from the files of a simulated phone.
///
/// # Errors
/// If it can't be removed.
pub fn remove_file_on(files: Box<dyn Files>, save: &FileSave) -> Result<(), SqliteError> {
    FileSaver::remove(save, &SimulatedFiles::new(files))
}
