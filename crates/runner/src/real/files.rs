//! The files of a run: one span for the tests, one for backgrounds, one that grew, and the fills,
//! in directories of flashlag's own.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashlag_device::DeviceError;
use flashlag_engine::card::CardFiles;
use flashlag_engine::{FileSet, GuardError, Presence, Workspace};
use flashlag_schema::CardReach;
use flashlag_spec::Reading;
use flashlag_units::Bytes;
use flashlag_workload::Payload;

use crate::work::{Controls, GROWN_BESIDE, Hindrance, Role};

/// The files of a run, in directories of flashlag's own.
#[derive(Debug)]
pub(crate) struct Files {
    workspace: Workspace,
    /// The directory under test itself, which holds the files of tests and the databases with
    /// `rootdir`.
    root: Option<OpenDirectory>,
    /// Directories of fills elsewhere.
    elsewhere: Vec<(PathBuf, Workspace)>,
    /// The files that are laid out, by [`Role`].
    laid_out: [Option<LaidOut>; 3],
    fills: u32,
    /// Files of fills that are not deleted yet.
    filled: Vec<FileSet>,
}

/// A directory of the run: its path and its descriptor. A rename may put another directory at its
/// path; files created and unlinked through the descriptor stay in the directory of the run.
#[derive(Clone, Debug)]
pub(crate) struct OpenDirectory {
    pub path: PathBuf,
    pub directory: Arc<OwnedFd>,
}

impl OpenDirectory {
    fn of(workspace: &mut Workspace, name: &str) -> Result<OpenDirectory, GuardError> {
        let path = workspace.subdirectory(name)?;
        Ok(OpenDirectory { path, directory: workspace.open(name)? })
    }
}

/// Files that were laid out, and their identity.
#[derive(Debug)]
struct LaidOut {
    files: FileSet,
    presence: Presence,
    /// The files that grew alternating with the files under test.
    beside: Option<FileSet>,
}

impl LaidOut {
    fn of(files: FileSet) -> Result<LaidOut, DeviceError> {
        let presence = files.presence()?;
        Ok(LaidOut { files, presence, beside: None })
    }

    fn remove(&self) -> Result<(), DeviceError> {
        self.beside.iter().chain([&self.files]).try_for_each(FileSet::remove)
    }

    fn holds(&self, span: Bytes) -> bool {
        self.files.span() >= whole(span)
    }
}

/// The name of the subdirectory with the fills.
const FILL: &str = "fill";
/// The name of the subdirectory with the files of a replay.
const REPLAY: &str = "replay";
/// The name of the subdirectory with the files of a card's proof.
const CARD: &str = "card";

impl Files {
    /// Makes the run's directory in `parent` and writes nothing else. `run_temporary` is the run file's
    /// temporary name.
    pub fn create(parent: &Path, run_temporary: Option<&Path>) -> Result<Files, GuardError> {
        Files::of(Workspace::create(parent)?, run_temporary)
    }

    /// The same with a name by which [`Files::resume`] finds it, should its process end early.
    pub fn create_for(
        parent: &Path,
        run: &str,
        run_temporary: Option<&Path>,
    ) -> Result<Files, GuardError> {
        Files::of(Workspace::create_for(parent, run)?, run_temporary)
    }

    /// What an earlier process left of the run of that name, if anything is there.
    pub fn resume(
        parent: &Path,
        run: &str,
        run_temporary: Option<&Path>,
    ) -> Result<Option<Files>, GuardError> {
        let found = Workspace::resume(parent, run)?;
        // What an error before the run's begin drops must be there for the next attempt.
        found.map(|workspace| Files::of(workspace.lasting(), run_temporary)).transpose()
    }

