use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flashlag_units::{Nanos, always, never};

/// The command queue: ends of the commands in flight, at most `depth`.
///
/// A command that arrives while `depth` are in flight begins when the first of them ends. With n
/// commands always waiting and a service time of s each, that gives `min(n, depth) / s` commands a
/// second until something else is the bottleneck.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CommandQueue {
    depth: usize,
    ends: BinaryHeap<Reverse<Nanos>>,
}

impl CommandQueue {
    /// A queue of `depth` commands; zero counts as one.
    pub(crate) fn new(depth: u32) -> CommandQueue {
        let depth = depth.max(1) as usize;
        CommandQueue { depth, ends: BinaryHeap::with_capacity(depth) }
    }

    /// When a command that arrives at `at` begins. [`CommandQueue::end`] must follow.
    #[inline]
    pub(crate) fn begin(&mut self, at: Nanos) -> Nanos {
        if self.ends.len() < self.depth {
            return at;
        }
        match self.ends.pop() {
            Some(Reverse(first)) => at.max(first),
            None => {
                never!("a full queue of no commands: its depth is one or more");
                at
            }
        }
    }

    /// Sets the end of the command that began last.
    #[inline]
    pub(crate) fn end(&mut self, end: Nanos) {
        always!(self.ends.len() < self.depth, "more commands end than began");
        self.ends.push(Reverse(end));
    }

    /// Empties the queue, after a power cut.
    pub(crate) fn clear(&mut self) {
        self.ends.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` commands that come at once and take 100 ns each.
    fn last_end(depth: u32, count: u32) -> Nanos {
        let mut queue = CommandQueue::new(depth);
        let mut last = Nanos::ZERO;
        for _ in 0..count {
            let end = queue.begin(Nanos::ZERO).plus(Nanos(100));
            queue.end(end);
            last = last.max(end);
        }
        last
    }

    #[test]
    fn a_command_beyond_the_depth_waits_for_the_first_that_ends() {
        assert_eq!(last_end(1, 8), Nanos(800));
        assert_eq!(last_end(4, 8), Nanos(200));
        assert_eq!(last_end(32, 8), Nanos(100));
    }

    #[test]
    fn a_command_that_comes_late_waits_for_none() {
        let mut queue = CommandQueue::new(1);
        queue.end(Nanos(100));
        assert_eq!(queue.begin(Nanos(250)), Nanos(250));
        queue.end(Nanos(300));
        assert_eq!(queue.begin(Nanos(250)), Nanos(300));
    }
}
