use flashlag_device::Op;
use flashlag_stats::Wait;
use flashlag_units::{Bytes, Nanos};

use crate::plan::BlockRequest;

/// Traffic of each layer since the stack was mounted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Bytes of read and write calls.
    pub call_bytes: Bytes,
    /// Bytes read from the device.
    pub read_bytes: Bytes,
    /// Read requests; merged neighbours count as one.
    pub reads: u64,
    /// Bytes written to the device, metadata included.
    pub written_bytes: Bytes,
    /// Write requests, neighbours too.
    pub writes: u64,
    /// Flushes. On a device without FUA a durable write adds one, since a flush follows the write
    /// instead.
    pub flushes: u64,
    pub discarded_bytes: Bytes,
    /// What the kernel counts in addition; only if waits are accounted.
    pub counted: Counted,
}

/// Work of the filesystem and time at the device, as the kernel counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Discards that completed.
    pub discards: u64,
    /// Sum of the times of all discards.
    pub discard_time: Nanos,
    /// Sum of the times of all flushes.
    pub flush_time: Nanos,
    /// Steps of commits of a journal or log.
    pub commits: u64,
    /// Steps of checkpoints.
    pub checkpoints: u64,
    /// Steps of cleaning.
    pub cleanings: u64,
}

impl Counted {
    /// Counts a command that took the time `took`.
    pub(crate) fn completed(&mut self, op: Op, took: Nanos) {
        match op {
            Op::Discard => {
                self.discards += 1;
                self.discard_time = self.discard_time.plus(took);
            }
            Op::Flush => self.flush_time = self.flush_time.plus(took),
            Op::Read | Op::Write => {}
        }
    }

    /// Counts the start of a step of the filesystem's work.
    pub(crate) fn begins(&mut self, step: Wait) {
        match step {
            Wait::FilesystemCommit => self.commits += 1,
            Wait::Checkpoint => self.checkpoints += 1,
            Wait::Cleaning => self.cleanings += 1,
            _ => {}
        }
    }
}

impl Ledger {
    /// Counts a request that goes to the device.
    pub(crate) fn count(&mut self, request: &BlockRequest) {
        match request {
            BlockRequest::Read(run) => {
                self.reads += 1;
                self.read_bytes = self.read_bytes.plus(Bytes(run.length));
            }
            BlockRequest::Write(run) | BlockRequest::WriteDurable(run) => {
                self.writes += 1;
                self.written_bytes = self.written_bytes.plus(Bytes(run.length));
            }
            BlockRequest::Flush => self.flushes += 1,
            BlockRequest::Compute(_) => {}
            BlockRequest::Discard(run) => {
                self.discarded_bytes = self.discarded_bytes.plus(Bytes(run.length));
            }
        }
    }

    /// Corrects the counts after a counted request was merged into another one.
    pub(crate) fn merged(&mut self, op: Op) {
        match op {
            Op::Read => self.reads -= 1,
            Op::Write => self.writes -= 1,
            Op::Flush | Op::Discard => {}
        }
    }
}
