use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use flashlag_units::Bytes;

/// The bytes that a run may still write, shared by all of its writers (clones share it).
///
/// A writer takes bytes *before* it writes them, all of them or none. So no interleaving of threads
/// writes more than the budget. A writer that can't know the amount takes the most that it may
/// need, and gives back the rest.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    left: AtomicU64,
    refused: AtomicBool,
}

impl Budget {
    /// A budget of `limit`.
    pub fn of(limit: Bytes) -> Budget {
        Budget(Arc::new(Shared { left: AtomicU64::new(limit.0), refused: AtomicBool::new(false) }))
    }

    /// Takes `bytes`, or nothing if fewer are left.
    #[inline]
    pub fn take(&self, bytes: Bytes) -> bool {
        let left = |left: u64| left.checked_sub(bytes.0);
        let taken = self.0.left.fetch_update(Relaxed, Relaxed, left).is_ok();
        if !taken {
            self.0.refused.store(true, Relaxed);
        }
        taken
    }

    /// Gives back bytes that were taken and not written.
    pub fn give_back(&self, bytes: Bytes) {
        self.0.left.fetch_add(bytes.0, Relaxed);
    }

    /// Settles the account of a call that took `taken` and wrote `written`: gives back the rest, or
    /// takes the excess from what is left.
    pub fn settle(&self, taken: Bytes, written: Bytes) {
        self.give_back(taken.saturating_minus(written));
        let beyond = written.saturating_minus(taken).0;
        let _ =
            self.0.left.fetch_update(Relaxed, Relaxed, |left| Some(left.saturating_sub(beyond)));
    }

    /// The bytes left.
    pub fn left(&self) -> Bytes {
        Bytes(self.0.left.load(Relaxed))
    }

    /// Whether anything was refused since the last call.
    pub fn take_refused(&self) -> bool {
        self.0.refused.swap(false, Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_together_never_take_more_than_there_was() {
        let budget = Budget::of(Bytes(100_003));
        let taken: u64 = std::thread::scope(|scope| {
            let takers: Vec<_> = (1..=4u64)
                .map(|size| {
                    let budget = budget.clone();
                    scope.spawn(move || {
                        let mut taken = 0;
                        while budget.take(Bytes(size * 7)) {
                            taken += size * 7;
                        }
                        taken
                    })
                })
                .collect();
            takers.into_iter().map(|taker| taker.join().unwrap()).sum()
        });
        assert_eq!(taken + budget.left().0, 100_003);
        assert!(budget.left().0 < 7, "{:?}", budget.left());
        assert!(budget.take_refused() && !budget.take_refused());
    }

    #[test]
    fn what_was_not_written_comes_back_and_what_was_written_beyond_is_paid() {
        let budget = Budget::of(Bytes(100));
        assert!(budget.take(Bytes(60)));
        budget.settle(Bytes(60), Bytes(10));
        assert_eq!(budget.left(), Bytes(90));
        assert!(budget.take(Bytes(60)));
        budget.settle(Bytes(60), Bytes(70));
        assert_eq!(budget.left(), Bytes(20));
        assert!(!budget.take(Bytes(21)));
        assert_eq!(budget.left(), Bytes(20));
    }
}
