//! Whether a run may be fitted to, or forecast from.

use flashlag_schema::{CheckStatus, Run, Verdict};

use crate::PredictError;

/// What speaks against relying on a run; empty where nothing does.
///
/// A run that was not trusted: each failed check, or that nothing was checked. A run of too few
/// values: no test of it has the thousand operations that a p99 takes, so that nothing tells its
/// long waits.
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
        doubts.push("no trust check was made of it".to_owned());
    }
    if !run.phases.iter().any(|phase| phase.latency_ns.p99.is_some()) {
        doubts.push("no test of it has the 1,000 operations that a p99 takes (`flashlag run lifecycle` has)"
                .to_owned());
    }
    doubts
}

/// What speaks against a run that is used all the same.
///
/// # Errors
/// Where there are any and nobody forced it.
pub fn allowed(run: &Run, name: &str, force: bool) -> Result<Vec<String>, PredictError> {
    let doubts = doubts(run);
    match doubts.is_empty() || force {
        true => Ok(doubts),
        false => Err(PredictError::Untrusted { run: name.to_owned(), doubts }),
    }
}
