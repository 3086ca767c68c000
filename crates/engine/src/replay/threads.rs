//! Replays system calls in as many threads as the trace has, on real files.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

use flashlag_device::{Clock, DeviceError, MonotonicClock, WaitMeter};
use flashlag_spec::replay::ReplayKind;
use flashlag_stats::{Histogram, PhaseRecord, merge_threads};
use flashlag_units::{Bytes, Nanos};

use super::drive_calls;
use super::files::{FileCalls, ReplayFiles};
use super::job::{ReplayJob, ReplayOutcome, ReplayPart, ReplayWatch};
use crate::drive::EndReason;

/// The stop flag is checked at this interval.
const LOOK: Duration = Duration::from_millis(50);
/// Time from the moment when all threads are ready to the first operation.
const BEFORE_START: Nanos = Nanos::from_millis(1);

/// Replays the calls of a trace on files that are laid out, each thread of the trace in its own
/// thread. A trace of one thread is replayed in the calling thread. Fails if a thread can't be
/// started: then no operation was done.
pub fn drive_call_threads<M: WaitMeter, N: Fn() -> M + Sync>(
    files: &ReplayFiles,
    job: &ReplayJob<'_>,
    meter: N,
    watch: &ReplayWatch<'_, ()>,
) -> Result<ReplayOutcome, DeviceError> {
    let threads = job.stream.threads.max(1);
    if threads == 1 {
        let mut device = FileCalls::new(files, job.seed);
        let (stop, live, budget) = (watch.stop, watch.live.clone(), watch.budget.clone());
        let mut watch = ReplayWatch { stop, live, budget, meter: meter() };
        return Ok(drive_calls(&mut device, job, 0..1, None, &mut watch));
    }
    let halt = AtomicBool::new(false);
    let worker = |thread: u32, start: Nanos| {
        let mut device = FileCalls::new(files, job.seed ^ u64::from(thread).rotate_left(32));
        let live = watch.live.clone().filter(|_| thread == 0);
        let budget = watch.budget.clone();
        let mut watch = ReplayWatch { stop: &halt, live, budget, meter: meter() };
        MonotonicClock.pass_until(start);
        let done = drive_calls(&mut device, job, thread..thread + 1, Some(start), &mut watch);
        // If one thread fails or the budget is used up, all threads end.
        if done.ended.error().is_some() || done.out_of_budget {
            halt.store(true, Ordering::Relaxed);
        }
        done
    };
    let outcomes = std::thread::scope(|scope| {
        let (mut running, mut gates) = (Vec::new(), Vec::new());
        let (ends, ended) = channel::<()>();
        for thread in 0..threads {
            let (worker, (gate, passes)) = (&worker, channel::<Nanos>());
            let ends = ends.clone();
            // If not all threads could be started, no start time comes and this thread ends.
            let begun =
                Builder::new().name(format!("replay-{thread}")).spawn_scoped(scope, move || {
                    let _ends = ends;
                    passes.recv().ok().map(|start| worker(thread, start))
                });
            running.push(begun.map_err(|error| (error, thread))?);
            gates.push(gate);
        }
        let start = MonotonicClock.now().plus(BEFORE_START);
        for gate in gates {
            // The code below notices a thread that has ended.
            let _ = gate.send(start);
        }
        drop(ends);
        // Nothing is ever sent: the channel closes when the last thread ends.
        while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            if watch.stop.load(Ordering::Relaxed) {
                halt.store(true, Ordering::Relaxed);
            }
        }
        let joined = running.into_iter().filter_map(|thread| thread.join().ok().flatten());
        Ok::<_, (std::io::Error, u32)>(joined.collect::<Vec<_>>())
    });
    let outcomes = outcomes.map_err(|(error, begun)| DeviceError {
        operation: "start",
        subject: format!("thread {} of the {threads} that replay a trace", begun + 1),
        offset: None,
        errno: error.raw_os_error(),
        reason: error.to_string(),
        advice: "end other programs, or replay a trace of fewer threads".to_owned(),
    })?;
    Ok(merged(outcomes, job.interval, watch.stop.load(Ordering::Relaxed)))
}

/// Merges the outcomes of all threads.
fn merged(outcomes: Vec<ReplayOutcome>, width: Nanos, stopped: bool) -> ReplayOutcome {
    let elapsed = outcomes.iter().map(|one| one.elapsed).max().unwrap_or_default();
    let parts = ReplayKind::ALL.into_iter().filter_map(|kind| {
        let of_kind =
            || outcomes.iter().flat_map(|one| &one.parts).filter(|part| part.kind == kind);
        let recorded: Vec<&PhaseRecord> = of_kind().map(|part| &part.recorded).collect();
        if recorded.is_empty() {
            return None;
        }
        let mut traced = Histogram::new();
        of_kind().for_each(|part| traced.merge(&part.traced));
        let mut recorded = merge_threads(&recorded, width, &[]);
        recorded.elapsed = elapsed;
        Some(ReplayPart { kind, recorded, traced })
    });
    let parts = parts.collect();
    let error = outcomes.iter().find_map(|one| one.ended.error().map(|_| one.ended.clone()));
    let ended = match error {
        Some(error) => error,
        None if stopped => EndReason::Stopped,
        None => EndReason::Limit,
    };
    let sum = |of: fn(&ReplayOutcome) -> u64| {
        outcomes.iter().fold(0u64, |sum, one| sum.saturating_add(of(one)))
    };
    let time = outcomes.iter().map(|one| one.time).reduce(|sum, more| {
        let (sum, more) = sum.zip(more)?;
        Some(sum.plus(&more))
    });
    let time = time.flatten();
    ReplayOutcome {
        parts,
        elapsed,
        time,
        written: Bytes(sum(|one| one.written.0)),
        read: Bytes(sum(|one| one.read.0)),
        left: sum(|one| one.left),
        ended,
        out_of_budget: outcomes.iter().any(|one| one.out_of_budget),
    }
}
