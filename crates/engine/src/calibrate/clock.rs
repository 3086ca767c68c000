//! Measures the monotonic clock against itself and against the other clocks.

use flashlag_device::{Clock, MonotonicClock};
use flashlag_spec::{ClockCalibration, Reading};
use flashlag_units::Nanos;
use rustix::time::{ClockId, clock_getres, clock_gettime};

/// Readings in a batch: enough that the two readings around it cost less than 1 % of it.
const BATCH: u32 = 256;
const BATCHES: usize = 201;
/// The comparison takes the tightest of this many brackets.
const BRACKETS: usize = 64;

/// One clock read between two readings of the monotonic one.
#[derive(Clone, Copy)]
struct Bracket {
    /// The middle of the two monotonic readings.
    monotonic: i128,
    /// The other clock.
    other: i128,
    /// The distance between the two readings: twice the largest error.
    width: u64,
}

/// The two ends of a comparison with another clock.
pub(super) struct Comparison {
    id: ClockId,
    start: Bracket,
}

impl Comparison {
    pub fn start(id: ClockId) -> Comparison {
        Comparison { id, start: bracket(id) }
    }

    /// By how many parts in a million the monotonic clock ran faster than the other since the
    /// start. The brackets bound the error: a difference within that bound is reported as zero.
    pub fn parts_per_million(&self) -> Reading<f64> {
        let end = bracket(self.id);
        let monotonic = end.monotonic - self.start.monotonic;
        let other = end.other - self.start.other;
        if other <= 0 || monotonic <= 0 {
            return Reading::unavailable("the clocks did not move over the window");
        }
        let difference = monotonic - other;
        let uncertain = i128::from((end.width + self.start.width) / 2);
        let certain = if difference.abs() <= uncertain { 0 } else { difference };
        Reading::Value(certain as f64 * 1e6 / other as f64)
    }
}

fn bracket(id: ClockId) -> Bracket {
    let read = || {
        let before = MonotonicClock.now().0;
        let other = clock_gettime(id);
        let after = MonotonicClock.now().0;
        let width = after.saturating_sub(before);
        let other = i128::from(other.tv_sec) * 1_000_000_000 + i128::from(other.tv_nsec);
        Bracket { monotonic: i128::from(before) + i128::from(width / 2), other, width }
    };
    let mut best = read();
    for _ in 1..BRACKETS {
        let next = read();
        if next.width < best.width {
            best = next;
        }
    }
    best
}

/// Measures the clock's resolution, the cost of a reading, and whether it ever goes back.
pub(super) fn measure() -> ClockCalibration {
    let claimed = clock_getres(ClockId::Monotonic);
    let claimed = Nanos(claimed.tv_sec as u64 * 1_000_000_000 + claimed.tv_nsec as u64);
    let mut costs = [0u64; BATCHES];
    let (mut smallest, mut steps_back) = (u64::MAX, 0);
    for cost in &mut costs {
        let started = MonotonicClock.now();
        let mut last = started;
        for _ in 0..BATCH {
            let now = MonotonicClock.now();
            match now.0.checked_sub(last.0) {
                None => steps_back += 1,
                Some(0) => {}
                Some(step) => smallest = smallest.min(step),
            }
            last = now;
        }
        *cost = last.since(started).0 * 1000 / u64::from(BATCH);
    }
    costs.sort_unstable();
    ClockCalibration {
        claimed_resolution_ns: Reading::Value(claimed),
        resolution_ns: if smallest == u64::MAX {
            Reading::unavailable("the clock stood still")
        } else {
            Reading::Value(Nanos(smallest))
        },
        cost_picoseconds: costs[BATCHES / 2],
        cost_min_picoseconds: costs[0],
        steps_back,
        ..ClockCalibration::default()
    }
}
