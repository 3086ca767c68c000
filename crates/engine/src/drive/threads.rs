//! Runs one job in several threads, each with its own device, and merges the records.
//!  All threads count from the same time, share the limit in bytes operation by operation, and end
//! together: at the limit, when the user stops the run, or when one of them fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, Scope};
use std::time::Duration;

use flashlag_device::{Budget, Clock, Device, DeviceError, WaitMeter};
use flashlag_spec::scenario::ThreadSpans;
use flashlag_stats::live::Live;
use flashlag_stats::{PhaseRecord, merge_threads};
use flashlag_units::{Bytes, Nanos};

use super::job::{EndReason, Job, JobOutcome, Sides, Temperature, Verification, Watch};
use super::phase::drive;
use super::together::SharedLimits;
use super::verify::KEPT;

/// The stop flag, the progress and the temperature are read at this interval.
const LOOK: Duration = Duration::from_millis(50);

/// The watch over a job in several threads.
pub struct ThreadsWatch<'a> {
    /// Raised to end the job.
    pub stop: &'a AtomicBool,
    /// Where progress is shown.
    pub live: Option<Arc<Live>>,
    /// Reads the temperature of the storage.
    pub temperature: Option<Temperature<'a>>,
    /// The bytes that all threads together may write, warm-up included.
    pub budget: Option<Budget>,
}

impl std::fmt::Debug for ThreadsWatch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ThreadsWatch").finish_non_exhaustive()
    }
}

/// A message of a thread: its device is open, or its part is done.
enum Word {
    Open(Result<Nanos, DeviceError>),
    Done(Box<JobOutcome>),
}

/// Runs `job` in its number of threads, each with the device and the meter that `open` and `meter`
/// create in that thread. Fails if a device can't be opened or a thread can't be started: then no
/// operation was done.
pub fn drive_threads<D, M, O, N>(
    open: O,
    meter: N,
    job: &Job,
    watch: &mut ThreadsWatch<'_>,
) -> Result<JobOutcome, DeviceError>
where
    D: Device,
    M: WaitMeter,
    O: Fn(u32) -> Result<D, DeviceError> + Sync,
    N: Fn() -> M + Sync,
{
    let halt = AtomicBool::new(false);
    let lives: Vec<Arc<Live>> = (0..job.threads.max(1)).map(|_| Arc::default()).collect();
    let budget = watch.budget.clone();
    let worker = Worker { open: &open, meter: &meter, job, halt: &halt, budget };
    std::thread::scope(|scope| {
        let (say, heard) = channel();
        let mut gates = Vec::new();
        for (thread, live) in (0..).zip(&lives) {
            let (gate, passes) = channel();
            let place = Place { thread, say: say.clone(), passes, live: Arc::clone(live) };
            // Returning drops the gates: the threads that wait there end.
            spawn(scope, &worker, place)?;
            gates.push(gate);
        }
        drop(say);
        let start = all_open(&heard, gates.len())?;
        let together = Arc::new(SharedLimits::new(start, job.limits.ops(job.block)));
        for gate in gates {
            // A thread that has ended sends nothing more; the code below sees that.
            let _ = gate.send(Arc::clone(&together));
        }
        let parts = Coordinator { heard: &heard, halt: &halt, lives: &lives, job };
        parts.finish(watch)
    })
}

/// The state that all threads borrow.
struct Worker<'a, O, N> {
    open: &'a O,
    meter: &'a N,
    job: &'a Job,
    halt: &'a AtomicBool,
    budget: Option<Budget>,
}

/// The state of one thread.
struct Place {
    thread: u32,
    say: Sender<Word>,
    passes: Receiver<Arc<SharedLimits>>,
    live: Arc<Live>,
}

fn spawn<'scope, D, M, O, N>(
    scope: &'scope Scope<'scope, '_>,
    worker: &'scope Worker<'_, O, N>,
    place: Place,
) -> Result<(), DeviceError>
where
    D: Device,
    M: WaitMeter,
    O: Fn(u32) -> Result<D, DeviceError> + Sync,
    N: Fn() -> M + Sync,
{
    let name = format!("measure-{}", place.thread);
    let spawned = Builder::new().name(name).spawn_scoped(scope, move || worker.work(&place));
    spawned.map(|_| ()).map_err(|error| thread_error(error.to_string()))
}

