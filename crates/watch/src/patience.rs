//! Waits for a thread that may wait for the storage.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Whether the thread ends within this time.
pub fn ends<T>(thread: Option<&JoinHandle<T>>, patience: Duration) -> bool {
    let began = Instant::now();
    while thread.is_some_and(|thread| !thread.is_finished()) {
        if began.elapsed() >= patience {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}
