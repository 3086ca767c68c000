//! A sweep on threads of this process.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use crate::chunk::{Chunks, measure_until};
use crate::error::SweepError;
use crate::side_by_side::{Progress, Until, side_by_side};
use crate::sweep::Sweep;
use crate::table::Finished;

/// The number of cores.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Measures what is missing on `threads` threads, and writes the table. A point that ends the
/// process ends the sweep: [`Workers`](crate::Workers) measure in processes of their own.
///
/// # Errors
/// Fails as [`Sweep::add`] and [`Sweep::finish`] do, and with [`SweepError::Stopped`] once `stop`
/// is set: what is measured stays in the journal.
pub fn run(
    sweep: Sweep,
    threads: usize,
    stop: &Arc<AtomicBool>,
    progress: Progress<'_>,
) -> Result<Finished, SweepError> {
    let worker =
        |_: usize| |chunks: &Chunks, index: u64| measure_until(&chunks.bytes(index)?, stop);
    let until = Until { stop, error: &AtomicBool::new(false) };
    side_by_side(sweep, threads, until, progress, &worker, &|| ())
}
