//! Finds and removes what runs left behind.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use flashlag_units::{Bytes, InOrder};
use rustix::fs::{AtFlags, statat};
use rustix::io::Errno;

use super::directory::{for_each_name, is_regular, is_shared, open_below, open_parent};
use super::error::GuardError;
use super::hold::Hold;
use super::manifest::{Manifest, ManifestRead, is_begun};
use super::name::{MANIFEST_TEMPORARY, id_of, is_ours};
use super::sweep::{Cleanup, Removal, allocated, remove_temporaries_in};

/// A flashlag directory whose run is dead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    pub path: PathBuf,
    /// Its manifest; `None` if its run died before writing one (then there is no data).
    pub manifest: Option<Manifest>,
    /// Bytes of its files on the storage.
    pub bytes: Bytes,
}

/// The state of a directory with a name of flashlag's scheme.
pub(crate) enum Examination {
    /// Gone, or not even a directory.
    NotOurs,
    /// A directory with a name of flashlag's scheme but no proof that it is flashlag's: left alone,
    /// with the reason.
    Unproven(String),
    /// In use by a live run.
    Live,
    /// Flashlag's, and of no live run. Held (locked, if the filesystem has locks) while `directory`
    /// is open.
    Abandoned { directory: Hold, manifest: Option<Box<Manifest>> },
}

/// Lists the leftovers of dead runs in `parent` without a change.
///
/// # Errors
/// `parent` can't be listed.
pub fn find_leftovers(parent: &Path) -> Result<Vec<Leftover>, GuardError> {
    let opened = open_parent(parent).map_err(|errno| GuardError::os("open", parent, errno))?;
    let mut leftovers = Vec::new();
    for name in names_like_ours(&opened, parent)? {
        let path = parent.join(&name);
        let examined =
            examine(&opened, &name).map_err(|errno| GuardError::os("examine", &path, errno))?;
        if let Examination::Abandoned { directory, manifest } = examined {
            let manifest = manifest.map(|manifest| *manifest);
            let bytes = manifest.as_ref().map_or(0, |manifest| size_of(&directory, manifest));
            leftovers.push(Leftover { path, manifest, bytes: Bytes(bytes) });
        }
    }
    Ok(leftovers)
}

/// Removes everything that dead runs left in `parent`, and in the other directories that those runs
/// used, and nothing else: see the rules at the head of this module. What could not be removed is
/// in the result with its reason.
///
/// # Errors
/// `parent` can't be listed.
pub fn clean(parent: &Path) -> Result<Vec<Cleanup>, GuardError> {
    clean_unvisited(parent, false, &mut BTreeSet::new())
}

/// As [`clean`], and also the leftovers of runs on other machines, for a user who knows that they
/// are dead.
pub fn clean_of_all_machines(parent: &Path) -> Result<Vec<Cleanup>, GuardError> {
    clean_unvisited(parent, true, &mut BTreeSet::new())
}

