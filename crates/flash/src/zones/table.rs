use flashlag_device::ZoneGeometry;
use flashlag_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::command::{Command, FlashError, ZoneFault};

/// The condition of a zone (ZBC).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ZoneCondition {
    /// Nothing was written since it was reset.
    #[default]
    Empty,
    /// A write has opened it.
    ImplicitlyOpen,
    /// The host has opened it.
    ExplicitlyOpen,
    /// It holds data, and a write opens it again.
    Closed,
    /// It is written to its end, or finished.
    Full,
}

impl ZoneCondition {
    fn is_open(self) -> bool {
        matches!(self, ZoneCondition::ImplicitlyOpen | ZoneCondition::ExplicitlyOpen)
    }
}

/// A zone, as the device reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    pub start: Bytes,
    pub size: Bytes,
    /// Where the next write goes.
    pub pointer: Bytes,
    pub condition: ZoneCondition,
}

/// What the host does with a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneAction {
    Open,
    Close,
    Finish,
    /// Its data is gone, and it is written again from its start.
    Reset,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    /// Bytes from the start of the zone.
    written: u64,
    condition: ZoneCondition,
    /// Number of the write that was its last.
    last: u64,
}

/// The zones' write pointers and conditions.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ZoneTable {
    first: u64,
    size: u64,
    limit: u32,
    unit: u64,
    zones: Vec<State>,
    open: u32,
    writes: u64,
}

impl ZoneTable {
    pub(crate) fn new(geometry: &ZoneGeometry, unit: Bytes) -> ZoneTable {
        ZoneTable {
            first: geometry.first.0,
            size: geometry.size.0,
            limit: geometry.open,
            unit: unit.0,
            zones: vec![State::default(); geometry.count as usize],
            open: 0,
            writes: 0,
        }
    }

    pub(crate) fn geometry(&self) -> ZoneGeometry {
        ZoneGeometry {
            first: Bytes(self.first),
            size: Bytes(self.size),
            count: self.zones.len() as u32,
            open: self.limit,
        }
    }

    pub(crate) fn zone(&self, zone: u32) -> Result<Zone, FlashError> {
        let state = self.state(zone)?;
        let start = self.start(zone);
        Ok(Zone {
            start: Bytes(start),
            size: Bytes(self.size),
            pointer: Bytes(start + state.written),
            condition: state.condition,
        })
    }

    fn state(&self, zone: u32) -> Result<State, FlashError> {
        let count = self.zones.len() as u32;
        let state = self.zones.get(zone as usize).copied();
        state.ok_or(FlashError::Zone(ZoneFault::NoSuch { zone, count }))
    }

    fn start(&self, zone: u32) -> u64 {
        self.first + u64::from(zone) * self.size
    }

    fn zone_of(&self, offset: u64) -> Option<u32> {
        Some((offset.checked_sub(self.first)? / self.size) as u32)
    }

    /// Whether the zones allow a command whose range is within the device.
    pub(crate) fn check(&self, command: &Command) -> Result<(), FlashError> {
        match *command {
            Command::Write { offset, length, .. } => self.check_write(offset.0, length.0),
            Command::Discard { offset, length } => {
                let zones = self.reset_by(offset.0, length.0);
                let fault = ZoneFault::Part { offset: offset.0, length: length.0 };
                zones.map(drop).ok_or(FlashError::Zone(fault))
            }
            Command::Read { .. } | Command::Flush => Ok(()),
        }
    }

    fn check_write(&self, offset: u64, length: u64) -> Result<(), FlashError> {
        let refuse = |fault| Err(FlashError::Zone(fault));
        let end = offset + length;
        let Some(zone) = self.zone_of(offset) else {
            let crosses = end > self.first;
            return if crosses { refuse(ZoneFault::Border { offset, length }) } else { Ok(()) };
        };
        let (state, start) = (self.state(zone)?, self.start(zone));
        let pointer = start + state.written;
        if end > start + self.size {
            return refuse(ZoneFault::Border { offset, length });
        }
        if !(offset - start).is_multiple_of(self.unit) || !length.is_multiple_of(self.unit) {
            return refuse(ZoneFault::Unit { offset, length, unit: self.unit });
        }
        if state.condition == ZoneCondition::Full {
            return refuse(ZoneFault::Full { offset, zone });
        }
        if offset != pointer {
            return refuse(ZoneFault::Pointer { offset, zone, pointer });
        }
        self.may_open(zone)
    }

    /// Whether a zone is open or can be opened.
    fn may_open(&self, zone: u32) -> Result<(), FlashError> {
        let open = self.state(zone)?.condition.is_open();
        if open || self.open < self.limit || self.oldest_implicit().is_some() {
            return Ok(());
        }
        Err(FlashError::Zone(ZoneFault::Open { zone, limit: self.limit }))
    }

