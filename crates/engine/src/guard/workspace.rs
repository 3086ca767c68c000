use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashlag_device::DeviceError;
use rustix::fs::{AtFlags, Mode, mkdirat, unlinkat};
use rustix::io::Errno;

use super::clean::{Examination, examine};
use super::directory::{for_each_name, open_below, open_parent, sync_directory};
use super::error::GuardError;
use super::hold::Hold;
use super::manifest::Manifest;
use super::name::{
    MANIFEST_TEMPORARY, TEMPORARY_ENDING, WORKSPACE_PREFIX, id_of, is_plain, is_temporary, new_id,
};
use super::sweep::{Cleanup, Removal, empty};
use crate::presence;

/// How often a new name is tried. More than one attempt is needed only if a clean-up runs at the
/// same time.
const ATTEMPTS: u32 = 16;
const DIRECTORY_MODE: Mode = Mode::RWXU;

/// A flashlag directory, in use by this process.
///  Dropping it removes it silently, as far as possible: [`super::clean`] finds the rest.
/// [`Workspace::remove`] does the same and reports what it did; [`Workspace::keep`] leaves
/// everything for [`Workspace::resume`].
#[derive(Debug)]
pub struct Workspace {
    parent: OwnedFd,
    directory: Hold,
    name: String,
    path: PathBuf,
    manifest: Manifest,
    removes_itself: bool,
}

impl Workspace {
    /// Creates a flashlag directory in `parent`. When this returns, its manifest is durable. Fails
    /// if `parent` is no directory or nothing can be created there; then nothing is left behind.
    pub fn create(parent: &Path) -> Result<Workspace, GuardError> {
        Workspace::create_named(parent, None)
    }

    /// As [`Workspace::create`], with a name by which [`Workspace::resume`] can find it again: the
    /// scenario's hash and seed, for example.
    pub fn create_for(parent: &Path, run: &str) -> Result<Workspace, GuardError> {
        Workspace::create_named(parent, Some(run.to_owned()))
    }

    fn create_named(parent: &Path, run: Option<String>) -> Result<Workspace, GuardError> {
        let opened = open_parent(parent).map_err(|errno| GuardError::os("open", parent, errno))?;
        for _ in 0..ATTEMPTS {
            let manifest = Manifest::new(new_id(), run.clone());
            let name = format!("{WORKSPACE_PREFIX}{}", manifest.id);
            match make(&opened, &name, &manifest) {
                Ok(Some(directory)) => {
                    let path = parent.join(&name);
                    return Ok(Workspace {
                        parent: opened,
                        directory,
                        name,
                        path,
                        manifest,
                        removes_itself: true,
                    });
                }
                Ok(None) => {}
                Err(errno) => {
                    return Err(GuardError::os("create a work directory in", parent, errno));
                }
            }
        }
        Err(GuardError::other(
            "create a work directory in",
            parent,
            "something removes it as soon as it is made",
            "is another `flashlag clean` running there, again and again?",
        ))
    }

    /// Takes over the directory that a dead run of that name left in `parent`; the latest, if there
    /// are several; `None` if there is none. Fails if `parent` can't be listed, or the directory
    /// can't be taken over.
    pub fn resume(parent: &Path, run: &str) -> Result<Option<Workspace>, GuardError> {
        let opened = open_parent(parent).map_err(|errno| GuardError::os("open", parent, errno))?;
        let mut names = Vec::new();
        for_each_name(&opened, |name, valid| {
            if valid && id_of(name).is_some() {
                names.push(name.to_owned());
            }
        })
        .map_err(|errno| GuardError::os("list", parent, errno))?;
        let mut best: Option<(String, Hold, Manifest)> = None;
        for name in names {
            let examined = examine(&opened, &name);
            let Ok(Examination::Abandoned { directory, manifest: Some(manifest) }) = examined
            else {
                continue;
            };
            let later = best.as_ref().is_none_or(|(_, _, best)| {
                manifest.created_unix_seconds > best.created_unix_seconds
            });
            if manifest.run.as_deref() == Some(run) && later {
                best = Some((name, directory, *manifest));
            }
        }
        let Some((name, directory, mut manifest)) = best else { return Ok(None) };
        let path = parent.join(&name);
        manifest.owner = super::Owner::this_process();
        match manifest.write(&directory) {
            // Full storage may have no room for the new manifest. The lock proves the owner as
            // well.
            Err(Errno::NOSPC | Errno::DQUOT) if directory.is_locked() => {
                let _ = unlinkat(&directory, MANIFEST_TEMPORARY, AtFlags::empty());
            }
            Err(errno) => return Err(GuardError::os("take over", &path, errno)),
            Ok(()) => {}
        }
        let parent = opened;
        Ok(Some(Workspace { parent, directory, name, path, manifest, removes_itself: true }))
    }

    /// Where it is: the parent as it was given, and its name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// A directory below it, for files whose names [`super::is_ours`] knows; made where it is not
    /// there yet. Make it before a fill: on full storage there is no room for it.
    ///
    /// # Errors
    /// The name is not 1 to 64 of `a-z 0-9 _ -`, or the filesystem reports an error.
    pub fn subdirectory(&mut self, name: &str) -> Result<PathBuf, GuardError> {
        let path = self.path.join(name);
        if !is_plain(name) {
            let reason = "not a name for a subdirectory";
            let advice = "use lower-case letters, digits, `_` and `-`";
            return Err(GuardError::other("create directory", &path, reason, advice));
        }
        self.change(|manifest| manifest.subdirectories.insert(name.to_owned()))?;
        let made = match mkdirat(&self.directory, name, DIRECTORY_MODE) {
            Ok(()) => sync_directory(&self.directory),
            Err(Errno::EXIST) => open_below(&self.directory, name).map(drop),
            Err(errno) => Err(errno),
        };
        made.map_err(|errno| GuardError::os("create directory", &path, errno))?;
        Ok(path)
    }

