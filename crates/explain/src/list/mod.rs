//! One list of what makes a run lag: what a comparison of its phases shows, what single phases,
//! checks and promises show, and what the set-up shows.

mod course;
mod of_cause;
mod order;
mod promise;
mod seen;
mod waited;

pub use order::ordered;

use flashlag_schema::finding::{Cause, Fact, Finding, FindingId, Severity};
use flashlag_schema::{CheckId, CheckStatus, Phase, Run};
use flashlag_units::Nanos;

use crate::candidate::Context;
use crate::doubt::is_trusted;
use crate::plan::{Plan, is_fill};
use crate::remedy::finding;
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
    let limit = seen::limit_of(context);
    found.extend(set_up(&run.environment).into_iter().filter(|one| matters(run, limit, one.id)));
    if limit == Some(FindingId::CpuQuota) {
        // The quota is the reason why no CPU was free.
        for one in found.iter_mut().filter(|one| one.id == FindingId::CpuWait) {
            let renamed =
                finding(FindingId::CpuQuota, one.severity, "", Vec::new(), one.effect.clone());
            (one.id, one.action, one.risk) = (renamed.id, renamed.action, renamed.risk);
        }
    }
    order::ordered(order::merged(found))
}

/// Whether a finding of the set-up matters to a run: a control group's limit matters if it held the
/// run back, or if that is unknown. A limit far above the measured rates changes nothing.
fn matters(run: &Run, held_back: Option<FindingId>, id: FindingId) -> bool {
    if !matches!(id, FindingId::IoLimit | FindingId::CpuQuota | FindingId::MemoryLimit) {
        return true;
    }
    let check = run.trust.checks.iter().find(|check| check.id == CheckId::MachineLimits);
    match check.map(|check| check.status) {
        Some(CheckStatus::Pass) => false,
        Some(CheckStatus::Fail) => held_back == Some(id),
        Some(CheckStatus::Unknown) | None => true,
    }
}

/// How much the waits of a phase matter; without one, or of a fill, for which nobody waits, those of the phase
/// that explains the run. Whatever makes a save or a write late is not minor.
fn felt(context: &Context<'_>, phase: Option<&Phase>) -> Severity {
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

/// Seconds per 1,000 operations, from the total time that all of them waited.
fn per_thousand(total: Nanos, ops: u64) -> f64 {
    total.as_secs_f64() * 1e3 / ops.max(1) as f64
}
