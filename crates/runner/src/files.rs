//! The files of a run: one span for the tests, one for what runs beside them, and the fills. All of
//! them in directories of ours.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_device::DeviceError;
use flashlag_engine::{FileSet, GuardError, Presence, Workspace};
use flashlag_units::Bytes;
use flashlag_workload::Payload;

use crate::execute::Outcome;
use crate::prepare::Prepared;

/// Where a run keeps its files.
#[derive(Debug)]
pub(crate) struct Files {
    workspace: Workspace,
    /// Fills of other directories, each in a directory of ours there.
    elsewhere: Vec<(PathBuf, Workspace)>,
    test: Option<Laid>,
    background: Option<Laid>,
    fills: u32,
    /// What fills wrote and nobody deleted yet.
    filled: Vec<FileSet>,
}

/// A directory of the run: where it is, and itself. Whoever may rename it can put another at its
/// path; what is made and removed through the descriptor stays in it.
#[derive(Debug)]
pub(crate) struct Opened {
    pub path: PathBuf,
    pub directory: Arc<OwnedFd>,
}

impl Opened {
    fn of(workspace: &mut Workspace, name: &str) -> Result<Opened, GuardError> {
        let path = workspace.subdirectory(name)?;
        Ok(Opened { path, directory: workspace.open(name)? })
    }
}

/// Files that were laid out, and which files these are.
#[derive(Debug)]
struct Laid {
    files: FileSet,
    presence: Presence,
}

impl Laid {
    fn of(files: FileSet) -> Result<Laid, DeviceError> {
        let presence = files.presence()?;
        Ok(Laid { files, presence })
    }

    fn holds(&self, span: Bytes) -> bool {
        self.files.span() >= whole(span)
    }
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
        Ok(Files {
            workspace,
            elsewhere: Vec::new(),
            test: None,
            background: None,
            fills: 0,
            filled: Vec::new(),
        })
    }

    /// Whether [`Files::test`] would write it.
    pub fn needs_test(&self, span: Bytes, fresh: bool) -> bool {
        fresh || !self.test.as_ref().is_some_and(|kept| kept.holds(span))
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
        if let Some(kept) = self.test.as_ref().filter(|_| !self.needs_test(span, fresh)) {
            return Ok((kept.files.clone(), Bytes::ZERO));
        }
        self.test = None;
        self.workspace.clear("test")?;
        let files = FileSet::new(&directory, "test", span).opened(self.workspace.open("test")?);
        let written = files.lay_out(payload, stop, &mut |_| ())?;
        self.test = Some(Laid::of(files.clone())?);
        Ok((files, written))
    }

    /// Whether [`Files::background`] would write it.
    pub fn needs_background(&self, span: Bytes) -> bool {
        !self.background.as_ref().is_some_and(|kept| kept.holds(span))
    }

    /// The same for what runs beside a test.
    pub fn background(
        &mut self,
        span: Bytes,
        payload: &Payload,
        stop: &AtomicBool,
    ) -> Result<(FileSet, Bytes), FilesError> {
        let directory = self.workspace.subdirectory("background")?;
        if let Some(kept) = self.background.as_ref().filter(|kept| kept.holds(span)) {
            return Ok((kept.files.clone(), Bytes::ZERO));
        }
        self.background = None;
        self.workspace.clear("background")?;
        let files = FileSet::new(&directory, "background", span);
        let files = files.opened(self.workspace.open("background")?);
        let written = files.lay_out(payload, stop, &mut |_| ())?;
        self.background = Some(Laid::of(files.clone())?);
        Ok((files, written))
    }

    /// An empty directory for databases.
    pub fn saves(&mut self) -> Result<Opened, GuardError> {
        self.workspace.clear("saves")?;
        Opened::of(&mut self.workspace, "saves")
    }

    /// Removes the databases.
    pub fn clear_saves(&mut self) -> Result<(), GuardError> {
        self.workspace.clear("saves").map(|_| ())
    }

    /// A directory and a file name for the next fill, in the directory under test or in another.
    pub fn next_fill(&mut self, other: Option<&Path>) -> Result<(Opened, String), GuardError> {
        let stem = format!("fill{}", self.fills);
        self.fills += 1;
        let Some(other) = other else {
            return Ok((Opened::of(&mut self.workspace, FILL)?, stem));
        };
        if !self.elsewhere.iter().any(|(path, _)| path == other) {
            self.workspace.also_in(other)?;
            self.elsewhere.push((other.to_owned(), Workspace::create(other)?));
        }
        let found = self.elsewhere.iter_mut().find(|(path, _)| path == other);
        let (_, workspace) = found.expect("it was pushed above where it was not there");
        Ok((Opened::of(workspace, FILL)?, stem))
    }

    /// What all files of this run take in the directory under test, in blocks of the filesystem.
    ///
    /// # Errors
    /// Where they can't be listed: the reason.
    pub fn size(&self) -> Result<Bytes, String> {
        size_below(self.workspace.path())
            .map_err(|error| format!("{}: {error}", self.workspace.path().display()))
    }

    /// Keeps in mind what a fill wrote: from now on the storage is as full as that.
    pub fn keep_filled(&mut self, files: FileSet) {
        self.filled.push(files);
    }

    /// Whether every directory and file of the run is still where it was made: what is deleted
    /// while it is open can be measured on, and the figures would be of nothing.
    pub fn check_present(&self) -> Result<(), DeviceError> {
        self.workspace.check_present()?;
        for (_, workspace) in &self.elsewhere {
            workspace.check_present()?;
        }
        for laid in self.test.iter().chain(&self.background) {
            laid.presence.check()?;
        }
        self.filled.iter().try_for_each(FileSet::check_present)
    }

    /// Deletes what all fills wrote. Returns how much that was.
    pub fn delete_fills(&mut self) -> Result<Bytes, GuardError> {
        self.filled.clear();
        let mut bytes = Bytes::ZERO;
        let elsewhere = self.elsewhere.iter_mut().map(|(_, workspace)| workspace);
        for workspace in std::iter::once(&mut self.workspace).chain(elsewhere) {
            bytes = bytes.plus(workspace.clear(FILL)?.removed.bytes);
        }
        Ok(bytes)
    }

    /// Removes all data, but not what says whose it was. What is left, [`Files::remove`] finds.
    pub fn clear(&mut self) {
        (self.test, self.background) = (None, None);
        self.filled.clear();
        let elsewhere = self.elsewhere.iter_mut().map(|(_, workspace)| workspace);
        for workspace in std::iter::once(&mut self.workspace).chain(elsewhere) {
            workspace.clear_all();
        }
    }

    /// Removes everything. Returns what could not be removed, in words.
    pub fn remove(mut self) -> Vec<String> {
        // A file that is held gives no space back.
        (self.test, self.background) = (None, None);
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

/// Symbolic links are not followed; what vanishes meanwhile takes nothing.
fn size_below(directory: &Path) -> std::io::Result<Bytes> {
    use std::os::unix::fs::MetadataExt;
    let mut size = Bytes::ZERO;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let Ok(metadata) = entry.metadata() else { continue };
        let below = if metadata.is_dir() { size_below(&entry.path())? } else { Bytes::ZERO };
        size = size.plus(Bytes(metadata.blocks().saturating_mul(512))).plus(below);
    }
    Ok(size)
}

