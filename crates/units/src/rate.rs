use crate::Nanos;

/// `count` per second of `elapsed`; `None` if no time has passed.
pub fn per_second(count: u64, elapsed: Nanos) -> Option<f64> {
    (elapsed.0 > 0).then(|| count as f64 * 1e9 / elapsed.0 as f64)
}

/// `part / whole`; `None` if `whole` is zero.
pub fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
