//! What several rules ask about phases.

use flashlag_schema::Phase;
use flashlag_schema::finding::{Fact, Severity};
use flashlag_units::Nanos;

use crate::candidate::Context;
use crate::doubt::is_trusted;
use crate::plan::{Plan, is_fill};
use crate::verdict::{LagVerdict, verdict};

/// How much the waits of a phase matter; without one, or of a fill, for which nobody waits, those of the phase
/// that explains the run. Whatever makes a save or a write late is not minor.
pub(super) fn felt(context: &Context<'_>, phase: Option<&Phase>) -> Severity {
    let plan = Plan::of(context.run);
    let phase = phase.filter(|phase| !is_fill(&plan, phase));
    let judged = phase.or(context.subjects.main).and_then(|phase| verdict(context.run, phase));
    match judged {
        Some(LagVerdict::Smooth) => Severity::Minor,
        _ => Severity::Costly,
    }
}

/// The phases whose waits an app feels: trusted saves and durable writes, with their indices in the
/// run.
pub(super) fn felt_phases<'a>(context: &Context<'a>) -> impl Iterator<Item = (usize, &'a Phase)> {
    let (run, subjects) = (context.run, context.subjects);
    run.phases.iter().enumerate().filter(move |(_, phase)| {
        let subject = |one: &Phase| std::ptr::eq(one, *phase);
        let chosen = [subjects.main, subjects.busy, subjects.other_journal, subjects.worst];
        let chosen = chosen.into_iter().flatten().chain(subjects.writes.iter().copied());
        phase.ops > 0 && chosen.into_iter().any(subject) && is_trusted(run, phase)
    })
}

/// A field of a phase as evidence.
pub(super) fn of_phase(index: usize, field: &str, value: impl Into<String>) -> Fact {
    Fact { field: format!("phases[{index}].{field}"), value: value.into() }
}

/// Seconds per 1,000 operations, from the total time that all of them waited.
pub(super) fn per_thousand(total: Nanos, ops: u64) -> f64 {
    total.as_secs_f64() * 1e3 / ops.max(1) as f64
}
