//! Background jobs: readers and writers beside the measured workload. Each keeps `depth` requests
//! in flight and begins the next one when one completes.

use std::fmt;

use flashlag_device::SyncCall;
use flashlag_units::{Bytes, Nanos};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::file_row::FileRow;
use crate::fs::FileId;
use crate::host_queue::Pid;

/// A background reader or writer.
#[derive(Clone, Debug)]
pub struct BackgroundJob {
    /// Whether it writes; otherwise it reads.
    pub writes: bool,
    /// Whether addresses are random; otherwise they are sequential.
    pub random: bool,
    /// The files it uses, which must be laid out.
    pub files: FileRow,
    /// The part of the files it uses, from their start.
    pub span: Bytes,
    /// Size of a request.
    pub block: Bytes,
    /// Number of requests in flight at once.
    pub depth: u32,
    /// The call that follows each write; `None` if nothing makes a write durable.
    pub durable: Option<SyncCall>,
    /// Time between the end of a request and the begin of the next one in its place.
    pub think: Nanos,
    /// Seed of the random addresses.
    pub seed: u64,
}

/// Result of a background job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackgroundTotal {
    /// Number of completed requests.
    pub ops: u64,
    /// Bytes moved by them.
    pub bytes: Bytes,
    /// Time from the start of the job until its last request completed.
    pub elapsed: Nanos,
}

/// A request of a background job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) pid: Pid,
    /// The data is written, and a sync is in flight.
    pub(crate) is_written: bool,
    pub(crate) file: FileId,
}

/// Start times of the requests, from the start of the job.
pub(crate) struct DueTimes(pub(crate) Box<dyn Iterator<Item = Nanos>>);

impl fmt::Debug for DueTimes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("DueTimes")
    }
}

#[derive(Debug)]
pub(crate) struct RunningJob {
    pub(crate) job: BackgroundJob,
    pub(crate) under_way: Vec<Pending>,
    /// Starts of the requests that are not due yet, one for each free slot. A request is planned
    /// only when it is due: a plan holds what its writer changes, and a commit that waits for its
    /// own start would block all others.
    starts: Vec<Nanos>,
    pub(crate) total: BackgroundTotal,
    pub(crate) began: Nanos,
    due: Option<DueTimes>,
    random: Pcg64Mcg,
    next: u64,
}

impl RunningJob {
    pub(crate) fn new(job: BackgroundJob, began: Nanos, due: Option<DueTimes>) -> RunningJob {
        RunningJob {
            random: Pcg64Mcg::seed_from_u64(job.seed),
            job,
            under_way: Vec::new(),
            starts: Vec::new(),
            total: BackgroundTotal::default(),
            began,
            due,
            next: 0,
        }
    }

    /// Takes the next request of the schedule for a free slot, to start at `free` or later. After
    /// the last request of the schedule it does nothing.
    pub(crate) fn schedule_next(&mut self, free: Nanos) {
        let due = match &mut self.due {
            Some(due) => due.0.next().map(|due| self.began.plus(due)),
            None => Some(self.began),
        };
        self.starts.extend(due.map(|due| due.max(free)));
    }

    /// When the next request starts; `None` while no slot is free, or after the end of the
    /// schedule.
    pub(crate) fn next_start(&self) -> Option<Nanos> {
        self.starts.iter().min().copied()
    }

    /// Takes a request that is due by `now`; `false` if there is none.
    pub(crate) fn take_due(&mut self, now: Nanos) -> bool {
        let due = self.starts.iter().position(|start| *start <= now);
        due.map(|index| self.starts.swap_remove(index)).is_some()
    }

    /// The file of the next request, and its offset there.
    pub(crate) fn place(&mut self) -> (FileId, u64) {
        let address = self.address();
        let (index, at) = self.job.files.locate(Bytes(address));
        (self.job.files.files()[index], at)
    }

    fn address(&mut self) -> u64 {
        let blocks = (self.job.span.0 / self.job.block.0.max(1)).max(1);
        let block = if self.job.random {
            // The high half of a product is uniform to within one in 2^32 blocks.
            ((u128::from(self.random.next_u64()) * u128::from(blocks)) >> 64) as u64
        } else {
            let block = self.next;
            self.next = (block + 1) % blocks;
            block
        };
        block * self.job.block.0
    }
}
