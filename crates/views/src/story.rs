//! A run in five sentences: what was measured, how bad it is, what operations waited for, the
//! largest cause, and what to do about it.

use flashlag_explain::{Subjects, ordered};
use flashlag_schema::finding::{EffectBasis, Finding, FindingId, Severity};
use flashlag_schema::{CheckId, Run};

use crate::format;
use crate::headline::headline;
use crate::layered::layered;
use crate::listed::in_words;
use crate::naming::{device_name, filesystem_name};
use crate::outline::for_people;
use crate::waits::waits;

/// The story, a sentence or two each. Sentences that nothing supports are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// What was measured: `quick ran 8 tests on Nexus 5, ext4.`
    pub what: String,
    /// How bad it is: the headline.
    pub how_bad: String,
    /// What saves or writes waited for.
    pub waited: Option<String>,
    /// The largest cause with a figure.
    pub cause: Option<String>,
    /// What to do, and the gain.
    pub advice: Option<String>,
}

impl Story {
    /// The sentences there are, in order.
    pub fn sentences(&self) -> Vec<&str> {
        let always = [Some(self.what.as_str()), Some(self.how_bad.as_str())];
        let others = [&self.waited, &self.cause, &self.advice].map(Option::as_deref);
        always.into_iter().chain(others).flatten().filter(|text| !text.is_empty()).collect()
    }
}

/// The story of a run with these findings.
pub fn story(run: &Run, findings: &[Finding]) -> Story {
    let headline = headline(run);
    // Without a verdict, neither waits nor causes can be believed, except that a CPU was the cause.
    let failure = headline.no_verdict.as_ref();
    let limited = failure.is_some_and(|failure| failure.id == CheckId::MachineLimits);
    let cpu = failure.is_some_and(|failure| failure.cpu.is_some() && !limited);
    let believed = headline.no_verdict.is_none() || cpu;
    let waited = layered(run).and_then(|layered| layered.sentence());
    let waited = waited.or_else(|| waits(run).map(|waits| format!("{}.", waits.heading)));
    let largest = ordered(run, findings.to_vec()).into_iter().find(|finding| {
        let matters = matches!(finding.severity, Severity::Danger | Severity::Costly);
        matters && finding.cost().is_some_and(|cost| cost > 0.0)
    });
    let largest = largest.filter(|one| believed && (!cpu || one.id == FindingId::CpuWait));
    // A limit that held the run back is the cause, whatever else was waited for.
    let limit = findings.iter().find(|one| limited && is_limit(one.id)).cloned();
    let largest = limit.or(largest);
    let words = largest.as_ref().and_then(|one| {
        in_words(Some(run), Some(&run.environment), std::slice::from_ref(one))
            .findings
            .into_iter()
            .next()
    });
    let cost = largest.as_ref().and_then(Finding::cost);
    let per = largest.as_ref().and_then(|one| one.effect.value()).map(|effect| effect.per);
    let which = largest.as_ref().and_then(|one| elsewhere(run, one)).unwrap_or_default();
    Story {
        what: what(run),
        how_bad: headline.sentence,
        waited: waited.filter(|_| believed),
        cause: words
            .as_ref()
            .map(|words| format!("The largest cause: {}", format::decapitalized(&words.finding))),
        advice: words.map(|words| {
            let Some(cost) = cost else { return words.action.into_owned() };
            let per = per.map(crate::listed::plural).unwrap_or("operations");
            let action = words.action.trim_end_matches('.');
            format!("{action}: up to {} less for 1,000 {per}{which}.", format::seconds(cost))
        }),
    }
}

fn is_limit(id: FindingId) -> bool {
    matches!(id, FindingId::IoLimit | FindingId::CpuQuota | FindingId::MemoryLimit)
}

/// ` (WAL save, busy)`, for a finding whose cost is not that of the saves
/// or writes in the sentences before: a forecast is not about those of a replayed trace.
fn elsewhere(run: &Run, finding: &Finding) -> Option<String> {
    let label = match &finding.effect.value()?.basis {
        EffectBasis::Compared { now: phase, .. }
        | EffectBasis::Part { phase }
        | EffectBasis::Course { phase }
        | EffectBasis::Promise { phase, .. } => phase,
        EffectBasis::Forecast { .. } => {
            let replayed = run.phases.iter().any(|phase| phase.replay.is_some());
            let one = crate::listed::forecast_of(finding.effect.value()?.per);
            return replayed.then(|| format!(" (a forecast for {one}, not for your app's own)"));
        }
    };
    let main = Subjects::of(run).main?.label();
    (*label != main).then(|| format!(" ({})", for_people(run, label)))
}

fn what(run: &Run) -> String {
    let tests = format::plural(run.phases.len(), "test", "tests");
    let on = filesystem_name(run).map(|kind| format!(", {kind}")).unwrap_or_default();
    format!("The scenario {} ran {tests} on {}{on}.", run.scenario.name, device_name(run))
}
