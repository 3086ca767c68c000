//! Slow requests, with what they waited for.

use std::collections::VecDeque;

use flashlag_schema::{SlowRequest, WaitPart};
use flashlag_stats::Waited;
use flashlag_units::Nanos;

/// The most requests that are kept; the oldest are dropped.
const MOST: usize = 4096;

/// The list.
#[derive(Debug)]
pub(super) struct SlowRequests {
    over: Nanos,
    kept: VecDeque<SlowRequest>,
}

impl SlowRequests {
    /// An empty list of requests that take longer than `over`.
    pub(super) fn over(over: Nanos) -> SlowRequests {
        SlowRequests { over, kept: VecDeque::new() }
    }

    /// The requests since the last call.
    pub(super) fn take(&mut self) -> Vec<SlowRequest> {
        std::mem::take(&mut self.kept).into()
    }

    /// Lists a request that came at `at` and took until `ended`, if that was slow.
    pub(super) fn note(&mut self, at: Nanos, ended: Nanos, waited: &Waited) {
        let ns = ended.saturating_since(at);
        if ns <= self.over {
            return;
        }
        if self.kept.len() >= MOST {
            self.kept.pop_front();
        }
        let waited = WaitPart::all(&waited.scaled_to(ns));
        self.kept.push_back(SlowRequest { at_ns: at, ns, waited });
    }
}

#[cfg(test)]
mod tests {
    use flashlag_schema::StallCause;
    use flashlag_stats::Wait;

    use super::*;

    #[test]
    fn the_newest_slow_requests_are_kept_with_parts_that_add_up() {
        let mut slow = SlowRequests { over: Nanos(10), kept: VecDeque::new() };
        let mut waited = Waited::all(Wait::GarbageCollection, Nanos(30));
        waited.add(Wait::Storage, Nanos(10));
        slow.note(Nanos(5), Nanos(15), &waited);
        assert!(slow.kept.is_empty(), "as long as the limit");
        for at in 0..(MOST as u64 + 7) {
            slow.note(Nanos(at), Nanos(at + 20), &waited);
        }
        assert_eq!(slow.kept.len(), MOST);
        let first = slow.kept.front().unwrap();
        assert_eq!((first.at_ns, first.ns), (Nanos(7), Nanos(20)));
        let sum: u64 = first.waited.iter().map(|part| part.ns.0).sum();
        assert_eq!(sum, 20);
        let largest = first.waited.iter().max_by_key(|part| part.ns).unwrap();
        assert_eq!(largest.cause, StallCause::GarbageCollection);
    }
}
