use flashlag_spec::scenario::{Arrivals as Schedule, IoOperation, Pattern, ThreadSpans};
use flashlag_units::Nanos;
use flashlag_workload::{Addresses, Arrivals, Mixture};

use super::job::Job;
use super::rests::Rests;

/// Makes the random numbers of arrivals independent of those of addresses.
const ARRIVALS_STREAM: u64 = 0x6172_7269_7661_6c73;
/// Makes the choice between reads and writes independent of both.
const MIXTURE_STREAM: u64 = 0x6d69_7874_7572_6573;
/// Makes the random numbers of threads independent: an odd number, so that no two threads share a
/// seed.
const THREAD_STREAM: u64 = 0x9e37_79b9_7f4a_7c15;

/// A submitter: it has its own addresses, schedule and slots of the device.
#[derive(Debug)]
pub(super) struct Lane {
    /// The first block of its span.
    first: u64,
    addresses: Addresses,
    pub(super) arrivals: Option<Arrivals>,
    mixture: Option<Mixture>,
    pub(super) free: Vec<u32>,
    pub(super) rests: Rests,
}

/// The lanes of a job on a device of `slots`: all of its threads, or the one that this device
/// belongs to. The whole span holds `blocks` blocks.
pub(super) fn lanes(job: &Job, blocks: u64, slots: u32, start: Nanos) -> Vec<Lane> {
    let threads = job.threads.max(1);
    let indices = match job.thread {
        Some(thread) => thread..thread + 1,
        None => 0..threads,
    };
    let lanes = indices.end - indices.start;
    // Each lane has at least one slot: with fewer slots than threads there are fewer lanes.
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
        // The first thread keeps the job's own seed, as the only thread of a job does.
        let seed = job.seed ^ u64::from(thread).wrapping_mul(THREAD_STREAM);
        let part = (blocks / threads).max(1);
        let begin = (part * u64::from(thread)).min(blocks.saturating_sub(1));
        let (first, count, from) = match job.thread_spans {
            ThreadSpans::Disjoint if threads > 1 => (begin, part, 0),
            ThreadSpans::Shared => (0, blocks, begin),
            ThreadSpans::Disjoint | ThreadSpans::Same => (0, blocks, 0),
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
            rests: Rests::default(),
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

/// A thread's share of the job's schedule: of a fixed one every n-th operation, so that the
/// operations of all threads together keep the distances.
fn arrivals(job: &Job, thread: u32, seed: u64, start: Nanos) -> Option<Arrivals> {
    let threads = job.threads.max(1);
    let whole = Arrivals::new(&job.arrivals, start, seed ^ ARRIVALS_STREAM)?;
    if threads == 1 {
        return Some(whole);
    }
    let rate = job.arrivals.per_second.map(|rate| rate / f64::from(threads));
    let share = Schedule { per_second: rate, ..job.arrivals };
    let begins = match job.arrivals.schedule {
        flashlag_spec::scenario::Schedule::Fixed => {
            start.plus(Nanos(whole.period().0.saturating_mul(u64::from(thread))))
        }
        flashlag_spec::scenario::Schedule::Poisson => start,
    };
    Arrivals::new(&share, begins, seed ^ ARRIVALS_STREAM)
}

/// How many blocks a span holds, as [`Addresses`] counts them.
pub(super) fn blocks_of(job: &Job, span: flashlag_units::Bytes) -> u64 {
    Addresses::new(Pattern::Sequential, job.block, span, 0).blocks()
}

#[cfg(test)]
mod tests {
    use flashlag_device::Durability;
    use flashlag_spec::scenario::Schedule as Spacing;
    use flashlag_units::Bytes;

    use super::*;
    use crate::drive::job::Limits;

    const BLOCK: Bytes = Bytes(4096);

    /// Sequential writes over 100 blocks by threads with two in flight each.
    fn job(threads: u32) -> Job {
        Job {
            operation: IoOperation::Write,
            read_percent: 0,
            pattern: Pattern::Sequential,
            block: BLOCK,
            span: Bytes(100 * BLOCK.0),
            queue_depth: 2,
            threads,
            thread: None,
            thread_spans: ThreadSpans::Disjoint,
            durability: Durability::None,
            arrivals: Schedule::default(),
            think: Nanos::ZERO,
            limits: Limits::default(),
            seed: 1,
            interval: Nanos(1),
            stall_over: Nanos(1),
            verify: false,
        }
    }

    fn slots(job: &Job, slots: u32) -> Vec<Vec<u32>> {
        lanes(job, 100, slots, Nanos::ZERO).into_iter().map(|lane| lane.free).collect()
    }

    #[test]
    fn every_lane_has_slots_of_its_own_and_one_at_least() {
        assert_eq!(slots(&job(1), 8), [[1, 0]]);
        assert_eq!(slots(&job(3), 8), [[1, 0], [3, 2], [5, 4]]);
        assert_eq!(slots(&job(3), 5), [[0], [1], [2]], "five slots are one for each of three");
        assert_eq!(slots(&job(8), 3), [[0], [1], [2]], "more lanes than slots are fewer lanes");
        let third = Job { thread: Some(2), ..job(3) };
        assert_eq!(slots(&third, 8), [[1, 0]], "a thread on a device of its own");
    }

    fn first_blocks(job: &Job) -> Vec<[u64; 2]> {
        let lanes = lanes(job, 100, 64, Nanos::ZERO);
        lanes.into_iter().map(|mut lane| [lane.next_block(), lane.next_block()]).collect()
    }

    #[test]
    fn threads_divide_the_span_or_begin_at_equal_distances_in_all_of_it_or_at_its_start() {
        assert_eq!(first_blocks(&job(1)), [[0, 1]]);
        assert_eq!(first_blocks(&job(4)), [[0, 1], [25, 26], [50, 51], [75, 76]]);
        let shared = Job { thread_spans: ThreadSpans::Shared, ..job(4) };
        assert_eq!(first_blocks(&shared), first_blocks(&job(4)), "both begin alike");
        let same = Job { thread_spans: ThreadSpans::Same, ..job(4) };
        assert_eq!(first_blocks(&same), [[0, 1]; 4]);
        let last = |job: &Job| {
            let mut lane = lanes(job, 100, 64, Nanos::ZERO).remove(3);
            (0..26).map(|_| lane.next_block()).last().unwrap()
        };
        assert_eq!(last(&job(4)), 75, "the part begins again");
        assert_eq!(last(&shared), 0, "the whole span begins again");
        assert_eq!(first_blocks(&Job { thread: Some(2), ..job(4) }), [[50, 51]]);
    }

    #[test]
    fn threads_share_a_fixed_schedule_so_that_all_together_keep_its_distances() {
        let arrivals = Schedule { per_second: Some(1000.0), schedule: Spacing::Fixed };
        let paced = Job { arrivals, ..job(4) };
        let mut times: Vec<u64> = Vec::new();
        for mut lane in lanes(&paced, 100, 64, Nanos::ZERO) {
            let arrivals = lane.arrivals.as_mut().unwrap();
            times.extend((0..3).map(|_| arrivals.next_time().0));
        }
        times.sort_unstable();
        let distances: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(distances, [1_000_000; 11]);
        assert!(lanes(&job(4), 100, 64, Nanos::ZERO).iter().all(|lane| lane.arrivals.is_none()));
    }

    #[test]
    fn only_a_mixed_job_draws_whether_it_reads() {
        let mut lane = lanes(&job(1), 100, 8, Nanos::ZERO).remove(0);
        assert!(!lane.next_reads(IoOperation::Write) && lane.next_reads(IoOperation::Read));
        let mixed = Job { operation: IoOperation::Mixed, read_percent: 70, ..job(1) };
        let mut lane = lanes(&mixed, 100, 8, Nanos::ZERO).remove(0);
        let reads = (0..1000).filter(|_| lane.next_reads(IoOperation::Mixed)).count();
        assert!((600..800).contains(&reads), "{reads} of 1000, seed 1");
        assert_eq!(blocks_of(&job(1), Bytes(10 * BLOCK.0 + 1)), 10);
    }

    #[test]
    fn every_bit_of_the_seed_changes_the_random_schedule_of_one_thread_and_of_several() {
        let arrivals = Schedule { per_second: Some(1000.0), schedule: Spacing::Poisson };
        for threads in [1, 2] {
            let first_times = |seed: u64| {
                let drawn = Job { arrivals, seed, ..job(threads) };
                let mut lane = lanes(&drawn, 100, 64, Nanos::ZERO).remove(0);
                let arrivals = lane.arrivals.as_mut().unwrap();
                [(); 3].map(|()| arrivals.next_time())
            };
            let seeds = std::iter::once(0).chain((0..64).map(|bit| 1 << bit));
            let schedules: std::collections::HashSet<_> = seeds.map(first_times).collect();
            assert_eq!(schedules.len(), 65, "{threads} threads");
        }
    }
}
