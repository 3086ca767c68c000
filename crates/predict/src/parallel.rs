//! Independent work side by side: results in the order of the inputs, whatever the number of threads.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
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
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        for _ in 0..threads {
            let (send, next, work) = (send.clone(), &next, &work);
            scope.spawn(move || {
                IS_WORKER.set(true);
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    // The receiver is gone after an error.
                    if send.send((index, work(item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let mut waiting: Vec<Option<R>> = items.iter().map(|_| None).collect();
        let mut first = 0;
        for (index, result) in receive {
            waiting[index] = Some(result);
            while let Some(result) = waiting.get_mut(first).and_then(Option::take) {
                first += 1;
                done(result).inspect_err(|_| next.store(items.len(), Ordering::Relaxed))?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
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
