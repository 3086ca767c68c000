use flashlag_schema::profile::Model;
use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::address::Unit;
use crate::command::{Command, FlashError, Timing};
use crate::front::Front;
use crate::ftl::Ftl;
use crate::past::Past;
use crate::power::PowerCut;
use crate::stats::Stats;

/// Offsets and lengths are multiples of this.
pub(crate) const SECTOR: u64 = 512;

/// A simulated flash device.
///
/// Commands come at times that never go back, and each is worked out when it comes: what it waits
/// for is reserved already. What the device does by itself in idle time is worked out when the next
/// command comes, and never beyond that.
#[derive(Debug, Serialize, Deserialize)]
pub struct Flash {
    front: Front,
    ftl: Ftl,
    capacity: Bytes,
    unit: Bytes,
    last: Nanos,
    flushes: u64,
    discards: u64,
    written: u64,
    read: u64,
}

impl Flash {
    /// A new device, nothing of which was ever written.
    ///
    /// # Errors
    /// Where the model makes no device.
    pub fn new(model: &Model, seed: u64) -> Result<Flash, FlashError> {
        let ftl = Ftl::new(model, seed)?;
        Ok(Flash {
            front: Front::new(model, model.nand.channels * model.nand.dies_per_channel, seed),
            ftl,
            capacity: model.map.capacity.0.round_down(Bytes(SECTOR)),
            unit: model.map.unit.0,
            last: Nanos::ZERO,
            flushes: 0,
            discards: 0,
            written: 0,
            read: 0,
        })
    }

    /// What the host sees.
    pub fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// What one entry of the map stands for.
    pub fn mapping_unit(&self) -> Bytes {
        self.unit
    }

    /// Works a command out that is handed over at `at`; an earlier time than the last command's
    /// counts as that one's.
    ///
    /// # Errors
    /// Where the range is not within the device, and where the flash can't be written to any more.
    #[inline]
    pub fn submit(&mut self, at: Nanos, command: Command) -> Result<Timing, FlashError> {
        self.check(&command)?;
        self.last = self.last.max(at);
        let timing = self.ftl.submit(&mut self.front, self.last, command)?;
        match command {
            Command::Read { length, .. } => self.read += length.0,
            Command::Write { length, .. } => self.written += length.0,
            Command::Flush => self.flushes += 1,
            Command::Discard { .. } => self.discards += 1,
        }
        Ok(timing)
    }

    #[inline]
    fn check(&self, command: &Command) -> Result<(), FlashError> {
        let (operation, offset, length) = match *command {
            Command::Flush => return Ok(()),
            Command::Read { offset, length } => ("read", offset, length),
            Command::Write { offset, length, .. } => ("write", offset, length),
            Command::Discard { offset, length } => ("discard", offset, length),
        };
        let end = offset.0.checked_add(length.0);
        let inside = end.is_some_and(|end| end <= self.capacity.0);
        if inside && length.0 > 0 && (offset.0 | length.0).is_multiple_of(SECTOR) {
            return Ok(());
        }
        Err(FlashError::Range {
            operation,
            offset: offset.0,
            length: length.0,
            capacity: self.capacity.0,
        })
    }

    /// Gives a new device a past, at once and at no time: what it holds, where that lies and how
    /// worn it is are then as if it had been written, and its statistics begin after that. The
    /// write buffer and the write cache are empty. A share of the last unit counts as nothing.
    ///
    /// # Errors
    /// Where the device is not new, or its map is not one of pages.
    pub fn prepare(&mut self, past: &Past) -> Result<(), FlashError> {
        if self.written > 0 {
            return Err(FlashError::NotNew);
        }
        let units = past.written.0.min(self.capacity.0) / self.unit.0;
        self.ftl.prepare(u32::try_from(units).unwrap_or(u32::MAX), past)
    }

    /// Says which addresses the next commands are for, so that what they need can be fetched from
    /// memory together. Changes nothing but how long that takes; a few dozen at a time are best.
    pub fn expect(&self, offsets: &[Bytes]) {
        if let Some(pages) = self.ftl.pages() {
            let unit = self.unit.0;
            pages.map.expect(offsets.iter().map(|offset| Unit((offset.0 / unit) as u32)));
        }
    }

    /// Keeps count, from now on, of what a power cut would lose.
    pub fn keep_ledger(&mut self) {
        self.front.keep_ledger();
    }

    /// The number of the last command that changed data, counted from 1 over all writes and
    /// discards, and the first one that may still be lost; both 0 where no count is kept.
    pub fn changes(&self) -> (u64, u64) {
        self.front.commands()
    }

    /// The power is gone at `at` and comes back at once: nothing of what was under way goes on.
    ///
    /// # Errors
    /// As the idle work that was done until then.
    pub fn power_cut(&mut self, at: Nanos) -> Result<PowerCut, FlashError> {
        self.last = self.last.max(at);
        self.ftl.power_cut(&mut self.front, self.last)
    }

    /// What it has done.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats {
            host_written: Bytes(self.written),
            host_read: Bytes(self.read),
            flushes: self.flushes,
            discards: self.discards,
            ..Stats::default()
        };
        self.ftl.count(&self.front, &mut stats, self.unit);
        self.front.count(&mut stats, self.unit);
        stats
    }

    /// Memory that the map takes of the machine that simulates, where it is a page map.
    pub fn map_memory(&self) -> Option<Bytes> {
        Some(Bytes(self.ftl.pages()?.map.memory() as u64))
    }
}