    fn of(mut workspace: Workspace, run_temporary: Option<&Path>) -> Result<Files, GuardError> {
        if let Some(temporary) = run_temporary {
            workspace.also_temporary(temporary)?;
        }
        // The directories are made now, since full storage may have no room for them.
        for name in Role::ALL.map(Role::name).into_iter().chain(["saves", FILL]) {
            workspace.subdirectory(name)?;
        }
        Ok(Files {
            workspace,
            root: None,
            elsewhere: Vec::new(),
            laid_out: [None, None, None],
            fills: 0,
            filled: Vec::new(),
        })
    }

    /// The same with the files of tests and the databases in the directory under test itself, as
    /// `rootdir` requests: only for filesystems that are made for the run and discarded afterwards.
    pub fn in_root(mut self, parent: &Path) -> Result<Files, GuardError> {
        let directory = self.workspace.open_parent()?;
        self.root = Some(OpenDirectory { path: parent.to_owned(), directory });
        Ok(self)
    }

    /// The file set of that role, if it holds `span` already.
    pub fn laid_out(&self, role: Role, span: Bytes) -> Option<FileSet> {
        let kept = self.laid_out[role as usize].as_ref();
        kept.filter(|kept| kept.holds(span)).map(|kept| kept.files.clone())
    }

    /// Writes a file set of at least `span` bytes anew. Returns the set and the bytes written.
    pub fn lay_out(
        &mut self,
        role: Role,
        span: Bytes,
        controls: &Controls,
    ) -> Result<(FileSet, Bytes), Hindrance> {
        let (name, kept) = (role.name(), &mut self.laid_out[role as usize]);
        let OpenDirectory { path, directory } = match &self.root {
            Some(root) => {
                kept.take().map_or(Ok(()), |kept| kept.remove())?;
                root.clone()
            }
            None => {
                *kept = None;
                self.workspace.subdirectory(name)?;
                self.workspace.clear(name)?;
                OpenDirectory::of(&mut self.workspace, name)?
            }
        };
        let set = |name: &str| FileSet::new(&path, name, span).opened(Arc::clone(&directory));
        let files = set(name);
        let payload = Payload::new(controls.seed);
        let beside = (role == Role::Grown).then(|| set(GROWN_BESIDE));
        let written = match &beside {
            Some(beside) => files.grow_by_turns(beside, &payload, &controls.stop)?,
            None => files.lay_out(&payload, &controls.stop, &mut |_| ())?,
        };
        *kept = Some(LaidOut { beside, ..LaidOut::of(files.clone())? });
        Ok((files, written))
    }

    /// An empty directory for databases.
    pub fn saves(&mut self) -> Result<PathBuf, GuardError> {
        self.clear_saves()?;
        match &self.root {
            Some(root) => Ok(root.path.clone()),
            None => self.workspace.subdirectory("saves"),
        }
    }

    /// The directory for databases, opened.
    pub fn opened_saves(&mut self) -> Result<OpenDirectory, GuardError> {
        match &self.root {
            Some(root) => Ok(root.clone()),
            None => OpenDirectory::of(&mut self.workspace, "saves"),
        }
    }

    /// Removes the databases.
    pub fn clear_saves(&mut self) -> Result<(), GuardError> {
        match &self.root {
            Some(root) => {
                remove_databases(root);
                Ok(())
            }
            None => self.workspace.clear("saves").map(|_| ()),
        }
    }

    /// An empty directory for the files of a replay, opened.
    pub fn replays(&mut self) -> Result<OpenDirectory, GuardError> {
        self.workspace.subdirectory(REPLAY)?;
        self.clear_replays()?;
        OpenDirectory::of(&mut self.workspace, REPLAY)
    }

    /// The directory for the files of a card's proof, opened, with what an earlier process left in it.
    pub fn card(&mut self) -> Result<OpenDirectory, GuardError> {
        OpenDirectory::of(&mut self.workspace, CARD)
    }

    /// Where the first `files` files of a card's proof lie on the storage.
    pub fn card_reach(&self, files: u32) -> Reading<CardReach> {
        let directory = self.workspace.path().join(CARD);
        let paths = (0..files).map(|file| directory.join(CardFiles::name(file)));
        match flashlag_inspect::reach(paths) {
            Ok((from, to)) => Reading::Value(CardReach { from, to }),
            Err(reason) => Reading::unavailable(reason.to_string()),
        }
    }

