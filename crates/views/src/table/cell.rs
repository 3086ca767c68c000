use flashlag_explain::Figures;
use flashlag_schema::Lag;
use flashlag_units::Nanos;

use crate::format;
use crate::verdict::Judgement;

/// A value of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A time, shown in milliseconds.
    Duration(Nanos),
    /// Bytes a second, shown in 10⁶ bytes.
    Speed(f64),
    /// Operations a second.
    Rate(f64),
    /// A share, 0 to 1.
    Percentage(f64),
    /// A number.
    Count(u64),
    /// How many of a number.
    Part {
        /// How many.
        count: u64,
        /// Of how many.
        of: u64,
    },
    /// A verdict, or why there is none.
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
    /// Nothing was measured, or what was stored can't be read.
    NotMeasured,
    /// The column says nothing of this row.
    NotApplicable,
}

impl Cell {
    /// A time of these figures, or why they have none.
    pub fn duration(value: Option<Nanos>, figures: &Figures) -> Cell {
        match value {
            Some(value) => Cell::Duration(value),
            None if figures.overloaded => Cell::Missing(Missing::Overloaded),
            None if figures.n > 0 => Cell::Missing(Missing::TooFew),
            None => Cell::Missing(Missing::NotMeasured),
        }
    }

    /// For a narrow column: `-` where there is no value.
    pub fn text(&self) -> String {
        match self {
            Cell::Duration(time) => format::ms(*time),
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

    /// Whether it shows a wait of more than one 60 Hz frame, or that there were long saves.
    pub fn is_late(&self) -> bool {
        match self {
            Cell::Duration(time) => *time > Lag::FRAME_60HZ,
            Cell::Part { count, .. } => *count > 0,
            _ => false,
        }
    }
}
