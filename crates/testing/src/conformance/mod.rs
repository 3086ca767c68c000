//! What every [`Device`] promises, as claims that can be checked: null, RAM, faulty (with its
//! faults off or only slow), real files behind psync and io_uring, simulated flash.
//!
//! ```
//! use flashlag_device::RamDevice;
//! use flashlag_testing::conformance;
//! use flashlag_units::Bytes;
//!
//! let report = conformance::check(|| RamDevice::new(Bytes::from_mib(1), 4, Bytes(4096)));
//! assert_eq!(report.broken(), Vec::<String>::new());
//! ```

mod claims;
mod exchange;

use flashlag_device::Device;

pub use exchange::Outcome;

/// The result of each claim, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The claim and its outcome.
    pub outcomes: Vec<(&'static str, Outcome)>,
}

impl Report {
    /// The claims that are false, with the evidence.
    pub fn broken(&self) -> Vec<String> {
        let text = |(claim, outcome): &(&'static str, Outcome)| match outcome {
            Outcome::Broken(how) => Some(format!("{claim}: {how}")),
            Outcome::Held | Outcome::NotApplicable(_) => None,
        };
        self.outcomes.iter().filter_map(text).collect()
    }

    /// The claims that are true.
    pub fn held(&self) -> usize {
        self.outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Held).count()
    }
}

/// Checks every claim, each on a new device from `make`: of at least 16 blocks (a block is the
/// alignment, or 4 KiB if that is larger), which are overwritten.
pub fn check<D: Device>(mut make: impl FnMut() -> D) -> Report {
    let outcomes = claims::all::<D>().into_iter().map(|(name, claim)| {
        let outcome = match claim(&mut make()) {
            Ok(outcome) => outcome,
            Err(how) => Outcome::Broken(how),
        };
        (name, outcome)
    });
    Report { outcomes: outcomes.collect() }
}
