//! A file that replaces another in one step when it is complete.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What a device holds is its owner's, whatever umask a server sets itself.
pub(crate) const PRIVATE: u32 = 0o600;

/// A file beside its place, which is removed unless it is put there.
#[derive(Debug)]
pub(super) struct NewFile {
    /// The temporary path; `None` once the file is in its place.
    file: Option<File>,
    made: PathBuf,
    place: PathBuf,
}

impl NewFile {
    /// An empty file, which only its owner may read.
    pub(super) fn create(place: &Path) -> io::Result<NewFile> {
        let made = super::beside(place, ".new");
        // Left by a killed server.
        let _ = std::fs::remove_file(&made);
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).mode(PRIVATE).open(&made)?;
        Ok(NewFile { file: Some(file), made, place: place.to_owned() })
    }

    pub(super) fn file(&self) -> io::Result<&File> {
        self.file.as_ref().ok_or_else(|| io::Error::other("it is in its place already"))
    }

    /// Puts it in its place: a reader finds the old file or this one.
    pub(super) fn put(mut self) -> io::Result<File> {
        std::fs::rename(&self.made, &self.place)?;
        self.file.take().ok_or_else(|| io::Error::other("it is in its place already"))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if self.file.is_some() {
            // On a full disk it would take the room of what is to stay.
            let _ = std::fs::remove_file(&self.made);
        }
    }
}
