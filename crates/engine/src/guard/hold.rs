use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// A locked directory of ours: no other process uses it while this value exists.
///
/// The kernel drops the lock at this process's death. A live process drops it explicitly, and not
/// by closing the descriptor: a process that is just being started by another thread has a copy of
/// it until it executes, and the lock would last as long.
#[derive(Debug)]
pub(crate) struct Hold {
    directory: OwnedFd,
    locked: bool,
}

impl Hold {
    /// Takes the lock; `None` if another process has it. On a filesystem without locks it succeeds
    /// without one.
    pub fn take(directory: OwnedFd) -> Option<Hold> {
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Some(Hold { directory, locked: true }),
            Err(Errno::WOULDBLOCK | Errno::INTR) => None,
            Err(_) => Some(Hold { directory, locked: false }),
        }
    }

    /// Whether other processes can see the lock.
    pub fn is_locked(&self) -> bool {
        self.locked
    }
}

impl Deref for Hold {
    type Target = OwnedFd;

    fn deref(&self) -> &OwnedFd {
        &self.directory
    }
}

impl AsFd for Hold {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.locked {
            // It can fail only if there is no lock.
            let _ = flock(&self.directory, FlockOperation::Unlock);
        }
    }
}
