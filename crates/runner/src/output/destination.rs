use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flashlag_engine::guard::{PublishError, Publisher, Replaces};
use rustix::fs::Stat;
use rustix::io::Errno;

use super::found::check;
use crate::error::{OutputFault, OutputKind, RunError};

/// The path of an output that was checked: the existing file may be replaced, and files can be
/// created beside it.
#[derive(Debug)]
pub struct Destination {
    pub(super) publisher: Publisher,
    pub(super) name: OsString,
    pub(super) found: Option<Stat>,
    kind: OutputKind,
    force: bool,
}

impl Destination {
    /// Checks an output's path before anything is measured. With `force`, any regular file may be
    /// replaced, never anything else.
    ///
    /// # Errors
    /// Something else has the name, or the directory does not exist or is not writable.
    pub fn check(path: &Path, kind: OutputKind, force: bool) -> Result<Destination, RunError> {
        let destination = Destination::look(path, kind, force)?;
        destination.publisher.probe().map_err(|errno| refused(path, errno))?;
        Ok(destination)
    }

    fn look(path: &Path, kind: OutputKind, force: bool) -> Result<Destination, RunError> {
        let refuse = |fault| RunError::Output { path: path.to_owned(), fault };
        let Some(name) = path.file_name() else {
            return Err(refuse(OutputFault::NoName));
        };
        if path == Path::new("-") {
            return Err(refuse(OutputFault::StandardOutput));
        }
        let publisher = Publisher::open(path.parent().unwrap_or(Path::new(".")));
        let publisher = publisher.map_err(|error| refuse(OutputFault::Directory(error)))?;
        let found = publisher.look(name).map_err(|errno| refused(path, errno))?;
        check(&publisher, path, name, (kind, force), found.as_ref())?;
        Ok(Destination { publisher, name: name.to_owned(), found, kind, force })
    }

    /// The path.
    pub fn path(&self) -> PathBuf {
        path_of(&self.publisher, &self.name)
    }

    /// Replaces the file in one step: a reader sees the old file or the new one, never a part.
    ///
    /// # Errors
    /// The file can't be written, or something that must not be replaced has the name by now.
    pub fn write(&self, contents: &[u8]) -> Result<(), RunError> {
        self.write_by(|to| to.write_all(contents))
    }

    /// As [`Destination::write`], for contents that are written piece by piece: they may be
    /// requested again if another process was faster.
    pub fn write_by(
        &self,
        contents: impl Fn(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), RunError> {
        let path = self.path();
        let put = |found| self.publisher.publish_written(&self.name, &contents, found);
        match put(replaces(self.found.as_ref())) {
            Ok(_) => Ok(()),
            Err(PublishError::Os(errno)) => Err(refused(&path, errno)),
            Err(PublishError::Taken) => {
                // The file was made meanwhile, perhaps by another run: the same rules apply.
                let again = Destination::look(&path, self.kind, self.force)?;
                let written = put(replaces(again.found.as_ref()));
                written.map(drop).map_err(|error| match error {
                    PublishError::Os(errno) => refused(&path, errno),
                    PublishError::Taken => refused(&path, Errno::EXIST),
                })
            }
        }
    }
}

/// Whether two paths name the same file, which need not exist.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| {
        let publisher = Publisher::open(path.parent().unwrap_or(Path::new("."))).ok()?;
        let found = publisher.look(path.file_name()?).ok()?;
        let file = found.map(|found| (found.st_dev, found.st_ino));
        Some((publisher.identity().ok()?, path.file_name()?.to_owned(), file))
    };
    match (identity(one), identity(other)) {
        (Some((_, _, Some(one))), Some((_, _, Some(other)))) => one == other,
        (Some((here, one, _)), Some((there, other, _))) => here == there && one == other,
        _ => false,
    }
}

/// The existing file that a new one may replace.
pub(super) fn replaces(found: Option<&Stat>) -> Replaces<'_> {
    found.map_or(Replaces::Nothing, Replaces::This)
}

/// A path without the `./` that the user did not type.
pub(super) fn path_of(publisher: &Publisher, name: &OsString) -> PathBuf {
    match publisher.path() {
        here if here == Path::new(".") => PathBuf::from(name),
        directory => directory.join(name),
    }
}

/// The operating system's refusal as a reason. A directory that exists can refuse a new file as if it did not, as
/// `/proc` does.
pub(super) fn refused(path: &Path, errno: Errno) -> RunError {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let exists = directory.unwrap_or(Path::new(".")).is_dir();
    let fault = if errno == Errno::NOENT && exists {
        OutputFault::NoNewFiles
    } else {
        OutputFault::System(errno)
    };
    RunError::Output { path: path.to_owned(), fault }
}
