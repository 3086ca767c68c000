//! Writing the files under test in full before anything is measured on them.

use std::sync::atomic::{AtomicBool, Ordering};

use flashlag_device::{Device, DeviceError, Durability, Op, Request};
use flashlag_schema::scenario;
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
            payload.fill(&mut device.buffer(0)[..length as usize], Bytes(offset), 0);
            let write = Request {
                slot: 0,
                op: Op::Write,
                offset: Bytes(offset),
                length: Bytes(length),
                durability: Durability::None,
            };
            run_one(&mut device, write, &mut completed)?;
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
}