    /// Removes the files of a replay.
    pub fn clear_replays(&mut self) -> Result<(), GuardError> {
        self.workspace.clear(REPLAY).map(|_| ())
    }

    /// A directory and a file name for the next fill, in the directory under test or in another.
    pub fn next_fill(
        &mut self,
        other: Option<&Path>,
    ) -> Result<(OpenDirectory, String), GuardError> {
        let stem = format!("fill{}", self.fills);
        self.fills += 1;
        let Some(other) = other else {
            return Ok((OpenDirectory::of(&mut self.workspace, FILL)?, stem));
        };
        if !self.elsewhere.iter().any(|(path, _)| path == other) {
            self.workspace.also_in(other)?;
            self.elsewhere.push((other.to_owned(), Workspace::create(other)?));
        }
        let found = self.elsewhere.iter_mut().find(|(path, _)| path == other);
        let (_, workspace) = found.expect("it was pushed above where it was not there");
        Ok((OpenDirectory::of(workspace, FILL)?, stem))
    }

    /// Space that all files of this run take in the directory under test, in whole blocks.
    pub fn size(&self) -> Reading<Bytes> {
        let path = self.workspace.path();
        size_below(path).map_err(|error| format!("{}: {error}", path.display())).into()
    }

    /// Keeps the files of a fill until they are deleted.
    pub fn keep_filled(&mut self, files: FileSet) {
        self.filled.push(files);
    }

    /// Checks that every directory and file of the run is still in its place: a deleted file that is
    /// open can still be measured, but its figures mean nothing.
    pub fn check_present(&self) -> Result<(), DeviceError> {
        self.workspace.check_present()?;
        for (_, workspace) in &self.elsewhere {
            workspace.check_present()?;
        }
        for laid in self.laid_out.iter().flatten() {
            laid.presence.check()?;
        }
        self.filled.iter().try_for_each(FileSet::check_present)
    }

    /// Deletes the files of all fills. Returns their size.
    pub fn delete_fills(&mut self) -> Result<Bytes, GuardError> {
        self.filled.clear();
        let mut bytes = Bytes::ZERO;
        let elsewhere = self.elsewhere.iter_mut().map(|(_, workspace)| workspace);
        for workspace in std::iter::once(&mut self.workspace).chain(elsewhere) {
            bytes = bytes.plus(workspace.clear(FILL)?.removed.bytes);
        }
        Ok(bytes)
    }

    /// Removes all data, but not the manifest, by which [`Files::remove`] finds the rest.
    pub fn clear(&mut self) {
        self.laid_out = [None, None, None];
        self.filled.clear();
        let elsewhere = self.elsewhere.iter_mut().map(|(_, workspace)| workspace);
        for workspace in std::iter::once(&mut self.workspace).chain(elsewhere) {
            workspace.clear_all();
        }
    }

    /// Leaves everything in its place, for [`Files::resume`].
    pub fn keep(self) {
        self.workspace.keep();
    }

    /// Removes everything. Returns a description of what could not be removed.
    pub fn remove(mut self) -> Vec<String> {
        // An open file keeps its space.
        self.laid_out = [None, None, None];
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

/// Removes databases and their journals by the names that saves give them. A file that can't be
/// removed is discarded with the filesystem.
fn remove_databases(root: &OpenDirectory) {
    for entry in std::fs::read_dir(&root.path).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(b"save-") {
            let _ = rustix::fs::unlinkat(&*root.directory, &name, rustix::fs::AtFlags::empty());
        }
    }
}

/// Symbolic links are not followed; files that vanish meanwhile count as nothing.
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

/// Size of a file set of at least `span`: whole grains.
fn whole(span: Bytes) -> Bytes {
    span.round_down(FileSet::GRAIN)
}

/// The identities of the databases in a directory.
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

#[cfg(test)]
mod tests;
