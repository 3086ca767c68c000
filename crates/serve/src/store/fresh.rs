//! A file that atomically replaces another one when it is complete.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Only the owner may read a device's data, whatever the server's umask is.
pub(crate) const PRIVATE: u32 = 0o600;

/// A temporary file, removed unless it is renamed into place.
#[derive(Debug)]
pub(super) struct NewFile {
    /// The file; `None` once it was renamed into place.
    file: Option<File>,
    made: PathBuf,
    place: PathBuf,
}

impl NewFile {
    /// An empty file, which only its owner may read.
    pub(super) fn create(place: &Path) -> io::Result<NewFile> {
        let made = super::header::beside(place, ".new");
        // Left by a killed server.
        let _ = std::fs::remove_file(&made);
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).mode(PRIVATE).open(&made)?;
        Ok(NewFile { file: Some(file), made, place: place.to_owned() })
    }

    pub(super) fn file(&self) -> io::Result<&File> {
        self.file.as_ref().ok_or_else(|| io::Error::other("it is in its place already"))
    }

    /// Renames it into place: a reader finds the old file or this one.
    pub(super) fn put(mut self) -> io::Result<File> {
        std::fs::rename(&self.made, &self.place)?;
        self.file.take().ok_or_else(|| io::Error::other("it is in its place already"))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if self.file.is_some() {
            // On a full disk it would take the room of what must stay.
            let _ = std::fs::remove_file(&self.made);
        }
    }
}
