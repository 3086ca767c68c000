//! Writeback of dirty pages.

use flashlag_device::{Device, DeviceError, VirtualClock};
use flashlag_units::Nanos;

use super::Inner;
use crate::fs::{BLOCK, FileId, Reason, blocks};
use crate::plan::Plan;

/// Interval of the kernel's writeback thread (`dirty_writeback_centisecs`).
pub(super) const EVERY: Nanos = Nanos::from_secs(5);
/// Fewest pages that a writer writes back at once.
pub(super) const BATCH: usize = 256;

impl<D: Device<Clock = VirtualClock>> Inner<D> {
    /// Allocates blocks for dirty pages, marks the pages clean and returns the plan that writes
    /// them.
    pub(super) fn write_back(
        &mut self,
        file: FileId,
        first: u64,
        end: u64,
        most: usize,
        reason: Reason,
    ) -> Result<Plan, DeviceError> {
        let ranges = self.cache.take(file, first, end, most);
        let now = self.now();
        // The last page is written whole; the file's size does not change.
        let bytes = |(from, to): (u64, u64)| (from * BLOCK, (to - from) * BLOCK);
        let ranges: Vec<(u64, u64)> = ranges.into_iter().map(bytes).collect();
        let written = self.fs.write(now, file, &ranges, reason);
        written.map_err(|_| {
            // Nothing was written: mark the pages dirty again.
            for page in ranges.iter().flat_map(|(offset, length)| {
                let (first, end) = blocks(*offset, *length);
                first..end
            }) {
                let promised = self.fs.takes_room(file, page);
                self.cache.write(now, file, page, promised);
            }
            self.no_room("write", file)
        })
    }

    /// Writes back pages that have been dirty for too long.
    pub(super) fn write_expired(&mut self) {
        let now = self.now();
        for file in self.cache.expired(now) {
            match self.write_back(file, 0, u64::MAX, usize::MAX, Reason::Writeback) {
                Ok(plan) => {
                    let pid = self.spawn(plan);
                    self.scheduler.detach(pid);
                }
                Err(error) => self.keep_error(Some(error)),
            }
        }
        let any = self.cache.dirty_pages() > 0;
        self.next_writeback = if any { now.plus(EVERY) } else { Nanos::MAX };
    }
}
