use flashlag_units::Nanos;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use rustix::io::Errno;

use super::made_up::MadeUp;
use super::request::{Refusal, Work};
use crate::control::{Fault, FaultOp};
use crate::error::CommandError;

/// The faults that are set.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    set: Vec<Set>,
    /// The way in which data is lost, if any is.
    made_up: Option<MadeUp>,
    /// Bytes that may still be written, where that is limited.
    writes_left: Option<u64>,
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

    /// Loses data in a way; the latest one counts.
    pub(super) fn lose(&mut self, made_up: MadeUp) {
        self.made_up = Some(made_up);
    }

    /// The way in which data is lost.
    pub(super) fn made_up(&self) -> Option<MadeUp> {
        self.made_up
    }

    /// Lets only so much more be written.
    pub(super) fn limit_writes(&mut self, bytes: u64) {
        self.writes_left = Some(bytes);
    }

    /// Whether the device takes a write of this length, by the limit that is set.
    pub(super) fn take_write(&mut self, length: u64) -> bool {
        let Some(left) = &mut self.writes_left else { return true };
        *left = left.saturating_sub(length);
        *left > 0
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
        let ways = usize::from(self.made_up.is_some()) + usize::from(self.writes_left.is_some());
        self.set.len() + ways
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0 && self.stalled_until == Nanos::ZERO
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
