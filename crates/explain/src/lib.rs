//! Explains lag: typed causes with their evidence, what was ruled out, and what operations waited
//! for. A pure function over a run's phases and checks; sentences are made elsewhere.
//!
//! [`findings`] derives, [`attach`] stores, [`verify`] compares stored findings with derived ones.
#![forbid(unsafe_code)]

mod calm;
mod candidate;
mod card;
mod doubt;
mod effect;
mod figures;
mod histograms;
pub mod infer;
mod list;
mod overload;
mod pairs;
mod plan;
mod remedy;
mod set_up;
mod stalls;
mod subjects;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod verdict;
mod verify;
mod waits;
mod within;

use std::borrow::Cow;

use flashlag_schema::Run;
use flashlag_schema::finding::{Findings, RULES};
use flashlag_units::InOrder;

use candidate::{Candidate, Context, LEAST_COST};

pub use calm::Calm;
pub use card::card_verdict;
pub use doubt::{cpu_cause, failed, failed_for, is_trusted};
pub use effect::{lowers_median, slowest_remain};
pub use figures::Figures;
pub use histograms::{merged, response_histogram, restored};
pub use list::ordered;
pub use overload::{due, is_overloaded};
pub use plan::{Plan, SaveKind, is_fill};
pub use remedy::finding;
pub use set_up::set_up;
pub use stalls::{is_usual, of_phase as stalls_of};
pub use subjects::{Subjects, severest};
pub use verdict::{FREEZE, LagVerdict, NOTICED, verdict};
pub use verify::verify;

/// The findings of a run, derived from its phases and checks.
pub fn findings(run: &Run) -> Findings {
    let (plan, subjects) = (Plan::of(run), Subjects::of(run));
    let context = Context { run, plan: &plan, subjects: &subjects };
    let mut found = Findings { rules: RULES, ..Findings::default() };
    for candidate in pairs::all(&context).into_iter().chain(within::all(&context)) {
        match candidate {
            Candidate::Cause(cause) if cause.effect.cost_s_per_1000.value < LEAST_COST => {}
            Candidate::Cause(cause) => found.causes.push(cause),
            Candidate::Not(ruled_out) => found.ruled_out.push(ruled_out),
        }
    }
    found
        .causes
        .order_by(|a, b| b.effect.cost_s_per_1000.value.total_cmp(&a.effect.cost_s_per_1000.value));
    found.list = list::list(&context, &found.causes);
    found.waits = waits::waits(run, &subjects);
    found.stalls = stalls::stalls(run);
    found
}

/// The findings stored in a run; derived from the run if its file has none, or those of other
/// rules.
pub fn findings_of(run: &Run) -> Cow<'_, Findings> {
    let stored = run.findings.as_ref().filter(|stored| stored.rules == RULES);
    stored.map_or_else(|| Cow::Owned(findings(run)), Cow::Borrowed)
}

/// Derives the findings of a run and stores them in it. Call it whenever its phases or checks have
/// changed; the checksum is the caller's business.
pub fn attach(run: &mut Run) {
    run.findings = Some(findings(run));
}
