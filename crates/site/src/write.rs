//! Writes a site into a folder, and removes what an earlier site left there.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flashlag_store::Entry;
use flashlag_units::IntoOrder;
use thiserror::Error;

use crate::{Options, Site, SiteFile, files};

/// The list of a site's files; a folder that has it holds a site.
const LIST: &str = ".flashlag-site";

/// Why a site can't be written.
#[derive(Debug, Error)]
pub enum WriteSiteError {
    /// The folder holds something else.
    #[error(
        "{} is not empty and holds no site of flashlag: name another folder, or an empty one",
        .0.display()
    )]
    Foreign(PathBuf),
    #[error("cannot write {}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
}

/// The outcome of writing a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    pub files: usize,
    pub bytes: u64,
    /// Files of an earlier site that were removed.
    pub removed: usize,
}

/// Writes the site of these entries. The folder must be new, empty, or hold a site. In the last
/// case its files are replaced one by one, and only those that no longer belong to the site are
/// removed.
pub fn write_site(
    folder: &Path,
    entries: &[Entry],
    options: &Options,
) -> Result<Written, WriteSiteError> {
    let before = listed(folder)?;
    let site = Site::of(entries);
    let mut written = Written { files: 0, bytes: 0, removed: 0 };
    let mut now = BTreeSet::new();
    // Written first, so that an unfinished site is recognised as one.
    put(folder, LIST, before.iter().cloned().collect::<Vec<_>>().join("\n").as_bytes())?;
    for SiteFile { path, contents } in files(&site, entries, options) {
        put(folder, &path, &contents)?;
        written.files += 1;
        written.bytes += contents.len() as u64;
        now.insert(path);
    }
    let all: Vec<String> = now.union(&before).cloned().collect();
    put(folder, LIST, all.join("\n").as_bytes())?;
    for gone in before.difference(&now) {
        // As when writing: files behind a link are not the site's.
        let parent = folder.join(gone).parent().map(Path::to_owned);
        if parent.is_some_and(|parent| parent != folder && parent.is_symlink()) {
            continue;
        }
        if std::fs::remove_file(folder.join(gone)).is_ok() {
            written.removed += 1;
        }
    }
    put(folder, LIST, now.into_iter().collect::<Vec<_>>().join("\n").as_bytes())?;
    Ok(written)
}

/// The files of the site that is in the folder.
fn listed(folder: &Path) -> Result<BTreeSet<String>, WriteSiteError> {
    let fail = |error| WriteSiteError::Io { path: folder.to_owned(), error };
    std::fs::create_dir_all(folder).map_err(fail)?;
    match std::fs::read_to_string(folder.join(LIST)) {
        Ok(list) => Ok(list.lines().filter(|line| is_ours(line)).map(str::to_owned).into_set()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match std::fs::read_dir(folder).map_err(fail)?.next() {
                None => Ok(BTreeSet::new()),
                Some(_) => Err(WriteSiteError::Foreign(folder.to_owned())),
            }
        }
        Err(error) => Err(fail(error)),
    }
}

/// Whether a line of a list can be a file of a site: somebody who edits the list must not be able
/// to have other files removed.
fn is_ours(path: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let parts: Vec<&str> = path.split('/').collect();
    let known = match parts.as_slice() {
        [name] => ["html", "css"].iter().any(|end| name.ends_with(end)),
        ["device", name] => name.ends_with(".html"),
        ["data", name] => ["csv", "json", "parquet"].iter().any(|end| name.ends_with(end)),
        _ => false,
    };
    known && parts.iter().all(|part| part.chars().all(plain) && !part.starts_with('.'))
}

/// Writes a file atomically: a reader sees the old one or the new one.
fn put(folder: &Path, path: &str, contents: &[u8]) -> Result<(), WriteSiteError> {
    let path = folder.join(path);
    let write = || -> io::Result<()> {
        let parent = path.parent().unwrap_or(folder);
        // Behind a link is somebody else's folder, whose files may have the same names.
        let is_link = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink());
        if parent != folder && is_link(parent) {
            let reason = format!("{} is a symbolic link: remove it", parent.display());
            return Err(io::Error::new(io::ErrorKind::NotADirectory, reason));
        }
        std::fs::create_dir_all(parent)?;
        let mut file = tempfile::Builder::new().prefix(".writing-").tempfile_in(parent)?;
        file.write_all(contents)?;
        readable(file.as_file())?;
        file.persist(&path).map(drop).map_err(|error| error.error)
    };
    write().map_err(|error| WriteSiteError::Io { path: path.clone(), error })
}

/// Gives it the permissions of an ordinary file: a web server of another user must read it.
#[cfg(unix)]
fn readable(file: &std::fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_: &std::fs::File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_list_has_nothing_removed_but_files_of_a_site() {
        for ours in ["index.html", "style.css", "device/nexus-5.html", "data/runs.parquet"] {
            assert!(is_ours(ours), "{ours}");
        }
        for other in ["../x.html", "/etc/passwd", "device/../../a.html", "notes.txt", ".a.html", ""]
        {
            assert!(!is_ours(other), "{other}");
        }
    }
}
