//! Does independent work in parallel: results come in the order of the inputs, whatever the number
//! of threads.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

thread_local! {
    /// Whether this thread was started here. Its own work is then done in turn, so that there are never
    /// more simulations at once than threads.
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// The number of cores.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The results of `work` for each item, made by at most `threads` threads.
pub(crate) fn map<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let mut all = Vec::with_capacity(items.len());
    let _: Result<(), ()> = in_order(threads, items, work, |one| {
        all.push(one);
        Ok(())
    });
    all
}

/// The results of `work` for each item, or the first error by the order of the items. After an error no
/// further item is begun.
pub(crate) fn try_map<T: Sync, R: Send, E: Send>(
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let mut all = Vec::with_capacity(items.len());
    in_order(threads, items, work, |one| {
        all.push(one?);
        Ok(())
    })?;
    Ok(all)
}

/// Calls `done` on this thread with the result for each item, in the order of the items, each as soon
/// as all before it are there. After an error of `done` no further item is begun.
pub(crate) fn in_order<T: Sync, R: Send, E>(
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    mut done: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let threads = threads.min(items.len());
    if threads < 2 || IS_WORKER.get() {
        return items.iter().try_for_each(|item| done(work(item)));
    }
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let slot = |index: usize| {
        // A panic ends the whole scope.
        results.get(index).map(|slot| slot.lock().unwrap_or_else(PoisonError::into_inner))
    };
    let mut outcome = Ok(());
    let one = |index: usize| {
        if let (Some(item), Some(mut slot)) = (items.get(index), slot(index)) {
            *slot = Some(work(item));
        }
    };
    side_by_side(threads, items.len(), &one, &mut |index| {
        if let Some(result) = slot(index).and_then(|mut slot| slot.take()) {
            outcome = done(result);
        }
        outcome.is_ok()
    });
    outcome
}

/// Calls `work` for each index below `count` on `threads` threads, and `done` on this one in the order of
/// the indices; once it returns false, no further index is begun. Not generic: the program has it once.
fn side_by_side(
    threads: usize,
    count: usize,
    work: &(dyn Fn(usize) + Sync),
    done: &mut dyn FnMut(usize) -> bool,
) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        for _ in 0..threads {
            let (send, next) = (send.clone(), &next);
            scope.spawn(move || {
                IS_WORKER.set(true);
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        return;
                    }
                    work(index);
                    // The receiver is gone after an error.
                    if send.send(index).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let (mut ready, mut first) = (vec![false; count], 0);
        for index in receive {
            ready[index] = true;
            while ready.get(first) == Some(&true) {
                if !done(first) {
                    next.store(count, Ordering::Relaxed);
                    return;
                }
                first += 1;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Later items are ready first.
    fn slow(item: &u64) -> u64 {
        thread::sleep(Duration::from_millis(20 - 2 * item));
        item * item
    }

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..10).collect();
        let squares: Vec<u64> = items.iter().map(|item| item * item).collect();
        for threads in [0, 1, 3, 10, 20] {
            assert_eq!(map(threads, &items, slow), squares, "{threads} threads");
        }
    }

    #[test]
    fn the_first_error_by_order_is_returned_and_nothing_is_begun_after_one() {
        let items: Vec<u64> = (0..1000).collect();
        for threads in [1, 4] {
            let begun = AtomicUsize::new(0);
            let found = try_map(threads, &items, |item| {
                begun.fetch_add(1, Ordering::Relaxed);
                // The third error takes longer than the fourth.
                thread::sleep(Duration::from_millis(if *item == 3 { 10 } else { 1 }));
                if *item >= 3 { Err(*item) } else { Ok(()) }
            });
            assert_eq!(found, Err(3), "{threads} threads");
            let begun = begun.load(Ordering::Relaxed);
            assert!(begun < 100, "{threads} threads began {begun}");
        }
    }

    #[test]
    fn work_within_work_is_done_by_the_same_thread() {
        let seen = Mutex::new(Vec::new());
        map(2, &[0, 1], |outer| {
            let inner = map(4, &[0, 1, 2, 3], |_| thread::current().id());
            seen.lock().map(|mut seen| seen.push((*outer, inner))).ok();
        });
        for (outer, inner) in seen.into_inner().unwrap() {
            assert!(inner.iter().all(|one| *one == inner[0]), "{outer}: {inner:?}");
        }
    }
}
