//! Failed checks, and how much of the waits a busy CPU caused.

use flashlag_schema::{Check, CheckCause, CheckStatus, Phase, Run};
use flashlag_units::ratio;

/// All failed checks of a run, in their order.
pub fn failed(run: &Run) -> impl Iterator<Item = &Check> {
    run.trust.checks.iter().filter(|check| check.status == CheckStatus::Fail)
}

/// The failed checks that cover a phase: those that name it and those that name none.
pub fn failed_for<'a>(run: &'a Run, phase: &Phase) -> impl Iterator<Item = &'a Check> {
    let label = phase.label();
    failed(run).filter(move |check| check.phases.is_empty() || check.phases.contains(&label))
}

/// Whether no failed check covers a phase.
pub fn is_trusted(run: &Run, phase: &Phase) -> bool {
    failed_for(run, phase).next().is_none()
}

/// Whether a busy CPU caused most of a phase's waits, or only added to them: according to the
/// check. If a file does not store that, the phase's own split decides: more than half of the time
/// counts as most.
pub fn cpu_cause(check: &Check, phase: &Phase) -> CheckCause {
    let by_split = || {
        let time = phase.time.value()?;
        let share = ratio(time.runnable_ns.0, time.total().0)?;
        Some(if share > 0.5 { CheckCause::CpuMost } else { CheckCause::CpuAdded })
    };
    check.cause.or_else(by_split).unwrap_or(CheckCause::CpuMost)
}
