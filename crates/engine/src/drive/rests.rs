use std::collections::VecDeque;

use flashlag_device::SchedulerTimes;
use flashlag_units::Nanos;

/// Slots of a lane whose operation has completed and whose think time is not over.
#[derive(Clone, Debug, Default)]
pub(super) struct Rests {
    /// The start of each rest, and its slot: in the order in which the rests end.
    slots: VecDeque<(Nanos, u32)>,
}

impl Rests {
    /// Begins a rest of `slot`. All rests of a lane are equally long.
    pub(super) fn begin(&mut self, from: Nanos, slot: u32) {
        // Completions that are reaped together may be in any order.
        let later = self.slots.iter().rev().take_while(|(other, _)| *other > from).count();
        self.slots.insert(self.slots.len() - later, (from, slot));
    }

    /// When the first rest ends; `None` if no slot rests.
    pub(super) fn next_end(&self, think: Nanos) -> Option<Nanos> {
        self.slots.front().map(|(from, _)| from.plus(think))
    }

    /// Ends the first rest if it is over at `now`; returns its start and its slot.
    pub(super) fn end_one(&mut self, think: Nanos, now: Nanos) -> Option<(Nanos, u32)> {
        self.next_end(think).filter(|end| *end <= now)?;
        self.slots.pop_front()
    }
}

/// The time that the app spends on something else, since counting began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Thinking {
    /// The sum of all rests that have ended, of all slots.
    pub(super) thought: Nanos,
    /// The time that this thread slept with nothing in flight, and the scheduler's times in that.
    pub(super) asleep: Nanos,
    pub(super) outside: SchedulerTimes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_end_in_the_order_in_which_their_operations_did() {
        let mut rests = Rests::default();
        for (from, slot) in [(30, 3), (10, 1), (20, 2), (20, 4)] {
            rests.begin(Nanos(from), slot);
        }
        let think = Nanos(100);
        assert_eq!(rests.next_end(think), Some(Nanos(110)));
        assert_eq!(rests.end_one(think, Nanos(109)), None);
        let ended = (110..=130).filter_map(|now| rests.end_one(think, Nanos(now)));
        let slots: Vec<u32> = ended.map(|(_, slot)| slot).collect();
        assert_eq!(slots, [1, 2, 4, 3]);
        assert_eq!(rests.next_end(think), None);
    }
}
