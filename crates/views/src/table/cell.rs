use flashlag_explain::Figures;
use flashlag_schema::Lag;
use flashlag_units::Nanos;

use crate::compare::Ratio;
use crate::format;
use crate::repeats::Spread;
use crate::verdict::Judgement;

/// A value of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A time, shown in milliseconds.
    Duration(Nanos),
    /// A time, shown with its unit.
    Time(Nanos),
    /// A limit of waits, shown with its unit.
    Limit(Nanos),
    /// Bytes a second, shown in 10⁶ bytes.
    Speed(f64),
    /// Operations a second.
    Rate(f64),
    /// Bytes a second over several runs.
    MeanSpeed(Spread),
    /// Operations a second over several runs.
    MeanRate(Spread),
    /// A ratio with its interval.
    Ratio(Box<Ratio>),
    /// Names of causes of stalls, with the number of stalls of each where it is shown.
    Causes(Vec<(&'static str, Option<u64>)>),
    /// A share, 0 to 1.
    Percentage(f64),
    /// A number.
    Count(u64),
    /// A count out of a total.
    Part {
        /// How many.
        count: u64,
        /// The total that it is counted out of.
        of: u64,
    },
    /// A verdict, or the reason for having none.
    Verdict(Judgement),
    /// Words.
    Text(String),
    /// No value, and why.
    Missing(Missing),
}

/// Why a cell has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Fewer than ten values lie beyond the percentile.
    TooFew,
    /// A schedule was not kept: its waits grow with the length of the test.
    Overloaded,
    /// Nothing was measured, or the stored value can't be read.
    NotMeasured,
    /// The column does not apply to the row.
    NotApplicable,
}

impl Cell {
    /// A time of these figures, or the reason for having none.
    pub fn duration(value: Option<Nanos>, figures: &Figures) -> Cell {
        match value {
            Some(value) => Cell::Duration(value),
            None if figures.overloaded => Cell::Missing(Missing::Overloaded),
            None if figures.n > 0 => Cell::Missing(Missing::TooFew),
            None => Cell::Missing(Missing::NotMeasured),
        }
    }

    /// The text for a narrow column: `-` without a value.
    pub fn text(&self) -> String {
        match self {
            Cell::Duration(time) => format::ms(*time),
            Cell::Time(time) => format::time(*time),
            Cell::Limit(limit) => format::limit(*limit),
            Cell::MeanSpeed(spread) => spread.in_words(1e6, format::mb_per_s),
            Cell::MeanRate(spread) => spread.in_words(1.0, format::per_second),
            Cell::Ratio(ratio) => format!("{}{}", ratio.brief, ratio.doubt()),
            Cell::Causes(causes) => {
                let causes = causes.iter().map(|(cause, stalls)| match stalls {
                    Some(stalls) => format!("{cause} {}", format::count(*stalls)),
                    None => (*cause).to_owned(),
                });
                causes.collect::<Vec<_>>().join(", ")
            }
            Cell::Speed(bytes_per_sec) => format::mb_per_s(*bytes_per_sec),
            Cell::Rate(per_sec) => format::per_second(*per_sec),
            Cell::Percentage(share) => format::share(*share),
            Cell::Count(count) | Cell::Part { count, .. } => format::count(*count),
            Cell::Verdict(judgement) => judgement.word().to_owned(),
            Cell::Text(text) => text.clone(),
            Cell::Missing(_) => format::NONE.to_owned(),
        }
    }

    /// As [`Cell::text`], but `n too small` where that is why there is no value.
    pub fn in_words(&self) -> String {
        match self {
            Cell::Missing(Missing::TooFew) => format::TOO_FEW.to_owned(),
            other => other.text(),
        }
    }

    /// Whether it has no value because its column does not apply to the row.
    pub fn is_empty(&self) -> bool {
        match self {
            Cell::Missing(Missing::NotApplicable) => true,
            Cell::Text(text) => text.is_empty(),
            Cell::Causes(causes) => causes.is_empty(),
            _ => false,
        }
    }

    /// Whether it shows a wait of more than one 60 Hz frame, or that there were long saves.
    pub fn is_late(&self) -> bool {
        match self {
            Cell::Duration(time) => *time > Lag::FRAME_60HZ,
            Cell::Part { count, .. } => *count > 0,
            _ => false,
        }
    }
}
