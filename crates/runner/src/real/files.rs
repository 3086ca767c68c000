//! The files of a run: one span for the tests, one for backgrounds, one that grew, and the fills,
//! in directories of flashlag's own.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashlag_device::DeviceError;
use flashlag_engine::{FileSet, GuardError, Presence, Workspace};
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

impl Files {
    /// Makes the run's directory in `parent` and writes nothing else. `run_temporary` is the run file's
    /// temporary name.
    pub fn create(parent: &Path, run_temporary: Option<&Path>) -> Result<Files, GuardError> {
        let mut workspace = Workspace::create(parent)?;
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
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    const MIB: Bytes = Bytes::from_mib(1);

    fn controls() -> Controls {
        let stop = Arc::new(AtomicBool::new(false));
        Controls { seed: 1, stop, budget: None, verify: false }
    }

    fn files_in(home: &tempfile::TempDir) -> Files {
        Files::create(home.path(), None).unwrap()
    }

    /// Makes a file as large as that of a fill, and keeps it as one.
    fn fill(files: &mut Files, elsewhere: Option<&Path>, span: Bytes) -> PathBuf {
        let (place, stem) = files.next_fill(elsewhere).unwrap();
        let set = FileSet::new(&place.path, &stem, span).opened(place.directory);
        set.lay_out(&Payload::new(1), &controls().stop, &mut |_| ()).unwrap();
        files.keep_filled(set);
        place.path
    }

    #[test]
    fn a_file_that_grew_in_the_root_is_removed_with_what_grew_by_turns_with_it() {
        let home = tempfile::tempdir().unwrap();
        let parent = home.path();
        let mut files = files_in(&home).in_root(parent).unwrap();
        let sizes = || -> Vec<u64> {
            let entries = std::fs::read_dir(parent).unwrap().map(Result::unwrap);
            let data =
                entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("grown"));
            data.map(|entry| entry.metadata().unwrap().len()).collect()
        };
        for pages in [8, 4] {
            let span = Bytes(pages * FileSet::GRAIN.0);
            let (_, written) = files.lay_out(Role::Grown, span, &controls()).unwrap();
            assert_eq!(written, span.plus(span));
            assert_eq!(sizes(), [span.0; 2], "{pages} pages");
        }
    }

    #[test]
    fn a_file_set_is_used_again_for_a_span_that_it_holds_and_for_its_own_role() {
        let home = tempfile::tempdir().unwrap();
        let mut files = files_in(&home);
        assert!(files.laid_out(Role::Test, Bytes(1)).is_none());
        let (set, written) = files.lay_out(Role::Test, MIB, &controls()).unwrap();
        assert_eq!((set.span(), written), (MIB, MIB));
        assert!(files.laid_out(Role::Test, MIB).is_some());
        // A span is rounded down to whole grains.
        assert!(files.laid_out(Role::Test, MIB.plus(Bytes(1))).is_some());
        assert!(files.laid_out(Role::Test, MIB.plus(FileSet::GRAIN)).is_none());
        assert!(files.laid_out(Role::Background, MIB).is_none());
        let size = *files.size().value().unwrap();
        assert!(size >= MIB && size < MIB.plus(MIB), "{size}, with its directories");
        assert_eq!(files.remove(), Vec::<String>::new());
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
    }

