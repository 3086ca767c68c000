//! Facts of a run that only the host knows: the device, and that the flushes reached it.

use flashlag_schema::{CheckId, Run, Target, TargetKind, Trust};
use flashlag_spec::Reading;

use super::boot::LabRun;
use crate::record::{profile_record, reviewers_leave};
use crate::sim;

/// Adds the facts that only the host knows.
pub(super) fn complete(run: &mut Run, asked: LabRun<'_>, flushes: u64) {
    let LabRun { request, target } = asked;
    believe_flushes(run, flushes);
    flashlag_explain::attach(run);
    run.target = Target {
        kind: TargetKind::Lab,
        name: target.text.clone(),
        directory: None,
        profile: Some(profile_record(
            &target.profile,
            target.spec.stack().to_string(),
            target.spec.device_options(),
        )),
    };
    run.label = request.label.clone();
    run.options.leave_reason = reviewers_leave(request.leave).1;
    run.environment.device.model = Reading::Value(target.profile.about.clone());
}

/// Repeats the check of durable writes with the device's count of `flushes`.
fn believe_flushes(run: &mut Run, flushes: u64) {
    let sent = run.phases.iter().filter_map(|phase| phase.ledger.flushes.value());
    if sent.sum::<u64>() > flushes {
        // Flushes were lost between guest and device: the guest's check applies.
        return;
    }
    let Some(check) = sim::flushes(&run.phases, "virtual") else { return };
    let mut checks = std::mem::take(&mut run.trust.checks);
    checks.retain(|check| check.id != CheckId::FlushIsReal);
    checks.push(check);
    run.trust = Trust::of(checks, run.phases.len());
}
