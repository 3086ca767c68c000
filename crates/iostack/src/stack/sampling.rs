//! Traffic of each layer, sampled at equal intervals, as a program that polls the counters would
//! see it.

use flashlag_device::{Device, VirtualClock};
use flashlag_units::Nanos;

use super::samples::Sampling;
use super::{Inner, Stack};
use crate::ledger::Ledger;

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
