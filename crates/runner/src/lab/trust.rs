//! What the guest could not know: a virtual disk that it doubts is a device that counts flushes.

use flashlag_schema::{CheckId, Run, Trust};

use crate::sim;

/// Judges anew whether durable writes were flushed: `flushes` reached the device.
pub(super) fn believe_flushes(run: &mut Run, flushes: u64) {
    let sent = run.phases.iter().filter_map(|phase| phase.ledger.flushes.value());
    if sent.sum::<u64>() > flushes {
        // Some were lost on the way: the guest's doubts stay.
        return;
    }
    let Some(check) = sim::flushes(&run.phases, "virtual") else { return };
    let mut checks = std::mem::take(&mut run.trust.checks);
    checks.retain(|check| check.id != CheckId::FlushIsReal);
    checks.push(check);
    run.trust = Trust::of(checks, run.phases.len());
}