impl<O, N> Worker<'_, O, N> {
    /// Opens its device here, since an io_uring belongs to the thread that made it; waits until all
    /// threads have opened theirs; does its part.
    fn work<D, M>(&self, place: &Place)
    where
        D: Device,
        M: WaitMeter,
        O: Fn(u32) -> Result<D, DeviceError>,
        N: Fn() -> M,
    {
        let mut device = match (self.open)(place.thread) {
            Ok(device) => device,
            Err(error) => return drop(place.say.send(Word::Open(Err(error)))),
        };
        let _ = place.say.send(Word::Open(Ok(device.clock().now())));
        let Ok(together) = place.passes.recv() else { return };
        let job = part_of(self.job, place.thread);
        let mut watch = Watch {
            live: Some(Arc::clone(&place.live)),
            together: Some(&together),
            budget: self.budget.clone(),
            ..Watch::new(self.halt, (self.meter)())
        };
        let driven = drive(&mut device, &job, &mut watch);
        // The device is dropped first, so that all files are closed once all threads have ended.
        drop(device);
        let _ = place.say.send(Word::Done(Box::new(driven)));
    }
}

/// The part of one thread: its share of what is not counted operation by operation.
fn part_of(job: &Job, thread: u32) -> Job {
    let threads = u64::from(job.threads.max(1));
    let mut part = job.clone();
    part.thread = Some(thread);
    // The limit in bytes holds for all threads together: they count operations in `SharedLimits`.
    part.limits.bytes = None;
    part.limits.min_ops = part.limits.min_ops.map(|ops| ops.div_ceil(threads));
    // If several threads write the same blocks, no thread knows what they contain.
    part.verify &= job.thread_spans == ThreadSpans::Disjoint;
    part
}

/// The latest time of all devices' clocks, once all `count` of them are open.
fn all_open(heard: &Receiver<Word>, count: usize) -> Result<Nanos, DeviceError> {
    let mut start = Nanos::ZERO;
    for _ in 0..count {
        match heard.recv() {
            Ok(Word::Open(opened)) => start = start.max(opened?),
            _ => return Err(thread_error("it ended at once".to_owned())),
        }
    }
    Ok(start)
}

/// Watches the threads until all have ended.
struct Coordinator<'a> {
    heard: &'a Receiver<Word>,
    halt: &'a AtomicBool,
    lives: &'a [Arc<Live>],
    job: &'a Job,
}

