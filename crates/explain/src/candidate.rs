//! A suspicion that was weighed against the evidence: a cause, or ruled out.

use flashlag_schema::finding::{
    Cause, CauseId, FindingAction, FindingEffect, FindingEvidence, FindingRisk, FindingSide,
    FindingSides, RuledOut, SavePart,
};
use flashlag_schema::{Phase, Run};

use crate::plan::Plan;
use crate::subjects::Subjects;

/// The data by which candidates are weighed.
pub struct Context<'a> {
    pub run: &'a Run,
    pub plan: &'a Plan,
    pub subjects: &'a Subjects<'a>,
}

/// A possible cause, before it is judged.
pub enum Candidate {
    Cause(Cause),
    Not(RuledOut),
}

/// A suspected cause and its fix.
pub struct Suspicion {
    pub id: CauseId,
    pub action: FindingAction,
    pub risk: FindingRisk,
}

impl Suspicion {
    /// A suspicion with the fix and the price of the cause's row among the findings; `None` if the
    /// row has no price.
    pub fn of(id: CauseId) -> Option<Suspicion> {
        let row = id.finding().row();
        Some(Suspicion { id, action: row.action, risk: row.risk? })
    }

    /// A cause if the evidence shows one, otherwise ruled out.
    pub fn weighed(
        self,
        is_cause: bool,
        sides: FindingSides,
        effect: FindingEffect,
        evidence: FindingEvidence,
    ) -> Candidate {
        let Suspicion { id, action, risk } = self;
        if is_cause {
            Candidate::Cause(Cause { id, sides, effect, evidence, action, risk })
        } else {
            Candidate::Not(RuledOut { id, sides, effect, evidence })
        }
    }
}

/// A whole phase as one side of a comparison.
pub fn side(phase: &Phase) -> FindingSide {
    FindingSide { phase: phase.label(), part: None }
}

/// A part of a phase's saves as one side of a comparison.
pub fn part_of(phase: &Phase, part: SavePart) -> FindingSide {
    FindingSide { phase: phase.label(), part: Some(part) }
}

/// Minimum cost of a cause, in seconds per 1,000 operations: a smaller one would print as 0.
pub(super) const LEAST_COST: f64 = 0.05;
