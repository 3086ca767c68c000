//! Think times: slots that rest after an operation, and the thread that sleeps in the meantime.

use flashlag_device::{Clock, Device, WaitMeter, WaitReading};
use flashlag_stats::WaitSplit;
use flashlag_units::Nanos;

use super::Phase;
use crate::drive::rests::Thinking;

/// A sleeping thread checks the stop flag at this interval.
const LOOK_UP: Nanos = Nanos::from_millis(100);

impl<D: Device, M: WaitMeter> Phase<'_, D, M> {
    /// Frees the slots of a lane whose rest is over; returns when the next rest ends, if an operation
    /// may still begin then.
    pub(super) fn end_rests(&mut self, lane: usize) -> Option<Nanos> {
        let think = self.job.think;
        self.lanes[lane].rests.next_end(think)?;
        self.now = self.now.max(self.device.clock().now());
        while let Some((from, slot)) = self.lanes[lane].rests.end_one(think, self.now) {
            self.lanes[lane].free.push(slot);
            // If a rest began in the warm-up, only its part after the warm-up counts.
            let counted = self.counted_from.map_or(from, |counted| counted.max(from));
            let rested = self.now.saturating_since(counted);
            self.thinking.thought = self.thinking.thought.plus(rested);
        }
        let ends = self.lanes[lane].rests.next_end(think)?;
        let over = self.all_issued() || self.time_is_up(ends);
        (!over).then_some(ends)
    }

    /// Sleeps until a rest ends; at most until the stop flag must be checked.
    pub(super) fn think_until(&mut self, time: Nanos) {
        let until = time.min(self.now.plus(LOOK_UP));
        let idle = self.in_flight == 0;
        let from = if idle { self.sampler.read(self.device.clock()) } else { None };
        self.device.wait_until(until);
        if let Some(from) = from
            && let Some(to) = self.sampler.read(self.device.clock())
        {
            self.slept(from, to);
        }
        self.now = self.now.max(self.device.clock().now());
    }

    /// If a thread wakes late, the rest was longer: the next operation did not wait for anything.
    fn slept(&mut self, from: WaitReading, to: WaitReading) {
        let Thinking { asleep, outside, .. } = &mut self.thinking;
        let (before, after) = (from.times, to.times);
        *asleep = asleep.plus(to.at.saturating_since(from.at));
        outside.on_cpu = outside.on_cpu.plus(after.on_cpu.saturating_since(before.on_cpu));
        let runnable = after.runnable.saturating_since(before.runnable);
        outside.runnable = outside.runnable.plus(runnable);
    }

    /// The split of this thread's time between two readings, without its sleep in rests.
    pub(super) fn split_without_rests(&self, first: WaitReading, last: WaitReading) -> WaitSplit {
        let Thinking { asleep, outside, .. } = self.thinking;
        let on_cpu = last.times.on_cpu.saturating_since(first.times.on_cpu);
        let runnable = last.times.runnable.saturating_since(first.times.runnable);
        let elapsed = last.at.since(first.at).saturating_since(asleep);
        let on_cpu = on_cpu.saturating_since(outside.on_cpu);
        WaitSplit::of(elapsed, on_cpu, runnable.saturating_since(outside.runnable))
    }
}
