//! How much an operation's phase did, in the unit that a reader counts: bytes; of saves and of other
//! operations whose bytes mean nothing, their number.

use flashlag_schema::Phase;
use flashlag_spec::Operation;
use flashlag_units::{Bytes, Nanos};

use crate::format;

/// The unit of a phase's throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateUnit {
    /// Megabytes a second.
    Megabytes,
    /// Saves a second.
    Saves,
    /// Other operations a second.
    Operations,
}

impl RateUnit {
    /// The unit of a phase.
    pub fn of(phase: &Phase) -> RateUnit {
        match phase.operation {
            Operation::Save => RateUnit::Saves,
            operation if operation.moves_bytes() => RateUnit::Megabytes,
            _ => RateUnit::Operations,
        }
    }

    /// `MB/s`, `saves/s`.
    pub fn name(self) -> &'static str {
        match self {
            RateUnit::Megabytes => "MB/s",
            RateUnit::Saves => "saves/s",
            RateUnit::Operations => "operations/s",
        }
    }

    /// Bytes, or operations, of one.
    pub fn one(self) -> f64 {
        if self == RateUnit::Megabytes { 1e6 } else { 1.0 }
    }

    /// A rate in bytes, or in operations, a second: a number without the unit.
    pub(crate) fn number(self, rate: f64) -> String {
        if self == RateUnit::Megabytes { format::mb_per_s(rate) } else { format::per_second(rate) }
    }
}

/// Throughput before and after a change, which is stored in bytes a second.
pub(crate) fn from_to(phase: &Phase, (from, to): (f64, f64)) -> String {
    let unit = RateUnit::of(phase);
    let each = match unit {
        RateUnit::Megabytes => 1.0,
        // A phase without bytes has its rates in operations.
        _ if phase.bytes == Bytes::ZERO => 1.0,
        _ => phase.ops as f64 / phase.bytes.0 as f64,
    };
    format!("{} to {} {}", unit.number(from * each), unit.number(to * each), unit.name())
}

/// What was done until a moment, by which `written` had been written: `1.5 GB`, `1,204 saves`.
pub(crate) fn done(phase: &Phase, at: Nanos, written: Bytes) -> String {
    let unit = RateUnit::of(phase);
    if unit == RateUnit::Megabytes {
        return format::size(written);
    }
    let earlier = phase.intervals.iter().filter(|interval| interval.t_ns <= at);
    let ops = earlier.fold(0_u64, |sum, interval| sum.saturating_add(interval.ops));
    let noun = match (unit, ops) {
        (RateUnit::Saves, 1) => "save",
        (RateUnit::Saves, _) => "saves",
        (_, 1) => "operation",
        _ => "operations",
    };
    format!("{} {noun}", format::count(ops))
}

#[cfg(test)]
mod tests {
    use flashlag_testing::sample;

    use super::*;

    #[test]
    fn saves_are_counted_and_writes_weighed() {
        let run = sample::quick();
        let find = |name: &str| run.phases.iter().find(|phase| phase.name == name).expect("one");
        let (write, save) = (find("rand_write_4k"), find("save_wal"));
        assert_eq!(from_to(write, (2e6, 1e6)), "2.00 to 1.00 MB/s");
        assert_eq!(done(write, Nanos::from_secs(1), Bytes(20_000)), "20 kB");
        let save = Phase { bytes: Bytes(save.ops * 100), ..save.clone() };
        assert_eq!(from_to(&save, (35_000.0, 500.0)), "350 to 5.0 saves/s");
        let all = done(&save, Nanos::MAX, Bytes(20_000));
        let counted: u64 = save.intervals.iter().map(|interval| interval.ops).sum();
        assert_eq!(all, format!("{} saves", format::count(counted)));
        let bare = Phase { bytes: Bytes::ZERO, ..save };
        assert_eq!(from_to(&bare, (350.0, 5.0)), "350 to 5.0 saves/s");
    }
}
