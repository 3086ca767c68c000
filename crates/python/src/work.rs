//! Long work without the GIL, which a signal can end.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::failed;

/// Interval between checks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// The result of the work, and the exception of a signal that came in the meantime.
pub struct Worked<T> {
    /// The result of the work.
    pub value: T,
    /// `KeyboardInterrupt`, or what the caller's own handler raised.
    pub signal: Option<PyErr>,
}

/// Does work on a thread of its own, without the GIL, while the calling thread checks for signals:
/// Python runs handlers only on the main thread. The first handler that raises sets `stop`, and the
/// work then ends on its own.
pub fn worked<T: Send + 'static>(
    py: Python<'_>,
    stop: &Arc<AtomicBool>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<Worked<T>> {
    let (ended, mut waited) = channel();
    let worker = std::thread::spawn(move || {
        let value = work();
        // The receiver is gone if the interpreter is exiting.
        let _ = ended.send(());
        value
    });
    let mut signal = None;
    loop {
        // If the sender is gone, the worker has panicked. A receiver can be moved to another thread
        // but not shared, so it is passed in and returned.
        let (waits, back) = py
            .detach(move || (waited.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout), waited));
        waited = back;
        if !waits {
            break;
        }
        if let Err(raised) = py.check_signals() {
            stop.store(true, Ordering::Relaxed);
            signal.get_or_insert(raised);
        }
    }
    match py.detach(|| worker.join()) {
        Ok(value) => Ok(Worked { value, signal }),
        Err(panic) => Err(panicked(panic.as_ref())),
    }
}

/// Does short work; turns a panic into an exception.
pub fn guarded<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    done.map_err(|panic| panicked(panic.as_ref()))
}

/// The exception for a panic, which is a bug in flashlag.
fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    failed(&format!("a mistake of flashlag's own, please report it: {text}"))
}
