//! Causes of stalls on real storage, inferred from the counters around them.
//!
//! The scheduler's figures for the thread show whether a stall was spent on a CPU, waiting for one,
//! stopped or blocked on storage. Why the storage took so long is inferred by rules, each of which
//! needs positive evidence; without any the cause stays "storage".

mod layers;
mod rules;
mod speed;
#[cfg(test)]
mod tests;

use flashlag_schema::verify::Discrepancy;
use flashlag_schema::{CauseBasis, Phase, Run, StallCause};

pub use layers::layers;
pub use rules::{Scene, is_flash, was_idle};

/// Version of the rules; raise it with every change of what is inferred.
pub const RULES: u32 = 3;

/// The inferred cause of each stall of a phase, in order; `None` if no rule names one and the
/// scheduler's figures decide.
pub fn causes(phase: &Phase, run: &Run) -> Vec<Option<StallCause>> {
    let Some(watched) = &phase.watched else { return vec![None; phase.stalls.len()] };
    rules::causes(phase, watched, run)
}

/// Gives each stall of a phase its inferred cause, if there is one. Causes that a model or a device
/// has reported stay.
pub fn name_causes(phase: &mut Phase, run: &Run) {
    let inferred = causes(phase, run);
    for (stall, inferred) in phase.stalls.iter_mut().zip(inferred) {
        if let Some(cause) = inferred.filter(|_| stall.cause_basis == CauseBasis::Measured) {
            (stall.cause, stall.cause_basis) = (cause, CauseBasis::Inferred);
        }
    }
}

/// Inferred causes that do not follow from the evidence in the run, if the run was made by these
/// rules.
pub fn verify(run: &Run) -> Vec<Discrepancy> {
    let mut found = Vec::new();
    for (index, phase) in run.phases.iter().enumerate() {
        let ours = phase.watched.as_ref().is_some_and(|watched| watched.rules == RULES);
        if !ours {
            continue;
        }
        for (number, (stall, inferred)) in phase.stalls.iter().zip(causes(phase, run)).enumerate() {
            let stored = (stall.cause_basis == CauseBasis::Inferred).then_some(stall.cause);
            let named = matches!(stall.cause_basis, CauseBasis::Inferred | CauseBasis::Measured);
            if named && stored != inferred {
                let word = |cause: Option<StallCause>| {
                    cause.map_or_else(|| "not inferred".to_owned(), |cause| format!("{cause:?}"))
                };
                found.push(Discrepancy {
                    path: format!("phases[{index}].stalls[{number}].cause"),
                    stored: word(stored),
                    recomputed: word(inferred),
                });
            }
        }
    }
    found
}
