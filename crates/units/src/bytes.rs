use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::parse::{ParseUnitError, Suffix, parse_scaled};

/// A number of bytes, or an offset in bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Bytes(pub u64);

const SUFFIXES: &[Suffix] = &[
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Bytes = Bytes(0);

    /// `count` × 1,024; saturates.
    pub const fn from_kib(count: u64) -> Bytes {
        Bytes(count.saturating_mul(1 << 10))
    }

    /// `count` × 1,048,576; saturates.
    pub const fn from_mib(count: u64) -> Bytes {
        Bytes(count.saturating_mul(1 << 20))
    }

    /// `count` × 1,000,000; saturates.
    pub const fn from_mb(count: u64) -> Bytes {
        Bytes(count.saturating_mul(1_000_000))
    }

    /// The sum, limited to the largest `u64`, since a size in a scenario may be that large.
    pub const fn plus(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }

    /// The difference from a size that is certainly no larger. The other order is a bug, which
    /// [`always!`](crate::always) reports; a release build then returns zero. For counters and what
    /// is left of a limit see [`Bytes::saturating_minus`].
    pub const fn minus(self, other: Bytes) -> Bytes {
        crate::always!(other.0 <= self.0, "a part larger than the whole");
        self.saturating_minus(other)
    }

    /// The difference; zero if `other` is larger.
    pub const fn saturating_minus(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }

    /// The largest multiple of `unit` that is not above `self`; `unit` must not be zero.
    pub const fn round_down(self, unit: Bytes) -> Bytes {
        Bytes(self.0 - self.0 % unit.0)
    }
}

/// Decimal units, three significant digits at most: `512 B`, `4.1 kB`, `105 MB`, `1.5 GB`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0 as f64;
        if self.0 < 1000 {
            return write!(f, "{} B", self.0);
        }
        let mut unit = "B";
        for next in ["kB", "MB", "GB", "TB", "PB", "EB"] {
            if value < 999.5 {
                break;
            }
            value /= 1000.0;
            unit = next;
        }
        if value < 9.95 { write!(f, "{value:.1} {unit}") } else { write!(f, "{value:.0} {unit}") }
    }
}

/// Accepts a number and a suffix: `B`, `kB`, `MB`, `GB`, `TB` (powers of 1,000) or `KiB`, `MiB`,
/// `GiB`, `TiB` (powers of 1,024).
impl FromStr for Bytes {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Bytes, ParseUnitError> {
        parse_scaled(text, SUFFIXES, "a size such as 300MB (10^6) or 300MiB (2^20)").map(Bytes)
    }
}
