use flashlag_spec::profile::{MapKind, Model};
use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::command::{Command, FlashError, Timing};
use crate::die::Dies;
use crate::front::{Front, Store};
use crate::hybrid::{CachedMap, Layout, LogBlockStore};
use crate::nand::Nand;
use crate::page_map::{PageStore, Shape};
use crate::past::Past;
use crate::power::PowerCut;
use crate::stats::Stats;
use crate::trace::Trace;
use crate::zones::{ZoneStore, ZonedShape};

/// The flash translation layer, by kind of map: one match per command. The code for a page map, of which speed is
/// asked, is compiled for it; the others share theirs ([`Ftl::submit`]).
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Ftl {
    Pages(Box<PageStore>),
    Cached(Box<CachedMap<PageStore>>),
    Logs(Box<LogBlockStore<Nand>>),
    Zones(Box<ZoneStore>),
}

macro_rules! each {
    ($ftl:expr, $store:ident => $body:expr) => {
        match $ftl {
            Ftl::Pages($store) => $body,
            Ftl::Cached($store) => $body,
            Ftl::Logs($store) => $body,
            Ftl::Zones($store) => $body,
        }
    };
}

impl Ftl {
    /// Whether a model makes a device, without the memory of its map.
    pub(crate) fn check(model: &Model) -> Result<(), FlashError> {
        match model.map.kind {
            MapKind::Page | MapKind::CachedPage => Shape::new(model).map(drop),
            MapKind::Fast => Layout::new(model).map(drop),
            MapKind::Zoned => ZonedShape::new(model).map(drop),
        }
    }

    pub(crate) fn new(model: &Model, seed: u64) -> Result<Ftl, FlashError> {
        Ok(match model.map.kind {
            MapKind::Page => Ftl::Pages(Box::new(PageStore::new(model, seed)?)),
            MapKind::CachedPage => {
                Ftl::Cached(Box::new(CachedMap::new(model, PageStore::new(model, seed)?)))
            }
            MapKind::Fast => {
                let rows = Layout::new(model)?.blocks_per_die();
                Ftl::Logs(Box::new(LogBlockStore::new(model, Nand::new(model, rows, &[], seed))?))
            }
            MapKind::Zoned => Ftl::Zones(Box::new(ZoneStore::new(model, seed)?)),
        })
    }

    #[inline]
    pub(crate) fn submit(
        &mut self,
        front: &mut Front,
        at: Nanos,
        command: Command,
    ) -> Result<Timing, FlashError> {
        match self {
            Ftl::Pages(store) => front.submit(store.as_mut(), at, command),
            Ftl::Cached(store) => front.submit(store.as_mut(), at, command),
            Ftl::Logs(store) => front.submit::<dyn Store>(store.as_mut(), at, command),
            Ftl::Zones(store) => front.submit::<dyn Store>(store.as_mut(), at, command),
        }
    }

    pub(crate) fn power_cut(
        &mut self,
        front: &mut Front,
        at: Nanos,
    ) -> Result<PowerCut, FlashError> {
        each!(self, store => front.power_cut::<dyn Store>(store.as_mut(), at))
    }

    /// The account of what commands wait for, if one is kept.
    pub(crate) fn trace(&mut self) -> Option<&mut Trace> {
        each!(self, store => store.trace())
    }

    /// Keeps account from now on of what commands wait for.
    pub(crate) fn keep_trace(&mut self) {
        let nand = match self {
            Ftl::Pages(store) => &mut store.nand,
            Ftl::Cached(cached) => &mut cached.inner.nand,
            Ftl::Logs(store) => &mut store.dies,
            Ftl::Zones(store) => &mut store.nand,
        };
        let dies = nand.count();
        nand.trace.get_or_insert_with(|| Box::new(Trace::new(dies)));
    }

    /// Gives a new page map a past of `count` units.
    pub(crate) fn prepare(&mut self, count: u32, past: &Past) -> Result<(), FlashError> {
        let store = match self {
            Ftl::Pages(store) => store,
            Ftl::Cached(cached) => &mut cached.inner,
            Ftl::Logs(_) => return Err(FlashError::NoPast),
            Ftl::Zones(_) => return Err(FlashError::ZonedPast),
        };
        store.map.prepare(count, past.order)?;
        store.nand.age(past.cycles);
        Ok(())
    }