    /// A subdirectory, open: files are created and removed in it even if its path changes.
    pub fn open(&self, name: &str) -> Result<Arc<OwnedFd>, GuardError> {
        let opened = open_below(&self.directory, name);
        let opened =
            opened.map_err(|errno| GuardError::os("open", &self.path.join(name), errno))?;
        Ok(Arc::new(opened))
    }

    /// The directory that it is in, open.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn open_parent(&self) -> Result<Arc<OwnedFd>, GuardError> {
        let opened = self.parent.try_clone().map_err(|error| {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            GuardError::os("open", &self.path, errno)
        })?;
        Ok(Arc::new(opened))
    }

    /// Whether the path of the directory still leads to it, and those of its subdirectories to
    /// directories.
    pub fn check_present(&self) -> Result<(), DeviceError> {
        presence::check(&self.path, &self.directory)?;
        for name in &self.manifest.subdirectories {
            open_below(&self.directory, name)
                .map_err(|errno| presence::gone(&self.path.join(name), errno))?;
        }
        Ok(())
    }

    /// Notes that the same run also has a flashlag directory in `parent`, so that a clean-up here
    /// cleans there too. Call this before that directory is created. Fails if `parent` does not
    /// exist or the manifest can't be written.
    pub fn also_in(&mut self, parent: &Path) -> Result<(), GuardError> {
        let absolute = parent.canonicalize().map_err(|error| {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            GuardError::os("find", parent, errno)
        })?;
        self.change(|manifest| manifest.elsewhere.insert(absolute))
    }

    /// Notes a temporary file outside, which is renamed onto a result, so that a clean-up removes
    /// it after a crash. Call this before the file is created. Fails if its name does not fit the
    /// scheme, its directory does not exist, or the manifest can't be written.
    pub fn also_temporary(&mut self, file: &Path) -> Result<(), GuardError> {
        let refuse = || {
            let reason =
                format!("it is no temporary of flashlag's, which end with {TEMPORARY_ENDING}");
            GuardError::other("note", file, reason, "no other file may ever be removed")
        };
        let name = file.file_name().filter(|name| is_temporary(name)).ok_or_else(refuse)?;
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new(".")).canonicalize().map_err(|error| {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            GuardError::os("find the directory of", file, errno)
        })?;
        self.change(|manifest| manifest.temporaries.insert(parent.join(name)))
    }

    /// Removes every file of ours from a subdirectory, but not the subdirectory.
    pub fn clear(&mut self, name: &str) -> Result<Cleanup, GuardError> {
        let path = self.path.join(name);
        let mut cleaned = Cleanup { directory: path.clone(), ..Cleanup::default() };
        if !self.manifest.subdirectories.contains(name) {
            return Ok(cleaned);
        }
        match open_below(&self.directory, name) {
            Ok(opened) => empty(&opened, &path, &mut cleaned),
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(GuardError::os("open", &path, errno)),
        }
        Ok(cleaned)
    }

    /// Removes every file from all subdirectories. [`Workspace::remove`] tries again what could not
    /// be removed.
    pub fn clear_all(&mut self) {
        for name in self.manifest.subdirectories.clone() {
            // [`Workspace::remove`] reports a subdirectory that can't be opened.
            let _ = self.clear(&name);
        }
    }

    /// Removes everything, the directory last. Files that could not be removed, and files that are
    /// not flashlag's, are in the result; then the directory still exists.
    pub fn remove(mut self) -> Cleanup {
        self.removes_itself = false;
        self.sweep()
    }

    /// The same, which stays when it is dropped.
    #[must_use]
    pub fn lasting(mut self) -> Workspace {
        self.removes_itself = false;
        self
    }

    /// Leaves everything where it is, for [`Workspace::resume`].
    pub fn keep(mut self) {
        self.removes_itself = false;
    }

    fn sweep(&self) -> Cleanup {
        let doomed = Removal {
            parent: &self.parent,
            directory: &self.directory,
            name: &self.name,
            path: &self.path,
            manifest: Some(&self.manifest),
        };
        doomed.remove()
    }

    /// Changes the manifest, first on the storage.
    fn change(&mut self, change: impl FnOnce(&mut Manifest) -> bool) -> Result<(), GuardError> {
        let mut changed = self.manifest.clone();
        if change(&mut changed) {
            let written = changed.write(&self.directory);
            written.map_err(|errno| GuardError::os("write the manifest in", &self.path, errno))?;
            self.manifest = changed;
        }
        Ok(())
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if self.removes_itself {
            self.sweep();
        }
    }
}

/// Creates the directory, takes its lock and writes its manifest. `None` if a concurrent clean-up
/// has removed it in between, or the name is taken.
fn make(parent: &OwnedFd, name: &str, manifest: &Manifest) -> Result<Option<Hold>, Errno> {
    match mkdirat(parent, name, DIRECTORY_MODE) {
        Err(Errno::EXIST) => return Ok(None),
        other => other?,
    }
    let directory = match open_below(parent, name) {
        Err(Errno::NOENT) => return Ok(None),
        other => other?,
    };
    let Some(directory) = Hold::take(directory) else { return Ok(None) };
    let written = manifest.write(&directory).and_then(|()| sync_directory(parent));
    match written {
        Ok(()) => Ok(Some(directory)),
        Err(errno) => {
            let path = Path::new(name);
            let doomed =
                Removal { parent, directory: &directory, name, path, manifest: Some(manifest) };
            doomed.remove();
            if errno == Errno::NOENT { Ok(None) } else { Err(errno) }
        }
    }
}
