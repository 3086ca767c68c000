//! Measures the missing chunks of a sweep with several workers on this machine.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::chunk::Chunks;
use crate::error::SweepError;
use crate::measure::Stopped;
use crate::sweep::Sweep;
use crate::table::Finished;

/// Called after each chunk with the number of measured points, and of all points.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// A chunk's results, or that the work was stopped.
pub(crate) type Given = Result<Vec<u8>, Stopped>;

/// Whether to end a sweep early.
#[derive(Clone, Copy)]
pub(crate) struct Until<'a> {
    /// Raised from outside.
    pub stop: &'a AtomicBool,
    /// Set after an error: no further chunk is started.
    pub error: &'a AtomicBool,
}

impl Until<'_> {
    /// Whether it has to end now.
    pub fn is_over(self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.error.load(Ordering::Relaxed)
    }
}

/// Interval between checks of the stop flag.
const LOOK: Duration = Duration::from_millis(20);

/// Measures what is missing with `count` workers, each on a thread of its own, and writes the
/// table. `worker` creates one, given its number and a flag that is set after an error; `end` is
/// called repeatedly while workers have to end early.
///
/// # Errors
/// The first error of a worker or of the journal; [`SweepError::Stopped`] once `stop` is set.
pub(crate) fn side_by_side<W, M>(
    mut sweep: Sweep,
    count: usize,
    until: Until<'_>,
    progress: Progress<'_>,
    worker: &W,
    end: &dyn Fn(),
) -> Result<Finished, SweepError>
where
    W: Fn(usize) -> M + Sync,
    M: FnMut(&Chunks, u64) -> Result<Given, SweepError>,
{
    let points = sweep.grid().points();
    progress(sweep.done(), points);
    let missing: Vec<u64> = {
        let next = |from: &u64| sweep.next_missing(from + 1);
        std::iter::successors(sweep.next_missing(0), next).collect()
    };
    let next = AtomicU64::new(0);
    let mut error = None;
    thread::scope(|scope| {
        // A journal that is slower than its workers makes them wait.
        let (send, receive) = sync_channel(count.max(1));
        let (missing, next) = (&missing, &next);
        for at in 0..count.max(1) {
            let (send, chunks) = (send.clone(), sweep.shared());
            scope.spawn(move || {
                let mut measure = worker(at);
                while !until.is_over() {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(index) = missing.get(at as usize) else { return };
                    if send.send(measure(&chunks, *index)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        loop {
            let kept = match receive.recv_timeout(LOOK) {
                Ok(Ok(Ok(bytes))) => sweep.add(&bytes).map(|_| progress(sweep.done(), points)),
                Ok(Ok(Err(Stopped))) | Err(RecvTimeoutError::Timeout) => Ok(()),
                Ok(Err(error)) => Err(error),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if let Err(found) = kept {
                until.error.store(true, Ordering::Relaxed);
                error.get_or_insert(found);
            }
            if until.is_over() {
                end();
            }
        }
    });
    match error {
        Some(error) => Err(error),
        None if sweep.done() < points => Err(sweep.stopped()),
        None => sweep.finish(),
    }
}
