/// A percentile in parts per ten thousand, so that it is exact: 99.9 % is `Percentile(9990)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percentile(pub u16);

/// If the latencies at the ranks of [`Percentile::AROUND_P50`] differ by this factor, the median lies between two
/// times and is given as a range.
pub const MEDIAN_LEAP: f64 = 1.2;

/// Number of values that must lie beyond a percentile before it is printed.
const VALUES_BEYOND: u64 = 10;

impl Percentile {
    /// The median.
    pub const P50: Percentile = Percentile(5000);
    /// The ranks around the median: where the latencies at both differ by [`MEDIAN_LEAP`], the median may be either.
    pub const AROUND_P50: [Percentile; 2] = [Percentile(4000), Percentile(6000)];
    /// 90 %.
    pub const P90: Percentile = Percentile(9000);
    /// 99 %.
    pub const P99: Percentile = Percentile(9900);
    /// 99.9 %.
    pub const P999: Percentile = Percentile(9990);

    /// The rank, from 1, of this percentile among `count` values: ⌈p·n⌉. `None` without values.
    pub fn rank(self, count: u64) -> Option<u64> {
        let scaled = u128::from(count) * u128::from(self.0.min(10_000));
        (count > 0).then(|| (scaled.div_ceil(10_000) as u64).clamp(1, count))
    }

    /// Whether at least ten of `count` values lie beyond this percentile: a p99.9 needs 10,000.
    pub fn supported_by(self, count: u64) -> bool {
        let beyond = u128::from(count) * u128::from(10_000 - self.0.min(10_000));
        beyond >= u128::from(VALUES_BEYOND) * 10_000
    }
}

/// Whether `count` values support `percentile`.
pub fn supports(count: u64, percentile: Percentile) -> bool {
    percentile.supported_by(count)
}