    /// Arranges the content of a page map as random overwrites would in the long run.
    pub(crate) fn scatter(&mut self) -> Result<(), FlashError> {
        match self {
            Ftl::Pages(store) => store.map.scatter(),
            Ftl::Cached(cached) => cached.inner.map.scatter(),
            Ftl::Logs(_) => Err(FlashError::NoPast),
            Ftl::Zones(_) => Err(FlashError::ZonedPast),
        }
    }

    /// Adds cycles to every good block.
    pub(crate) fn wear_out(&mut self, cycles: u32) {
        match self {
            Ftl::Pages(store) => store.nand.age(cycles),
            Ftl::Cached(cached) => cached.inner.nand.age(cycles),
            Ftl::Logs(store) => store.dies.age(cycles),
            Ftl::Zones(store) => store.age(cycles),
        }
    }

    /// The page map, if the device has one.
    pub(crate) fn pages(&self) -> Option<&PageStore> {
        match self {
            Ftl::Pages(store) => Some(store),
            Ftl::Cached(cached) => Some(&cached.inner),
            Ftl::Logs(_) | Ftl::Zones(_) => None,
        }
    }

    /// The zones, if the device has any.
    #[inline]
    pub(crate) fn zones(&self) -> Option<&ZoneStore> {
        match self {
            Ftl::Zones(store) => Some(store),
            Ftl::Pages(_) | Ftl::Cached(_) | Ftl::Logs(_) => None,
        }
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn zones_mut(&mut self) -> Option<&mut ZoneStore> {
        match self {
            Ftl::Zones(store) => Some(store),
            Ftl::Pages(_) | Ftl::Cached(_) | Ftl::Logs(_) => None,
        }
    }

    fn nand(&self) -> &Nand {
        match self {
            Ftl::Pages(store) => &store.nand,
            Ftl::Cached(cached) => &cached.inner.nand,
            Ftl::Logs(store) => &store.dies,
            Ftl::Zones(store) => &store.nand,
        }
    }

    /// Adds the counts of the map and its dies, and how full the buffer and the write cache are.
    pub(crate) fn count(&self, front: &Front, stats: &mut Stats, unit: Bytes) {
        let bytes = |units: u64| Bytes(units * unit.0);
        each!(self, store => front.count_fill::<dyn Store>(store.as_ref(), stats, unit));
        let nand = self.nand();
        stats.page_reads = nand.counts.page_reads;
        stats.programs = nand.counts.programs;
        stats.erases = nand.counts.erases;
        stats.suspended = nand.counts.suspended;
        stats.die_busy = nand.counts.busy;
        stats.mean_cycles = nand.mean_cycles();
        let cycles = nand.cycles_range();
        (stats.least_cycles, stats.most_cycles) = (*cycles.start(), *cycles.end());
        stats.life_used = nand.life_used();
        stats.mapped = bytes(each!(self, store => store.mapped_units()));
        if let Ftl::Logs(store) = self {
            let merges = store.map.merges();
            stats.programmed_host = Some(bytes(store.map.written));
            stats.programmed_copies = Some(bytes(merges.copied));
            stats.programmed_padding = Some(bytes(merges.padded));
            stats.free_blocks = u32::try_from(store.map.free()).ok();
        }
        if let Some(PageStore { map, .. }) = self.pages() {
            let counts = map.counts();
            stats.programmed_host = Some(bytes(counts.host));
            stats.programmed_copies = Some(bytes(counts.copied));
            stats.programmed_padding = Some(bytes(counts.padded));
            stats.free_blocks = Some(map.free_blocks());
            stats.bad_blocks = Some(map.bad_blocks());
            stats.levelled = Some(counts.levelled);
        }
        if let Ftl::Zones(store) = self {
            let (own, slc) = (store.counts, store.any_order().counts());
            stats.programmed_host = Some(bytes(own.direct + slc.host));
            stats.programmed_folds = bytes(own.moved);
            stats.programmed_copies = Some(bytes(slc.copied));
            stats.programmed_padding = Some(bytes(own.padded + slc.padded));
            stats.programmed_map = bytes(own.journal);
            stats.free_blocks = Some(store.free_rows());
            stats.bad_blocks = Some(store.bad_rows());
            stats.levelled = Some(slc.levelled);
            stats.life_used = store.life_used();
        }
        if let Ftl::Cached(cached) = self {
            stats.programmed_map = cached.programmed();
        }
    }
}
