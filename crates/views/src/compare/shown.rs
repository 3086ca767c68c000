//! The text of a side of a row, the same in every view.

use flashlag_spec::Operation;

use super::model::{CompareRow, CompareSide};
use crate::format;
use crate::repeats::Spread;

impl CompareRow {
    /// Whether `side` of this row has a verdict: it does if a frame may wait for it, if a schedule
    /// was not kept or if a check fails.
    pub fn is_judged(&self, side: &CompareSide) -> bool {
        self.in_strip || side.overload.is_some() || !side.judgement.failures().is_empty()
    }

    /// The rate of `side` and its deviation between runs, `136` or `12.9 ± 0.1`, in the row's
    /// [unit](CompareRow::rate_unit).
    pub fn rate_in_words(&self, side: &CompareSide) -> String {
        let spread = |mean: f64| {
            let deviation = side.rate_spread.map(|share| share * mean);
            Spread { mean, deviation }
        };
        match self.operation {
            operation if !operation.moves_bytes() => {
                spread(side.ops_per_sec).in_words(1.0, format::per_second)
            }
            _ => spread(side.bytes_per_sec).in_words(1e6, format::mb_per_s),
        }
    }

    /// The unit of a rate of this row.
    pub fn rate_unit(&self) -> &'static str {
        match self.operation {
            Operation::Save => "saves/s",
            operation if !operation.moves_bytes() => "ops/s",
            _ => "MB/s",
        }
    }
}
