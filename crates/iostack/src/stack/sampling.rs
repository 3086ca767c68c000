//! Traffic of each layer, sampled at equal intervals, as a program that polls the counters would
//! see it.

use flashlag_device::{Device, VirtualClock};
use flashlag_units::Nanos;

use super::{Inner, Stack};
use crate::ledger::Ledger;

/// Most samples that are kept; beyond that the oldest are dropped.
const MOST: usize = 200_000;

/// Samples that are taken.
#[derive(Debug)]
pub(crate) struct Sampling {
    every: Nanos,
    next: Nanos,
    /// The traffic after the last event.
    last: Ledger,
    taken: Vec<(Nanos, Ledger)>,
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

impl<D: Device<Clock = VirtualClock>> Stack<D> {
    /// Samples the traffic from now on, once per `every`.
    pub fn sample_every(&self, every: Nanos) {
        let inner = &mut *self.0.borrow_mut();
        let (every, last) = (every.max(Nanos(1)), inner.ledger());
        let next = inner.now();
        inner.sampling = Some(Box::new(Sampling { every, next, last, taken: Vec::new() }));
    }

    /// The samples since the last call, and one of the present.
    pub fn samples(&self) -> Vec<(Nanos, Ledger)> {
        let inner = &mut *self.0.borrow_mut();
        let (now, then) = (inner.now(), inner.ledger());
        let Some(sampling) = &mut inner.sampling else { return Vec::new() };
        sampling.passed(now, then);
        let mut taken = std::mem::take(&mut sampling.taken);
        if taken.last().is_none_or(|(at, _)| *at < now) {
            taken.push((now, then));
        }
        taken
    }
}

impl<D: Device<Clock = VirtualClock>> Inner<D> {
    pub(super) fn ledger(&self) -> Ledger {
        Ledger { call_bytes: self.call_bytes, ..self.scheduler.ledger }
    }

    /// Takes the samples that are due.
    pub(super) fn sample(&mut self) {
        if self.sampling.is_some() {
            let (now, then) = (self.now(), self.ledger());
            if let Some(sampling) = &mut self.sampling {
                sampling.passed(now, then);
            }
        }
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
