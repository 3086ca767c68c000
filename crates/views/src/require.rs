//! Whether a storage is good enough for the purpose that a scenario is about (`[[require]]`): each required figure
//! with its limit and who published that, and one verdict.

use flashlag_explain::{Plan, failed_for};
use flashlag_schema::Run;
use flashlag_spec::scenario::{Limit, Requirement};

use crate::fail_if::{Metric, Threshold};
use crate::naming::test_title;

/// Whether a run's storage is good enough for the purpose of its scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoodEnough {
    /// The scenario's name: `etcd`.
    pub purpose: String,
    /// Not met if one requirement is not; met if all are.
    pub verdict: Requires,
    /// The answer alone: `Not good enough for etcd`.
    pub heading: String,
    /// The answer with the figures that decide, as a sentence.
    pub sentence: String,
    /// Every requirement, in the scenario's order.
    pub requirements: Vec<Required>,
}

/// Whether a requirement is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requires {
    /// The requirement is met.
    Met,
    /// The requirement is not met.
    NotMet,
    /// The figure was not measured, or can't be trusted.
    Unknown,
}

impl Requires {
    /// `meets`, `does not meet` or `unknown`.
    pub fn in_words(self) -> &'static str {
        match self {
            Requires::Met => "meets",
            Requires::NotMet => "does not meet",
            Requires::Unknown => "unknown",
        }
    }
}

/// One requirement beside what was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Required {
    /// The test and its figure: `append: p99`.
    pub figure: String,
    /// What was measured, the worst where there are several stages; absent with a reason in `unknown`.
    pub measured: Option<String>,
    /// `at most 10 ms`.
    pub limit: String,
    /// Who published the limit, and where.
    pub source: String,
    /// Whether it is met.
    pub verdict: Requires,
    /// Why it is not known.
    pub unknown: Option<String>,
}

/// Whether a run's storage is good enough for the purpose of its scenario; `None` if the scenario
/// requires nothing.
pub fn good_enough(run: &Run) -> Option<GoodEnough> {
    let plan = Plan::of(run);
    let requirements: Vec<Required> =
        plan.requirements().iter().map(|requirement| required(run, requirement)).collect();
    let any = |verdict| requirements.iter().any(|required| required.verdict == verdict);
    let verdict = match () {
        () if requirements.is_empty() => return None,
        () if any(Requires::NotMet) => Requires::NotMet,
        () if any(Requires::Unknown) => Requires::Unknown,
        () => Requires::Met,
    };
    let purpose = run.scenario.name.clone();
    let heading = match verdict {
        Requires::Met => format!("Good enough for {purpose}"),
        Requires::NotMet => format!("Not good enough for {purpose}"),
        Requires::Unknown => format!("Whether it is good enough for {purpose} is not known"),
    };
    let sentence = format!("{heading}: {}.", deciding(verdict, &requirements));
    Some(GoodEnough { purpose, verdict, heading, sentence, requirements })
}

/// The figures that decide: `append: p99 is 23 ms, at most 10 ms is required`.
fn deciding(verdict: Requires, requirements: &[Required]) -> String {
    let words = |required: &Required| {
        let Required { figure, limit, .. } = required;
        match &required.measured {
            Some(measured) => format!("{figure} is {measured}, {limit} is required"),
            None => format!("{figure} ({})", required.unknown.as_deref().unwrap_or_default()),
        }
    };
    let of = requirements.iter().filter(|required| required.verdict == verdict);
    of.map(words).collect::<Vec<_>>().join("; ")
}

fn required(run: &Run, requirement: &Requirement) -> Required {
    let (words, limit) = match &requirement.limit {
        Limit::AtMost(limit) => ("at most", limit),
        Limit::AtLeast(limit) => ("at least", limit),
    };
    let base = Required {
        figure: in_words(&requirement.figure),
        measured: None,
        limit: format!("{words} {limit}"),
        source: requirement.source.clone(),
        verdict: Requires::Unknown,
        unknown: None,
    };
    let threshold = match Threshold::of(requirement) {
        Ok(threshold) => threshold,
        Err(error) => return Required { unknown: Some(error.to_string()), ..base },
    };
    let base = Required { limit: format!("{words} {}", threshold.limit()), ..base };
    let figures = match threshold.figures(run) {
        Ok(figures) => figures,
        Err(error) => return Required { unknown: Some(error.reason()), ..base },
    };
    // If figures fail, the first of them is the one to show.
    let shown = figures.iter().find(|figure| figure.crossed).or(figures.first());
    let measured = shown.map(|figure| figure.value.to_string());
    let doubt = figures.iter().find_map(|figure| failed_for(run, figure.phase).next());
    match doubt {
        Some(check) => {
            let reason = format!("the check “{}” fails: {}", check.claim, check.detail);
            Required { unknown: Some(reason), ..base }
        }
        None if figures.iter().any(|figure| figure.crossed) => {
            Required { measured, verdict: Requires::NotMet, ..base }
        }
        None => Required { measured, verdict: Requires::Met, ..base },
    }
}

/// `append: p99` of `append.p99`.
fn in_words(figure: &str) -> String {
    match figure.rsplit_once('.') {
        Some((test, metric)) => format!("{}: {}", test_title(test), Metric::words_of(metric)),
        None => figure.to_owned(),
    }
}
