//! The end of a run on a directory: trust and wear from its phases, and the removal of its files.

use flashlag_engine::fill::free_space;
use flashlag_schema::{CardVerdict, Run, RunStatus};
use flashlag_spec::Reading;
use flashlag_units::Bytes;
use flashlag_workload::Payload;

use super::Directory;
use super::counters::EdgeCounters;
use crate::error::RunError;
use crate::events::{Event, Observer};
use crate::task::tasks;
use crate::wear::life_share;
use crate::work::{Evidence, Work};

/// Bytes of the payload for the incompressibility check.
const PAYLOAD_SAMPLE: usize = 256 << 10;

/// Brings environment, wear and trust up to date.
pub(super) fn refresh(directory: &Directory<'_>, run: &mut Run, evidence: &Evidence<EdgeCounters>) {
    directory.probe.complete(&mut run.environment);
    let now = directory.probe.counters();
    let whole = now.since(&directory.baseline.1);
    let taken = match &whole.disk {
        Reading::Value(disk) => Reading::Value(disk.write_bytes),
        Reading::Unavailable { unavailable } => Reading::unavailable(unavailable.clone()),
    };
    let earlier = evidence.earlier.as_ref();
    run.wear.block_bytes = match earlier.map(|earlier| &earlier.block_bytes) {
        // What the run wrote is summed over all its processes, and so is what the device took.
        Some(before) => sum(before, taken),
        None => taken,
    };
    let written = run.wear.written_bytes;
    run.wear.life_percent = life_share(&run.environment, written);
    let free_after =
        free_space(&directory.path).map(|space| space.available).map_err(|error| error.to_string());
    let edges = evidence.phases.iter().map(|edges| {
        edges.as_ref().map(|(before, after)| (before.kernel.clone(), after.kernel.clone()))
    });
    let edges: Vec<_> = edges.collect();
    let judged = flashlag_trust::Evidence {
        conditions: &run.conditions,
        counters: &edges,
        baseline: Some(&directory.baseline),
        ended: Some(&now),
        disks: directory.probe.disk_count(),
        payload: Reading::Value(payload_sample(run.scenario.seed)),
        fills: evidence.fills.clone(),
        leave: evidence.leave,
        free_after: free_after.into(),
        own_bytes: directory.files.size(),
        verification: evidence.verified.clone(),
        earlier: earlier.map(|earlier| &earlier.trust),
        ..flashlag_trust::Evidence::new(&run.environment, &run.phases)
    };
    run.trust = flashlag_trust::judge(&judged);
}

/// The sum of two counts; not known if one of them is not.
fn sum(before: &Reading<Bytes>, now: Reading<Bytes>) -> Reading<Bytes> {
    match (before, &now) {
        (Reading::Value(before), Reading::Value(now)) => Reading::Value(before.plus(*now)),
        (Reading::Unavailable { unavailable }, Reading::Value(_)) => {
            Reading::unavailable(format!("not counted before the run was resumed: {unavailable}"))
        }
        (_, Reading::Unavailable { .. }) => now,
    }
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

/// A run whose file could not be written at its end either.
#[derive(Debug)]
pub(crate) struct Unstored {
    /// Why.
    pub(crate) error: RunError,
    /// The run, with all that was measured; `None` if it did not begin.
    pub(crate) run: Option<Box<Run>>,
}

/// Does every task from `first` on, removes the files of the run and stores the run however it
/// ended; its status says how. Fails only if the run file can't be written or flashlag's own files
/// can't be created or removed.
pub(crate) fn finish(
    work: Work<Directory<'_>>,
    first: usize,
    observer: &mut dyn Observer,
) -> Result<Run, RunError> {
    finish_or_hand_over(work, first, observer).map_err(|unstored| unstored.error)
}

/// As [`finish`], for a caller that has another place for a run that could not be stored.
///
/// # Errors
/// As [`finish`], with the run.
pub(crate) fn finish_or_hand_over(
    mut work: Work<Directory<'_>>,
    first: usize,
    observer: &mut dyn Observer,
) -> Result<Run, Box<Unstored>> {
    let scenario = work.request.scenario.clone();
    let tasks = tasks(&scenario);
    let done = tasks.get(..first).unwrap_or_default();
    let next_step = first as u32;
    work.run.status = RunStatus::Running { next_step };
    let gone = match work.fill_again(done, observer) {
        Ok(Some(error)) => Ok(RunStatus::Failed { next_step, error }),
        Ok(None) => work.go_through(&tasks, first, observer),
        Err(error) => Err(error),
    };
    work.run.status = gone.unwrap_or_else(|error| stopped_by(&error, &work.run.status));
    conclude(work, observer)
}

/// The status of a run whose file could not be written, or whose directory is gone. The
/// measurements are still in memory, and removing the run's files may free the room to store them.
fn stopped_by(error: &RunError, status: &RunStatus) -> RunStatus {
    let next_step = match status {
        RunStatus::Running { next_step }
        | RunStatus::Interrupted { next_step }
        | RunStatus::Failed { next_step, .. } => *next_step,
        RunStatus::Complete => 0,
    };
    RunStatus::Failed { next_step, error: error.to_string() }
}

/// Whether what a card was written is to be read back by another process.
fn keeps_card(run: &Run) -> bool {
    run.status != RunStatus::Complete
        && run.cards.iter().any(|card| card.verdict == CardVerdict::Unfinished && card.files > 0)
}

fn store(work: &mut Work<Directory<'_>>) -> Result<(), RunError> {
    match work.request.output.clone() {
        Some(output) => output.store(&mut work.run),
        None => {
            work.run.seal();
            Ok(())
        }
    }
}

/// Removes the files of the run and stores the run as it ended.
fn conclude(
    mut work: Work<Directory<'_>>,
    observer: &mut dyn Observer,
) -> Result<Run, Box<Unstored>> {
    work.refresh();
    if keeps_card(&work.run) {
        let stored = store(&mut work);
        work.world.files.keep();
        return match stored {
            Ok(()) => Ok(work.run),
            Err(error) => Err(Box::new(Unstored { error, run: Some(Box::new(work.run)) })),
        };
    }
    observer.event(Event::Preparing("removing flashlag's files"));
    // The data first, since a full storage may hold the run file too; the manifest last, since it
    // names the run file's temporary name, which a killed run would leave.
    work.world.files.clear();
    let stored = store(&mut work);
    for left in work.world.files.remove() {
        observer.event(Event::Note(&format!("could not be removed: {left}")));
    }
    if let Err(error) = stored {
        // The error that ended the run is often why its file can't be written: a directory is gone.
        if let RunStatus::Failed { error: cause, .. } = &work.run.status {
            observer.event(Event::Note(&format!("the run ended: {cause}")));
        }
        return Err(Box::new(Unstored { error, run: Some(Box::new(work.run)) }));
    }
    Ok(work.run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_judged_payload_is_that_of_the_first_blocks_as_they_are_written() {
        let sample = payload_sample(9);
        assert_eq!(sample.len(), 262_144);
        for block in [0, 1, 63] {
            let mut written = [0; 4096];
            Payload::new(9).fill(&mut written, Bytes(block * 4096), 1);
            let at = block as usize * 4096;
            assert!(sample[at..at + 4096] == written, "block {block}");
        }
    }
}
