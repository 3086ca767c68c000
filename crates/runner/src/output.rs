//! Writing the run file, after every phase, so that a crash loses at most the phase it is in.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flashlag_engine::guard::TEMPORARY_ENDING;
use flashlag_schema::Run;

use crate::error::RunError;

/// Seals the run and replaces the file in one step: a reader sees the old one or the new one,
/// never half of one.
///
/// # Errors
/// Where the file can't be written.
pub fn write_run(path: &Path, run: &mut Run) -> Result<(), RunError> {
    run.seal();
    replace(path, run.to_json().as_bytes())
        .map_err(|error| RunError::Output { path: path.to_owned(), reason: error.to_string() })
}

/// Whether the directory of the run file exists: asked before anything is looked at.
///
/// # Errors
/// Where it does not.
pub fn check_directory(path: &Path) -> Result<(), RunError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let found = parent.unwrap_or(Path::new(".")).metadata();
    match found {
        Ok(found) if found.is_dir() && path.file_name().is_some() => Ok(()),
        Ok(_) => Err(RunError::Output { path: path.to_owned(), reason: "it names no file".into() }),
        Err(error) => Err(RunError::Output { path: path.to_owned(), reason: error.to_string() }),
    }
}

/// Whether the file can be written: asked before anything is measured.
///
/// # Errors
/// Where it can't.
pub fn check_writable(path: &Path) -> Result<(), RunError> {
    let temporary = beside(path);
    let made = File::create(&temporary).and_then(|_| std::fs::remove_file(&temporary));
    made.map_err(|error| RunError::Output { path: path.to_owned(), reason: error.to_string() })
}

fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    let temporary = beside(path);
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(contents)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| std::fs::rename(&temporary, path));
    if renamed.is_err() {
        // The file may not exist; the first error is the one to tell.
        let _ = std::fs::remove_file(&temporary);
    }
    renamed
}

/// Where the run is written before it takes the run file's place. The name is one that a clean-up
/// knows (see [`Workspace::also_temporary`]).
///
/// [`Workspace::also_temporary`]: flashlag_engine::Workspace::also_temporary
pub(crate) fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(TEMPORARY_ENDING);
    path.with_file_name(name)
}