    /// The zone opened by a write that was written to longest ago.
    fn oldest_implicit(&self) -> Option<usize> {
        let implicit = |zone: &usize| self.zones[*zone].condition == ZoneCondition::ImplicitlyOpen;
        (0..self.zones.len()).filter(implicit).min_by_key(|zone| self.zones[*zone].last)
    }

    /// Notes a command that was carried out.
    pub(crate) fn apply(&mut self, command: &Command) {
        match *command {
            Command::Write { offset, length, .. } => {
                let Some(zone) = self.zone_of(offset.0) else { return };
                self.open(zone, ZoneCondition::ImplicitlyOpen);
                self.writes += 1;
                let (last, size) = (self.writes, self.size);
                if let Some(state) = self.zones.get_mut(zone as usize) {
                    state.written += length.0;
                    state.last = last;
                    if state.written >= size {
                        self.settle(zone, ZoneCondition::Full);
                    }
                }
            }
            Command::Discard { offset, length } => {
                for zone in self.reset_by(offset.0, length.0).unwrap_or(0..0) {
                    self.settle(zone, ZoneCondition::Empty);
                    if let Some(state) = self.zones.get_mut(zone as usize) {
                        state.written = 0;
                    }
                }
            }
            Command::Read { .. } | Command::Flush => {}
        }
    }

    /// The zones that a discard resets; `None` if it is a part of one. What it discards before the
    /// first zone is no zone's.
    fn reset_by(&self, offset: u64, length: u64) -> Option<std::ops::Range<u32>> {
        let (from, end) = (offset.max(self.first), offset + length);
        if end <= self.first {
            return Some(0..0);
        }
        let (from, end) = (from - self.first, end - self.first);
        let whole = from.is_multiple_of(self.size) && end.is_multiple_of(self.size);
        whole.then(|| (from / self.size) as u32..(end / self.size) as u32)
    }

    /// Opens a zone; one that a write has opened makes room for it. A zone that the host has opened
    /// stays so.
    fn open(&mut self, zone: u32, condition: ZoneCondition) {
        let now = self.zones.get(zone as usize).map(|state| state.condition);
        if now == Some(ZoneCondition::ExplicitlyOpen) || now == Some(condition) {
            return;
        }
        if !now.is_some_and(ZoneCondition::is_open)
            && self.open >= self.limit
            && let Some(oldest) = self.oldest_implicit()
        {
            self.settle(oldest as u32, ZoneCondition::Closed);
        }
        self.settle(zone, condition);
    }

    /// Changes a condition, and counts the open zones.
    fn settle(&mut self, zone: u32, condition: ZoneCondition) {
        let Some(state) = self.zones.get_mut(zone as usize) else { return };
        let before = std::mem::replace(&mut state.condition, condition);
        self.open -= u32::from(before.is_open());
        self.open += u32::from(condition.is_open());
    }

    /// Opens a zone for the host.
    pub(crate) fn open_explicitly(&mut self, zone: u32) -> Result<(), FlashError> {
        if self.state(zone)?.condition == ZoneCondition::Full {
            let offset = self.start(zone);
            return Err(FlashError::Zone(ZoneFault::Full { offset, zone }));
        }
        self.may_open(zone)?;
        self.open(zone, ZoneCondition::ExplicitlyOpen);
        Ok(())
    }

    /// Closes an open zone; one that nothing was written to is empty.
    pub(crate) fn close(&mut self, zone: u32) -> Result<(), FlashError> {
        let state = self.state(zone)?;
        if state.condition.is_open() {
            let empty = state.written == 0;
            self.settle(zone, if empty { ZoneCondition::Empty } else { ZoneCondition::Closed });
        }
        Ok(())
    }

    /// Makes a zone full without writing the rest of it.
    pub(crate) fn finish(&mut self, zone: u32) {
        self.settle(zone, ZoneCondition::Full);
        let size = self.size;
        if let Some(state) = self.zones.get_mut(zone as usize) {
            state.written = size;
        }
    }

    /// Closes the zones after a power cut, and puts the pointer of each behind the data that
    /// survived, which `end` says in bytes.
    pub(crate) fn power_cut(&mut self, end: impl Fn(u32) -> u64) {
        for zone in 0..self.zones.len() as u32 {
            let survived = end(zone);
            let Some(state) = self.zones.get_mut(zone as usize) else { continue };
            state.written = state.written.min(survived);
            let condition = match state.written {
                0 => ZoneCondition::Empty,
                all if all >= self.size => ZoneCondition::Full,
                _ => ZoneCondition::Closed,
            };
            self.settle(zone, condition);
        }
    }
}
