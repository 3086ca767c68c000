use flashlag_explain::failed_for;
use flashlag_schema::{Check, CheckId, CheckStatus, Phase, Run};

/// A failed check that covers a row: the row may be shown, never judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which check.
    pub id: CheckId,
    /// The claim that should have been true: "Writes reached storage".
    pub claim: String,
    /// The evidence, with numbers.
    pub detail: String,
    /// What to do about it.
    pub advice: Option<String>,
    /// Whether it covers the whole run.
    pub covers_all: bool,
}

/// How many checks there were of each outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckCounts {
    /// Shown to be true.
    pub passed: usize,
    /// Shown to be false.
    pub failed: usize,
    /// Evidence missing or undecided. Never counted as a pass.
    pub unknown: usize,
}

impl CheckCounts {
    /// The counts of a run.
    pub fn of(run: &Run) -> CheckCounts {
        let of = |status| run.trust.checks.iter().filter(|check| check.status == status).count();
        CheckCounts {
            passed: of(CheckStatus::Pass),
            failed: of(CheckStatus::Fail),
            unknown: of(CheckStatus::Unknown),
        }
    }

    /// In words: `9 checks pass, 1 fails, 2 unknown`.
    pub fn in_words(&self) -> String {
        let CheckCounts { passed, failed, unknown } = *self;
        let mut words = match passed {
            1 => "1 check passes".to_owned(),
            _ => format!("{passed} checks pass"),
        };
        if failed > 0 {
            words += &format!(", {failed} {}", if failed == 1 { "fails" } else { "fail" });
        }
        if unknown > 0 {
            words += &format!(", {unknown} unknown");
        }
        words
    }
}

/// The failed checks that cover a phase: those that name it and those that name none.
pub fn failures_of(run: &Run, phase: &Phase) -> Vec<Failure> {
    let failure = |check: &Check| {
        let mut same = run.trust.checks.iter().filter(|other| other.id == check.id);
        Failure {
            id: check.id,
            claim: check.claim.clone(),
            detail: check.detail.clone(),
            advice: check.advice.clone(),
            covers_all: same.any(|other| other.phases.is_empty() && other.claim == check.claim),
        }
    };
    failed_for(run, phase).map(failure).collect()
}
