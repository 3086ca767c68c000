use flashlag_stats::WaitSplit;
use flashlag_units::Nanos;

use crate::clock::Clock;
use crate::wait::{SchedulerTimes, WaitMeter};

/// Readings are at least this many times the cost of one apart. The two around an operation then
/// cost at most a quarter of a percent of the time.
const COSTS_BETWEEN: u64 = 800;
/// But a reading before an operation is never older than this, so that a stall's split is that
/// precise.
const LONGEST_GAP: Nanos = Nanos::from_millis(1);
/// An operation's split is kept if the time between its two readings exceeds the operation by at
/// most one part in this many.
const WINDOW_EXCESS: u64 = 16;
/// A reading takes a microsecond or two. One that took this long lost its CPU on the way, and what
/// it waited may be in the scheduler's times and not before its moment, or the other way round.
const TORN: Nanos = Nanos::from_micros(50);
/// Readings in a row of which the last is taken, torn or not.
const READINGS: u32 = 4;

/// The scheduler's times for a thread, at a time of a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitReading {
    /// The moment.
    pub at: Nanos,
    /// The times, summed since the thread began.
    pub times: SchedulerTimes,
}

/// The time between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitWindow {
    /// The earlier reading.
    pub from: WaitReading,
    /// The later reading.
    pub to: WaitReading,
}

impl WaitWindow {
    /// The thread's states in that time.
    pub fn split(&self) -> WaitSplit {
        self.split_of(self.length())
    }

    /// The split of an operation of `latency` within this time. The rest of the time is the
    /// caller's own work: on the CPU, or, if the thread was on the CPU for less than that, waiting
    /// for a CPU. Before a stall it may include short operations that blocked: the error is at most
    /// the sampling gap.
    pub fn split_of(&self, latency: Nanos) -> WaitSplit {
        let outside = self.length().saturating_since(latency);
        let on_cpu = self.to.times.on_cpu.saturating_since(self.from.times.on_cpu);
        let runnable = self.to.times.runnable.saturating_since(self.from.times.runnable);
        let outside_runnable = outside.saturating_since(on_cpu);
        WaitSplit::of(
            latency,
            on_cpu.saturating_since(outside),
            runnable.saturating_since(outside_runnable),
        )
    }

    /// Whether the readings are close enough around an operation of `latency` to be a sample of it.
    pub fn is_tight_around(&self, latency: Nanos) -> bool {
        self.length().saturating_since(latency).0 <= latency.0 / WINDOW_EXCESS
    }

    /// The length of the window.
    pub fn length(&self) -> Nanos {
        self.to.at.since(self.from.at)
    }
}

/// Reads a wait meter from time to time, at a cost of at most a quarter of a percent of the time.
#[derive(Debug)]
pub struct WaitSampler<M> {
    meter: M,
    gap: Nanos,
    /// `None` if the meter can't be read; it is then never read again.
    last: Option<WaitReading>,
}

impl<M: WaitMeter> WaitSampler<M> {
    /// Measures what a reading costs, on `clock`.
    pub fn new<C: Clock>(meter: M, clock: &C) -> WaitSampler<M> {
        const TRIES: u64 = 16;
        let mut sampler = WaitSampler { meter, gap: Nanos::ZERO, last: None };
        if sampler.read(clock).is_none() {
            return sampler;
        }
        let from = clock.now();
        for _ in 0..TRIES {
            sampler.read(clock);
        }
        let cost = clock.now().since(from).0 / TRIES;
        sampler.gap = Nanos(cost.saturating_mul(COSTS_BETWEEN).max(1)).min(LONGEST_GAP);
        sampler
    }

    /// The last reading.
    #[inline]
    pub fn last(&self) -> Option<WaitReading> {
        self.last
    }

    /// Takes a reading if the last one is old enough by `now`.
    #[inline]
    pub fn read_if_due<C: Clock>(&mut self, now: Nanos, clock: &C) -> bool {
        match self.last {
            Some(last) if now.saturating_since(last.at) >= self.gap => self.read(clock).is_some(),
            _ => false,
        }
    }

