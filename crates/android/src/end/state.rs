use std::fs::File;

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::PhoneError;
use crate::folder::Folder;
use crate::protocol::{Outcome, PhoneOrder, RunState};

/// The lock of a run's process; free when the process has ended, in whatever way.
#[derive(Debug)]
pub struct Lock(File);

impl Drop for Lock {
    /// Unlocks explicitly. Closing the file is not enough: a child process that is being started
    /// has a copy of the descriptor until it executes its own program, and would hold the lock
    /// until then.
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

impl Lock {
    /// Takes the lock; `None` if another process holds it.
    pub fn take(folder: &Folder) -> Result<Option<Lock>, PhoneError> {
        let path = folder.lock();
        let opened = File::options().create(true).truncate(false).write(true).open(&path);
        let file = opened.map_err(PhoneError::file("make", &path))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock(file))),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(PhoneError::file("lock", &path)(errno.into())),
        }
    }
}

/// The order in a folder.
pub fn order(folder: &Folder) -> Result<PhoneOrder, PhoneError> {
    read(&folder.order())
}

/// What a file of the folder says.
pub(super) fn read<T: DeserializeOwned>(path: &str) -> Result<T, PhoneError> {
    let text = std::fs::read_to_string(path).map_err(PhoneError::file("read", path))?;
    serde_json::from_slice(text.as_bytes())
        .map_err(|error| PhoneError::file("read", path)(error.into()))
}

/// Writes a file of the folder.
pub(super) fn store(path: &str, value: &impl Serialize) -> Result<(), PhoneError> {
    let text =
        serde_json::to_vec(value).map_err(|error| PhoneError::file("write", path)(error.into()))?;
    std::fs::write(path, text).map_err(PhoneError::file("write", path))
}

/// The state of the folder's run.
pub fn state(folder: &Folder) -> Result<RunState, PhoneError> {
    let free = Lock::take(folder)?.is_some();
    Ok(match (free, outcome(folder)) {
        (false, _) => RunState::UnderWay,
        (true, Some(outcome)) => RunState::Ended(outcome),
        (true, None) => RunState::Dead,
    })
}

/// How the folder's run ended, if it did.
pub fn outcome(folder: &Folder) -> Option<Outcome> {
    read(&folder.outcome()).ok()
}

/// Stores how the run ended.
pub fn store_outcome(folder: &Folder, outcome: &Outcome) -> Result<(), PhoneError> {
    store(&folder.outcome(), outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_under_way_while_its_lock_is_held_and_then_ended_or_dead() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::at(&home.path().to_string_lossy());
        assert_eq!(state(&folder).unwrap(), RunState::Dead);
        let lock = Lock::take(&folder).unwrap().unwrap();
        assert!(Lock::take(&folder).unwrap().is_none());
        let ended = Outcome { error: Some("no room".to_owned()) };
        store_outcome(&folder, &ended).unwrap();
        assert_eq!(state(&folder).unwrap(), RunState::UnderWay);
        drop(lock);
        assert_eq!(state(&folder).unwrap(), RunState::Ended(ended));
        assert!(state(&Folder::at("/nowhere/folder")).is_err());
    }

    #[test]
    fn a_lock_is_free_once_dropped_though_a_process_being_started_has_a_copy_of_its_descriptor() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::at(&home.path().to_string_lossy());
        let lock = Lock::take(&folder).unwrap().unwrap();
        // Like a child that was just forked: another descriptor of the same open file.
        let copy = lock.0.try_clone().unwrap();
        drop(lock);
        assert!(Lock::take(&folder).unwrap().is_some());
        drop(copy);
    }
}
