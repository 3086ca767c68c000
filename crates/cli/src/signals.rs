//! SIGINT, SIGTERM and SIGHUP end a run cleanly; a second one ends it at once. Where there are settings to be read
//! again, SIGHUP asks for that.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

/// The number of the received signal, or 0.
static RECEIVED: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

/// A flag that is set by the first signal.
pub fn stop_flag() -> io::Result<Arc<AtomicBool>> {
    stopped_by(&[SIGINT, SIGTERM, SIGHUP])
}

/// A flag that is set by the first signal but SIGHUP, and one that each SIGHUP sets.
pub fn stop_and_reload_flags() -> io::Result<[Arc<AtomicBool>; 2]> {
    let reload = Arc::new(AtomicBool::new(false));
    flag::register(SIGHUP, Arc::clone(&reload))?;
    Ok([stopped_by(&[SIGINT, SIGTERM])?, reload])
}

fn stopped_by(signals: &[i32]) -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let received = RECEIVED.get_or_init(Arc::default);
    for signal in signals.iter().copied() {
        flag::register_usize(signal, Arc::clone(received), signal as usize)?;
        // The order matters: a second signal finds the flag set and ends the program (the next
        // start, or `flashlag clean`, removes its files).
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// The exit status after a signal, according to the shells' convention: 130 after Ctrl-C. `None` if
/// no signal was received.
pub fn exit_status() -> Option<u8> {
    let signal = RECEIVED.get()?.load(Ordering::Relaxed);
    u8::try_from(signal).ok().filter(|signal| *signal > 0).map(|signal| 128 + signal)
}

/// Makes the signal for a file at its size limit (`ulimit -f`) an error of the write: the error
/// names the file, and the program can clean up.
pub fn long_files_are_errors() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}
