use flashlag_device::ZoneGeometry;
use flashlag_spec::profile::Model;
use flashlag_stats::Waited;
use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::address::Unit;
use crate::command::{Command, FlashError, Timing, ZoneFault};
use crate::front::Front;
use crate::ftl::Ftl;
use crate::past::Past;
use crate::power::PowerCut;
use crate::stats::Stats;
use crate::zones::{Zone, ZoneAction, ZoneCondition, zone_geometry};

/// The alignment of offsets and lengths.
pub const SECTOR: Bytes = Bytes(512);

/// A simulated flash device.
///
/// Times of commands never go back. A command's times are computed when it is submitted, from what
/// earlier commands have reserved. Work that the device does in idle time is computed when the next
/// command is submitted, and never begins after that.
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
    /// A new device that was never written to.
    pub fn new(model: &Model, seed: u64) -> Result<Flash, FlashError> {
        let (ftl, zones) = (Ftl::new(model, seed)?, zone_geometry(model));
        Ok(Flash {
            front: Front::new(model, model.nand.channels * model.nand.dies_per_channel, seed),
            ftl,
            capacity: match &zones {
                Some(zones) => Bytes(zones.first.0 + u64::from(zones.count) * zones.size.0),
                None => model.map.capacity.0.round_down(SECTOR),
            },
            unit: model.map.unit.0,
            last: Nanos::ZERO,
            flushes: 0,
            discards: 0,
            written: 0,
            read: 0,
        })
    }

    /// Size of the device, as the host sees it.
    pub fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// Size of a mapping unit: what one entry of the map stands for.
    pub fn mapping_unit(&self) -> Bytes {
        self.unit
    }

    /// Computes the times of a command that is submitted at `at`. A time before the last command's
    /// counts as that command's.
    ///
    /// # Errors
    /// If the range is not within the device, or the flash can't be written to any more.
    pub fn submit(&mut self, at: Nanos, command: Command) -> Result<Timing, FlashError> {
        self.check(&command)?;
        if let Some(zones) = self.ftl.zones() {
            zones.table.check(&command)?;
        }
        self.last = self.last.max(at);
        let timing = self.ftl.submit(&mut self.front, self.last, command)?;
        if let Some(zones) = self.ftl.zones_mut() {
            zones.table.apply(&command);
        }
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
        if inside && length.0 > 0 && (offset.0 | length.0).is_multiple_of(SECTOR.0) {
            return Ok(());
        }
        Err(FlashError::Range {
            operation,
            offset: offset.0,
            length: length.0,
            capacity: self.capacity.0,
        })
    }

    /// Gives a new device a past without simulating it: content, its layout and wear are as if it
    /// had been written, and statistics start from zero. The write buffer and the write cache are
    /// empty. A part of a unit at the end of `past.written` is ignored.
    pub fn prepare(&mut self, past: &Past) -> Result<(), FlashError> {
        if self.written > 0 {
            return Err(FlashError::NotNew);
        }
        let units = past.written.0.min(self.capacity.0) / self.unit.0;
        self.ftl.prepare(u32::try_from(units).unwrap_or(u32::MAX), past)
    }

    /// Arranges the content of the main area as uniform random overwrites of it would in the long
    /// run, without simulating them. Data in the write buffer or the write cache stays there;
    /// statistics and wear do not change.
    pub fn scatter(&mut self) -> Result<(), FlashError> {
        self.ftl.scatter()
    }

    /// Adds program/erase cycles to every good block, as if each had been erased and programmed that
    /// many times more. Content and its layout stay as they are.
    pub fn wear_out(&mut self, cycles: u32) {
        self.ftl.wear_out(cycles);
    }

    /// Prefetches the map entries of the next commands' addresses: a hint that only makes the
    /// simulation faster. A few dozen addresses at a time are best.
    pub fn expect(&self, offsets: &[Bytes]) {
        if let Some(pages) = self.ftl.pages() {
            let unit = self.unit.0;
            pages.map.expect(offsets.iter().map(|offset| Unit((offset.0 / unit) as u32)));
        }
    }

    /// Records from now on what a power cut would lose.
    pub fn keep_ledger(&mut self) {
        self.front.keep_ledger();
    }

    /// Two numbers, counted from 1 over all writes and discards: that of the last command that
    /// changed data, and that of the first one that may still be lost. Both are 0 unless
    /// [`Flash::keep_ledger`] was called.
    pub fn changes(&self) -> (u64, u64) {
        self.front.commands()
    }

    /// Cuts the power at `at`; it comes back at once. Nothing that was in progress goes on.
    ///
    /// # Errors
    /// Fails as the idle work that was due until then.
    pub fn power_cut(&mut self, at: Nanos) -> Result<PowerCut, FlashError> {
        self.last = self.last.max(at);
        let cut = self.ftl.power_cut(&mut self.front, self.last)?;
        if let Some(zones) = self.ftl.zones_mut() {
            zones.restore_pointers();
        }
        Ok(cut)
    }

    /// The device's zones; `None` if it can be written in any order.
    pub fn zones(&self) -> Option<ZoneGeometry> {
        self.ftl.zones().map(|zones| zones.table.geometry())
    }

    /// A zone, by its number.
    ///
    /// # Errors
    /// If the device has no such zone.
    pub fn zone(&self, zone: u32) -> Result<Zone, FlashError> {
        self.ftl.zones().ok_or(FlashError::Zone(ZoneFault::None))?.table.zone(zone)
    }

    /// Opens, closes, finishes or resets a zone at `at`. Finishing one programs what the write buffer
    /// holds.
    ///
    /// # Errors
    /// If the device has no such zone, too many are open, or the flash is worn out.
    pub fn manage(
        &mut self,
        at: Nanos,
        zone: u32,
        action: ZoneAction,
    ) -> Result<Timing, FlashError> {
        let Zone { start, size, condition, .. } = self.zone(zone)?;
        self.last = self.last.max(at);
        let mut timing = Timing { started: self.last, ended: self.last };
        match action {
            ZoneAction::Reset => {
                return self.submit(at, Command::Discard { offset: start, length: size });
            }
            ZoneAction::Finish if condition == ZoneCondition::Full => return Ok(timing),
            ZoneAction::Finish => timing = self.submit(at, Command::Flush)?,
            ZoneAction::Open | ZoneAction::Close => {}
        }
        let Some(zones) = self.ftl.zones_mut() else { return Ok(timing) };
        match action {
            ZoneAction::Open => zones.table.open_explicitly(zone)?,
            ZoneAction::Close => zones.table.close(zone)?,
            ZoneAction::Finish => timing.ended = zones.finish(timing.ended, zone)?,
            ZoneAction::Reset => {}
        }
        Ok(timing)
    }

    /// Keeps account from now on of what commands wait for.
    pub fn keep_waits(&mut self) {
        self.ftl.keep_trace();
    }

    /// Where the time of the last command went, from its submission to its end; the parts add up to
    /// that. `None` unless [`Flash::keep_waits`] was called.
    ///
    /// [`Wait::OtherIo`](flashlag_stats::Wait::OtherIo) are commands that were submitted before,
    /// whoever sent them.
    pub fn waited(&mut self) -> Option<Waited> {
        self.ftl.trace().map(|trace| trace.last())
    }

    /// The part of [`Flash::waited`] that passed while the last command waited for commands that
    /// were submitted before.
    pub fn waited_behind(&mut self) -> Option<Waited> {
        self.ftl.trace().map(|trace| trace.behind())
    }

    /// What stopped commands between two times, as far as it is remembered; the parts add up to
    /// that time. `None` unless [`Flash::keep_waits`] was called.
    pub fn held_up(&mut self, from: Nanos, until: Nanos) -> Option<Waited> {
        self.ftl.trace().map(|trace| trace.between(from, until))
    }

    /// Statistics since the device was made.
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

    /// Memory of the host machine that a page map takes; `None` for other maps.
    pub fn map_memory(&self) -> Option<Bytes> {
        Some(Bytes(self.ftl.pages()?.map.memory() as u64))
    }
}
