//! Reasons to doubt a run as the basis of a fit or a forecast.

use flashlag_schema::{CheckStatus, Run};
use flashlag_spec::Verdict;

use crate::PredictError;

/// The reasons not to rely on a run, one phrase each: every failed check; that there was no check;
/// that no test has the thousand operations that a p99 needs, so that long waits are unknown.
pub fn doubts(run: &Run) -> Vec<String> {
    let mut doubts: Vec<String> = Vec::new();
    let failed = run.trust.checks.iter().filter(|check| check.status == CheckStatus::Fail);
    for check in failed {
        let doubt = format!("a trust check failed ({})", check.claim.trim_end_matches('.'));
        if !doubts.contains(&doubt) {
            doubts.push(doubt);
        }
    }
    if doubts.is_empty() && run.trust.verdict == Verdict::Untrusted {
        doubts.push("it has no trust check".to_owned());
    }
    if !run.phases.iter().any(|phase| phase.latency_ns.p99.is_some()) {
        doubts.push("no test of it has the 1,000 operations that a p99 takes (`flashlag run lifecycle` has)"
                .to_owned());
    }
    doubts
}

/// The [`doubts`] about a run that is used nevertheless.
///
/// # Errors
/// There are doubts and `force` is not set.
pub fn allowed(run: &Run, name: &str, force: bool) -> Result<Vec<String>, PredictError> {
    decide(doubts(run), name, force)
}

/// The doubts about a run, if there are none or `force` is set; otherwise an error.
pub(crate) fn decide(
    doubts: Vec<String>,
    name: &str,
    force: bool,
) -> Result<Vec<String>, PredictError> {
    if doubts.is_empty() || force {
        Ok(doubts)
    } else {
        Err(PredictError::Untrusted { run: name.to_owned(), doubts })
    }
}
