//! Removes flashlag's own files from one of its directories.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use flashlag_units::Bytes;
use rustix::fs::{AtFlags, fstat, statat, unlinkat};
use rustix::io::Errno;

use super::directory::{
    for_each_name, is_regular, is_same, open_below, open_parent, sync_directory,
};
use super::error::{GuardError, reason};
use super::manifest::{Manifest, is_begun};
use super::name::{MANIFEST, MANIFEST_TEMPORARY, is_ours, is_temporary};
use super::temporary::is_abandoned;

/// At most this many names in memory at once; a directory may have more.
const BATCH: usize = 1024;
/// At most this many remainders are named.
const KEPT_NAMED: usize = 32;
const NOT_OURS: &str = "not made by flashlag: left alone";

/// The clean-up of one directory of ours: files removed and files left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleanup {
    pub directory: PathBuf,
    /// Files that were removed, and the bytes that they took on the storage.
    pub removed: flashlag_spec::Cleanup,
    /// The first few remainders; the directory and its manifest stay with them.
    pub kept: Vec<Remainder>,
    /// The number of all remainders.
    pub kept_count: u64,
}

/// A file or directory that was not removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remainder {
    pub path: PathBuf,
    /// Why it stayed, and what to try.
    pub reason: String,
}

impl Cleanup {
    /// Whether nothing of the directory is left.
    pub fn is_complete(&self) -> bool {
        self.kept_count == 0
    }

    pub(crate) fn keep(&mut self, path: PathBuf, reason: impl Into<String>) {
        self.kept_count += 1;
        if self.kept.len() < KEPT_NAMED {
            self.kept.push(Remainder { path, reason: reason.into() });
        }
    }

    fn keep_failed(&mut self, operation: &'static str, path: &Path, errno: Errno) {
        let error = GuardError::os(operation, path, errno);
        self.keep(path.to_owned(), format!("{operation}: {} ({})", reason(errno), error.advice));
    }

    /// Notes the result of a removal: a file that is already gone counts as removed.
    fn expect_removed(&mut self, path: &Path, result: Result<(), Errno>) -> bool {
        match result {
            Ok(()) => return true,
            Err(Errno::NOENT) => {}
            Err(errno) => self.keep_failed("remove", path, errno),
        }
        false
    }
}

/// A directory of ours that no run uses.
pub(crate) struct Removal<'a> {
    /// The directory that it is in.
    pub parent: &'a OwnedFd,
    /// The directory, open.
    pub directory: &'a OwnedFd,
    pub name: &'a str,
    /// Its path, for messages.
    pub path: &'a Path,
    /// Its manifest; `None` where its maker died before there was one.
    pub manifest: Option<&'a Manifest>,
}

impl Removal<'_> {
    /// Removes flashlag's files in it, then the directory. If it holds other files, they stay, and
    /// so do the directory and its manifest, so that a later clean-up still recognises it.
    pub fn remove(&self) -> Cleanup {
        let mut cleaned = Cleanup { directory: self.path.to_owned(), ..Cleanup::default() };
        let listed = self.manifest.into_iter().flat_map(|manifest| &manifest.subdirectories);
        for name in listed {
            self.remove_subdirectory(name, &mut cleaned);
        }
        self.remove_temporaries(&mut cleaned);
        self.remove_temporary_manifest(&mut cleaned);
        self.report_strangers(&mut cleaned);
        if cleaned.is_complete() {
            self.remove_itself(&mut cleaned);
        }
        cleaned
    }

    fn remove_subdirectory(&self, name: &str, cleaned: &mut Cleanup) {
        let path = self.path.join(name);
        match open_below(self.directory, name) {
            Err(Errno::NOENT) => return,
            Err(Errno::LOOP | Errno::NOTDIR) => {
                return cleaned.keep(path, "no directory any more: left alone");
            }
            Err(Errno::XDEV) => {
                return cleaned.keep(path, "something is mounted on it: unmount that first");
            }
            Err(errno) => return cleaned.keep_failed("open", &path, errno),
            Ok(subdirectory) => empty(&subdirectory, &path, cleaned),
        }
        match unlinkat(self.directory, name, AtFlags::REMOVEDIR) {
            // The remaining files were reported.
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            result => _ = cleaned.expect_removed(&path, result),
        }
    }

    fn remove_temporaries(&self, cleaned: &mut Cleanup) {
        for path in self.manifest.into_iter().flat_map(|manifest| &manifest.temporaries) {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { continue };
            // A manifest is only data: a file that it names is removed only if its name fits the
            // scheme.
            let Some(name) = name.to_str().filter(|name| is_temporary(OsStr::new(name))) else {
                continue;
            };
            match open_parent(parent) {
                Ok(opened) => _ = remove_file(&opened, name, parent, cleaned),
                Err(Errno::NOENT) => {}
                Err(errno) => cleaned.keep_failed("open", parent, errno),
            }
        }
    }

    fn remove_temporary_manifest(&self, cleaned: &mut Cleanup) {
        // Beside a valid manifest its name is enough; alone it must also look like a manifest.
        let ours = match (self.manifest, is_begun(self.directory)) {
            (Some(_), Ok(_)) | (None, Ok(true)) => {
                let found = statat(self.directory, MANIFEST_TEMPORARY, AtFlags::SYMLINK_NOFOLLOW);
                found.is_ok_and(|found| is_regular(&found))
            }
            _ => false,
        };
        if ours {
            let path = self.path.join(MANIFEST_TEMPORARY);
            let result = unlinkat(self.directory, MANIFEST_TEMPORARY, AtFlags::empty());
            cleaned.expect_removed(&path, result);
        }
    }

    fn report_strangers(&self, cleaned: &mut Cleanup) {
        let reported = |name: &str| {
            name == MANIFEST && self.manifest.is_some()
                || self.manifest.is_some_and(|manifest| manifest.subdirectories.contains(name))
        };
        let listed = for_each_name(self.directory, |name, valid| {
            if !valid || !reported(name) {
                cleaned.keep(self.path.join(name), NOT_OURS);
            }
        });
        if let Err(errno) = listed {
            cleaned.keep_failed("list", self.path, errno);
        }
    }

    fn remove_itself(&self, cleaned: &mut Cleanup) {
        if !self.is_still_there() {
            return;
        }
        // The manifest is unlinked only when a power cut can't bring the other files back.
        if let Err(errno) = sync_directory(self.directory) {
            return cleaned.keep_failed("fsync", self.path, errno);
        }
        if self.manifest.is_some() {
            let path = self.path.join(MANIFEST);
            let result = unlinkat(self.directory, MANIFEST, AtFlags::empty());
            cleaned.expect_removed(&path, result);
        }
        if cleaned.is_complete() {
            let result = unlinkat(self.parent, self.name, AtFlags::REMOVEDIR);
            cleaned.expect_removed(self.path, result);
            // This need not be durable: an empty flashlag directory is removed the next time.
            let _ = sync_directory(self.parent);
        }
    }

    /// Whether the name still leads to the directory that was examined.
    fn is_still_there(&self) -> bool {
        let named = statat(self.parent, self.name, AtFlags::SYMLINK_NOFOLLOW);
        match (named, fstat(self.directory)) {
            (Ok(named), Ok(opened)) => is_same(&named, &opened),
            _ => false,
        }
    }
}

