//! Long work without the GIL, that a signal ends.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::failed;

/// The time between two looks for a signal.
const LOOK: Duration = Duration::from_millis(50);

/// What work gave, and the exception of the signal that came meanwhile.
pub struct Worked<T> {
    /// What the work gave.
    pub value: T,
    /// `KeyboardInterrupt`, or what a handler of the caller's raised.
    pub signal: Option<PyErr>,
}

/// Does work on a thread of its own, without the GIL, while the calling thread looks for signals:
/// Python runs its handlers on the main thread alone. The first handler that raises sets `stop`, and
/// the work ends by itself.
pub fn worked<T: Send + 'static>(
    py: Python<'_>,
    stop: &Arc<AtomicBool>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<Worked<T>> {
    let (ended, mut waited) = channel();
    let worker = std::thread::spawn(move || {
        let value = work();
        // A receiver that is gone is an interpreter that ends.
        let _ = ended.send(());
        value
    });
    let mut signal = None;
    loop {
        // A channel without a sender is a worker that panicked.
        // A receiver may be sent to another thread and not shared, so it goes in and comes back.
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

/// Does short work, whose panic becomes an exception.
pub fn guarded<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    done.map_err(|panic| panicked(panic.as_ref()))
}

/// The exception of a panic, which is a mistake of flashlag's.
fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    failed(&format!("a mistake of flashlag's own, please report it: {text}"))
}
