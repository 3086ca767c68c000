//! Combines what was found per phase into one check.

use flashlag_schema::{Check, CheckCause, CheckId, CheckStatus, Phase};
use flashlag_units::InOrder;

/// What to try against too few operations. Not every scenario has the setting: `quick` has not.
pub(super) const LONGER: &str =
    "Run it longer (--set time=), if the scenario has that setting (`flashlag scenarios NAME`).";

/// What a check found in one phase, or in the whole run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    pub status: CheckStatus,
    /// The phase's label; empty for the whole run.
    pub phase: String,
    /// Importance, compared only within one status.
    pub weight: f64,
    pub cause: Option<CheckCause>,
    pub detail: String,
    pub advice: String,
}

impl Finding {
    fn new(status: CheckStatus, phase: Option<&Phase>, detail: String) -> Finding {
        let phase = phase.map(Phase::label).unwrap_or_default();
        Finding { status, phase, weight: 0.0, cause: None, detail, advice: String::new() }
    }

    pub fn pass(phase: Option<&Phase>, detail: impl Into<String>) -> Finding {
        Finding::new(CheckStatus::Pass, phase, detail.into())
    }

    pub fn unknown(
        phase: Option<&Phase>,
        detail: impl Into<String>,
        advice: impl Into<String>,
    ) -> Finding {
        let finding = Finding::new(CheckStatus::Unknown, phase, detail.into());
        Finding { advice: advice.into(), ..finding }
    }

    pub fn fail(
        phase: Option<&Phase>,
        detail: impl Into<String>,
        advice: impl Into<String>,
    ) -> Finding {
        let finding = Finding::new(CheckStatus::Fail, phase, detail.into());
        Finding { advice: advice.into(), ..finding }
    }

    pub fn weighing(self, weight: f64) -> Finding {
        Finding { weight, ..self }
    }

    pub fn caused_by(self, cause: CheckCause) -> Finding {
        Finding { cause: Some(cause), ..self }
    }
}

/// One check from all findings: the worst status wins, its most important finding is reported, and
/// every phase with that status is named. `None` if there are no findings: the check did not apply.
pub(super) fn combine(id: CheckId, claim: &str, findings: Vec<Finding>) -> Option<Check> {
    let status = findings.iter().map(|finding| finding.status).min()?;
    let total = findings.iter().filter(|finding| !finding.phase.is_empty()).count();
    let mut same: Vec<Finding> =
        findings.into_iter().filter(|finding| finding.status == status).collect();
    same.order_by(|a, b| b.weight.total_cmp(&a.weight));
    let worst = same.first()?;
    let whole_run = same.iter().any(|finding| finding.phase.is_empty());
    let mut phases: Vec<String> = Vec::new();
    for finding in same.iter().filter(|_| !whole_run && status != CheckStatus::Pass) {
        if !phases.contains(&finding.phase) {
            phases.push(finding.phase.clone());
        }
    }
    let others = match (status, phases.len()) {
        (CheckStatus::Pass, _) if total > 1 => format!(" ({total} tests looked at)"),
        (CheckStatus::Pass, _) | (_, 0 | 1) => String::new(),
        (_, 2) if total == 2 => " The same holds for both tests.".to_owned(),
        (_, count) if count == total => format!(" The same holds for all {count} tests."),
        (_, 2) => " The same holds for one more test.".to_owned(),
        (_, count) => format!(" The same holds for {} more tests.", count - 1),
    };
    let mut detail = match worst.phase.as_str() {
        "" => worst.detail.clone(),
        label => format!("{label}: {}", worst.detail),
    };
    // Findings about the whole run are all reported, each once.
    for also in same.iter().skip(1).filter(|finding| finding.phase.is_empty()) {
        detail = format!("{detail} {}", also.detail);
    }
    Some(Check {
        id,
        status,
        claim: claim.to_owned(),
        cause: worst.cause,
        advice: (status != CheckStatus::Pass).then(|| worst.advice.clone()),
        detail: detail + &others,
        phases,
    })
}

/// `0.062` → `6.2%`, `12.2` → `12 times`.
pub(super) fn percent(share: f64) -> String {
    if share >= 2.0 { format!("{share:.0} times") } else { flashlag_units::percent(share) }
}

/// `part / whole`; zero if `whole` is.
pub(super) fn share(part: u64, whole: u64) -> f64 {
    flashlag_units::ratio(part, whole).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;

    fn found(phases: &[Phase], statuses: &[CheckStatus]) -> Option<Check> {
        let findings = phases.iter().zip(statuses).enumerate().map(|(index, (phase, status))| {
            let finding = Finding::new(*status, Some(phase), format!("detail {index}"));
            Finding { advice: format!("advice {index}"), ..finding }.weighing(index as f64)
        });
        combine(CheckId::Clock, "claim", findings.collect())
    }

    #[test]
    fn the_weightiest_finding_of_the_worst_status_is_reported_and_every_phase_of_it_named() {
        use CheckStatus::{Fail, Pass, Unknown};
        let phases = Case::quiet().phases;
        let check = found(&phases, &[Fail, Unknown, Fail, Pass]).unwrap();
        assert_eq!((check.status, check.advice.as_deref()), (Fail, Some("advice 2")));
        assert_eq!(check.phases, ["new: rand_write_4k", "new: seq_read_256k"]);
        assert_eq!(check.detail, "new: rand_write_4k: detail 2 The same holds for one more test.");
        let check = found(&phases, &[Unknown; 4]).unwrap();
        assert!(
            check.detail.ends_with("detail 3 The same holds for all 4 tests."),
            "{}",
            check.detail
        );
        let three = found(&phases, &[Unknown, Unknown, Unknown, Pass]).unwrap();
        assert!(three.detail.ends_with("The same holds for 2 more tests."), "{}", three.detail);
        let both = found(&phases[..2], &[Unknown; 2]).unwrap();
        assert!(both.detail.ends_with("The same holds for both tests."), "{}", both.detail);
        let check = found(&phases, &[Pass, Pass, Fail, Unknown]).unwrap();
        assert_eq!(check.detail, "new: rand_write_4k: detail 2");
        assert_eq!(check.phases.len(), 1);
    }

    #[test]
    fn a_pass_names_no_phase_has_no_advice_and_says_how_many_were_looked_at() {
        let phases = Case::quiet().phases;
        let check = found(&phases, &[CheckStatus::Pass; 4]).unwrap();
        assert_eq!((check.phases.len(), check.advice), (0, None));
        assert!(check.detail.ends_with("detail 3 (4 tests looked at)"), "{}", check.detail);
        let one = found(&phases[..1], &[CheckStatus::Pass]).unwrap();
        assert_eq!(one.detail, "new: seq_read_256k: detail 0");
        assert_eq!(found(&[], &[]), None, "nothing was found: the check did not apply");
    }

    #[test]
    fn all_that_is_found_of_the_whole_run_is_reported_and_no_phase_named() {
        let phases = Case::quiet().phases;
        let whole = |detail: &str| Finding::fail(None, detail, "advice");
        let of_phase = Finding::fail(Some(&phases[0]), "slow", "other").weighing(-1.0);
        let findings = vec![whole("One."), of_phase, whole("Two.")];
        let check = combine(CheckId::Clock, "claim", findings).unwrap();
        assert_eq!((check.detail.as_str(), check.phases.len()), ("One. Two.", 0));
    }

    #[test]
    fn from_twice_on_a_share_is_reported_in_times() {
        assert_eq!(percent(1.99), "199%");
        assert_eq!(percent(2.0), "2 times");
        assert_eq!(percent(12.2), "12 times");
    }
}
