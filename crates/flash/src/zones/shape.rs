use flashlag_device::ZoneGeometry;
use flashlag_spec::profile::{CellKind, MapKind, Model};
use flashlag_units::{Bytes, Text};
use serde::{Deserialize, Serialize};

use crate::command::FlashError;
use crate::page_map::Shape;

/// Where the zones are, in units of the host's address space and in blocks of the dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ZonedShape {
    /// Units before the first zone.
    pub(super) first: u32,
    /// Units of a zone.
    pub(super) units: u32,
    pub(super) count: u32,
    /// Superblocks that hold a zone.
    pub(super) rows: u32,
    /// Program units of a zone, the last of them perhaps in part.
    pub(super) programs: u32,
    /// The zones' blocks.
    pub(super) blocks: Shape,
}

impl ZonedShape {
    /// The shape of a zoned model.
    ///
    /// # Errors
    /// If the model makes no zones, or the sizes of its blocks do not fit together.
    pub(crate) fn new(model: &Model) -> Result<ZonedShape, FlashError> {
        let Some(zones) = zone_geometry(model) else {
            return Err(FlashError::Model("map.kind: a zoned device needs [zones]".to_owned()));
        };
        let unit = model.map.unit.0.0;
        let units = (zones.size.0 / unit) as u32;
        let own = Shape::new(&own_blocks(model, zones.size.0 * u64::from(zones.count)))?;
        let rows = units.div_ceil(own.units.max(1));
        // Zones need whole blocks, so that there are more of them than their bytes say.
        let bytes = u64::from(rows) * u64::from(zones.count) * u64::from(own.units) * unit;
        let blocks = Shape::new(&own_blocks(model, bytes))?;
        let programs = units.div_ceil(blocks.program.max(1));
        let first = (zones.first.0 / unit) as u32;
        let shape = ZonedShape { first, units, count: zones.count, rows, programs, blocks };
        Shape::new(&shape.in_order(model)).map(|_| shape)
    }

    /// The zones, as the host sees them.
    pub(super) fn geometry(&self, model: &Model) -> ZoneGeometry {
        let bytes = |units: u32| Bytes(u64::from(units) * self.blocks.unit_bytes);
        ZoneGeometry {
            first: bytes(self.first),
            size: bytes(self.units),
            count: self.count,
            open: model.zones.as_ref().map_or(0, |zones| zones.open),
        }
    }

    /// The model of the blocks in SLC mode: they hold what can be written in any order, and after it
    /// as much as a program unit of each zone.
    pub(super) fn in_order(&self, model: &Model) -> Model {
        let mut inner = model.clone();
        let (nand, map) = (&mut inner.nand, &mut inner.map);
        let stripe = nand.page.0.0 * u64::from(nand.planes);
        nand.pages_per_block = (nand.pages_per_block / nand.cell.bits() as u32).max(1);
        (nand.cell, nand.program_upper) = (CellKind::Slc, None);
        nand.read_types = Vec::new();
        map.kind = MapKind::Page;
        let program = map.program_unit.0.0;
        let staged = u64::from(self.count) * program;
        map.capacity = Text(Bytes(u64::from(self.first) * map.unit.0.0 + staged));
        map.program_unit = Text(Bytes(stripe.max(map.unit.0.0)));
        if let Some(slc) = &model.slc {
            (nand.read, nand.program, nand.erase) = (slc.read, slc.program, slc.erase);
            // One block is open for the host and one for copies, whatever the size of the device.
            let dies = u64::from(nand.channels * nand.dies_per_channel);
            let block = stripe * u64::from(nand.pages_per_block) * dies;
            map.spare = Text(slc.fixed.0.max(Bytes(2 * block)));
            if let Some(page) = slc.program_page {
                map.program_unit = page;
            }
        }
        inner.wear.endurance = model.zones.as_ref().and_then(|zones| zones.endurance);
        inner
    }
}

/// The model of the zones' own blocks, which are not collected.
fn own_blocks(model: &Model, bytes: u64) -> Model {
    let mut own = model.clone();
    own.map.capacity = Text(Bytes(bytes));
    (own.gc.hot_cold, own.gc.low_water) = (false, 1);
    own
}

/// The zones of a model; `None` unless it is zoned and at least one zone fits.
pub fn zone_geometry(model: &Model) -> Option<ZoneGeometry> {
    let zones = model.zones.as_ref().filter(|_| model.map.kind == MapKind::Zoned)?;
    let (unit, size) = (model.map.unit.0.0.max(1), zones.size.0.0.max(1));
    let capacity = model.map.capacity.0.0 / unit * unit;
    let count = capacity.checked_sub(zones.conventional.0.0)? / size;
    let first = Bytes(capacity - count * size);
    (count > 0).then_some(ZoneGeometry {
        first,
        size: Bytes(size),
        count: u32::try_from(count).ok()?,
        open: zones.open,
    })
}
