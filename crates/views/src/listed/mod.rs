//! The one list of findings in words: what was found, what a change is worth, what to do, what that
//! costs, and the evidence.

mod action;
mod effect;
mod evidence;
mod heading;

use std::borrow::Cow;

use flashlag_explain::{Calm, findings_of};
use flashlag_schema::finding::{EffectBasis, Finding, FindingId, FindingRisk, Severity};
use flashlag_schema::{Environment, Run};

pub(crate) use effect::{forecast_of, plural};

/// A finding: something to change or to know.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingList {
    /// `Two things to change, and one to know`, or `Nothing to change` of a run that shows that.
    pub heading: String,
    /// Data in danger first, then by cost.
    pub findings: Vec<ListedFinding>,
}

/// A finding in words.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedFinding {
    /// Its kind.
    pub id: FindingId,
    /// How much it matters.
    pub severity: Severity,
    /// `danger`, `costly`, `minor`, `note`.
    pub mark: &'static str,
    /// Seconds of waiting that it adds to 1,000 operations; negative where the change would add them.
    pub cost_s_per_1000: Option<f64>,
    /// The unit of the cost: `saves`; absent without a figure.
    pub per: Option<&'static str>,
    /// The finding and its consequence: a sentence.
    pub finding: Cow<'static, str>,
    /// What the change is worth, and how that is known: a sentence. Absent without a figure.
    pub effect: Option<String>,
    /// Why there is no figure, in words.
    pub unknown: Option<String>,
    /// What to do: a sentence.
    pub action: Cow<'static, str>,
    /// What the action costs; `None` where it costs nothing.
    pub price: Option<&'static str>,
    /// Commands that give a missing figure.
    pub commands: Vec<String>,
    /// `filesystem options: nobarrier`.
    pub evidence: Vec<String>,
    /// The source of the rule.
    pub source: String,
    /// The comparison that shows it, of a cause.
    pub cause: Option<crate::Finding>,
}

/// The findings of a run.
pub fn listed(run: &Run) -> FindingList {
    let mut list = in_words(Some(run), Some(&run.environment), &findings_of(run).list);
    let causes = crate::findings(run).causes;
    for finding in &mut list.findings {
        finding.cause = causes.iter().find(|cause| cause.id.finding() == finding.id).cloned();
    }
    list
}

/// Findings in words, in their order; `run` is the one that holds their evidence, and `environment` has the names
/// for what to do.
pub fn in_words(
    run: Option<&Run>,
    environment: Option<&Environment>,
    findings: &[Finding],
) -> FindingList {
    let count = |severities: &[Severity]| {
        findings.iter().filter(|one| severities.contains(&one.severity)).count()
    };
    let counts = [
        count(&[Severity::Danger, Severity::Costly]),
        count(&[Severity::Minor]),
        count(&[Severity::Misleading]),
    ];
    FindingList {
        heading: heading::heading(counts, run.map(Calm::of)),
        findings: findings.iter().map(|finding| one(run, environment, finding)).collect(),
    }
}

/// The filesystem that is the faster one according to a forecast.
fn other_filesystem(finding: &Finding) -> Option<&str> {
    let EffectBasis::Forecast { change, .. } = &finding.effect.value()?.basis else { return None };
    let other = change.strip_prefix("fs=")?.split(',').next();
    other.filter(|_| finding.id == FindingId::OtherFilesystem)
}

fn one(run: Option<&Run>, environment: Option<&Environment>, finding: &Finding) -> ListedFinding {
    let known = finding.effect.value();
    let other = other_filesystem(finding);
    ListedFinding {
        id: finding.id,
        severity: finding.severity,
        mark: match finding.severity {
            Severity::Danger => "danger",
            Severity::Costly => "costly",
            Severity::Minor => "minor",
            Severity::Misleading => "note",
        },
        cost_s_per_1000: finding.cost(),
        per: known.map(|effect| effect::plural(effect.per)),
        finding: other.as_ref().map_or(finding.id.row().sentence.into(), |other| {
            format!("On this device {other} would wait less.").into()
        }),
        effect: known.map(|effect| effect::sentence(run, finding.id, effect)),
        // Findings of a set-up alone have no figures.
        unknown: run.and(finding.effect.reason()).map(str::to_owned),
        action: other.map_or_else(
            || action::action(environment, finding),
            |other| {
                format!("Format with {other}, after a test on a device of the same kind.").into()
            },
        ),
        price: finding.risk.map(FindingRisk::sentence),
        commands: finding.commands.clone(),
        evidence: finding.evidence.iter().map(|fact| evidence::in_words(run, fact)).collect(),
        source: finding.source.clone(),
        cause: None,
    }
}
