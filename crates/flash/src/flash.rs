use flashlag_schema::profile::{MapKind, Model};
use flashlag_units::{Bytes, Nanos};

use crate::command::{Command, FlashError, Timing};
use crate::front::{Front, Store};
use crate::hybrid::{CachedMap, Layout, LogBlockStore};
use crate::nand::Nand;
use crate::page_map::PageMap;
use crate::stats::Stats;

/// Offsets and lengths are multiples of this.
pub(crate) const SECTOR: u64 = 512;

/// The map that the model asks for.
#[derive(Debug)]
enum Map {
    Page(Box<PageMap>),
    Cached(Box<CachedMap<PageMap>>),
    Blocks(Box<LogBlockStore<Nand>>),
}

/// A simulated flash device.
#[derive(Debug)]
pub struct Flash {
    front: Front,
    map: Map,
    capacity: Bytes,
    unit: u64,
    last: Nanos,
    host_written: u64,
    host_read: u64,
    flushes: u64,
    discards: u64,
}

impl Flash {
    /// An empty device of this model; every random choice in it follows from `seed`.
    ///
    /// # Errors
    /// Where the model's parameters make no device together; the message names them.
    pub fn new(model: &Model, seed: u64) -> Result<Flash, FlashError> {
        let map = match model.map.kind {
            MapKind::Page => Map::Page(Box::new(PageMap::new(model, seed)?)),
            MapKind::CachedPage => {
                Map::Cached(Box::new(CachedMap::new(model, PageMap::new(model, seed)?)))
            }
            MapKind::Bast | MapKind::Fast => {
                let layout = Layout::new(model)?;
                let dies = model.nand.channels * model.nand.dies_per_channel;
                let blocks = u64::from(layout.blocks_per_die()) * u64::from(dies);
                let nand = Nand::new(model, blocks);
                Map::Blocks(Box::new(LogBlockStore::new(model, nand)?))
            }
        };
        let dies = match &map {
            Map::Page(map) => map.dies(),
            Map::Cached(map) => map.dies(),
            Map::Blocks(map) => map.dies(),
        };
        Ok(Flash {
            front: Front::new(model, dies, seed),
            map,
            capacity: model.map.capacity.0.round_down(Bytes(SECTOR)),
            unit: model.map.unit.0.0,
            last: Nanos::ZERO,
            host_written: 0,
            host_read: 0,
            flushes: 0,
            discards: 0,
        })
    }

    /// What the host sees.
    pub fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// Works a command out that is handed over at `at`, which never goes back (a moment in the past
    /// counts as the last one).
    ///
    /// # Errors
    /// A range that is not the device's; a device that is worn out or can reclaim nothing.
    pub fn submit(&mut self, at: Nanos, command: Command) -> Result<Timing, FlashError> {
        self.check(&command)?;
        let at = at.max(self.last);
        self.last = at;
        let timing = match &mut self.map {
            Map::Page(map) => self.front.submit(&mut **map, at, command),
            Map::Cached(map) => self.front.submit(&mut **map, at, command),
            Map::Blocks(map) => self.front.submit(&mut **map, at, command),
        }?;
        match command {
            Command::Read { length, .. } => self.host_read += length.0,
            Command::Write { length, .. } => self.host_written += length.0,
            Command::Flush => self.flushes += 1,
            Command::Discard { .. } => self.discards += 1,
        }
        Ok(timing)
    }

    fn check(&self, command: &Command) -> Result<(), FlashError> {
        let (operation, offset, length) = match command {
            Command::Read { offset, length } => ("read", offset.0, length.0),
            Command::Write { offset, length, .. } => ("write", offset.0, length.0),
            Command::Discard { offset, length } => ("discard", offset.0, length.0),
            Command::Flush => return Ok(()),
        };
        let ends = offset.checked_add(length).is_some_and(|end| end <= self.capacity.0);
        let aligned = (offset | length).is_multiple_of(SECTOR);
        if ends && aligned && length > 0 {
            return Ok(());
        }
        Err(FlashError::Range { operation, offset, length, capacity: self.capacity.0 })
    }

    /// Memory that the map takes of the machine that simulates, where it is a page map.
    pub fn map_memory(&self) -> Option<Bytes> {
        match &self.map {
            Map::Page(map) => Some(map.memory()),
            Map::Cached(map) => Some(map.inner().memory()),
            Map::Blocks(_) => None,
        }
    }

    /// What it has done so far.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats {
            host_written: Bytes(self.host_written),
            host_read: Bytes(self.host_read),
            flushes: self.flushes,
            discards: self.discards,
            ..Stats::default()
        };
        match &self.map {
            Map::Page(map) => stats.of_pages(map, self.unit),
            Map::Cached(map) => stats.of_pages(map.inner(), self.unit),
            Map::Blocks(map) => stats.of_dies(&map.dies),
        }
        stats
    }
}
