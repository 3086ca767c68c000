//! Adds a file to a folder, as a whole or not at all.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::{StoreError, io_error};
use crate::outcome::Outcome;
use crate::read::{bytes_of, entry_of, name_in};
use crate::standing::Standing;

/// Adds one file, unless `known` has one with the same contents; returns its hash, and the outcome.
pub(crate) fn add(
    folder: &Path,
    path: &Path,
    known: impl FnOnce(&str) -> Result<Option<String>, StoreError>,
) -> Result<(String, Outcome), StoreError> {
    let bytes = match bytes_of(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            let reason = format!("cannot be read: {error}");
            return Ok((String::new(), Outcome::Refused { reason }));
        }
    };
    let entry = entry_of(name_in(folder, path), &bytes);
    if entry.run.standing == Standing::Unreadable {
        let reason = entry.run.reason.unwrap_or_default();
        return Ok((entry.run.file_sha256, Outcome::Refused { reason }));
    }
    if let Some(name) = known(&entry.run.file_sha256)? {
        return Ok((entry.run.file_sha256, Outcome::Known { name }));
    }
    let outcome = match place(folder, path, &entry.run.file_sha256, &bytes) {
        Ok(Placed::New(name)) => {
            Outcome::New { name, standing: entry.run.standing, reason: entry.run.reason }
        }
        Ok(Placed::Known(name)) => Outcome::Known { name },
        // The others may still succeed.
        Err(error) => {
            let reason = format!("it cannot be written to {}: {error}", folder.display());
            Outcome::Refused { reason }
        }
    };
    Ok((entry.run.file_sha256, outcome))
}

/// How long to wait for another process that adds: thousands of files take seconds.
const PATIENCE: Duration = Duration::from_secs(120);
/// The lock file of processes that add. It is hidden, so that it is not taken for a run file, and
/// empty.
const LOCK: &str = ".flashlag-lock";
/// Prefix of the name of an incomplete file.
const UNFINISHED: &str = ".adding-";

/// The right to add to a folder, which one process has at a time, until this is dropped.
pub(crate) struct Lock {
    file: File,
}

impl Drop for Lock {
    /// Unlocks explicitly: a child process that is being started has a copy of the descriptor until it
    /// executes its own program, and would hold the lock until then.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl Lock {
    /// Waits for the lock, and removes what killed processes left. `None` if the filesystem has no
    /// locks: even then each name is taken only once.
    pub(crate) fn of(folder: &Path) -> Result<Option<Lock>, StoreError> {
        let path = folder.join(LOCK);
        let open = File::options().create(true).append(true).open(&path);
        let file = open.map_err(io_error("make the lock", &path))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(TryLockError::WouldBlock) => {
                    let error = io::Error::other(
                        "another flashlag has been adding to it for two minutes: end that one, or try again",
                    );
                    return Err(io_error("add to", folder)(error));
                }
                Err(TryLockError::Error(_)) => return Ok(None),
            }
        }
        remove_unfinished(folder);
        Ok(Some(Lock { file }))
    }
}

/// Removes incomplete files of killed processes: nobody else is adding.
fn remove_unfinished(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The result of the search for a name.
enum Placed {
    New(String),
    Known(String),
}

/// Writes the file under its own name, or if that is taken with its hash in the name; an existing
/// file with the same contents counts as this one. No reader sees an incomplete file, and a killed
/// writer leaves only a hidden one.
fn place(folder: &Path, path: &Path, sha256: &str, bytes: &[u8]) -> io::Result<Placed> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let stem = stem.trim_start_matches('.');
    let stem = if stem.is_empty() { "run" } else { stem };
    let hash = sha256.get(..12).unwrap_or(sha256);
    for name in [format!("{stem}.json"), format!("{stem}-{hash}.json")] {
        let mut file = unfinished(folder, path)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        match file.persist_noclobber(folder.join(&name)) {
            Ok(_) => return Ok(Placed::New(name)),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                if std::fs::read(folder.join(&name)).is_ok_and(|there| there == bytes) {
                    return Ok(Placed::Known(name));
                }
            }
            Err(error) => return Err(error.error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{stem}.json is taken")))
}

/// A hidden file with the permissions of a copy: the source's, as far as the umask allows.
fn unfinished(folder: &Path, source: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(source).map_or(0o666, |known| known.permissions().mode());
        builder.permissions(std::fs::Permissions::from_mode(mode & 0o666 | 0o600));
    }
    #[cfg(not(unix))]
    let _ = source;
    builder.tempfile_in(folder)
}