fn clean_unvisited(
    parent: &Path,
    of_all: bool,
    visited: &mut BTreeSet<(u64, u64)>,
) -> Result<Vec<Cleanup>, GuardError> {
    let opened = open_parent(parent).map_err(|errno| GuardError::os("open", parent, errno))?;
    let stat = rustix::fs::fstat(&opened).map_err(|errno| GuardError::os("stat", parent, errno))?;
    if !visited.insert((stat.st_dev, stat.st_ino)) {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for name in names_like_ours(&opened, parent)? {
        let path = parent.join(&name);
        match examine_of(&opened, &name, of_all) {
            Ok(Examination::Abandoned { directory, manifest }) => {
                let manifest = manifest.as_deref();
                let elsewhere = clean_elsewhere(manifest, of_all, visited, &mut all);
                let doomed = Removal {
                    parent: &opened,
                    directory: &directory,
                    name: &name,
                    path: &path,
                    manifest,
                };
                let mut cleaned = doomed.remove();
                elsewhere.into_iter().for_each(|(path, reason)| cleaned.keep(path, reason));
                all.push(cleaned);
            }
            Ok(Examination::NotOurs | Examination::Live) | Err(Errno::NOENT) => {}
            Ok(Examination::Unproven(reason)) => all.push(untouched(path, reason)),
            Err(errno) => {
                let reason = GuardError::os("examine", &path, errno).to_string();
                all.push(untouched(path, reason));
            }
        }
    }
    let temporaries = remove_temporaries_in(&opened, parent);
    if temporaries.removed.files > 0 || !temporaries.is_complete() {
        all.push(temporaries);
    }
    Ok(all)
}

fn untouched(path: PathBuf, reason: String) -> Cleanup {
    let mut cleaned = Cleanup { directory: path.clone(), ..Cleanup::default() };
    cleaned.keep(path, reason);
    cleaned
}

/// Cleans the other directories that a dead run used. Returns those that could not be opened.
fn clean_elsewhere(
    manifest: Option<&Manifest>,
    of_all: bool,
    visited: &mut BTreeSet<(u64, u64)>,
    all: &mut Vec<Cleanup>,
) -> Vec<(PathBuf, String)> {
    let mut failed = Vec::new();
    for other in manifest.into_iter().flat_map(|manifest| &manifest.elsewhere) {
        match clean_unvisited(other, of_all, visited) {
            Ok(cleaned) => all.extend(cleaned),
            // The directory was removed since, or is on storage that is not mounted: the user can
            // still clean it by its path.
            Err(error) if error.is(Errno::NOENT) => {}
            Err(error) => failed.push((other.clone(), error.to_string())),
        }
    }
    failed
}

/// The names of flashlag's scheme, sorted, so that the result does not depend on the order of
/// readdir.
fn names_like_ours(parent: &OwnedFd, path: &Path) -> Result<Vec<String>, GuardError> {
    let mut names = Vec::new();
    for_each_name(parent, |name, valid| {
        if valid && id_of(name).is_some() {
            names.push(name.to_owned());
        }
    })
    .map_err(|errno| GuardError::os("list", path, errno))?;
    names.order();
    Ok(names)
}

/// Examines one directory with a name of flashlag's scheme, and locks it if no live run has it.
pub(crate) fn examine(parent: &OwnedFd, name: &str) -> Result<Examination, Errno> {
    examine_of(parent, name, false)
}

fn examine_of(parent: &OwnedFd, name: &str, of_all: bool) -> Result<Examination, Errno> {
    let Some(id) = id_of(name) else { return Ok(Examination::NotOurs) };
    let directory = match open_below(parent, name) {
        Ok(directory) => directory,
        Err(Errno::LOOP | Errno::NOTDIR | Errno::NOENT | Errno::XDEV) => {
            return Ok(Examination::NotOurs);
        }
        Err(errno) => return Err(errno),
    };
    let Some(directory) = Hold::take(directory) else { return Ok(Examination::Live) };
    match Manifest::read(&directory, id)? {
        ManifestRead::Valid(manifest) if manifest.owner.runs_elsewhere() => Ok(Examination::Live),
        ManifestRead::Valid(manifest)
            if !of_all && let Some(reason) = manifest.owner.unknown_here(is_shared(&directory)) =>
        {
            Ok(Examination::Unproven(format!(
                "{reason}: left alone (`flashlag clean --force`, where you know that it has ended)"
            )))
        }
        ManifestRead::Valid(manifest) => {
            Ok(Examination::Abandoned { directory, manifest: Some(manifest) })
        }
        ManifestRead::Missing if is_just_begun(&directory)? => {
            Ok(Examination::Abandoned { directory, manifest: None })
        }
        ManifestRead::Missing => {
            Ok(Examination::Unproven("it has no manifest of flashlag: left alone".to_owned()))
        }
        ManifestRead::Invalid(reason) => Ok(Examination::Unproven(format!("{reason}: left alone"))),
    }
}

/// The only time without a manifest: the directory is empty, or holds only the beginning of its
/// manifest under the temporary name. If its maker is alive (on a filesystem without locks), it
/// finds its directory removed and makes another.
fn is_just_begun(directory: &OwnedFd) -> Result<bool, Errno> {
    let (mut temporary, mut others) = (false, false);
    for_each_name(directory, |name, valid| {
        if valid && name == MANIFEST_TEMPORARY { temporary = true } else { others = true }
    })?;
    match (temporary, others) {
        (_, true) => Ok(false),
        (false, false) => Ok(true),
        (true, false) => match is_begun(directory) {
            Err(Errno::LOOP) => Ok(false),
            // Its maker, alive, has just renamed the file.
            Err(Errno::NOENT) => Ok(false),
            other => other,
        },
    }
}

/// Bytes of flashlag's files in one of its directories, for display: a file that can't be read
/// counts as nothing.
fn size_of(directory: &OwnedFd, manifest: &Manifest) -> u64 {
    let mut sum = 0u64;
    for subdirectory in &manifest.subdirectories {
        let Ok(opened) = open_below(directory, subdirectory) else { continue };
        let _ = for_each_name(&opened, |name, valid| {
            let found = statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW);
            if let Ok(found) = found
                && valid
                && is_ours(name)
                && is_regular(&found)
            {
                sum = sum.saturating_add(allocated(&found));
            }
        });
    }
    sum
}
