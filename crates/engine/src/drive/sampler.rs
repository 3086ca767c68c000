use flashlag_device::{Clock, SchedulerTimes, WaitMeter};
use flashlag_stats::WaitSplit;
use flashlag_units::Nanos;

/// Readings are taken no more often than every so many times what one costs: two of them, before
/// and after an operation, then cost at most 1 % of the time.
const COSTS_BETWEEN: u64 = 200;
/// …but before an operation at least this often, so that a stall's split is never further off.
const LONGEST_GAP: Nanos = Nanos::from_millis(1);
/// An operation's split is kept where the window it was read over is at most this much longer:
/// one part in so many.
const WINDOW_EXCESS: u64 = 16;

/// The scheduler's times at a moment of the device's clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    pub at: Nanos,
    pub times: SchedulerTimes,
}

/// Reads the wait meter now and then, and tells an operation's waits by the readings before its
/// start and after its end.
pub(super) struct Sampler<'a, M> {
    meter: &'a M,
    /// Zero where the meter can't be read: then nothing is ever asked of it.
    gap: Nanos,
    last: Option<Reading>,
}

impl<'a, M: WaitMeter> Sampler<'a, M> {
    /// Finds out what a reading costs, on the device's clock.
    pub(super) fn new<C: Clock>(meter: &'a M, clock: &C) -> Sampler<'a, M> {
        const TRIES: u64 = 16;
        let mut sampler = Sampler { meter, gap: Nanos::ZERO, last: None };
        if meter.read().is_none() {
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
    pub(super) fn last(&self) -> Option<Reading> {
        self.last
    }

    /// Takes a reading if the last one is old enough by `now`.
    #[inline]
    pub(super) fn read_if_due<C: Clock>(&mut self, now: Nanos, clock: &C) -> bool {
        match self.last {
            Some(last) if now.since(last.at) >= self.gap => {
                self.read(clock);
                true
            }
            _ => false,
        }
    }

    /// Takes a reading.
    pub(super) fn read<C: Clock>(&mut self, clock: &C) -> Option<Reading> {
        let times = self.meter.read()?;
        self.last = Some(Reading { at: clock.now(), times });
        self.last
    }
}

/// Where the thread was between two readings.
pub(super) fn split_between(from: Reading, to: Reading) -> WaitSplit {
    let on_cpu = to.times.on_cpu.since(from.times.on_cpu);
    let runnable = to.times.runnable.since(from.times.runnable);
    WaitSplit::of(to.at.since(from.at), on_cpu, runnable)
}

/// The split of an operation of `latency` within the window of two readings. What the window has
/// beyond the operation was this loop's own work, on the CPU.
pub(super) fn split_of(latency: Nanos, from: Reading, to: Reading) -> WaitSplit {
    let window = to.at.since(from.at);
    let outside = window.since(latency);
    let on_cpu = to.times.on_cpu.since(from.times.on_cpu).since(outside);
    let runnable = to.times.runnable.since(from.times.runnable);
    WaitSplit::of(latency, on_cpu, runnable)
}

/// Whether a window is tight enough around an operation to be a sample of its kind.
pub(super) fn is_tight(latency: Nanos, from: Reading, to: Reading) -> bool {
    to.at.since(from.at).since(latency).0 <= latency.0 / WINDOW_EXCESS
}
