//! From what was found phase by phase to one check.

use flashlag_schema::{Check, CheckCause, CheckId, CheckStatus, Phase};

/// What one check found in one phase, or in the whole run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    pub status: CheckStatus,
    /// The phase's label; empty for the whole run.
    pub phase: String,
    /// The larger, the more worth telling. Only compared within one status.
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

/// One check from all findings: the worst status wins, its weightiest finding is told, and every
/// phase that shares the status is named. `None` where nothing was found: it did not apply.
pub(super) fn combine(id: CheckId, claim: &str, findings: Vec<Finding>) -> Option<Check> {
    let status = findings.iter().map(|finding| finding.status).min()?;
    let total = findings.iter().filter(|finding| !finding.phase.is_empty()).count();
    let mut same: Vec<Finding> =
        findings.into_iter().filter(|finding| finding.status == status).collect();
    same.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let worst = same.first()?;
    let whole_run = same.iter().any(|finding| finding.phase.is_empty());
    let mut phases: Vec<String> = Vec::new();
    for finding in same.iter().filter(|_| !whole_run && status != CheckStatus::Pass) {
        if !phases.contains(&finding.phase) {
            phases.push(finding.phase.clone());
        }
    }
    let others = match (status, phases.len()) {
        (CheckStatus::Pass, _) if total > 1 => format!(" ({total} phases looked at)"),
        (CheckStatus::Pass, _) | (_, 0 | 1) => String::new(),
        (_, 2) => " So it is in one more phase.".to_owned(),
        (_, count) => format!(" So it is in {} more phases.", count - 1),
    };
    let mut detail = match worst.phase.as_str() {
        "" => worst.detail.clone(),
        label => format!("{label}: {}", worst.detail),
    };
    // What is said of the whole run is said once each, and all of it.
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

/// `part / whole`, zero where there is no whole.
pub(super) fn share(part: u64, whole: u64) -> f64 {
    flashlag_units::ratio(part, whole).unwrap_or_default()
}
