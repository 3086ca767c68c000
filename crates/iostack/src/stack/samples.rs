use flashlag_units::Nanos;

use crate::ledger::Ledger;

/// Most samples that are kept; beyond that the oldest are dropped.
pub(super) const MOST: usize = 200_000;

/// Samples that are taken.
#[derive(Debug)]
pub(crate) struct Sampling {
    pub(super) every: Nanos,
    pub(super) next: Nanos,
    /// The traffic after the last event.
    pub(super) last: Ledger,
    pub(super) taken: Vec<(Nanos, Ledger)>,
}

impl Sampling {
    /// Time has passed up to `now`; from there on the traffic is `then`.
    pub(crate) fn passed(&mut self, now: Nanos, then: Ledger) {
        while self.next <= now {
            // An event at exactly this time goes into the next sample.
            self.taken.push((self.next, self.last));
            self.next = self.next.plus(self.every);
        }
        if self.taken.len() > MOST {
            self.taken.drain(..MOST / 2);
        }
        self.last = then;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_shows_what_had_happened_before_its_moment() {
        let written = |writes| Ledger { writes, ..Ledger::default() };
        let (every, next) = (Nanos(10), Nanos(0));
        let mut sampling = Sampling { every, next, last: written(0), taken: Vec::new() };
        sampling.passed(Nanos(3), written(1));
        sampling.passed(Nanos(25), written(2));
        sampling.passed(Nanos(29), written(3));
        sampling.passed(Nanos(30), written(4));
        let taken: Vec<(u64, u64)> =
            sampling.taken.iter().map(|(at, ledger)| (at.0, ledger.writes)).collect();
        assert_eq!(taken, [(0, 0), (10, 1), (20, 1), (30, 3)]);
    }
}