    #[test]
    fn each_fill_has_a_name_of_its_own_and_each_directory_elsewhere_is_taken_once() {
        let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let third = tempfile::tempdir().unwrap();
        let mut files = files_in(&home);
        let mut next = |elsewhere| {
            let (place, stem) = files.next_fill(elsewhere).unwrap();
            (place.path, stem)
        };
        let places = [
            next(None),
            next(Some(other.path())),
            next(Some(other.path())),
            next(Some(third.path())),
        ];
        let stems: Vec<&str> = places.iter().map(|(_, stem)| stem.as_str()).collect();
        assert_eq!(stems, ["fill0", "fill1", "fill2", "fill3"]);
        assert!(places[0].0.starts_with(home.path()) && places[1].0.starts_with(other.path()));
        assert_eq!(places[1].0, places[2].0);
        assert!(places[3].0.starts_with(third.path()));
        assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 1);
        assert_eq!(files.remove(), Vec::<String>::new());
        for home in [&home, &other, &third] {
            assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn deleted_fills_are_gone_from_every_directory_and_counted() {
        let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut files = files_in(&home);
        let here = fill(&mut files, None, MIB);
        let there = fill(&mut files, Some(other.path()), Bytes::from_mib(2));
        assert!(files.check_present().is_ok());
        assert_eq!(files.delete_fills().unwrap(), Bytes::from_mib(3));
        for place in [here, there] {
            assert_eq!(std::fs::read_dir(place).unwrap().count(), 0);
        }
        assert!(files.check_present().is_ok(), "what was deleted is not missed");
    }

    #[test]
    fn a_file_of_a_test_or_of_a_fill_that_is_gone_is_missed() {
        let home = tempfile::tempdir().unwrap();
        let mut files = files_in(&home);
        let place = fill(&mut files, None, MIB);
        let filled = std::fs::read_dir(&place).unwrap().next().unwrap().unwrap().path();
        std::fs::remove_file(&filled).unwrap();
        assert!(files.check_present().is_err());
        files.delete_fills().unwrap();
        let (set, _) = files.lay_out(Role::Background, MIB, &controls()).unwrap();
        assert!(files.check_present().is_ok());
        std::fs::remove_file(set.path(0)).unwrap();
        assert!(files.check_present().is_err());
    }

    #[test]
    fn a_cleared_run_keeps_its_directories_and_no_data() {
        let home = tempfile::tempdir().unwrap();
        let mut files = files_in(&home);
        files.lay_out(Role::Test, MIB, &controls()).unwrap();
        let place = fill(&mut files, None, MIB);
        files.clear();
        assert!(!place.exists() || std::fs::read_dir(&place).unwrap().count() == 0);
        let left = size_below(home.path()).unwrap();
        assert!(left < MIB, "{left}");
        assert!(files.laid_out(Role::Test, Bytes(1)).is_none());
        files.remove();
    }

    #[test]
    fn databases_are_emptied_for_each_test() {
        let home = tempfile::tempdir().unwrap();
        let mut files = files_in(&home);
        let path = files.saves().unwrap();
        assert_eq!(files.opened_saves().unwrap().path, path);
        std::fs::write(path.join("0.db"), "rows").unwrap();
        files.clear_saves().unwrap();
        assert!(!path.join("0.db").exists());
        std::fs::write(files.saves().unwrap().join("1.db"), "rows").unwrap();
        assert!(std::fs::read_dir(files.saves().unwrap()).unwrap().next().is_none());
    }

    #[test]
    fn with_rootdir_tests_and_databases_lie_in_the_directory_itself_and_the_next_replace_them() {
        let home = tempfile::tempdir().unwrap();
        let mut files = files_in(&home).in_root(home.path()).unwrap();
        let (small, _) = files.lay_out(Role::Test, MIB, &controls()).unwrap();
        assert_eq!(small.path(0).parent(), Some(home.path()));
        let (large, _) = files.lay_out(Role::Test, Bytes::from_mib(2), &controls()).unwrap();
        assert_eq!(std::fs::metadata(large.path(0)).unwrap().len(), 2 << 20);
        files.lay_out(Role::Background, MIB, &controls()).unwrap();
        assert!(files.check_present().is_ok());
        assert_eq!(files.saves().unwrap(), home.path());
        assert_eq!(files.opened_saves().unwrap().path, home.path());
        for name in ["save-0.db", "save-0.db-wal"] {
            std::fs::write(home.path().join(name), "rows").unwrap();
        }
        files.clear_saves().unwrap();
        let left = std::fs::read_dir(home.path()).unwrap().flatten();
        let mut left: Vec<String> =
            left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        left.sort();
        assert_eq!(
            left.len(),
            3,
            "{left:?}: the run's own, and a file each for test and background"
        );
    }

    #[test]
    fn a_database_that_is_gone_is_missed_and_a_journal_is_not() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        for name in ["0.db", "0.db-wal", "1.db"] {
            std::fs::write(path(name), "rows").unwrap();
        }
        let present = databases(home.path()).unwrap();
        std::fs::remove_file(path("0.db-wal")).unwrap();
        assert!(present.check().is_ok());
        std::fs::remove_file(path("1.db")).unwrap();
        assert!(present.check().is_err());
        assert!(databases(&path("none")).is_err());
    }
}
