use std::sync::atomic::{AtomicU64, Ordering};

use flashlag_units::{Bytes, Nanos};

use super::job::Limits;

/// What the threads of one test share: when they began, and how much they may do together.
#[derive(Debug)]
pub struct Together {
    /// The moment from which all of them count.
    pub start: Nanos,
    /// Operations that may still begin; `None` where no limit in bytes says how many.
    left: Option<AtomicU64>,
}

impl Together {
    /// Threads that begin at `start` and end by `limits`, in operations of `block`.
    pub fn new(start: Nanos, limits: &Limits, block: Bytes) -> Together {
        Together { start, left: limits.ops(block).map(AtomicU64::new) }
    }

    /// Takes one operation of those that are left; `false` where none is.
    #[inline]
    pub(super) fn takes_one(&self) -> bool {
        let Some(left) = &self.left else { return true };
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}
