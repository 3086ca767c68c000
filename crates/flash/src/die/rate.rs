use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Binary places of the fraction: the error is below 2⁻³² ns a byte.
const PLACES: u32 = 32;

/// Time to transfer a byte, as a fixed-point number of nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rate(u64);

impl Rate {
    /// The rate of `per_second` bytes, which must not be zero; less than 1 B/s counts as 1 B/s.
    pub(crate) fn new(per_second: Bytes) -> Rate {
        let nanos = (1_000_000_000u128 << PLACES) / u128::from(per_second.0.max(1));
        Rate(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Time to transfer `bytes`, rounded down.
    #[inline]
    pub(crate) fn time(self, bytes: u64) -> Nanos {
        let nanos = (u128::from(self.0) * u128::from(bytes)) >> PLACES;
        Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_megabyte_at_ninety_a_second_takes_a_ninetieth_second() {
        assert_eq!(Rate::new(Bytes::from_mb(90)).time(1_000_000), Nanos(11_111_111));
        assert_eq!(Rate::new(Bytes(1_000_000_000)).time(4096), Nanos(4096));
        assert_eq!(Rate::new(Bytes(1)).time(2), Nanos::from_secs(2));
    }
}
