//! Writers beside what is measured: each has one request under way, and begins the next when it is
//! done.

use std::fmt;

use flashlag_units::{Bytes, Nanos};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::fs::FileId;
use crate::scheduler::Pid;

/// What a background writer or reader does.
#[derive(Clone, Copy, Debug)]
pub struct BackgroundJob {
    /// Writes, or reads.
    pub writes: bool,
    /// At random, or one block after the other.
    pub random: bool,
    /// Its file, laid out.
    pub file: FileId,
    /// How much of the file.
    pub span: Bytes,
    /// Bytes of each request.
    pub block: Bytes,
    /// Requests under way at once.
    pub depth: u32,
    /// Whether each is followed by an fdatasync.
    pub durable: bool,
    /// What the random addresses follow from.
    pub seed: u64,
}

/// What a background job came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackgroundTotal {
    /// Requests done.
    pub ops: u64,
    /// Bytes moved.
    pub bytes: Bytes,
    /// How long it went on.
    pub elapsed: Nanos,
}

/// One request of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnderWay {
    pub(crate) pid: Pid,
    /// It is written, and waits for its sync.
    pub(crate) is_written: bool,
}

/// When requests are to begin, from the start of the job on.
pub(crate) struct DueTimes(pub(crate) Box<dyn Iterator<Item = Nanos>>);

impl fmt::Debug for DueTimes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("DueTimes")
    }
}

#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) job: BackgroundJob,
    pub(crate) under_way: Vec<UnderWay>,
    pub(crate) total: BackgroundTotal,
    pub(crate) began: Nanos,
    due: Option<DueTimes>,
    random: Pcg64Mcg,
    next: u64,
}

impl Running {
    pub(crate) fn new(job: BackgroundJob, began: Nanos, due: Option<DueTimes>) -> Running {
        Running {
            random: Pcg64Mcg::seed_from_u64(job.seed),
            job,
            under_way: Vec::new(),
            total: BackgroundTotal::default(),
            began,
            due,
            next: 0,
        }
    }

    /// When the next request is to begin; `None` where the schedule is over.
    pub(crate) fn next_due(&mut self) -> Option<Nanos> {
        match &mut self.due {
            Some(due) => due.0.next().map(|due| self.began.plus(due)),
            None => Some(self.began),
        }
    }

    /// Where its next request goes.
    pub(crate) fn address(&mut self) -> u64 {
        let blocks = (self.job.span.0 / self.job.block.0.max(1)).max(1);
        let block = if self.job.random {
            // The high half of a product: even to within one in 2^32 blocks.
            ((u128::from(self.random.next_u64()) * u128::from(blocks)) >> 64) as u64
        } else {
            let block = self.next;
            self.next = (block + 1) % blocks;
            block
        };
        block * self.job.block.0
    }
}
