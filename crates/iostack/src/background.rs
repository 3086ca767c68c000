//! Writers beside what is measured: each has one request under way, and begins the next when it is
//! done.

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

#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) job: BackgroundJob,
    pub(crate) under_way: Vec<Pid>,
    pub(crate) total: BackgroundTotal,
    pub(crate) began: Nanos,
    random: Pcg64Mcg,
    next: u64,
}

impl Running {
    pub(crate) fn new(job: BackgroundJob, began: Nanos) -> Running {
        Running {
            random: Pcg64Mcg::seed_from_u64(job.seed),
            job,
            under_way: Vec::new(),
            total: BackgroundTotal::default(),
            began,
            next: 0,
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
