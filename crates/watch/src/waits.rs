//! Finds waits: in what completed between two readings of the disk's counters, and in requests that
//! do not complete. A mean is a lower bound of the longest wait, so nothing is claimed that was not.

use flashlag_schema::history::WaitKind;
use flashlag_stats::{Histogram, Percentile, WaitSplit};
use flashlag_units::Nanos;

use crate::glance::{Between, Glance};

/// A wait is unusual beyond this many times the usual one.
const UNUSUAL: u64 = 10;
/// Fewest waits of which one is usual.
const USUAL: u64 = 50;

/// A wait that someone may have noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// When, on the monotonic clock.
    pub from: Nanos,
    pub to: Nanos,
    /// How long; less than the time between both where only a bound is known.
    pub length: Nanos,
    pub kind: WaitKind,
    /// Where the waiting thread's time went; for probes.
    pub split: Option<WaitSplit>,
    /// The usual wait of that kind.
    pub usual: Option<Nanos>,
}

/// The usual waits of each kind: of this hour and the hour before it.
#[derive(Debug, Default)]
pub struct Usual([(Histogram, Histogram); 4]);

impl Usual {
    fn of(&self, kind: WaitKind) -> &(Histogram, Histogram) {
        &self.0[index(kind)]
    }

    /// Adds waits.
    pub fn record(&mut self, kind: WaitKind, wait: Nanos, count: u64) {
        self.0[index(kind)].1.record_many(wait, count);
    }

    /// Another hour begins.
    pub fn next_hour(&mut self) {
        for (before, now) in &mut self.0 {
            std::mem::swap(before, now);
            now.clear();
        }
    }

    /// The usual wait, if there were enough.
    pub fn usual(&self, kind: WaitKind) -> Option<Nanos> {
        let (before, now) = self.of(kind);
        if before.count() + now.count() < USUAL {
            return None;
        }
        let of = if now.count() >= USUAL { now } else { before };
        of.quantile(Percentile::P50)
    }
}

/// The place of a kind among the four that are counted.
pub(crate) fn index(kind: WaitKind) -> usize {
    match kind {
        WaitKind::Probe => 0,
        WaitKind::Read => 1,
        WaitKind::Write | WaitKind::Freeze => 2,
        WaitKind::Flush => 3,
    }
}

/// Finds waits in the disk's counters.
#[derive(Debug)]
pub struct Finder {
    over: Nanos,
    /// Since when nothing completes, with requests in flight.
    frozen: Option<Nanos>,
}

impl Finder {
    /// A finder of waits longer than this.
    pub fn new(over: Nanos) -> Finder {
        Finder { over, frozen: None }
    }

    /// Whether the disk has completed nothing for some time.
    pub fn is_frozen(&self, now: Nanos) -> bool {
        self.frozen.is_some_and(|since| now.saturating_since(since) >= self.over)
    }

    /// What two readings in a row show: at most one wait, the longest.
    pub fn look(&mut self, earlier: &Glance, later: &Glance, usual: &Usual) -> Option<Wait> {
        let Some(between) = Between::of(&earlier.requests, &later.requests) else {
            self.frozen = None;
            return None;
        };
        // What happened while nobody looked may be anything.
        if later.is_after_stop {
            self.frozen = None;
            return None;
        }
        let waited = has_waiter(earlier, later);
        let frozen = self.freeze(earlier, later, &between, waited);
        // Writes that nobody waits for are written back in batches, and are slow by design.
        let kinds = between.kinds().into_iter().filter(|(kind, _)| {
            *kind != WaitKind::Write || waited.is_some_and(|waited| waited >= self.over)
        });
        let means = kinds.filter_map(|(kind, seen)| Some((kind, seen.mean()?)));
        let longest = means.filter(|(_, mean)| *mean > self.over).max_by_key(|(_, mean)| *mean);
        let of_mean = longest.map(|(kind, mean)| Wait {
            from: Nanos(later.look.at.0.saturating_sub(mean.0)),
            to: later.look.at,
            length: mean,
            kind,
            split: None,
            usual: usual.usual(kind),
        });
        let found = match (frozen, of_mean) {
            (Some(freeze), Some(mean)) if mean.length > freeze.length => Some(mean),
            (Some(freeze), _) => Some(Wait { usual: usual.usual(WaitKind::Freeze), ..freeze }),
            (None, found) => found,
        };
        found.filter(|wait| is_unusual(wait.length, wait.usual))
    }

    /// The end of a time in which nothing completed.
    fn freeze(
        &mut self,
        earlier: &Glance,
        later: &Glance,
        between: &Between,
        waited: Option<Nanos>,
    ) -> Option<Wait> {
        let still = between.completed == 0 && earlier.requests.in_flight > 0;
        if still && later.requests.in_flight > 0 {
            // A request without a waiter may rest in a stopped queue.
            if waited.is_none_or(|waited| waited > Nanos::ZERO) {
                self.frozen.get_or_insert(earlier.look.at);
            }
            return None;
        }
        let since = self.frozen.take()?;
        // It ended between the two readings: certain is the time until the first of them.
        let length = earlier.look.at.saturating_since(since);
        (length > self.over).then_some(Wait {
            from: since,
            to: later.look.at,
            length,
            kind: WaitKind::Freeze,
            split: None,
            usual: None,
        })
    }
}

/// How long some task waited for I/O between two readings; `None` if the kernel does not say.
fn has_waiter(earlier: &Glance, later: &Glance) -> Option<Nanos> {
    later.look.since(&earlier.look).io_pressure_ns
}

/// Whether a wait is longer than the usual one by far.
pub fn is_unusual(length: Nanos, usual: Option<Nanos>) -> bool {
    usual.is_none_or(|usual| length.0 > usual.0.saturating_mul(UNUSUAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_wait_is_of_this_hour_once_it_has_fifty_and_of_the_hour_before_until_then() {
        let mut usual = Usual::default();
        let of = |usual: &Usual, kind| usual.usual(kind).map(|wait| wait.0 / 1_000_000);
        let (write, read) = (WaitKind::Write, WaitKind::Read);
        usual.record(write, Nanos::from_micros(5500), USUAL - 1);
        assert_eq!(of(&usual, write), None);
        usual.record(write, Nanos::from_micros(5500), 1);
        assert_eq!((of(&usual, write), of(&usual, read)), (Some(5), None));
        assert_eq!(of(&usual, WaitKind::Freeze), Some(5), "as of writes");
        usual.next_hour();
        assert_eq!(of(&usual, write), Some(5));
        usual.record(write, Nanos::from_micros(80_500), USUAL - 1);
        assert_eq!(of(&usual, write), Some(5));
        usual.record(write, Nanos::from_micros(80_500), 1);
        assert_eq!(of(&usual, write), Some(80));
        usual.next_hour();
        usual.next_hour();
        assert_eq!(of(&usual, write), None);
    }

    #[test]
    fn a_wait_is_unusual_beyond_ten_times_the_usual_one() {
        let usual = Some(Nanos::from_millis(5));
        assert!(!is_unusual(Nanos::from_millis(50), usual));
        assert!(is_unusual(Nanos::from_millis(51), usual));
        assert!(is_unusual(Nanos(1), None));
    }
}
