use flashlag_explain::failed_for;
use flashlag_schema::{Check, CheckId, CheckStatus, Phase, Run};

use crate::format::decapitalized;

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

    /// In words: `9 of 12 checks pass, 1 fails, 2 unknown`.
    pub fn in_words(&self) -> String {
        let CheckCounts { passed, failed, unknown } = *self;
        let all = passed + failed + unknown;
        let mut words = match (passed, all) {
            (_, 0) => "no check was made".to_owned(),
            (1, 1) => "its one check passes".to_owned(),
            (passed, all) if passed == all => format!("all {all} checks pass"),
            (1, _) => format!("1 of {all} checks passes"),
            _ => format!("{passed} of {all} checks pass"),
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

/// How many checks are not among those of a run because what they check was not done, or can't be seen there; `None`
/// if none is missing, or none was made at all: `3 more of flashlag's 15 checks do not apply to this run.`
pub fn inapplicable_checks(run: &Run) -> Option<String> {
    let made = |id: &CheckId| run.trust.checks.iter().any(|check| check.id == *id);
    let missing = CheckId::ALL.iter().filter(|id| !made(id)).count();
    let all = CheckId::ALL.len();
    let (verb, which) = match missing {
        0 => return None,
        missing if missing == all => return None,
        1 => ("does", "One more".to_owned()),
        many => ("do", format!("{many} more")),
    };
    Some(format!("{which} of flashlag's {all} checks {verb} not apply to this run."))
}

/// A claim that could not be decided, within a sentence: `whether the figures had settled`.
pub fn whether(claim: &str) -> String {
    format!("whether {}", decapitalized(claim.trim_end_matches('.')))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_say_of_how_many_and_a_claim_that_is_undecided_is_a_question() {
        let said = |passed, failed, unknown| CheckCounts { passed, failed, unknown }.in_words();
        assert_eq!(said(9, 2, 3), "9 of 14 checks pass, 2 fail, 3 unknown");
        assert_eq!(said(1, 1, 0), "1 of 2 checks passes, 1 fails");
        assert_eq!(said(13, 0, 0), "all 13 checks pass");
        assert_eq!(said(1, 0, 0), "its one check passes");
        assert_eq!(said(0, 0, 0), "no check was made");
        assert_eq!(whether("The figures had settled"), "whether the figures had settled");
    }

    #[test]
    fn checks_that_were_not_made_are_counted_unless_none_was_made() {
        let mut run = flashlag_testing::sample::quick();
        let made: std::collections::HashSet<CheckId> =
            run.trust.checks.iter().map(|check| check.id).collect();
        let missing = CheckId::ALL.len() - made.len();
        let said = inapplicable_checks(&run).unwrap_or_default();
        assert_eq!(
            said,
            format!("{missing} more of flashlag's 15 checks do not apply to this run.")
        );
        let one = run.trust.checks[0].clone();
        run.trust.checks =
            CheckId::ALL[1..].iter().map(|id| Check { id: *id, ..one.clone() }).collect();
        let said = inapplicable_checks(&run).unwrap_or_default();
        assert_eq!(said, "One more of flashlag's 15 checks does not apply to this run.");
        run.trust.checks.clear();
        assert_eq!(inapplicable_checks(&run), None);
    }
}
