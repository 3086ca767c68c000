//! What the operations of each interval waited for, on real storage.

use flashlag_schema::{IntervalRecord, Phase, StallCause, WaitPart, WaitRecord};
use flashlag_stats::Histogram;
use flashlag_units::Nanos;

use crate::histograms::restored;

/// What the operations of each interval of a phase waited for. A model's report, if there is one;
/// otherwise the causes of its stalls, and for all shorter waits the shares of the sampled ones of
/// the same length. The parts of an interval add up to the sum of its latencies. Empty if neither
/// is known.
pub fn layers(phase: &Phase) -> Vec<Vec<WaitPart>> {
    let mut begins = Nanos::ZERO;
    let mut all = Vec::with_capacity(phase.intervals.len());
    for interval in &phase.intervals {
        let parts = if !interval.waited.is_empty() {
            interval.waited.clone()
        } else {
            parts(phase, interval, begins)
        };
        begins = interval.t_ns;
        all.push(parts);
    }
    all
}

fn parts(phase: &Phase, interval: &IntervalRecord, begins: Nanos) -> Vec<WaitPart> {
    if phase.waits.is_empty() {
        return Vec::new();
    }
    let Some(histogram) = restored(&interval.histogram) else { return Vec::new() };
    let mut sums = Sums(Vec::new());
    let mut left = histogram.sum();
    let inside = |ended: Nanos| ended > begins && ended <= interval.t_ns;
    for stall in phase.stalls.iter().filter(|stall| inside(stall.t_ns.plus(stall.ns))) {
        let ns = stall.ns.min(left);
        sums.add(stall.cause, ns);
        left = left.saturating_since(ns);
    }
    // The shorter waits, by their latency classes; a rounding remainder counts as unknown.
    let short = histogram.occupied().filter_map(|(index, count)| {
        let middle = Histogram::middle_of(index as usize);
        (middle <= phase.stall_over_ns)
            .then(|| Nanos(middle.0.saturating_mul(count)))
            .map(|time| (middle, time))
    });
    let short: Vec<(Nanos, Nanos)> = short.collect();
    let whole: u128 = short.iter().map(|(_, time)| u128::from(time.0)).sum();
    let shared = left;
    for (middle, time) in short {
        let scaled = u128::from(time.0) * u128::from(shared.0) / whole.max(1);
        let scaled = Nanos(u64::try_from(scaled).unwrap_or(u64::MAX)).min(left);
        let divided = sums.divide(&phase.waits, middle, scaled);
        left = left.saturating_since(divided);
    }
    sums.add(StallCause::Unknown, left);
    sums.0
}

struct Sums(Vec<WaitPart>);

impl Sums {
    fn add(&mut self, cause: StallCause, ns: Nanos) {
        if ns == Nanos::ZERO {
            return;
        }
        match self.0.iter_mut().find(|part| part.cause == cause) {
            Some(part) => part.ns = part.ns.plus(ns),
            None => self.0.push(WaitPart { cause, ns }),
        }
    }

    /// Divides the time of waits of that length by the shares of the sampled ones in their class.
    /// Returns how much of it is divided.
    fn divide(&mut self, waits: &[WaitRecord], length: Nanos, time: Nanos) -> Nanos {
        let of_class = |wait: &&WaitRecord| wait.from_ns <= length && length < wait.below_ns;
        let Some(class) = waits.iter().find(of_class) else { return Nanos::ZERO };
        let whole = u128::from(class.time.total().0);
        if whole == 0 {
            return Nanos::ZERO;
        }
        let each = [
            (StallCause::Storage, class.time.blocked_ns),
            (StallCause::Cpu, class.time.runnable_ns),
            (StallCause::Executing, class.time.on_cpu_ns),
            (StallCause::Stopped, class.time.stopped_ns),
        ];
        let mut divided = Nanos::ZERO;
        for (cause, part) in each {
            let ns = Nanos((u128::from(part.0) * u128::from(time.0) / whole) as u64);
            self.add(cause, ns);
            divided = divided.plus(ns);
        }
        divided
    }
}