/// What a file set of `span` really holds: whole grains.
fn whole(span: Bytes) -> Bytes {
    span.round_down(FileSet::GRAIN)
}

/// Which files the databases in that directory are.
///
/// # Errors
/// Where it can't be listed, or one is gone already.
pub(crate) fn databases(directory: &Path) -> Result<Presence, DeviceError> {
    let unreadable = |error: std::io::Error| {
        let errno = rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO);
        DeviceError::os("list", directory.display().to_string(), None, errno)
    };
    let entries = std::fs::read_dir(directory).map_err(unreadable)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let paths = paths.collect::<Result<Vec<PathBuf>, _>>().map_err(unreadable)?;
    // Journals come and go.
    Presence::of(paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "db")))
}

impl Prepared {
    /// The same outcome where everything of the run is still in its place; else a failure: a phase
    /// on files that are gone was on no storage that anybody asked about.
    pub(crate) fn if_present(&self, outcome: Outcome) -> Outcome {
        outcome.unless_gone(self.files.check_present())
    }
}

impl Outcome {
    /// The same outcome, or the failure of it where files are gone.
    pub(crate) fn unless_gone(self, present: Result<(), DeviceError>) -> Outcome {
        let Err(gone) = present else { return self };
        match self {
            Outcome::Measured(mut phase) => {
                // So that it is done again by a run that goes on.
                phase.cut_short = true;
                Outcome::Failed(Some(phase), gone.to_string())
            }
            Outcome::Both(mut phases, error) => {
                phases.iter_mut().for_each(|phase| phase.cut_short = true);
                let error = error.filter(|error| !error.contains(&gone.reason));
                let then = error.map(|error| format!("; then {error}")).unwrap_or_default();
                Outcome::Both(phases, Some(format!("{gone}{then}")))
            }
            Outcome::Failed(phase, error) if error.contains(&gone.reason) => {
                Outcome::Failed(phase, gone.to_string())
            }
            // What failed, failed of that; both are told, the cause first.
            Outcome::Failed(phase, error) => {
                Outcome::Failed(phase, format!("{gone}; then {error}"))
            }
            Outcome::Done | Outcome::Skipped(_) => Outcome::Failed(None, gone.to_string()),
        }
    }
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
    /// They may not be written: the reason.
    #[error("{0}")]
    Budget(String),
}
