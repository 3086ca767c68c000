//! When saves begin: on the schedule, after a think time, or at once; and when no more begin.

use std::sync::atomic::Ordering;

use flashlag_device::{Clock, WaitMeter, WaitReading};
use flashlag_units::Nanos;

use super::{LOOK_UP, Phase, STILL, STRETCH};
use crate::saver::Saver;

impl<S: Saver, M: WaitMeter> Phase<'_, S, M> {
    /// Whether no save may begin at `time`.
    pub(super) fn limit_reached(&self, time: Nanos) -> bool {
        if self.pace.saves.is_some_and(|saves| self.saves >= saves) {
            return true;
        }
        let Some(limit) = self.pace.time else { return false };
        let elapsed = time.since(self.start);
        let enough = self.pace.min_saves.is_none_or(|saves| self.saves >= saves);
        elapsed >= limit && (enough || elapsed.0 >= limit.0.saturating_mul(STRETCH))
    }

    /// The think time after each save.
    fn think(&self) -> Nanos {
        self.pace.think
    }

    /// When the think time after the last save ends; `None` before the first save and without a
    /// think time.
    pub(super) fn rest_ends(&self) -> Option<Nanos> {
        let think = self.think();
        self.last_ended.filter(|_| think > Nanos::ZERO).map(|ended| ended.plus(think))
    }

    /// Whether a limit in time can't be reached because no time passes, as on a simulated device
    /// that takes none.
    pub(super) fn time_stands_still(&self) -> bool {
        let endless = self.pace.saves.is_none() && self.arrivals.is_none();
        endless && self.saves >= STILL && self.clock.now() == self.start
    }

    /// Waits for the schedule or for the end of a think time; `false` if the job was stopped meanwhile.
    pub(super) fn wait_to_begin(&mut self, intended: Option<Nanos>, rested: Option<Nanos>) -> bool {
        let Some(begins) = intended.or(rested) else { return true };
        let from = (self.clock.now() < begins).then(|| self.sampler.read(&self.clock)).flatten();
        if !self.pass_until(begins) {
            return false;
        }
        if let Some(from) = from
            && let Some(to) = self.sampler.read(&self.clock)
        {
            match intended {
                Some(intended) => self.waited(intended, from, to),
                None => self.rested(from, to),
            }
        }
        if let Some(intended) = intended {
            self.take_slot(intended);
        } else if let Some(ended) = self.last_ended {
            self.thought = self.thought.plus(self.clock.now().saturating_since(ended));
        }
        true
    }

    /// Lets time pass until `time`; `false` if the job was stopped meanwhile.
    fn pass_until(&self, time: Nanos) -> bool {
        loop {
            let now = self.clock.now();
            if now >= time {
                return true;
            }
            if self.stop.load(Ordering::Relaxed) {
                return false;
            }
            self.clock.pass_until(time.min(now.plus(LOOK_UP)));
        }
    }

    /// In a schedule, a late wake-up counts as the save's: only the time until the intended start
    /// is idle.
    fn waited(&mut self, intended: Nanos, from: WaitReading, to: WaitReading) {
        let idle = intended.saturating_since(from.at);
        self.idle = self.idle.plus(idle);
        let on_cpu = to.times.on_cpu.saturating_since(from.times.on_cpu).min(idle);
        self.outside.on_cpu = self.outside.on_cpu.plus(on_cpu);
    }

    /// After a think time, a late wake-up only lengthens the rest: no save was waiting.
    fn rested(&mut self, from: WaitReading, to: WaitReading) {
        let (before, after) = (from.times, to.times);
        self.idle = self.idle.plus(to.at.saturating_since(from.at));
        let on_cpu = after.on_cpu.saturating_since(before.on_cpu);
        self.outside.on_cpu = self.outside.on_cpu.plus(on_cpu);
        let runnable = after.runnable.saturating_since(before.runnable);
        self.outside.runnable = self.outside.runnable.plus(runnable);
    }

    /// Uses a slot of the schedule. It counts as missed if its save begins more than a period late.
    fn take_slot(&mut self, intended: Nanos) {
        let late = self.clock.now().since(intended);
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.next_time();
            if late > arrivals.period() {
                self.recorder.miss_slots(1);
            }
        }
    }

    /// Counts slots of the schedule that were due before the end but never began.
    pub(super) fn count_unissued(&mut self, now: Nanos) {
        let limit = self.pace.time.map(|time| self.start.plus(time));
        let end = limit.map_or(now, |limit| limit.min(now));
        let left = self.pace.saves.map_or(u64::MAX, |saves| saves.saturating_sub(self.saves));
        let Some(arrivals) = &mut self.arrivals else { return };
        let mut slots = 0;
        while slots < left && arrivals.peek() < end {
            arrivals.next_time();
            slots += 1;
        }
        self.recorder.miss_slots(slots);
    }
}
