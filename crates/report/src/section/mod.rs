//! The sections of a report, each from one run; a section without data is left out.

pub(crate) mod changes;
pub(crate) mod distribution;
mod environment;
pub(crate) mod figures;
pub(crate) mod fill;
mod findings;
pub(crate) mod first;
mod layered;
mod lifecycle;
mod published;
mod replay;
mod reproduce;
mod saves;
pub(crate) mod stalls;
mod tests;
mod trust;
mod waits;

pub(crate) use trust::status_name;

use flashlag_schema::{CheckId, Run};
use flashlag_views::Failure;

use crate::Options;
use crate::markup::Markup;

/// A section of the page. Its heading states the result.
pub(crate) struct Section {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) heading: String,
    /// Method, beside it.
    pub(crate) side: Vec<String>,
    pub(crate) body: Markup,
}

/// Every section that this run has data for, in order.
pub(crate) fn all(run: &Run, options: &Options) -> Vec<Section> {
    // A run without rows for the picture is about changes over time.
    let (over_time, later) = if flashlag_views::strip(run).groups.is_empty() {
        ([changes::section(run), stalls::section(run)], [None, None])
    } else {
        ([None, None], [changes::section(run), stalls::section(run)])
    };
    let [first, second] = over_time;
    let [third, fourth] = later;
    // What to do, and what was found, before the details of it.
    let sections = [
        layered::section(run),
        findings::section(run),
        tests::section(run),
        replay::section(run),
        first,
        second,
        lifecycle::section(run),
        lifecycle::by_size(run),
        fill::section(run),
        third,
        saves::section(run),
        distribution::section(run),
        fourth,
        waits::section(run),
        trust::section(run),
        environment::section(run),
        reproduce::section(run, options),
        published::section(run),
    ];
    sections.into_iter().flatten().collect()
}

/// A link to the failed check of a row.
pub(crate) struct Flag {
    pub(crate) href: String,
    pub(crate) claim: String,
}

impl Flag {
    /// The first failed check of the row; none that covers the whole run, which the headline names.
    pub(crate) fn of(run: &Run, failures: &[Failure]) -> Option<Flag> {
        let covers_all = |failure: &&Failure| {
            let same = run.trust.checks.iter().filter(|check| check.id == failure.id);
            same.into_iter().any(|check| check.phases.is_empty() && check.claim == failure.claim)
        };
        let failure = failures.iter().find(|failure| !covers_all(failure))?;
        Some(Flag { href: check_anchor(failure.id), claim: failure.claim.clone() })
    }
}

/// The anchor of a check on the page.
pub(crate) fn check_anchor(id: CheckId) -> String {
    format!("check-{}", id.name().replace('_', "-"))
}
