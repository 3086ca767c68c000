//! A sweep on the cores of this machine.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use crate::chunk::measure_until;
use crate::error::SweepError;
use crate::finished::Finished;
use crate::sweep::Sweep;

/// Called after each chunk: points that are measured, and all.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// The number of cores.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Measures what is missing on `threads` threads, and writes the table.
///
/// # Errors
/// As [`Sweep::add`] and [`Sweep::finish`]; [`SweepError::Stopped`] once `stop` is raised: what is
/// measured stays in the journal.
pub fn run(
    mut sweep: Sweep,
    threads: usize,
    stop: &Arc<AtomicBool>,
    progress: Progress<'_>,
) -> Result<Finished, SweepError> {
    let points = sweep.grid().points();
    progress(sweep.done(), points);
    let missing: Vec<u64> = {
        let next = |from: &u64| sweep.next_missing(from + 1);
        std::iter::successors(sweep.next_missing(0), next).collect()
    };
    let next = AtomicU64::new(0);
    // Raised after an error as well: then no further chunk is begun.
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        // A journal slower than its workers holds them up.
        let (send, receive) = mpsc::sync_channel(threads.max(1));
        let (missing, next, ended) = (&missing, &next, &ended);
        let chunks = sweep.shared();
        for _ in 0..threads.max(1) {
            let (send, chunks) = (send.clone(), Arc::clone(&chunks));
            scope.spawn(move || {
                while !ended.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(index) = missing.get(at as usize) else { return };
                    let results =
                        chunks.bytes(*index).and_then(|chunk| measure_until(&chunk, stop));
                    if send.send(results).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        for results in receive {
            let kept = match results {
                Ok(Ok(bytes)) => sweep.add(&bytes).map(drop),
                Ok(Err(_)) => continue,
                Err(error) => Err(error),
            };
            if let Err(error) = kept {
                ended.store(true, Ordering::Relaxed);
                return Err(error);
            }
            progress(sweep.done(), points);
        }
        Ok(())
    })?;
    if sweep.done() < points {
        return Err(sweep.stopped());
    }
    sweep.finish()
}
