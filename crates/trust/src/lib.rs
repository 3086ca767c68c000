//! Whether a run can be believed: one file per check, each a pure function over [`Evidence`].
//!
//! Every check states a claim and tries to refute it. **fail** means that the evidence shows the
//! claim to be false; **pass**, that it shows it to be true; everything else, and above all missing
//! evidence, is **unknown**. A check about something that the run did not do (flushes in a run
//! without a durable phase, read-back without `--verify`) is left out, so that a pass always means
//! something. Thresholds and their reasons are in each file.
//!
//! A check that looks at phases one by one reports the worst of them and names all that share its
//! outcome, so that a reader knows which rows not to quote.
#![forbid(unsafe_code)]

mod accounting;
mod cache;
mod clock;
mod cpu;
mod earlier;
mod engine;
mod evidence;
mod finding;
mod flush;
mod foreign;
mod limits;
mod payload;
mod samples;
mod space;
mod steady;
mod stopped;
#[cfg(test)]
mod testing;
mod thermal;
mod verified;

pub use earlier::Earlier;
pub use evidence::{Evidence, Fill, Verification};

use flashlag_schema::{Check, Trust};

/// Runs every check that applies; failed ones first, then unknown ones.
pub fn judge(evidence: &Evidence<'_>) -> Trust {
    let checks = [
        clock::check(evidence),
        accounting::check(evidence),
        engine::check(evidence),
        cache::check(evidence),
        flush::check(evidence),
        payload::check(evidence),
        limits::check(evidence),
        cpu::check(evidence),
        stopped::check(evidence),
        foreign::check(evidence),
        thermal::check(evidence),
        space::check(evidence),
        steady::check(evidence),
        samples::check(evidence),
        verified::check(evidence),
    ];
    let checks: Vec<Check> = checks.into_iter().flatten().collect();
    let checks = match evidence.earlier {
        Some(earlier) => earlier.joined(checks),
        None => checks,
    };
    Trust::of(checks, evidence.phases.len())
}

#[cfg(test)]
mod tests {
    use flashlag_schema::{CheckId, CheckStatus, Environment};
    use flashlag_spec::{Reading, Verdict};

    use super::*;
    use crate::testing::Case;

    #[test]
    fn a_quiet_run_on_a_real_disk_is_trusted_and_only_its_length_is_unknown() {
        let trust = judge(&Case::quiet().evidence());
        assert_eq!(trust.verdict, Verdict::Trusted, "{trust:#?}");
        let unknown = trust.checks.iter().filter(|check| check.status == CheckStatus::Unknown);
        let unknown: Vec<CheckId> = unknown.map(|check| check.id).collect();
        assert_eq!(unknown, [CheckId::SteadyState]);
    }

    #[test]
    fn nothing_missing_ever_passes() {
        let case = Case::quiet();
        let bare = Environment::default();
        let trust = judge(&Evidence::new(&bare, &case.phases));
        let passed = trust.checks.iter().filter(|check| check.status == CheckStatus::Pass);
        let passed: Vec<CheckId> = passed.map(|check| check.id).collect();
        // These need only the phases, with their own time splits.
        let allowed = [
            CheckId::Accounting,
            CheckId::CpuContention,
            CheckId::NeverStopped,
            CheckId::EnoughSamples,
        ];
        assert_eq!(passed, allowed);
    }

    #[test]
    fn no_phase_is_no_trust() {
        let bare = Environment::default();
        assert_eq!(judge(&Evidence::new(&bare, &[])).verdict, Verdict::Untrusted);
    }

    #[test]
    fn failed_checks_come_first_and_every_check_that_did_not_pass_advises() {
        let mut case = Case::quiet();
        case.environment.filesystem.options = Reading::Value(vec!["nobarrier".to_owned()]);
        let trust = judge(&case.evidence());
        assert_eq!(trust.verdict, Verdict::Untrusted);
        assert_eq!(trust.checks[0].id, CheckId::FlushIsReal);
        let mut order: Vec<CheckStatus> = trust.checks.iter().map(|check| check.status).collect();
        let given = order.clone();
        order.sort();
        assert_eq!(given, order);
        for check in &trust.checks {
            assert_eq!(check.advice.is_none(), check.status == CheckStatus::Pass, "{check:?}");
        }
    }
}
