use std::sync::atomic::{AtomicU64, Ordering};

use flashlag_units::Nanos;

/// The state that the threads of one test share: their start and the number of operations left.
#[derive(Debug)]
pub struct SharedLimits {
    /// The moment from which all of them count.
    pub start: Nanos,
    /// Operations that may still begin; `None` if there is no limit in bytes.
    left: Option<AtomicU64>,
}

impl SharedLimits {
    /// Threads that begin at `start` and together do at most `ops` operations.
    pub(super) fn new(start: Nanos, ops: Option<u64>) -> SharedLimits {
        SharedLimits { start, left: ops.map(AtomicU64::new) }
    }

    /// Takes one of the operations left; `false` if none is.
    #[inline]
    pub(super) fn takes_one(&self) -> bool {
        let Some(left) = &self.left else { return true };
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_each_operation_that_is_left_once_and_without_a_limit_any_number() {
        let three = SharedLimits::new(Nanos::ZERO, Some(3));
        let taken: Vec<bool> = (0..5).map(|_| three.takes_one()).collect();
        assert_eq!(taken, [true, true, true, false, false]);
        let endless = SharedLimits::new(Nanos::ZERO, None);
        assert!((0..100).all(|_| endless.takes_one()));
    }
}
