//! One list of what makes a run lag: what its phases show by comparison, what single phases, checks and
//! promises show, and what the set-up shows.

mod course;
mod of_cause;
mod order;
mod promise;
mod seen;
mod waited;

pub use order::ordered;

use flashlag_schema::Phase;
use flashlag_schema::finding::{Cause, Fact, Finding, Severity};
use flashlag_units::Nanos;

use crate::candidate::Context;
use crate::doubt::is_trusted;
use crate::set_up;
use crate::verdict::{LagVerdict, verdict};

/// The findings of a run, with the causes that its phases show.
pub fn list(context: &Context<'_>, causes: &[Cause]) -> Vec<Finding> {
    let run = context.run;
    let mut found: Vec<Finding> =
        causes.iter().filter_map(|cause| of_cause::finding_of(context, cause)).collect();
    found.extend(waited::all(context));
    found.extend(course::all(context));
    found.extend(promise::all(context));
    found.extend(seen::all(context));
    found.extend(set_up(&run.environment));
    order::ordered(order::merged(found))
}

/// How much the waits of a phase matter; without one, those of the phase that explains the run. Nothing
/// that makes a save or a write late is minor.
fn felt(context: &Context<'_>, phase: Option<&Phase>) -> Severity {
    let judged = phase.or(context.subjects.main).and_then(|phase| verdict(context.run, phase));
    match judged {
        Some(LagVerdict::Smooth) => Severity::Minor,
        _ => Severity::Costly,
    }
}

/// The phases whose waits an app feels: saves and durable writes that can be believed, with their
/// places in the run.
fn felt_phases<'a>(context: &Context<'a>) -> impl Iterator<Item = (usize, &'a Phase)> {
    let (run, subjects) = (context.run, context.subjects);
    run.phases.iter().enumerate().filter(move |(_, phase)| {
        let subject = |one: &Phase| std::ptr::eq(one, *phase);
        let chosen = [subjects.main, subjects.busy, subjects.other_journal, subjects.worst];
        let chosen = chosen.into_iter().flatten().chain(subjects.writes.iter().copied());
        phase.ops > 0 && chosen.into_iter().any(subject) && is_trusted(run, phase)
    })
}

/// A field of a phase as evidence.
fn of_phase(index: usize, field: &str, value: impl Into<String>) -> Fact {
    Fact { field: format!("phases[{index}].{field}"), value: value.into() }
}

/// Seconds for 1,000 operations of a time that all of them waited together.
fn per_thousand(total: Nanos, ops: u64) -> f64 {
    total.as_secs_f64() * 1e3 / ops.max(1) as f64
}
