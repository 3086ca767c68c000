//! A set of disjoint ranges that don't touch.

use std::collections::BTreeMap;

use crate::plan::Run;

/// End of each range, by its start.
#[derive(Debug, Default)]
pub(crate) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds a range, joined to the ranges that it touches.
    pub(crate) fn add(&mut self, run: Run) {
        let (mut begin, mut end) = (run.offset, run.end());
        while let Some((&first, &last)) = self.0.range(..=end).next_back()
            && last >= begin
        {
            self.0.remove(&first);
            (begin, end) = (begin.min(first), end.max(last));
        }
        if begin < end {
            self.0.insert(begin, end);
        }
    }

    /// Removes a range and returns the parts of it that were in the set.
    pub(crate) fn take(&mut self, run: Run) -> Vec<Run> {
        let mut taken = Vec::new();
        while let Some((&begin, &end)) = self.0.range(..run.end()).next_back()
            && end > run.offset
        {
            self.0.remove(&begin);
            let (from, to) = (begin.max(run.offset), end.min(run.end()));
            if begin < from {
                self.0.insert(begin, from);
            }
            if to < end {
                self.0.insert(to, end);
            }
            taken.push(Run { offset: from, length: to - from });
        }
        taken.reverse();
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(begin: u64, end: u64) -> Run {
        Run { offset: begin, length: end - begin }
    }

    #[test]
    fn ranges_that_touch_are_one() {
        let mut ranges = Ranges::default();
        for (begin, end) in [(10, 20), (30, 40), (20, 30), (5, 12), (50, 60), (0, 2)] {
            ranges.add(run(begin, end));
        }
        assert_eq!(ranges.0, BTreeMap::from([(0, 2), (5, 40), (50, 60)]));
    }

    #[test]
    fn what_is_taken_is_gone_and_nothing_else_is() {
        let mut ranges = Ranges::default();
        ranges.add(run(0, 10));
        ranges.add(run(20, 30));
        assert_eq!(ranges.take(run(10, 20)), []);
        assert_eq!(ranges.take(run(8, 22)), [run(8, 10), run(20, 22)]);
        assert_eq!(ranges.take(run(0, 100)), [run(0, 8), run(22, 30)]);
        assert_eq!(ranges.take(run(0, 100)), []);
    }
}
