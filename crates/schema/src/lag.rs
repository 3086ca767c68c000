use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

/// How many saves were longer than a person's patience, to compare devices. An app's animations do
/// not run on the thread that saves, so these are not dropped frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Lag {
    /// Saves in all.
    pub saves: u64,
    /// Longer than 16.67 ms.
    pub over_60hz: u64,
    /// Longer than 11.11 ms.
    pub over_90hz: u64,
    /// Longer than 8.33 ms.
    pub over_120hz: u64,
    /// Longer than 100 ms.
    pub over_100ms: u64,
    /// Longer than 700 ms, a frozen frame.
    pub over_700ms: u64,
    /// Longer than 5 s, an ANR.
    pub over_5s: u64,
}

impl Lag {
    /// One frame at 60 Hz.
    pub const FRAME_60HZ: Nanos = Nanos(16_666_667);
    /// One frame at 90 Hz.
    pub const FRAME_90HZ: Nanos = Nanos(11_111_111);
    /// One frame at 120 Hz.
    pub const FRAME_120HZ: Nanos = Nanos(8_333_333);

    /// Counted from a histogram: a bucket counts as over a limit if its midpoint, limited to the smallest and largest
    /// value, is.
    pub fn of(histogram: &flashlag_stats::Histogram) -> Lag {
        Lag {
            saves: histogram.count(),
            over_60hz: histogram.count_over(Lag::FRAME_60HZ),
            over_90hz: histogram.count_over(Lag::FRAME_90HZ),
            over_120hz: histogram.count_over(Lag::FRAME_120HZ),
            over_100ms: histogram.count_over(Nanos::from_millis(100)),
            over_700ms: histogram.count_over(Nanos::from_millis(700)),
            over_5s: histogram.count_over(Nanos::from_secs(5)),
        }
    }

    /// The sum, field by field; saturates.
    pub fn plus(self, other: Lag) -> Lag {
        Lag {
            saves: self.saves.saturating_add(other.saves),
            over_60hz: self.over_60hz.saturating_add(other.over_60hz),
            over_90hz: self.over_90hz.saturating_add(other.over_90hz),
            over_120hz: self.over_120hz.saturating_add(other.over_120hz),
            over_100ms: self.over_100ms.saturating_add(other.over_100ms),
            over_700ms: self.over_700ms.saturating_add(other.over_700ms),
            over_5s: self.over_5s.saturating_add(other.over_5s),
        }
    }
}
