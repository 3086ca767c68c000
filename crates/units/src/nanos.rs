use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::parse::{ParseUnitError, Suffix, parse_scaled};

/// A length of time, or a point on a clock that starts at an arbitrary zero: whole nanoseconds in
/// a `u64` (584 years).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Nanos(pub u64);

const SUFFIXES: &[Suffix] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
    ("mo", 2_629_800_000_000_000),
];

impl Nanos {
    /// Zero nanoseconds.
    pub const ZERO: Nanos = Nanos(0);
    /// The longest time.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// Whole seconds; saturates.
    pub const fn from_secs(seconds: u64) -> Nanos {
        Nanos(seconds.saturating_mul(1_000_000_000))
    }

    /// Whole milliseconds; saturates.
    pub const fn from_millis(millis: u64) -> Nanos {
        Nanos(millis.saturating_mul(1_000_000))
    }

    /// Whole microseconds; saturates.
    pub const fn from_micros(micros: u64) -> Nanos {
        Nanos(micros.saturating_mul(1_000))
    }

    /// For display and ratios only: never for arithmetic that is stored.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// For display and ratios only.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The time from `earlier` to `self`, or what is left of a duration after a part of it.
    ///
    /// For times whose order is certain, such as start and end of one operation. The other order is
    /// a bug, which [`always!`](crate::always) reports; a release build then returns zero. For
    /// counters, deadlines and values from a file see [`Nanos::saturating_since`].
    #[inline]
    pub const fn since(self, earlier: Nanos) -> Nanos {
        crate::always!(earlier.0 <= self.0, "an end before its start");
        self.saturating_since(earlier)
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    #[inline]
    pub const fn saturating_since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// The sum, limited to [`Nanos::MAX`], 584 years, since a duration in a scenario may be that
    /// long.
    #[inline]
    pub const fn plus(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl From<std::time::Duration> for Nanos {
    fn from(duration: std::time::Duration) -> Nanos {
        Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for std::time::Duration {
    fn from(nanos: Nanos) -> std::time::Duration {
        std::time::Duration::from_nanos(nanos.0)
    }
}

/// Three significant digits at most, in the unit a person would choose: `85 ns`, `17 µs`,
/// `2.6 ms`, `531 ms`, `1.8 s`, `3 min 12 s`, `2 h 05 min`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0;
        let scaled = |unit: u64| nanos as f64 / unit as f64;
        match nanos {
            0..1_000 => write!(f, "{nanos} ns"),
            1_000..999_500 => short(f, scaled(1_000), "µs"),
            999_500..999_500_000 => short(f, scaled(1_000_000), "ms"),
            999_500_000..59_950_000_000 => short(f, scaled(1_000_000_000), "s"),
            _ => {
                let seconds = nanos.saturating_add(500_000_000) / 1_000_000_000;
                let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
                if hours > 0 {
                    write!(f, "{hours} h {minutes:02} min")
                } else {
                    write!(f, "{minutes} min {:02} s", seconds % 60)
                }
            }
        }
    }
}

fn short(f: &mut fmt::Formatter<'_>, value: f64, unit: &str) -> fmt::Result {
    if value < 9.95 { write!(f, "{value:.1} {unit}") } else { write!(f, "{value:.0} {unit}") }
}

/// Accepts a number and a suffix: `ns`, `us`, `ms`, `s`, `m` or `min`, `h`, `d`, `mo` (30.44 days).
impl FromStr for Nanos {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Nanos, ParseUnitError> {
        parse_scaled(text, SUFFIXES, "a duration such as 90s, 500ms or 24h").map(Nanos)
    }
}
