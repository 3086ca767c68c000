//! The files of a run: one span for the tests, one for what runs beside them, and the fills. All of
//! them in directories of ours.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use flashlag_device::DeviceError;
use flashlag_engine::{FileSet, GuardError, Workspace};
use flashlag_units::Bytes;
use flashlag_workload::Payload;

/// Where a run keeps its files.
#[derive(Debug)]
pub(crate) struct Files {
    workspace: Workspace,
    /// Fills of other directories, each in a directory of ours there.
    elsewhere: Vec<(PathBuf, Workspace)>,
    test: Option<FileSet>,
    background: Option<FileSet>,
    fills: u32,
}

/// The name of the subdirectory with the fills.
const FILL: &str = "fill";

impl Files {
    /// Makes our directory in `parent`. Nothing else is written yet; `run_temporary` is where the
    /// run file will be written before it is renamed.
    pub fn create(parent: &Path, run_temporary: &Path) -> Result<Files, GuardError> {
        let mut workspace = Workspace::create(parent)?;
        workspace.also_temporary(run_temporary)?;
        // All of them now: on full storage there may be no room for a directory.
        for name in ["test", "background", "saves", FILL] {
            workspace.subdirectory(name)?;
        }
        Ok(Files { workspace, elsewhere: Vec::new(), test: None, background: None, fills: 0 })
    }

    /// Whether [`Files::test`] would write it.
    pub fn needs_test(&self, span: Bytes, fresh: bool) -> bool {
        fresh || self.test.as_ref().is_none_or(|kept| kept.span() < whole(span))
    }

    /// The file set under test, of at least `span` bytes, written whole where it is not there yet
    /// or where `fresh` asks for it. Returns it and how much was written.
    pub fn test(
        &mut self,
        span: Bytes,
        fresh: bool,
        payload: &Payload,
        stop: &AtomicBool,
    ) -> Result<(FileSet, Bytes), FilesError> {
        let directory = self.workspace.subdirectory("test")?;
        if let Some(kept) = self.test.clone()
            && !self.needs_test(span, fresh)
        {
            return Ok((kept, Bytes::ZERO));
        }
        self.test = None;
        self.workspace.clear("test")?;
        let files = FileSet::new(&directory, "test", span);
        let written = files.lay_out(payload, stop, &mut |_| ())?;
        self.test = Some(files.clone());
        Ok((files, written))
    }

    /// The same for what runs beside a test.
    pub fn background(
        &mut self,
        span: Bytes,
        payload: &Payload,
        stop: &AtomicBool,
    ) -> Result<(FileSet, Bytes), FilesError> {
        let directory = self.workspace.subdirectory("background")?;
        if let Some(kept) = self.background.take().filter(|kept| kept.span() >= whole(span)) {
            self.background = Some(kept.clone());
            return Ok((kept, Bytes::ZERO));
        }
        self.workspace.clear("background")?;
        let files = FileSet::new(&directory, "background", span);
        let written = files.lay_out(payload, stop, &mut |_| ())?;
        self.background = Some(files.clone());
        Ok((files, written))
    }

    /// An empty directory for databases.
    pub fn saves(&mut self) -> Result<PathBuf, GuardError> {
        self.workspace.clear("saves")?;
        self.workspace.subdirectory("saves")
    }

    /// Removes the databases.
    pub fn clear_saves(&mut self) -> Result<(), GuardError> {
        self.workspace.clear("saves").map(|_| ())
    }

    /// A directory and a file name for the next fill, in the directory under test or in another.
    pub fn next_fill(&mut self, other: Option<&Path>) -> Result<(PathBuf, String), GuardError> {
        let stem = format!("fill{}", self.fills);
        self.fills += 1;
        let Some(other) = other else {
            return Ok((self.workspace.subdirectory(FILL)?, stem));
        };
        if !self.elsewhere.iter().any(|(path, _)| path == other) {
            self.workspace.also_in(other)?;
            self.elsewhere.push((other.to_owned(), Workspace::create(other)?));
        }
        let found = self.elsewhere.iter_mut().find(|(path, _)| path == other);
        let (_, workspace) = found.expect("it was pushed above where it was not there");
        Ok((workspace.subdirectory(FILL)?, stem))
    }

    /// Deletes what all fills wrote. Returns how much that was.
    pub fn delete_fills(&mut self) -> Result<Bytes, GuardError> {
        let mut bytes = Bytes::ZERO;
        let elsewhere = self.elsewhere.iter_mut().map(|(_, workspace)| workspace);
        for workspace in std::iter::once(&mut self.workspace).chain(elsewhere) {
            bytes = bytes.plus(workspace.clear(FILL)?.removed.bytes);
        }
        Ok(bytes)
    }

    /// Removes everything. Returns what could not be removed, in words.
    pub fn remove(self) -> Vec<String> {
        let workspaces = self.elsewhere.into_iter().map(|(_, workspace)| workspace);
        let mut left = Vec::new();
        for workspace in workspaces.chain([self.workspace]) {
            let cleaned = workspace.remove();
            let kept = cleaned.kept.iter();
            left.extend(kept.map(|kept| format!("{}: {}", kept.path.display(), kept.reason)));
        }
        left
    }
}

/// What a file set of `span` really holds: whole grains.
fn whole(span: Bytes) -> Bytes {
    span.round_down(FileSet::GRAIN)
}

/// Our own files could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilesError {
    /// Our directory.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// Our data.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