impl Coordinator<'_> {
    fn finish(&self, watch: &mut ThreadsWatch<'_>) -> Result<JobOutcome, DeviceError> {
        let mut parts: Vec<JobOutcome> = Vec::new();
        let mut warmth: Vec<(Nanos, i64)> = Vec::new();
        while parts.len() < self.lives.len() {
            match self.heard.recv_timeout(LOOK) {
                Ok(Word::Done(driven)) => {
                    let failed = driven.ended.error().is_some();
                    if failed || driven.ended == EndReason::Stopped {
                        self.halt.store(true, Ordering::Relaxed);
                    }
                    parts.push(*driven);
                }
                Ok(Word::Open(_)) | Err(RecvTimeoutError::Timeout) => self.look(watch, &mut warmth),
                // A thread that died without a message, which would be a bug.
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(thread_error("it has died".to_owned()));
                }
            }
        }
        Ok(self.merged(parts, watch, &warmth))
    }

    fn look(&self, watch: &mut ThreadsWatch<'_>, warmth: &mut Vec<(Nanos, i64)>) {
        if watch.stop.load(Ordering::Relaxed) {
            self.halt.store(true, Ordering::Relaxed);
        }
        if let Some(live) = &watch.live {
            live.gather(self.lives);
        }
        let elapsed = self.lives.iter().map(|live| live.snapshot().elapsed).max();
        let elapsed = elapsed.unwrap_or_default();
        let due = warmth.last().is_none_or(|(at, _)| elapsed >= at.plus(self.job.interval));
        if due
            && let Some(read) = &mut watch.temperature
            && let Some(millicelsius) = read()
        {
            warmth.push((elapsed, millicelsius));
        }
    }

    fn merged(
        &self,
        parts: Vec<JobOutcome>,
        watch: &ThreadsWatch<'_>,
        warmth: &[(Nanos, i64)],
    ) -> JobOutcome {
        let merge = |of: &dyn Fn(&JobOutcome) -> Option<&PhaseRecord>| {
            let recorded: Vec<&PhaseRecord> = parts.iter().filter_map(of).collect();
            merge_threads(&recorded, self.job.interval, warmth)
        };
        let mixed = parts.iter().any(|part| part.sides.is_some());
        let sides = mixed.then(|| {
            Box::new(Sides {
                read: merge(&|part| part.sides.as_ref().map(|sides| &sides.read)),
                write: merge(&|part| part.sides.as_ref().map(|sides| &sides.write)),
            })
        });
        let sum = |of: fn(&JobOutcome) -> Bytes| {
            parts.iter().fold(Bytes::ZERO, |sum, part| sum.plus(of(part)))
        };
        let times: Option<Vec<_>> = parts.iter().map(|part| part.time).collect();
        let recorded = merge(&|part| Some(&part.recorded));
        // One thread may have written after another had flushed: this flush follows all writes.
        let last = recorded.intervals.last().map_or(Nanos::ZERO, |interval| interval.ends);
        let after = recorded.elapsed.saturating_since(last);
        let flushes = parts.iter().filter_map(|part| part.final_flush);
        JobOutcome {
            sides,
            time: times.and_then(|times| times.into_iter().reduce(|sum, time| sum.plus(&time))),
            thought: parts.iter().fold(Nanos::ZERO, |sum, part| sum.plus(part.thought)),
            final_flush: flushes.max().map(|flush| flush.min(after)),
            recorded,
            moved: sum(|part| part.moved),
            written: sum(|part| part.written),
            ended: ended(&parts, watch.stop.load(Ordering::Relaxed)),
            out_of_budget: parts.iter().any(|part| part.out_of_budget),
            verified: verified(&parts),
        }
    }
}

/// Why the threads ended: if one failed, the others were stopped for that.
fn ended(parts: &[JobOutcome], stopped: bool) -> EndReason {
    let failed = parts.iter().find(|part| part.ended.error().is_some());
    match failed {
        Some(failed) => failed.ended.clone(),
        None if stopped && parts.iter().any(|part| part.ended == EndReason::Stopped) => {
            EndReason::Stopped
        }
        None => EndReason::Limit,
    }
}

fn verified(parts: &[JobOutcome]) -> Option<Verification> {
    let mut all = parts.iter().map(|part| part.verified.clone());
    let first = all.next()??;
    all.try_fold(first, |mut sum, next| {
        let next = next?;
        sum.blocks += next.blocks;
        sum.mismatches += next.mismatches;
        sum.unreadable += next.unreadable;
        sum.first.extend(next.first);
        sum.first.truncate(KEPT);
        sum.error = sum.error.or(next.error);
        sum.complete &= next.complete;
        Some(sum)
    })
}