    /// Takes a reading, again if the thread lost its CPU during it: a wait of its own would
    /// otherwise be the operation's.
    #[inline]
    pub fn read<C: Clock>(&mut self, clock: &C) -> Option<WaitReading> {
        for _ in 0..READINGS {
            let from = clock.now();
            let times = self.meter.read()?;
            let at = clock.now();
            self.last = Some(WaitReading { at, times });
            if at.saturating_since(from) < TORN {
                break;
            }
        }
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::VirtualClock;
    use crate::wait::NoWaitMeter;
    use std::cell::Cell;

    /// Each reading takes a microsecond of virtual time; a quarter of all time counts as waiting
    /// for a CPU.
    struct Quarter<'a>(&'a VirtualClock, &'a Cell<u64>);

    impl WaitMeter for Quarter<'_> {
        fn read(&self) -> Option<SchedulerTimes> {
            self.1.set(self.1.get() + 1);
            let now = self.0.now().plus(Nanos::from_micros(1));
            self.0.advance_to(now);
            Some(SchedulerTimes { on_cpu: Nanos(now.0 / 2), runnable: Nanos(now.0 / 4) })
        }
    }

    #[test]
    fn readings_cost_a_quarter_of_a_percent_at_most() {
        let (clock, readings) = (VirtualClock::default(), Cell::new(0));
        let mut sampler = WaitSampler::new(Quarter(&clock, &readings), &clock);
        let before = readings.get();
        for _ in 0..10_000 {
            clock.advance_to(clock.now().plus(Nanos::from_micros(20)));
            if sampler.read_if_due(clock.now(), &clock) {
                sampler.read(&clock);
            }
        }
        let share = (readings.get() - before) as f64 / clock.now().0 as f64 * 1_000.0;
        assert!((0.00125..=0.0026).contains(&share), "{share}");
    }

    #[test]
    fn a_window_gives_what_lies_around_an_operation_to_the_cpu() {
        let at = |at: u64, on_cpu: u64, runnable: u64| WaitReading {
            at: Nanos(at),
            times: SchedulerTimes { on_cpu: Nanos(on_cpu), runnable: Nanos(runnable) },
        };
        let window = WaitWindow { from: at(1_000, 500, 100), to: at(2_000, 700, 400) };
        let split = window.split_of(Nanos(900));
        assert_eq!(split.on_cpu, Nanos(100));
        assert_eq!(split.runnable, Nanos(300));
        assert_eq!(split.blocked, Nanos(500));
        assert_eq!(window.split().total(), Nanos(1_000));
        assert!(!window.is_tight_around(Nanos(900)) && window.is_tight_around(Nanos(960)));
    }

    /// Loses the CPU for 46 ms after its `torn` next readings, before their moment is read.
    struct Torn<'a>(&'a VirtualClock, &'a Cell<u32>);

    impl WaitMeter for Torn<'_> {
        fn read(&self) -> Option<SchedulerTimes> {
            let waited = self.0.now().0 / 1_000_000_000 * 46_000_000;
            if self.1.get() > 0 {
                self.1.set(self.1.get() - 1);
                self.0.advance_to(self.0.now().plus(Nanos::from_secs(1)));
            }
            Some(SchedulerTimes { on_cpu: Nanos::ZERO, runnable: Nanos(waited) })
        }
    }

    #[test]
    fn what_a_reading_itself_waited_for_a_cpu_is_not_the_operations() {
        for torn in 0..READINGS {
            let (clock, left) = (VirtualClock::default(), Cell::new(0));
            let mut sampler = WaitSampler::new(Torn(&clock, &left), &clock);
            left.set(torn);
            let from = sampler.read(&clock).expect("a meter that reads");
            clock.advance_to(clock.now().plus(Nanos::from_millis(50)));
            let to = sampler.read(&clock).expect("a meter that reads");
            let split = WaitWindow { from, to }.split_of(Nanos::from_millis(50));
            assert_eq!(split.blocked, Nanos::from_millis(50), "torn {torn} times: {split:?}");
        }
    }

    #[test]
    fn without_a_meter_nothing_is_read() {
        let clock = VirtualClock::default();
        let mut sampler = WaitSampler::new(NoWaitMeter, &clock);
        assert!(!sampler.read_if_due(Nanos::MAX, &clock));
        assert_eq!(sampler.last(), None);
    }
}
