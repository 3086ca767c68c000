//! Whether programs of the system may be started, to read their output.

use std::sync::atomic::{AtomicBool, Ordering};

static MAY_START: AtomicBool = AtomicBool::new(true);

/// From now on, starts no program of the system; what only those report is then absent. For apps:
/// Android's system-call filter would kill such programs before they begin, and perhaps this
/// process with them.
pub fn start_no_programs() {
    MAY_START.store(false, Ordering::Relaxed);
}

/// Why no program can be started, in words, if so.
pub(crate) fn can_start() -> Result<(), String> {
    if MAY_START.load(Ordering::Relaxed) {
        Ok(())
    } else {
        Err("Android's filter of system calls kills what a program for x86_64 starts".to_owned())
    }
}
