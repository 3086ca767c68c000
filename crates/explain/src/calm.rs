//! Whether a run shows that there is nothing to change.

use flashlag_schema::{Phase, Run, RunStatus};
use flashlag_spec::Operation;

use crate::doubt::is_trusted;
use crate::plan::{Plan, is_fill};
use crate::verdict::{LagVerdict, verdict};

/// What a run without findings says about the device. Only a complete run whose saves and durable
/// writes are trusted and in time says that there is nothing to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calm {
    /// Every save and durable write is trusted, and all of them are smooth.
    Calm,
    /// The run, or one of its tests, ended early.
    Incomplete,
    /// A failed check covers saves or durable writes.
    Doubted,
    /// Saves or durable writes are late.
    Late(Operation),
    /// No save and no durable write was measured.
    Unmeasured,
}

impl Calm {
    /// What a run shows.
    pub fn of(run: &Run) -> Calm {
        let plan = Plan::of(run);
        let felt: Vec<&Phase> = run.phases.iter().filter(|phase| is_felt(&plan, phase)).collect();
        let late = |phase: &&&Phase| {
            verdict(run, phase).is_some_and(|verdict| verdict != LagVerdict::Smooth)
        };
        let judged = |phase: &&Phase| verdict(run, phase).is_some();
        if let Some(late) = felt.iter().find(late) {
            Calm::Late(late.operation)
        } else if felt.iter().any(|phase| !is_trusted(run, phase)) {
            Calm::Doubted
        } else if run.status != RunStatus::Complete || run.phases.iter().any(|one| one.cut_short) {
            Calm::Incomplete
        } else if felt.is_empty() || !felt.iter().all(judged) {
            Calm::Unmeasured
        } else {
            Calm::Calm
        }
    }
}

/// Whether a person waits for what the phase did: a save, or a durable write outside of a fill.
fn is_felt(plan: &Plan, phase: &Phase) -> bool {
    let felt = phase.operation == Operation::Save || phase.is_durable_write();
    felt && phase.ops > 0 && !is_fill(plan, phase)
}
