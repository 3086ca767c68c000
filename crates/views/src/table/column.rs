use flashlag_schema::Lag;
use flashlag_units::Nanos;

use crate::compare::RatioKind;

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Where the device was in its life.
    Stage,
    /// Throughput, 10⁶ bytes a second.
    Speed,
    /// Operations a second.
    Rate,
    /// Saves a second.
    SaveRate,
    /// Median latency.
    P50,
    /// 90 % latency.
    P90,
    /// 99 % latency.
    P99,
    /// 99.9 % latency.
    P999,
    /// The longest latency.
    Longest,
    /// Share longer than one 60 Hz frame.
    Late,
    /// Saves longer than a limit.
    Over(LagLimit),
    /// Number of all saves, beside the number of those longer than a limit.
    Of,
    /// Number of values.
    N,
    /// The verdict in a word.
    Verdict,
    /// Throughput that reviewers published, 10⁶ bytes a second.
    Published,
    /// Throughput as a share of new storage's.
    ShareOfNew,
    /// Number of runs of a side.
    Runs,
    /// Standard deviation of the rate between the runs of a side, as a share of its mean.
    RateSpread,
    /// The side that ratios refer to.
    Against,
    /// A figure's ratio to the same figure of another side.
    Ratio(RatioKind),
    /// The time from which on a wait counts as a stall.
    Limit,
    /// Number of stalls.
    Stalls,
    /// When the longest stall began, from the start of its phase.
    At,
    /// The length of all stalls together.
    Together,
    /// The most frequent cause of stalls.
    Cause,
    /// Every cause of stalls, with the number of each.
    Causes,
    /// Share of saves that made a file grow.
    Grew,
    /// A figure of those saves.
    Grown(GrowthFigure),
    /// The same figure of the other saves.
    InPlace(GrowthFigure),
}

/// The figures by which saves that grew a file are compared with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowthFigure {
    /// Median latency.
    P50,
    /// 99 % latency.
    P99,
    /// The longest latency.
    Longest,
}

impl GrowthFigure {
    /// All of them.
    pub const ALL: [GrowthFigure; 3] =
        [GrowthFigure::P50, GrowthFigure::P99, GrowthFigure::Longest];

    /// The figure of all saves.
    pub fn column(self) -> Column {
        match self {
            GrowthFigure::P50 => Column::P50,
            GrowthFigure::P99 => Column::P99,
            GrowthFigure::Longest => Column::Longest,
        }
    }
}

impl Column {
    /// Median, p90, p99, p99.9 and the longest.
    pub const LATENCY: [Column; 5] =
        [Column::P50, Column::P90, Column::P99, Column::P999, Column::Longest];

    /// The title, without a unit of time.
    pub fn title(self) -> &'static str {
        match self {
            Column::Stage => "stage",
            Column::Speed => "MB/s",
            Column::Rate => "ops/s",
            Column::SaveRate => "saves/s",
            Column::P50 => "p50",
            Column::P90 => "p90",
            Column::P99 => "p99",
            Column::P999 => "p99.9",
            Column::Longest => "longest",
            Column::Late => "late",
            Column::Over(limit) => limit.title(),
            Column::Of => "of",
            Column::N => "n",
            Column::Verdict => "verdict",
            Column::Published => "published",
            Column::ShareOfNew => "of new",
            Column::Runs => "runs",
            Column::RateSpread => "spread",
            Column::Against => "against",
            Column::Ratio(RatioKind::P50) => "p50 ×",
            Column::Ratio(RatioKind::P99) => "p99 ×",
            Column::Ratio(RatioKind::Throughput) => "rate ×",
            Column::Limit => "limit",
            Column::Stalls => "stalls",
            Column::At => "at",
            Column::Together => "together",
            Column::Cause => "cause",
            Column::Causes => "causes",
            Column::Grew => "grew",
            Column::Grown(figure) | Column::InPlace(figure) => figure.column().title(),
        }
    }

    /// The text below its title: the name of a limit, or which half of the saves; empty for others.
    pub fn below(self) -> &'static str {
        match self {
            Column::Over(limit) => limit.name(),
            Column::Grown(_) => "grown",
            Column::InPlace(_) => "in place",
            _ => "",
        }
    }

    /// The title with the unit of its times: `p50 ms`, `p50 ms grown`.
    pub fn title_with_unit(self) -> String {
        match self {
            Column::Grown(figure) | Column::InPlace(figure) => {
                format!("{} {}", figure.column().title_with_unit(), self.below())
            }
            _ if Column::LATENCY.contains(&self) => format!("{} ms", self.title()),
            _ => self.title().to_owned(),
        }
    }
}

/// The limits of late saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LagLimit {
    /// One frame at 120 Hz.
    Hz120,
    /// One frame at 90 Hz.
    Hz90,
    /// One frame at 60 Hz.
    Hz60,
    /// A wait that is noticed.
    Noticed,
    /// A frozen frame.
    Frozen,
    /// An app that does not respond.
    NotResponding,
}

impl LagLimit {
    /// All of them, shortest first.
    pub const ALL: [LagLimit; 6] = [
        LagLimit::Hz120,
        LagLimit::Hz90,
        LagLimit::Hz60,
        LagLimit::Noticed,
        LagLimit::Frozen,
        LagLimit::NotResponding,
    ];

    /// The limit.
    pub fn time(self) -> Nanos {
        match self {
            LagLimit::Hz120 => Lag::FRAME_120HZ,
            LagLimit::Hz90 => Lag::FRAME_90HZ,
            LagLimit::Hz60 => Lag::FRAME_60HZ,
            LagLimit::Noticed => Nanos::from_millis(100),
            LagLimit::Frozen => Nanos::from_millis(700),
            LagLimit::NotResponding => Nanos::from_secs(5),
        }
    }

    /// The limit as a column's title.
    pub fn title(self) -> &'static str {
        match self {
            LagLimit::Hz120 => "8.3 ms",
            LagLimit::Hz90 => "11.1 ms",
            LagLimit::Hz60 => "16.7 ms",
            LagLimit::Noticed => "100 ms",
            LagLimit::Frozen => "700 ms",
            LagLimit::NotResponding => "5 s",
        }
    }

    /// The limit's name.
    pub fn name(self) -> &'static str {
        match self {
            LagLimit::Hz120 => "120 Hz",
            LagLimit::Hz90 => "90 Hz",
            LagLimit::Hz60 => "60 Hz",
            LagLimit::Noticed => "noticed",
            LagLimit::Frozen => "frozen",
            LagLimit::NotResponding => "ANR",
        }
    }

    /// How many saves were longer.
    pub fn count(self, lag: &Lag) -> u64 {
        match self {
            LagLimit::Hz120 => lag.over_120hz,
            LagLimit::Hz90 => lag.over_90hz,
            LagLimit::Hz60 => lag.over_60hz,
            LagLimit::Noticed => lag.over_100ms,
            LagLimit::Frozen => lag.over_700ms,
            LagLimit::NotResponding => lag.over_5s,
        }
    }
}
