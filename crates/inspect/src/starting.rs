//! Whether the programs of a system may be started, to read what they say.

use std::sync::atomic::{AtomicBool, Ordering};

static MAY_START: AtomicBool = AtomicBool::new(true);

/// From now on no program of the system is started: what only those say is absent. For where Android's filter of
/// system calls would kill them before they begin, and perhaps this process with them.
pub fn start_no_programs() {
    MAY_START.store(false, Ordering::Relaxed);
}

/// Why no program can be started, in words, where none can.
pub(crate) fn can_start() -> Result<(), String> {
    if MAY_START.load(Ordering::Relaxed) {
        Ok(())
    } else {
        Err("Android's filter of system calls kills what a program for x86_64 starts".to_owned())
    }
}