/// Unlinks every flashlag file in a subdirectory and makes that durable, so that the filesystem can
/// free the space.
pub(crate) fn empty(directory: &OwnedFd, path: &Path, cleaned: &mut Cleanup) {
    loop {
        // Unlinking during readdir can skip entries: repeat until a pass removes nothing.
        let mut seen = Cleanup::default();
        let mut names = Vec::new();
        let listed = for_each_name(directory, |name, valid| {
            if !valid || !is_ours(name) {
                seen.keep(path.join(name), NOT_OURS);
            } else if names.len() < BATCH {
                names.push(name.to_owned());
            }
        });
        if let Err(errno) = listed {
            return cleaned.keep_failed("list", path, errno);
        }
        let removed = names.iter().filter(|name| remove_file(directory, name, path, &mut seen));
        let progress = removed.count() > 0;
        cleaned.removed.files += seen.removed.files;
        cleaned.removed.bytes = cleaned.removed.bytes.plus(seen.removed.bytes);
        if !progress {
            cleaned.kept_count += seen.kept_count;
            let room = KEPT_NAMED.saturating_sub(cleaned.kept.len());
            cleaned.kept.extend(seen.kept.into_iter().take(room));
            break;
        }
    }
    if let Err(errno) = sync_directory(directory) {
        cleaned.keep_failed("fsync", path, errno);
    }
}

/// Removes the temporary files that dead processes left in a directory of results.
pub(crate) fn remove_temporaries_in(directory: &OwnedFd, path: &Path) -> Cleanup {
    let mut cleaned = Cleanup { directory: path.to_owned(), ..Cleanup::default() };
    let mut names = Vec::new();
    let listed = for_each_name(directory, |name, valid| {
        if valid && names.len() < BATCH && is_temporary(OsStr::new(name)) {
            names.push(name.to_owned());
        }
    });
    if let Err(errno) = listed {
        cleaned.keep_failed("list", path, errno);
    }
    for name in names {
        match is_abandoned(directory, &name) {
            Ok(true) => _ = remove_file(directory, &name, path, &mut cleaned),
            Ok(false) => {}
            Err(errno) => cleaned.keep_failed("examine", &path.join(&name), errno),
        }
    }
    cleaned
}

fn remove_file(directory: &OwnedFd, name: &str, within: &Path, seen: &mut Cleanup) -> bool {
    let path = within.join(name);
    let found = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) if is_regular(&found) => found,
        Ok(_) => {
            seen.keep(path, "no regular file any more: left alone");
            return false;
        }
        Err(Errno::NOENT) => return false,
        Err(errno) => {
            seen.keep_failed("stat", &path, errno);
            return false;
        }
    };
    let gone = seen.expect_removed(&path, unlinkat(directory, name, AtFlags::empty()));
    if gone {
        seen.removed.files += 1;
        seen.removed.bytes = seen.removed.bytes.plus(Bytes(allocated(&found)));
    }
    gone
}

/// Bytes on the storage, which is less than the length for a sparse file.
pub(crate) fn allocated(stat: &rustix::fs::Stat) -> u64 {
    (stat.st_blocks as u64).saturating_mul(512)
}
