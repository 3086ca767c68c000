use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

/// What the system's clocks said at one moment: by them, records that were made on one machine at
/// the same time are laid beside each other. A clock that was not read is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ClockReading {
    /// `CLOCK_BOOTTIME`: time since the machine's start, in which suspended time counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_ns: Option<Nanos>,
    /// `CLOCK_MONOTONIC`: the same without suspended time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monotonic_ns: Option<Nanos>,
    /// `CLOCK_REALTIME`: time since 1970, which may be set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ns: Option<Nanos>,
}

impl ClockReading {
    /// Two moments of one boot are as far apart by the wall clock as by the other, unless it was set
    /// by more than this in between.
    const SET_AT_MOST_NS: u128 = 2_000_000_000;

    /// The time from another moment to this one in nanoseconds, by the first of the clocks that both
    /// have read; negative if this one is earlier, `None` if they have none in common.
    pub fn since(&self, other: &ClockReading) -> Option<i128> {
        self.since_by_machine(other).or_else(|| self.since_by_wall(other))
    }

    /// Whether two moments are apart by the wall clock alone.
    pub fn only_by_wall(&self, other: &ClockReading) -> bool {
        self.since_by_machine(other).is_none() && self.since_by_wall(other).is_some()
    }

    /// Whether the moments are of different boots of a machine, of different machines, or the wall
    /// clock was set in between.
    pub fn disagrees(&self, other: &ClockReading) -> bool {
        match (self.since_by_machine(other), self.since_by_wall(other)) {
            (Some(one), Some(wall)) => (one - wall).unsigned_abs() > ClockReading::SET_AT_MOST_NS,
            _ => false,
        }
    }

    fn since_by_machine(&self, other: &ClockReading) -> Option<i128> {
        difference(self.boot_ns, other.boot_ns)
            .or_else(|| difference(self.monotonic_ns, other.monotonic_ns))
    }

    fn since_by_wall(&self, other: &ClockReading) -> Option<i128> {
        difference(self.wall_ns, other.wall_ns)
    }
}

fn difference(one: Option<Nanos>, other: Option<Nanos>) -> Option<i128> {
    Some(i128::from(one?.0) - i128::from(other?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(boot: u64, wall: u64) -> ClockReading {
        let some = |seconds: u64| Some(Nanos::from_secs(seconds)).filter(|_| seconds > 0);
        ClockReading { boot_ns: some(boot), monotonic_ns: None, wall_ns: some(wall) }
    }

    #[test]
    fn the_best_clock_in_common_says_how_far_two_moments_are_apart() {
        let (one, other) = (reading(100, 5000), reading(90, 4990));
        assert_eq!(one.since(&other), Some(10_000_000_000));
        assert_eq!(other.since(&one), Some(-10_000_000_000));
        assert_eq!(one.since(&reading(0, 4999)), Some(1_000_000_000));
        assert_eq!(reading(5, 0).since(&reading(0, 4999)), None);
        assert!(one.only_by_wall(&reading(0, 4999)) && !one.only_by_wall(&other));
    }

    #[test]
    fn another_boot_is_known_by_the_wall_clock() {
        let one = reading(100, 5000);
        assert!(!one.disagrees(&reading(90, 4991)) && !one.disagrees(&reading(90, 0)));
        assert!(one.disagrees(&reading(90, 4000)) && one.disagrees(&reading(90, 8000)));
    }
}
