//! SIGINT and SIGTERM end a run cleanly; a second one ends it at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// A flag that is set by the first signal.
///
/// # Errors
/// Where the handlers can't be installed.
pub fn stop_flag() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the second signal finds the flag set and ends the program (what it leaves
        // is removed at the next start, or by `flashlag clean`).
        flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
