use flashlag_units::Nanos;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use rustix::io::Errno;

use super::request::{Refusal, Work};
use crate::control::{Fault, FaultOp};
use crate::error::CommandError;

/// The faults that are set.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    set: Vec<Set>,
    stalled_until: Nanos,
}

#[derive(Debug)]
struct Set {
    fault: Fault,
    random: Pcg64Mcg,
    left: u64,
}

/// Most faults at a time; more are a mistake.
const MOST: usize = 1000;

impl Faults {
    /// Adds a fault that makes requests fail.
    pub(super) fn add(&mut self, fault: &Fault) -> Result<(), CommandError> {
        if !(0.0..=1.0).contains(&fault.share) {
            return Err(CommandError::Share(fault.share));
        }
        if self.set.len() >= MOST {
            return Err(CommandError::Faults { most: MOST });
        }
        self.set.push(Set {
            random: Pcg64Mcg::seed_from_u64(fault.seed),
            left: fault.times.unwrap_or(u64::MAX),
            fault: fault.clone(),
        });
        Ok(())
    }

    /// Takes no request before a time.
    pub(super) fn stall_until(&mut self, until: Nanos) {
        self.stalled_until = self.stalled_until.max(until);
    }

    pub(super) fn stalled_until(&self) -> Nanos {
        self.stalled_until
    }

    pub(super) fn clear(&mut self) {
        *self = Faults::default();
    }

    pub(super) fn len(&self) -> usize {
        self.set.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.stalled_until == Nanos::ZERO
    }

    /// Fails a request that a fault strikes.
    pub(super) fn check(&mut self, offset: u64, work: &Work<'_>) -> Result<(), Refusal> {
        for set in &mut self.set {
            if set.left > 0 && set.strikes(offset, work) {
                set.left -= 1;
                let reason = format!("a fault that was set: {} at {offset}", work.name());
                return Err(Refusal::new(Errno::IO, reason));
            }
        }
        Ok(())
    }
}

impl Set {
    fn strikes(&mut self, offset: u64, work: &Work<'_>) -> bool {
        let fault = &self.fault;
        let kind = match fault.op {
            FaultOp::Any => true,
            FaultOp::Read => matches!(work, Work::Read(_)),
            FaultOp::Write => matches!(work, Work::Write(_) | Work::Zeros(_)),
            FaultOp::Flush => matches!(work, Work::Flush),
            FaultOp::Discard => matches!(work, Work::Discard(_)),
        };
        let end = fault.length.map_or(u64::MAX, |length| fault.offset.plus(length).0);
        let (from, until) = (offset, offset + work.length());
        let within = matches!(work, Work::Flush) || (from < end && until > fault.offset.0);
        // Draw for every request that the fault could strike: the same seed then strikes the same
        // requests.
        kind && within && (fault.share >= 1.0 || self.random.random_bool(fault.share))
    }
}
