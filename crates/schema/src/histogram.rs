use flashlag_stats::{GROUPING_POWER, Histogram, HistogramError, Percentile};
use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

/// A latency histogram as stored: non-empty buckets only. Bucket `i` is fio's: below 128 the
/// value itself, then 64 buckets for each power of two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StoredHistogram {
    /// Log2 of the buckets for each power of two. Always 6.
    #[cfg_attr(feature = "json-schema", schemars(extend("const" = GROUPING_POWER)))]
    pub grouping_power: u8,
    /// Bucket indices, ascending.
    pub index: Vec<u32>,
    /// Number of values in each bucket.
    pub count: Vec<u64>,
    /// The smallest value, exact.
    pub min_ns: Nanos,
    /// The largest value, exact.
    pub max_ns: Nanos,
    /// All values together.
    pub sum_ns: Nanos,
}

impl From<&Histogram> for StoredHistogram {
    fn from(histogram: &Histogram) -> StoredHistogram {
        let (index, count) = histogram.occupied().unzip();
        StoredHistogram {
            grouping_power: GROUPING_POWER,
            index,
            count,
            min_ns: histogram.min().unwrap_or_default(),
            max_ns: histogram.max().unwrap_or_default(),
            sum_ns: histogram.sum(),
        }
    }
}

impl StoredHistogram {
    /// The histogram it stores.
    pub fn restore(&self) -> Result<Histogram, HistogramError> {
        let exact = (self.min_ns, self.max_ns, self.sum_ns);
        let exact = (!self.index.is_empty()).then_some(exact);
        Histogram::from_parts(&self.index, &self.count, exact)
    }
}

/// The figures computed from a histogram. A percentile is absent if fewer than ten values lie
/// beyond it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LatencySummary {
    /// Median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50: Option<Nanos>,
    /// 90 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90: Option<Nanos>,
    /// 99 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<Nanos>,
    /// 99.9 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p999: Option<Nanos>,
    /// The longest, exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Nanos>,
    /// The mean, exact, rounded down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<Nanos>,
    /// Why a percentile is absent, if one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
}

impl From<&Histogram> for LatencySummary {
    fn from(histogram: &Histogram) -> LatencySummary {
        let p999 = histogram.percentile(Percentile::P999);
        let count = histogram.count();
        let absent = p999.is_none().then(|| {
            format!("{count} values: a percentile needs ten values beyond it (p99.9 needs 10,000)")
        });
        LatencySummary {
            p50: histogram.percentile(Percentile::P50),
            p90: histogram.percentile(Percentile::P90),
            p99: histogram.percentile(Percentile::P99),
            p999,
            max: histogram.max(),
            mean: histogram.mean(),
            absent,
        }
    }
}
