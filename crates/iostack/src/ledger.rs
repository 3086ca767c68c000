use flashlag_device::Op;
use flashlag_units::Bytes;

use crate::plan::BlockRequest;

/// Traffic of each layer since the stack was mounted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Bytes of read and write calls.
    pub call_bytes: Bytes,
    /// Bytes read from the device.
    pub read_bytes: Bytes,
    /// Read requests; neighbours that became one command are one.
    pub reads: u64,
    /// Bytes written to the device, metadata included.
    pub written_bytes: Bytes,
    /// Write requests, neighbours too.
    pub writes: u64,
    /// Flushes. A durable write counts as one more on a device without FUA, which flushes after the
    /// write instead.
    pub flushes: u64,
    /// Bytes discarded.
    pub discarded_bytes: Bytes,
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

    /// A request that was counted has become a part of another.
    pub(crate) fn merged(&mut self, op: Op) {
        match op {
            Op::Read => self.reads -= 1,
            Op::Write => self.writes -= 1,
            Op::Flush | Op::Discard => {}
        }
    }
}
