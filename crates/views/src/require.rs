//! Whether a storage is good enough for the purpose that a scenario is about (`[[require]]`): each required figure
//! with its limit and who published that, and one verdict.

use flashlag_explain::{Plan, failed_for};
use flashlag_schema::Run;
use flashlag_spec::State;
use flashlag_spec::scenario::{Limit, PURPOSES, Requirement, Scenario, Step};

use crate::fail_if::{Metric, Threshold};
use crate::format::list;
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
    if requirements.is_empty() {
        return None;
    }
    Some(GoodEnough::of(&run.scenario.name, requirements))
}

/// What a run says of the purposes that it was not made for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OtherPurposes {
    /// Those of which it has a figure.
    pub judged: Vec<GoodEnough>,
    /// Those of which it has none.
    pub unmeasured: Vec<&'static str>,
}

/// What a run says of the built-in purposes that it was not made for: a figure is theirs where the run made the same
/// test, by whatever name.
pub fn other_purposes(run: &Run) -> OtherPurposes {
    let plan = Plan::of(run);
    let is_own = |name: &str| run.scenario.name == name && !plan.requirements().is_empty();
    let mut others = OtherPurposes::default();
    for purpose in PURPOSES.iter().filter(|purpose| !is_own(purpose.name)) {
        let name = purpose.name;
        let Ok(scenario) = Scenario::parse(purpose.text(), &[]) else { continue };
        let fills = scenario.steps.iter().any(|step| matches!(step, Step::Fill { .. }));
        let same = |requirement: &Requirement| {
            let (test, metric) = requirement.figure.rsplit_once('.')?;
            let asked = scenario.tests.get(test)?;
            let mut tests = plan.tests().filter(|(own, _)| was_measured_new(run, own));
            let (own, _) = tests.find(|(_, test)| !fills && asked.measures_the_same(test))?;
            Some(Requirement { figure: format!("{own}.{metric}"), ..requirement.clone() })
        };
        let same: Vec<Option<Requirement>> = scenario.requirements.iter().map(same).collect();
        if same.iter().all(Option::is_none) {
            others.unmeasured.push(name);
            continue;
        }
        let requirements = same.into_iter().zip(&scenario.requirements);
        let judged = requirements.map(|(same, asked)| match same {
            Some(same) => required(run, &same),
            None => Required { unknown: Some("not measured".to_owned()), ..unknown(asked) },
        });
        others.judged.push(GoodEnough::of(name, judged.collect()));
    }
    others
}

/// Whether a test was made, and only as the run found the storage.
fn was_measured_new(run: &Run, name: &str) -> bool {
    let mut phases = run.phases.iter().filter(|phase| phase.name == name).peekable();
    phases.peek().is_some() && phases.all(|phase| phase.state == State::New)
}

impl OtherPurposes {
    /// Which are met, which are not and of which that is unknown; `None` if no figure is theirs.
    pub fn heading(&self) -> Option<String> {
        let of = |wanted: Requires, words: &str| {
            let judged = self.judged.iter().filter(|one| one.verdict == wanted);
            let names: Vec<String> = judged.map(|one| one.purpose.clone()).collect();
            (!names.is_empty()).then(|| format!("{words} for {}", list(&names)))
        };
        let parts = [
            of(Requires::Met, "good enough"),
            of(Requires::NotMet, "not good enough"),
            of(Requires::Unknown, "unknown"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("By purpose: {}", parts.join("; ")))
    }

    /// What was not measured, and how to; `None` if nothing is left.
    pub fn not_measured(&self) -> Option<String> {
        let names: Vec<String> = self.unmeasured.iter().map(|name| (*name).to_owned()).collect();
        (!names.is_empty()).then(|| {
            format!(
                "Whether it is good enough for {} is unknown: that was not measured. `flashlag run --for \
                 NAME` measures it.",
                or_list(&names)
            )
        })
    }
}

/// `a, b or c`.
fn or_list(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => names.concat(),
    }
}

/// Of a storage of which nothing was measured.
pub fn no_purpose_measured() -> String {
    let unmeasured = PURPOSES.iter().map(|purpose| purpose.name).collect();
    OtherPurposes { unmeasured, ..OtherPurposes::default() }.not_measured().unwrap_or_default()
}

impl GoodEnough {
    fn of(purpose: &str, requirements: Vec<Required>) -> GoodEnough {
        let any = |verdict| requirements.iter().any(|required| required.verdict == verdict);
        let verdict = match () {
            () if any(Requires::NotMet) => Requires::NotMet,
            () if any(Requires::Unknown) => Requires::Unknown,
            () => Requires::Met,
        };
        let heading = match verdict {
            Requires::Met => format!("Good enough for {purpose}"),
            Requires::NotMet => format!("Not good enough for {purpose}"),
            Requires::Unknown => format!("Whether it is good enough for {purpose} is not known"),
        };
        let sentence = format!("{heading}: {}.", deciding(verdict, &requirements));
        GoodEnough { purpose: purpose.to_owned(), verdict, heading, sentence, requirements }
    }
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

/// A requirement of which nothing is known yet.
fn unknown(requirement: &Requirement) -> Required {
    let (words, limit) = limit_of(requirement);
    Required {
        figure: in_words(&requirement.figure),
        measured: None,
        limit: format!("{words} {limit}"),
        source: requirement.source.clone(),
        verdict: Requires::Unknown,
        unknown: None,
    }
}

/// `at most` and `10ms`.
fn limit_of(requirement: &Requirement) -> (&'static str, &str) {
    match &requirement.limit {
        Limit::AtMost(limit) => ("at most", limit),
        Limit::AtLeast(limit) => ("at least", limit),
    }
}

fn required(run: &Run, requirement: &Requirement) -> Required {
    let (words, _) = limit_of(requirement);
    let base = unknown(requirement);
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
