//! Writes the files under test completely before anything is measured on them.

use std::sync::atomic::{AtomicBool, Ordering};

use flashlag_device::{Completion, Device, DeviceError, Durability, Op, Request};
use flashlag_spec::scenario;
use flashlag_units::Bytes;
use flashlag_workload::Payload;

use crate::files::FileSet;
use crate::one::run_one;
use crate::open::{OpenOptions, open};

/// Length of one write.
const STEP: u64 = 1 << 20;

impl FileSet {
    /// Writes every byte once, in order, in 1 MiB writes that bypass the page cache where
    /// possible, stamped as generation 0; then makes the data durable and drops it from the page
    /// cache. No sparse files and no preallocation: blocks that were never written read too fast
    /// and write too slowly.
    ///
    /// Returns the number of bytes written: less than the span if `stop` was raised.
    ///
    /// # Errors
    /// Any error of the filesystem; the bytes written until then stay.
    pub fn lay_out(
        &self,
        payload: &Payload,
        stop: &AtomicBool,
        on_progress: &mut dyn FnMut(Bytes),
    ) -> Result<Bytes, DeviceError> {
        let options = OpenOptions {
            direct: true,
            engine: scenario::EngineKind::Psync,
            queue_depth: 1,
            durable: scenario::Durability::None,
            block: FileSet::GRAIN,
            buffer: Bytes(STEP),
            write: true,
            create: true,
        };
        let mut device = open(self, &options)?.device;
        let mut completed = Vec::with_capacity(1);
        let mut offset = 0;
        while offset < self.span().0 && !stop.load(Ordering::Relaxed) {
            let length = STEP.min(self.span().0 - offset);
            let write = write_of(Bytes(offset), Bytes(length), Durability::None);
            write_first(&mut device, payload, write, &mut completed)?;
            offset += length;
            on_progress(Bytes(offset));
        }
        let flush = Request {
            slot: 0,
            op: Op::Flush,
            offset: Bytes::ZERO,
            length: Bytes::ZERO,
            durability: Durability::None,
        };
        run_one(&mut device, flush, &mut completed)?;
        self.evict()?;
        Ok(Bytes(offset))
    }

    /// Writes every byte once, 4 KiB at a time through the page cache, each followed by `fdatasync`
    /// and by the same write to `beside`, which has the same span. So the filesystem finds blocks for
    /// one file and for the other by turns, as it does for databases and logs that grow beside one
    /// another; with longer writes, or without the sync of each, it would find them for a longer piece
    /// at once.
    ///
    /// Returns the bytes written to both: less than two spans if `stop` was raised.
    ///
    /// # Errors
    /// Any error of the filesystem; the bytes written until then stay.
    pub fn grow_by_turns(
        &self,
        beside: &FileSet,
        payload: &Payload,
        stop: &AtomicBool,
    ) -> Result<Bytes, DeviceError> {
        let options = OpenOptions {
            direct: false,
            engine: scenario::EngineKind::Psync,
            queue_depth: 1,
            durable: scenario::Durability::Fdatasync,
            block: FileSet::GRAIN,
            buffer: FileSet::GRAIN,
            write: true,
            create: true,
        };
        let mut devices = [open(self, &options)?.device, open(beside, &options)?.device];
        let mut completed = Vec::with_capacity(1);
        let mut written = Bytes::ZERO;
        let mut offset = Bytes::ZERO;
        while offset < self.span() && !stop.load(Ordering::Relaxed) {
            for device in &mut devices {
                let write = write_of(offset, FileSet::GRAIN, Durability::Flush);
                write_first(device, payload, write, &mut completed)?;
                written = written.plus(FileSet::GRAIN);
            }
            offset = offset.plus(FileSet::GRAIN);
        }
        self.evict()?;
        beside.evict()?;
        Ok(written)
    }
}

fn write_of(offset: Bytes, length: Bytes, durability: Durability) -> Request {
    Request { slot: 0, op: Op::Write, offset, length, durability }
}

/// Writes a range for the first time, stamped as generation 0.
fn write_first<D: Device>(
    device: &mut D,
    payload: &Payload,
    write: Request,
    completed: &mut Vec<Completion>,
) -> Result<(), DeviceError> {
    payload.fill(&mut device.buffer(0)[..write.length.0 as usize], write.offset, 0);
    run_one(device, write, completed)
}
