//! Verdicts of rows, by a printed rule.

use flashlag_explain::{LagVerdict, response_histogram, verdict};
use flashlag_schema::{Phase, Run};
use flashlag_stats::{Histogram, Percentile};

use crate::doubt::{Failure, failures_of};
use crate::format;
use crate::overload::{Overloads, overload};

/// The rules, as printed under the picture.
pub const RULES: &str = "Verdicts take the worst that applies: overloaded, a schedule of which \
    less than nine tenths is done while the queue grows; freezes, p99.9 of 1 s or more; lags, 10% late or p99 of 100 ms or more; hitches, 1% late or p99.9 of 100 ms or more; \
    otherwise smooth.";

/// The caveat of a verdict over few values; `None` if n supports every percentile of the rule.
pub fn caveat(histogram: &Histogram) -> Option<String> {
    let n = histogram.count();
    let missing = match () {
        () if Percentile::P999.supported_by(n) => return None,
        () if Percentile::P99.supported_by(n) => "p99.9",
        () => "p99 and p99.9",
    };
    let longest = format::time(histogram.max()?);
    Some(format!(
        "n = {} is too small for {missing}: judged by the values there are, the longest {longest}",
        format::count(n)
    ))
}

/// The verdict of a row, or the reason for having none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// A verdict.
    Judged {
        /// The verdict.
        verdict: LagVerdict,
        /// The caveat: n is too small for a percentile of the rule; the rate of an overloaded schedule.
        caveat: Option<String>,
    },
    /// A failed check covers the row.
    NotJudged {
        /// The failed checks.
        failures: Vec<Failure>,
    },
    /// Nothing was measured, or its histogram can't be read.
    Nothing,
}

impl Judgement {
    /// The verdict over a phase of a run.
    pub fn of(run: &Run, phase: &Phase) -> Judgement {
        let failures = failures_of(run, phase);
        if !failures.is_empty() {
            return Judgement::NotJudged { failures };
        }
        let caveat = match overload(run, phase) {
            Some(overload) => Some(format!("overloaded: {}", overload.in_words())),
            None => response_histogram(phase).and_then(|histogram| caveat(&histogram)),
        };
        match verdict(run, phase) {
            Some(verdict) => Judgement::Judged { verdict, caveat },
            None => Judgement::Nothing,
        }
    }

    /// The verdict over several runs, some of them overloaded.
    pub(crate) fn all_overloaded(overloads: &Overloads) -> Judgement {
        let caveat = Some(overloads.in_words());
        Judgement::Judged { verdict: LagVerdict::Overloaded, caveat }
    }

    /// The verdict over waits without failed checks.
    pub(crate) fn of_histogram(histogram: &Histogram) -> Judgement {
        match LagVerdict::of(histogram) {
            Some(verdict) => Judgement::Judged { verdict, caveat: caveat(histogram) },
            None => Judgement::Nothing,
        }
    }

    /// The printed text: the verdict's name, `not judged` or `no data`.
    pub fn word(&self) -> &'static str {
        match self {
            Judgement::Judged { verdict, .. } => verdict.name(),
            Judgement::NotJudged { .. } => "not judged",
            Judgement::Nothing => "no data",
        }
    }

    /// The verdict, if there is one.
    pub fn verdict(&self) -> Option<LagVerdict> {
        match self {
            Judgement::Judged { verdict, .. } => Some(*verdict),
            _ => None,
        }
    }

    /// Whether n is too small for a percentile of the rule.
    pub fn is_of_few(&self) -> bool {
        matches!(self, Judgement::Judged { verdict, caveat: Some(_) } if *verdict != LagVerdict::Overloaded)
    }

    /// The failed checks that prevent a verdict.
    pub fn failures(&self) -> &[Failure] {
        match self {
            Judgement::NotJudged { failures } => failures,
            _ => &[],
        }
    }
}
