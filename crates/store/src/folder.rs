//! Adds a file to a folder, as a whole or not at all.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

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

/// How long to wait for another process that adds nothing. Of many that add, the last waits for all others.
const PATIENCE: Duration = Duration::from_secs(120);
/// The lock file of processes that add. It is hidden, so that it is not taken for a run file, and
/// empty. Its time is that of the last file that was added.
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
        let mut patience = Patience { seen: None, since: Instant::now() };
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {
                    let added = file.metadata().and_then(|file| file.modified()).ok();
                    if patience.is_over(added, Instant::now()) {
                        let error = io::Error::other(
                            "another flashlag holds it and has added nothing for two minutes: end that one, or try again",
                        );
                        return Err(io_error("add to", folder)(error));
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(TryLockError::Error(_)) => return Ok(None),
            }
        }
        remove_unfinished(folder);
        let lock = Lock { file };
        lock.has_added();
        Ok(Some(lock))
    }

    /// Tells those who wait that there is progress.
    pub(crate) fn has_added(&self) {
        // Without it they wait for two minutes from their beginning.
        let _ = self.file.set_modified(SystemTime::now());
    }
}

/// How long nothing was added while this process waited.
struct Patience {
    /// When the last file was added, as the lock's file says.
    seen: Option<SystemTime>,
    /// When that was seen first.
    since: Instant,
}

impl Patience {
    fn is_over(&mut self, added: Option<SystemTime>, now: Instant) -> bool {
        if added != self.seen {
            *self = Patience { seen: added, since: now };
        }
        now.saturating_duration_since(self.since) >= PATIENCE
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_gives_up_after_two_minutes_in_which_nothing_was_added_and_not_before() {
        let begun = Instant::now();
        let at = |seconds: u64| begun + Duration::from_secs(seconds);
        let added = |seconds: u64| Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        let mut patience = Patience { seen: None, since: begun };
        // Eight writers of a minute each.
        for minute in 0..8 {
            assert!(!patience.is_over(added(minute), at(60 * minute)));
            assert!(!patience.is_over(added(minute), at(60 * minute + 59)));
        }
        assert!(!patience.is_over(added(7), at(420 + 119)));
        assert!(patience.is_over(added(7), at(420 + 120)));
        // A clock that was set back is progress too: nobody else writes that time.
        assert!(!patience.is_over(added(1), at(420 + 121)));
        assert!(Patience { seen: None, since: begun }.is_over(None, at(120)));
    }

    #[test]
    fn the_locks_file_tells_of_each_file_that_was_added() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::of(folder.path()).unwrap().unwrap();
        let path = folder.path().join(LOCK);
        let time = || std::fs::metadata(&path).unwrap().modified().unwrap();
        lock.file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        lock.has_added();
        assert!(time() > SystemTime::UNIX_EPOCH + Duration::from_secs(1));
        assert_eq!(std::fs::read(&path).unwrap(), b"");
    }
}
