//! The fields that flashlag adds to each job when it writes fio's format.

use flashlag_schema::{Phase, Think};
use flashlag_spec::scenario::{Durability, EngineKind};
use flashlag_spec::{Operation, State};
use flashlag_units::Nanos;

/// The object `flashlag` that [`super::export`] adds to a job.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(super) struct Extension {
    pub(super) name: Option<String>,
    pub(super) state: Option<State>,
    pub(super) run: Option<u32>,
    pub(super) operation: Option<Operation>,
    pub(super) durable: Option<Durability>,
    pub(super) engine: Option<EngineKind>,
    pub(super) elapsed_ns: Option<Nanos>,
    pub(super) began_ns: Option<Nanos>,
    pub(super) stall_over_ns: Option<Nanos>,
    pub(super) stalls_seen: Option<u64>,
    pub(super) missed_slots: Option<u64>,
    pub(super) think: Option<Think>,
    pub(super) notes: Vec<String>,
}

impl Extension {
    /// `phase` with the fields of the extension instead of fio's.
    pub(super) fn over(self, phase: Phase) -> Phase {
        Phase {
            name: self.name.unwrap_or(phase.name),
            state: self.state.unwrap_or(phase.state),
            run: self.run.unwrap_or(phase.run),
            operation: self.operation.unwrap_or(phase.operation),
            durable: self.durable.unwrap_or(phase.durable),
            engine: self.engine.unwrap_or(phase.engine),
            elapsed_ns: self.elapsed_ns.unwrap_or(phase.elapsed_ns),
            began_ns: self.began_ns.unwrap_or(phase.began_ns),
            stall_over_ns: self.stall_over_ns.unwrap_or(phase.stall_over_ns),
            stalls_seen: self.stalls_seen.unwrap_or(phase.stalls_seen),
            missed_slots: phase.missed_slots.map(|missed| self.missed_slots.unwrap_or(missed)),
            think: self.think.or(phase.think),
            notes: [phase.notes, self.notes].concat(),
            ..phase
        }
    }
}
