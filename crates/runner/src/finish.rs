//! What follows from the phases: trust, lag, wear; and leaving the storage as it was found.

use flashlag_engine::fill::free_space;
use flashlag_schema::{Lag, Reading, Run, RunStatus};
use flashlag_units::Bytes;
use flashlag_workload::Payload;

use crate::error::RunError;
use crate::prepare::Prepared;
use crate::request::{Event, Observer};
use crate::wear::life_share;
use flashlag_trust::Evidence;

/// How much of the payload the incompressibility check looks at.
const PAYLOAD_SAMPLE: usize = 256 << 10;

/// Brings everything that is derived from the phases up to date, so that the file is whole after
/// every phase.
pub(crate) fn refresh(prepared: &mut Prepared) {
    prepared.probe.complete(&mut prepared.run.environment);
    let lags = prepared.run.phases.iter().filter_map(|phase| phase.lag);
    prepared.run.lag = lags.fold(Lag::default(), Lag::plus);
    let now = prepared.probe.counters();
    let whole = now.since(&prepared.evidence.baseline.1);
    prepared.run.wear.block_bytes = match &whole.disk {
        Reading::Value(disk) => Reading::Value(disk.write_bytes),
        Reading::Unavailable { unavailable } => Reading::unavailable(unavailable.clone()),
    };
    let written = prepared.run.wear.written_bytes;
    prepared.run.wear.life_percent = life_share(&prepared.run.environment, written).into();
    let free_after = free_space(&prepared.request.directory)
        .map(|space| space.available)
        .map_err(|error| error.to_string());
    let evidence = Evidence {
        counters: &prepared.evidence.phases,
        baseline: Some(&prepared.evidence.baseline),
        ended: Some(&now),
        disks: prepared.probe.disk_count(),
        payload: Reading::Value(payload_sample(prepared.request.seed)),
        fills: prepared.evidence.fills.clone(),
        leave: prepared.leave,
        free_after: free_after.into(),
        own_bytes: prepared.files.size().into(),
        verification: prepared.evidence.verified.clone(),
        ..Evidence::new(&prepared.run.environment, &prepared.run.phases)
    };
    prepared.run.trust = flashlag_trust::judge(&evidence);
}

/// The payload of a run of this seed, as it is written.
fn payload_sample(seed: u64) -> Vec<u8> {
    const BLOCK: usize = 4096;
    let payload = Payload::new(seed);
    let mut sample = vec![0; PAYLOAD_SAMPLE];
    for (index, block) in sample.chunks_mut(BLOCK).enumerate() {
        payload.fill(block, Bytes((index * BLOCK) as u64), 1);
    }
    sample
}

/// Removes our files and stores the run as it ended.
///
/// # Errors
/// Where the run file can't be written.
pub(crate) fn conclude(
    mut prepared: Prepared,
    observer: &mut dyn Observer,
) -> Result<Run, RunError> {
    refresh(&mut prepared);
    observer.event(Event::Preparing("removing flashlag's files"));
    // The data first, for a full storage may hold the run file too; the manifest last, for it names
    // what a death would leave of the run file.
    prepared.files.clear();
    let stored = prepared.request.output.store(&mut prepared.run);
    for left in prepared.files.remove() {
        observer.event(Event::Note(&format!("could not be removed: {left}")));
    }
    if let Err(error) = stored {
        // What ended the run is often why its file can't be written: a directory that is gone.
        if let RunStatus::Failed { error: cause, .. } = &prepared.run.status {
            observer.event(Event::Note(&format!("the run ended: {cause}")));
        }
        return Err(error);
    }
    Ok(prepared.run)
}