fn thread_error(reason: String) -> DeviceError {
    DeviceError {
        operation: "measuring thread of",
        subject: "this test".to_owned(),
        offset: None,
        errno: None,
        reason,
        advice: "raise `ulimit -u`, or give the test fewer threads".to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that can't go on fails")]
mod tests {
    use flashlag_device::{Latency, NoWaitMeter, RamDevice, Service};
    use flashlag_spec::scenario::{Arrivals, IoOperation, Pattern};

    use super::*;
    use crate::drive::job::Limits;

    const BLOCK: Bytes = Bytes(4096);

    fn job(threads: u32, limits: Limits) -> Job {
        Job {
            operation: IoOperation::Write,
            read_percent: 0,
            pattern: Pattern::Sequential,
            block: BLOCK,
            span: Bytes(64 * BLOCK.0),
            queue_depth: 1,
            threads,
            thread: None,
            thread_spans: ThreadSpans::Disjoint,
            durability: flashlag_device::Durability::None,
            arrivals: Arrivals::default(),
            think: Nanos::ZERO,
            limits,
            seed: 1,
            interval: Nanos::from_millis(10),
            stall_over: Nanos::from_millis(40),
            verify: false,
        }
    }

    /// An outcome of one write, ended for `reason`.
    fn part(reason: EndReason, verified: Option<Verification>) -> JobOutcome {
        let mut ram = RamDevice::simulated(Bytes(64 * 4096), 1, BLOCK, Service::INSTANT, 1);
        let limits = Limits { bytes: Some(BLOCK), ..Limits::default() };
        let stop = AtomicBool::new(false);
        let one = drive(&mut ram, &job(1, limits), &mut Watch::new(&stop, NoWaitMeter));
        JobOutcome { ended: reason, verified, ..one }
    }

    fn failure() -> EndReason {
        EndReason::Error(thread_error("it failed".to_owned()))
    }

    #[test]
    fn one_error_is_the_end_of_all_and_a_stop_only_where_it_ended_one() {
        let of = |reasons: &[EndReason], stopped| {
            let parts: Vec<_> = reasons.iter().map(|one| part(one.clone(), None)).collect();
            ended(&parts, stopped)
        };
        let (limit, stop) = (EndReason::Limit, EndReason::Stopped);
        assert_eq!(of(&[limit.clone(), limit.clone()], false), limit);
        assert_eq!(of(&[limit.clone(), stop.clone()], true), stop);
        // All threads had reached their limit before the stop flag was raised.
        assert_eq!(of(&[limit.clone(), limit.clone()], true), limit);
        // Stopped because another thread failed, not by the user.
        assert_eq!(of(&[stop.clone(), failure()], true), failure());
        assert_eq!(of(&[limit.clone(), stop], false), limit);
    }

    #[test]
    fn threads_read_back_as_one_and_only_if_each_of_them_did() {
        let (mut here, mut there) = (Verification::default(), Verification::default());
        (here.blocks, here.mismatches, here.unreadable, here.complete) = (10, 2, 3, true);
        (there.blocks, there.mismatches, there.unreadable, there.complete) = (5, 4, 1, true);
        let of = |all: &[Option<&Verification>]| {
            let part = |one: &Option<&Verification>| part(EndReason::Limit, one.cloned());
            verified(&all.iter().map(part).collect::<Vec<_>>())
        };
        let both = of(&[Some(&here), Some(&there)]).unwrap();
        assert_eq!((both.blocks, both.mismatches, both.unreadable), (15, 6, 4));
        assert!(both.complete);
        let cut = Verification { complete: false, ..there.clone() };
        assert!(!of(&[Some(&here), Some(&cut)]).unwrap().complete);
        assert!(!of(&[Some(&cut), Some(&here)]).unwrap().complete);
        assert_eq!(of(&[Some(&here), None]), None);
        assert_eq!(of(&[None, Some(&here)]), None);
    }

    #[test]
    fn a_threads_part_has_its_share_of_the_operations_and_no_limit_in_bytes_of_its_own() {
        let limits = Limits { bytes: Some(BLOCK), min_ops: Some(10), ..Limits::default() };
        let part = part_of(&job(4, limits), 2);
        assert_eq!((part.thread, part.limits.bytes, part.limits.min_ops), (Some(2), None, Some(3)));
    }

    #[test]
    fn only_threads_that_are_asked_to_and_have_blocks_of_their_own_read_back() {
        let asked = |verify, thread_spans| {
            part_of(&Job { verify, thread_spans, ..job(2, Limits::default()) }, 0).verify
        };
        assert!(asked(true, ThreadSpans::Disjoint));
        assert!(!asked(true, ThreadSpans::Shared) && !asked(true, ThreadSpans::Same));
        assert!(!asked(false, ThreadSpans::Disjoint) && !asked(false, ThreadSpans::Shared));
    }

    /// Virtual devices; the writes of thread `n` take `each[n]`.
    fn run(job: &Job, each: &[Nanos], watch: &mut ThreadsWatch<'_>) -> JobOutcome {
        let open = |thread: u32| {
            let write = Latency::Fixed(each[thread as usize]);
            let service = Service { write, ..Service::INSTANT };
            Ok(RamDevice::simulated(Bytes(64 * 4096), 1, BLOCK, service, 1))
        };
        drive_threads(open, || NoWaitMeter, job, watch).unwrap()
    }

    #[test]
    fn a_thread_that_reaches_its_time_leaves_the_others_theirs() {
        let limits = Limits { time: Some(Nanos::from_secs(2)), ..Limits::default() };
        let stop = AtomicBool::new(false);
        let watch = &mut ThreadsWatch { stop: &stop, live: None, temperature: None, budget: None };
        // Two slow writes, which are done at once in real time; twenty thousand fast ones, which
        // take longer.
        let each = [Nanos::from_secs(1), Nanos::from_micros(100)];
        let driven = run(&job(2, limits), &each, watch);
        assert_eq!(driven.recorded.latency.count(), 2 + 20_000);
        assert_eq!(driven.ended, EndReason::Limit);
    }

    #[test]
    fn the_warm_up_of_threads_takes_nothing_of_the_limit_that_they_share() {
        let (bytes, warmup) = (Some(Bytes(1_000 * 4096)), Some(Nanos::from_millis(2)));
        let stop = AtomicBool::new(false);
        let watch = &mut ThreadsWatch { stop: &stop, live: None, temperature: None, budget: None };
        let limits = Limits { bytes, warmup, ..Limits::default() };
        let driven = run(&job(2, limits), &[Nanos::from_micros(100); 2], watch);
        assert_eq!(driven.recorded.latency.count(), 1_000);
        // Twenty of each before.
        assert_eq!(driven.moved, Bytes(1_040 * 4096));
    }

    #[test]
    fn threads_share_one_budget_of_written_bytes() {
        let limits = Limits { time: Some(Nanos::from_secs(3600)), ..Limits::default() };
        let stop = AtomicBool::new(false);
        let budget = Some(Budget::of(Bytes(100 * 4096 + 1)));
        let watch = &mut ThreadsWatch { stop: &stop, live: None, temperature: None, budget };
        let driven = run(&job(4, limits), &[Nanos::from_micros(100); 4], watch);
        assert_eq!((driven.written, driven.out_of_budget), (Bytes(100 * 4096), true));
        assert_eq!(driven.ended, EndReason::Limit);
    }

    #[test]
    fn the_temperature_is_read_once_in_each_interval_of_the_slowest_progress() {
        let lives = [Arc::<Live>::default()];
        let (halt, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        let (_say, heard) = channel();
        let job = job(1, Limits::default());
        let coordinator = Coordinator { heard: &heard, halt: &halt, lives: &lives, job: &job };
        let mut readings = 0;
        let mut temperature = || {
            readings += 1;
            Some(40_000 + readings)
        };
        let mut watch = ThreadsWatch {
            stop: &stop,
            live: None,
            temperature: Some(&mut temperature),
            budget: None,
        };
        let mut warmth = Vec::new();
        let mut recorder = flashlag_stats::Recorder::new(flashlag_stats::RecorderConfig {
            start: Nanos::ZERO,
            interval: Nanos::from_millis(5),
            stall_over: Nanos::from_secs(1),
            live: Some(Arc::clone(&lives[0])),
        });
        let mut at = |now: u64| {
            recorder.end_series(Nanos::from_millis(now));
            coordinator.look(&mut watch, &mut warmth);
        };
        // Intervals of 10 ms: before the first, within the first, at its end, within the third.
        [0, 5, 9, 10, 15, 25, 29].into_iter().for_each(&mut at);
        let expected = [(0, 40_001), (10, 40_002), (25, 40_003)];
        assert_eq!(warmth, expected.map(|(at, value)| (Nanos::from_millis(at), value)));
        assert!(!halt.load(Ordering::Relaxed));
    }
}
