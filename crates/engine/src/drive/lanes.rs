use flashlag_schema::scenario::{Arrivals as Schedule, IoOperation, Pattern, ThreadSpans};
use flashlag_units::Nanos;
use flashlag_workload::{Addresses, Arrivals, Mixture};

use super::job::Job;

/// Keeps the arrivals' random numbers apart from the addresses'.
const ARRIVALS_STREAM: u64 = 0x6172_7269_7661_6c73;
/// Keeps the choice between reads and writes apart from both.
const MIXTURE_STREAM: u64 = 0x6d69_7874_7572_6573;
/// Keeps the threads' random numbers apart: an odd number, so that no two threads share a seed.
const THREAD_STREAM: u64 = 0x9e37_79b9_7f4a_7c15;

/// What one submitter has of its own: addresses, a schedule, slots of the device.
#[derive(Debug)]
pub(super) struct Lane {
    /// The first block of its span.
    first: u64,
    addresses: Addresses,
    pub(super) arrivals: Option<Arrivals>,
    mixture: Option<Mixture>,
    pub(super) free: Vec<u32>,
}

/// The lanes of a job on a device of `slots`: all of its threads, or the one that it is a part of.
/// `blocks` is what the whole span holds.
pub(super) fn lanes(job: &Job, blocks: u64, slots: u32, start: Nanos) -> Vec<Lane> {
    let threads = job.threads.max(1);
    let indices = match job.thread {
        Some(thread) => thread..thread + 1,
        None => 0..threads,
    };
    let lanes = indices.end - indices.start;
    // Each lane has at least one slot: more lanes than slots are fewer lanes.
    let lanes = lanes.min(slots.max(1));
    let depth = job.queue_depth.clamp(1, (slots / lanes).max(1));
    let numbered = indices.take(lanes as usize).enumerate();
    let lane = |(position, thread): (usize, u32)| {
        let from = position as u32 * depth;
        Lane::new(job, thread, blocks, (from..from + depth).rev().collect(), start)
    };
    numbered.map(lane).collect()
}

impl Lane {
    fn new(job: &Job, thread: u32, blocks: u64, free: Vec<u32>, start: Nanos) -> Lane {
        let threads = u64::from(job.threads.max(1));
        // The first thread is the only one of a job with one: it keeps the job's own seed.
        let seed = job.seed ^ u64::from(thread).wrapping_mul(THREAD_STREAM);
        let part = (blocks / threads).max(1);
        let begin = (part * u64::from(thread)).min(blocks.saturating_sub(1));
        let (first, count, from) = match job.thread_spans {
            ThreadSpans::Disjoint if threads > 1 => (begin, part, 0),
            ThreadSpans::Disjoint => (0, blocks, 0),
            ThreadSpans::Shared => (0, blocks, begin),
        };
        let span = flashlag_units::Bytes(count.saturating_mul(job.block.0));
        let addresses = Addresses::new(job.pattern, job.block, span, seed).starting_at(from);
        let mixed = job.operation == IoOperation::Mixed;
        Lane {
            first,
            addresses,
            arrivals: arrivals(job, thread, seed, start),
            mixture: mixed.then(|| Mixture::new(job.read_percent, seed ^ MIXTURE_STREAM)),
            free,
        }
    }

    /// The next block, counted from the start of the whole span.
    #[inline]
    pub(super) fn next_block(&mut self) -> u64 {
        self.first + self.addresses.next_block()
    }

    /// Whether the next operation reads.
    #[inline]
    pub(super) fn next_reads(&mut self, operation: IoOperation) -> bool {
        match &mut self.mixture {
            Some(mixture) => mixture.next_is_read(),
            None => operation == IoOperation::Read,
        }
    }
}

/// A thread's share of the job's schedule: of a fixed one every n-th operation, so that all threads
/// together keep the distances.
fn arrivals(job: &Job, thread: u32, seed: u64, start: Nanos) -> Option<Arrivals> {
    let threads = job.threads.max(1);
    let whole = Arrivals::new(&job.arrivals, start, seed ^ ARRIVALS_STREAM)?;
    if threads == 1 {
        return Some(whole);
    }
    let rate = job.arrivals.per_second.map(|rate| rate / f64::from(threads));
    let share = Schedule { per_second: rate, ..job.arrivals };
    let begins = match job.arrivals.schedule {
        flashlag_schema::scenario::Schedule::Fixed => {
            start.plus(Nanos(whole.period().0.saturating_mul(u64::from(thread))))
        }
        flashlag_schema::scenario::Schedule::Poisson => start,
    };
    Arrivals::new(&share, begins, seed ^ ARRIVALS_STREAM)
}

/// How many blocks a span holds, as [`Addresses`] counts them.
pub(super) fn blocks_of(job: &Job, span: flashlag_units::Bytes) -> u64 {
    Addresses::new(Pattern::Sequential, job.block, span, 0).blocks()
}
