//! One word for a row, by a printed rule.

use flashlag_schema::{Lag, Phase, Run};
use flashlag_stats::{Histogram, Percentile};
use flashlag_units::Nanos;

use crate::doubt::{Failure, failures_of};
use crate::figures::felt;
use crate::format;
use crate::overload::{Overload, Overloads, overload};

/// How a device would feel, the worst that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LagVerdict {
    /// None of the others.
    Smooth,
    /// 1 % late or more, or p99.9 of 100 ms or more.
    Hitches,
    /// 10 % late or more, or p99 of 100 ms or more.
    Lags,
    /// p99.9 of 1 s or more.
    Freezes,
    /// A schedule that the device can't keep: see [`crate::OVERLOAD_RULE`].
    Overloaded,
}

/// The rules, as printed under the picture.
pub const RULES: &str = "Verdicts take the worst that applies: overloaded, a schedule of which \
    less than nine tenths is done while the queue grows; freezes, p99.9 of 1 s or more; lags, 10% late or p99 of 100 ms or more; hitches, 1% late or p99.9 of 100 ms or more; \
    otherwise smooth.";

/// A wait of this length is noticed.
pub const NOTICED: Nanos = Nanos::from_millis(100);
/// A wait of this length is a freeze.
pub const FREEZE: Nanos = Nanos::from_secs(1);

impl LagVerdict {
    /// All of them, mildest first.
    pub const ALL: [LagVerdict; 5] = [
        LagVerdict::Smooth,
        LagVerdict::Hitches,
        LagVerdict::Lags,
        LagVerdict::Freezes,
        LagVerdict::Overloaded,
    ];

    /// As printed: `smooth`, `hitches`, `lags`, `freezes`, `overloaded`.
    pub fn name(self) -> &'static str {
        match self {
            LagVerdict::Smooth => "smooth",
            LagVerdict::Hitches => "hitches",
            LagVerdict::Lags => "lags",
            LagVerdict::Freezes => "freezes",
            LagVerdict::Overloaded => "overloaded",
        }
    }

    /// Of a distribution; `None` where it is empty. Where n supports no p99 or p99.9, the value of
    /// that rank stands in for it, so that a single long wait still counts; see [`caveat`].
    pub fn of(histogram: &Histogram) -> Option<LagVerdict> {
        let n = histogram.count();
        let p99 = histogram.quantile(Percentile::P99)?;
        let p999 = histogram.quantile(Percentile::P999)?;
        let late = u128::from(histogram.count_over(Lag::FRAME_60HZ));
        let at_least = |percent: u128| late * 100 >= percent * u128::from(n);
        Some(if p999 >= FREEZE {
            LagVerdict::Freezes
        } else if at_least(10) || p99 >= NOTICED {
            LagVerdict::Lags
        } else if at_least(1) || p999 >= NOTICED {
            LagVerdict::Hitches
        } else {
            LagVerdict::Smooth
        })
    }
}

/// What a verdict over few values must say beside it; `None` where n supports every percentile of
/// the rule.
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

/// What a row's last column says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It can be judged.
    Judged {
        /// The word.
        verdict: LagVerdict,
        /// What must be said beside it: n too small for a percentile of the rule; how little of a
        /// schedule was done.
        caveat: Option<String>,
    },
    /// A failed check covers the row.
    NotJudged {
        /// Which.
        failures: Vec<Failure>,
    },
    /// Nothing was measured, or its histogram can't be read.
    Nothing,
}

impl Judgement {
    /// Of a phase of a run.
    pub fn of(run: &Run, phase: &Phase) -> Judgement {
        let failures = failures_of(run, phase);
        if !failures.is_empty() {
            return Judgement::NotJudged { failures };
        }
        if let Some(overload) = overload(run, phase) {
            return Judgement::overloaded(&overload);
        }
        felt(phase).map_or(Judgement::Nothing, |histogram| Judgement::of_histogram(&histogram))
    }

    /// Of a schedule that was not kept.
    pub(crate) fn overloaded(overload: &Overload) -> Judgement {
        let caveat = Some(format!("overloaded: {}", overload.in_words()));
        Judgement::Judged { verdict: LagVerdict::Overloaded, caveat }
    }

    /// Of several runs of a schedule that not all of them kept.
    pub(crate) fn all_overloaded(overloads: &Overloads) -> Judgement {
        let caveat = Some(overloads.in_words());
        Judgement::Judged { verdict: LagVerdict::Overloaded, caveat }
    }

    /// Of waits that no failed check covers.
    pub(crate) fn of_histogram(histogram: &Histogram) -> Judgement {
        match LagVerdict::of(histogram) {
            Some(verdict) => Judgement::Judged { verdict, caveat: caveat(histogram) },
            None => Judgement::Nothing,
        }
    }

    /// As printed: the verdict's name, `not judged` or `no data`.
    pub fn word(&self) -> &'static str {
        match self {
            Judgement::Judged { verdict, .. } => verdict.name(),
            Judgement::NotJudged { .. } => "not judged",
            Judgement::Nothing => "no data",
        }
    }

    /// The verdict, where there is one.
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

    /// The failed checks that keep it from being judged.
    pub fn failures(&self) -> &[Failure] {
        match self {
            Judgement::NotJudged { failures } => failures,
            _ => &[],
        }
    }
}
