//! What the guest could not know: a virtual disk that it doubts is a device that counts flushes.

use flashlag_schema::{CheckId, CheckStatus, Run, Verdict};

use crate::sim;

/// Judges anew whether durable writes were flushed: `flushes` reached the device.
pub(super) fn believe_flushes(run: &mut Run, flushes: u64) {
    let sent = run.phases.iter().filter_map(|phase| phase.ledger.flushes.value());
    if sent.sum::<u64>() > flushes {
        // Some were lost on the way: the guest's doubts stay.
        return;
    }
    let Some(check) = sim::flushes(&run.phases, "virtual") else { return };
    let trust = &mut run.trust;
    trust.checks.retain(|check| check.id != CheckId::FlushIsReal);
    trust.checks.push(check);
    trust.checks.sort_by_key(|check| check.status);
    let failed = trust.checks.iter().any(|check| check.status == CheckStatus::Fail);
    trust.verdict =
        if failed || run.phases.is_empty() { Verdict::Untrusted } else { Verdict::Trusted };
}
