use flashlag_schema::{Lag, LatencySummary, Phase};
use flashlag_stats::{Histogram, Percentile};
use flashlag_units::{Nanos, ratio};

use crate::histograms::response_histogram;
use crate::overload::is_overloaded;

/// Latency figures of one distribution: times in nanoseconds. A percentile with fewer than ten
/// values beyond it is absent; on an overloaded schedule all times are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Number of values.
    pub n: u64,
    /// Median.
    pub p50: Option<Nanos>,
    /// 90 %.
    pub p90: Option<Nanos>,
    /// 99 %.
    pub p99: Option<Nanos>,
    /// 99.9 %.
    pub p999: Option<Nanos>,
    /// The longest.
    pub max: Option<Nanos>,
    pub mean: Option<Nanos>,
    /// Number of values longer than one 60 Hz frame; `None` if the histogram can't be read.
    pub late: Option<u64>,
    /// Whether the schedule was overloaded ([`is_overloaded`]): then there are no times, since they
    /// would grow with the length of the test.
    pub overloaded: bool,
}

impl Figures {
    /// The figures of a histogram.
    pub fn of(histogram: &Histogram) -> Figures {
        Figures {
            n: histogram.count(),
            p50: histogram.percentile(Percentile::P50),
            p90: histogram.percentile(Percentile::P90),
            p99: histogram.percentile(Percentile::P99),
            p999: histogram.percentile(Percentile::P999),
            max: histogram.max(),
            mean: histogram.mean(),
            late: Some(histogram.count_over(Lag::FRAME_60HZ)),
            overloaded: false,
        }
    }

    /// The figures of an overloaded schedule: the number of operations, without times.
    pub fn of_overloaded(n: u64) -> Figures {
        Figures { n, overloaded: true, ..Figures::default() }
    }

    /// The figures of a phase as users feel it: from the intended start if there was a schedule,
    /// otherwise from the call.
    pub fn of_phase(phase: &Phase) -> Figures {
        if is_overloaded(phase) {
            return Figures::of_overloaded(phase.ops);
        }
        match response_histogram(phase) {
            Some(histogram) => Figures::of(&histogram),
            None => Figures::of_summary(phase.ops, &phase.latency_ns),
        }
    }

    /// The figures of a stored summary, which lacks the number of late operations.
    pub fn of_summary(n: u64, summary: &LatencySummary) -> Figures {
        let LatencySummary { p50, p90, p99, p999, max, mean, .. } = *summary;
        Figures { n, p50, p90, p99, p999, max, mean, late: None, overloaded: false }
    }

    /// The share that was longer than one 60 Hz frame.
    pub fn late_share(&self) -> Option<f64> {
        self.late.and_then(|late| ratio(late, self.n))
    }
}
