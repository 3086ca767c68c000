use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use flashlag_units::Nanos;

/// A resource used by one transfer at a time, with the gaps in its future reservations.
///
/// A read that waits long for its die must not hold up data that is ready earlier. So a transfer
/// takes the first gap that is long enough, and transfers are in the order of their data, not of
/// their commands.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Line {
    /// Reserved times: ascending, disjoint, non-empty.
    busy: VecDeque<(Nanos, Nanos)>,
}

impl Line {
    /// Drops reservations that ended by `now`; later calls must not ask for earlier times.
    #[inline]
    pub(crate) fn pass(&mut self, now: Nanos) {
        while self.busy.front().is_some_and(|(_, end)| *end <= now) {
            self.busy.pop_front();
        }
    }

    /// Reserves `time` in the first sufficient gap from `ready` on; returns its end.
    #[inline]
    pub(crate) fn reserve(&mut self, ready: Nanos, time: Nanos) -> Nanos {
        if time == Nanos::ZERO {
            return ready;
        }
        match self.busy.back_mut() {
            None => {}
            Some((_, end)) if *end == ready => {
                *end = ready.plus(time);
                return *end;
            }
            Some((_, end)) if *end < ready => {}
            Some(_) => return self.reserve_between(ready, time),
        }
        let end = ready.plus(time);
        self.busy.push_back((ready, end));
        end
    }

    /// Time that is reserved from `from` on.
    pub(crate) fn reserved_from(&self, from: Nanos) -> Nanos {
        let left = |(start, end): &(Nanos, Nanos)| end.saturating_since((*start).max(from));
        self.busy.iter().rev().map(left).fold(Nanos::ZERO, Nanos::plus)
    }

    fn reserve_between(&mut self, ready: Nanos, time: Nanos) -> Nanos {
        let mut start = ready;
        let mut index = self.busy.partition_point(|(_, end)| *end <= ready);
        while let Some((from, until)) = self.busy.get(index) {
            if start.plus(time) <= *from {
                break;
            }
            start = start.max(*until);
            index += 1;
        }
        let end = start.plus(time);
        let joins_before = index > 0 && self.busy[index - 1].1 == start;
        let joins_after = self.busy.get(index).is_some_and(|(from, _)| *from == end);
        match (joins_before, joins_after) {
            (true, true) => {
                self.busy[index - 1].1 = self.busy[index].1;
                self.busy.remove(index);
            }
            (true, false) => self.busy[index - 1].1 = end,
            (false, true) => self.busy[index].0 = start,
            (false, false) => self.busy.insert(index, (start, end)),
        }
        end
    }

    /// Drops all reservations, after a power cut.
    pub(crate) fn clear(&mut self) {
        self.busy.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn data_that_is_ready_goes_before_data_that_is_not() {
        let mut line = Line::default();
        assert_eq!(line.reserve(Nanos(5000), Nanos(10)), Nanos(5010));
        assert_eq!(line.reserve(Nanos(50), Nanos(10)), Nanos(60));
        assert_eq!(line.reserve(Nanos(55), Nanos(10)), Nanos(70));
        assert_eq!(line.reserve(Nanos(4995), Nanos(10)), Nanos(5020));
    }

    proptest! {
        #[test]
        fn no_moment_is_given_twice(asked in prop::collection::vec((0u64..1000, 1u64..50), 1..80)) {
            let mut line = Line::default();
            let mut taken = vec![false; 10_000];
            for (ready, time) in asked {
                let end = line.reserve(Nanos(ready), Nanos(time)).0;
                prop_assert!(end >= ready + time);
                for moment in end - time..end {
                    prop_assert!(!taken[moment as usize]);
                    taken[moment as usize] = true;
                }
            }
            let ordered: Vec<_> = line.busy.iter().copied().collect();
            prop_assert!(ordered.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }
}
