//! Layout of F2FS outside its logs, and its spare segments (`mkfs.f2fs`).

use flashlag_device::ZoneGeometry;
use flashlag_units::{Bytes, Nanos};

use super::segments::SEGMENT;
use crate::fs::error::LayoutError;
use crate::fs::{BLOCK, LOGS};

/// Shortest sleep of the cleaning thread (`DEF_GC_THREAD_MIN_SLEEP_TIME`).
pub(super) const CLEAN_EVERY: Nanos = Nanos::from_secs(30);
/// Interval of the kernel's checkpoint thread (`checkpoint_interval`).
pub(super) const CHECKPOINT_EVERY: Nanos = Nanos::from_secs(60);

/// Spare share of the main area in percent (`mkfs.f2fs -o`, long the default).
const SPARE_PERCENT: u64 = 5;
/// Entries per block of the node address table, and per block of the segment information table.
const NODES_IN_BLOCK: u64 = BLOCK / 9;
const SEGMENTS_IN_BLOCK: u64 = BLOCK / 74;

#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// First block of the two checkpoint packs, one segment each.
    checkpoint: u64,
    segment_table: (u64, u64),
    node_table: (u64, u64),
    /// First block of the main area, and its number of sections.
    pub(super) main: u64,
    pub(super) sections: u32,
    /// Blocks of a section: one segment, or a zone.
    pub(super) section: u64,
    /// Sections that cleaning keeps free.
    pub(super) reserved: u32,
    /// Sections that files can't use: the reserve and the spare.
    pub(super) spare: u32,
}

impl Layout {
    pub(super) fn new(blocks: u64, zones: Option<ZoneGeometry>) -> Result<Layout, LayoutError> {
        let all = blocks / SEGMENT;
        let to_segments = |blocks: u64| blocks.div_ceil(SEGMENT);
        let segment_table = 2 * to_segments(all.div_ceil(SEGMENTS_IN_BLOCK));
        let node_table = 2 * to_segments((all * SEGMENT).div_ceil(NODES_IN_BLOCK));
        let summaries = to_segments(all);
        // One segment for the superblocks, two for checkpoints.
        let before = 3 + segment_table + node_table + summaries;
        let reserved = 2 * (100 / SPARE_PERCENT + 1) + 6;
        if let Some(zones) = zones {
            let layout = Layout::on_zones(&zones, blocks, before)?;
            let (segment_table, node_table) = tables(segment_table, node_table);
            return Ok(Layout { segment_table, node_table, ..layout });
        }
        let main = all.saturating_sub(before);
        let spare = reserved + main.saturating_sub(reserved) * SPARE_PERCENT / 100;
        if main < spare + 16 {
            return Err(LayoutError::TooSmall {
                filesystem: "f2fs",
                least: Bytes::from_mib(200),
                size: Bytes(blocks * BLOCK),
            });
        }
        let (segment_table, node_table) = tables(segment_table, node_table);
        Ok(Layout {
            checkpoint: SEGMENT,
            segment_table,
            node_table,
            main: before * SEGMENT,
            sections: u32::try_from(main).map_err(|_| LayoutError::TooLarge)?,
            section: SEGMENT,
            reserved: reserved as u32,
            spare: spare as u32,
        })
    }

    /// The layout of a zoned device but for the tables: metadata of `before` segments in its
    /// conventional zones, whose rest is not used, and a section in each zone. `mkfs.f2fs` reserves
    /// `100 / spare + 1 + 6` sections there, and leaves one more for each log.
    fn on_zones(zones: &ZoneGeometry, blocks: u64, before: u64) -> Result<Layout, LayoutError> {
        let section = zones.size.0 / BLOCK;
        if section == 0 || !section.is_multiple_of(SEGMENT) || !zones.size.0.is_multiple_of(BLOCK) {
            return Err(LayoutError::ZoneSize { size: zones.size });
        }
        let needed = Bytes(before * SEGMENT * BLOCK);
        if needed > zones.first || !zones.first.0.is_multiple_of(BLOCK) {
            return Err(LayoutError::FewConventional { needed, size: zones.first });
        }
        let reserved = (100 / SPARE_PERCENT) as u32 + 1 + LOGS;
        let rest = zones.count.saturating_sub(reserved);
        let spare = reserved + LOGS + rest * SPARE_PERCENT as u32 / 100;
        let least = spare + 6;
        if zones.count < least {
            return Err(LayoutError::TooSmall {
                filesystem: "f2fs",
                least: Bytes(zones.first.0 + u64::from(least) * zones.size.0),
                size: Bytes(blocks * BLOCK),
            });
        }
        Ok(Layout {
            checkpoint: SEGMENT,
            segment_table: (0, 0),
            node_table: (0, 0),
            main: zones.first.0 / BLOCK,
            sections: zones.count,
            section,
            reserved,
            spare,
        })
    }

    /// Number of blocks that files and their nodes can have.
    pub(super) fn most(&self) -> u64 {
        u64::from(self.sections - self.spare) * self.section
    }

    /// Number of free segments at which logs begin to fill holes (`need_SSR`): twice the reserve.
    /// Before Linux 3.17: all segments that files can't use.
    pub(super) fn thread_from(&self, since_3_17: bool) -> u32 {
        if since_3_17 { 2 * self.reserved } else { self.spare }
    }

    /// First block of the next checkpoint pack; two packs alternate.
    pub(super) fn pack(&self, version: u64) -> u64 {
        self.checkpoint + version % 2 * SEGMENT
    }

    /// Block of the segment table that holds a segment's entry; two copies alternate.
    pub(super) fn segment_entry(&self, segment: u32, version: u64) -> u64 {
        in_table(self.segment_table, u64::from(segment) / SEGMENTS_IN_BLOCK, version)
    }

    /// Block of the node table that holds a node's entry; two copies alternate.
    pub(super) fn node_entry(&self, node: u64, version: u64) -> u64 {
        in_table(self.node_table, node / NODES_IN_BLOCK, version)
    }
}

/// First block and number of blocks of each table, whose sizes are in segments.
fn tables(segment_table: u64, node_table: u64) -> ((u64, u64), (u64, u64)) {
    let first = 3 + segment_table;
    ((3 * SEGMENT, segment_table * SEGMENT), (first * SEGMENT, node_table * SEGMENT))
}

fn in_table((first, blocks): (u64, u64), index: u64, version: u64) -> u64 {
    let copy = (blocks / 2).max(1);
    first + version % 2 * copy + index % copy
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `mkfs.f2fs` with 5 % of spare: `100 / 5 + 1 + 6` sections for cleaning, and a section for each of six logs.
    #[test]
    fn on_zones_27_are_reserved_and_6_more_left_to_logs_before_the_spare_share() {
        let made = |count| {
            let size = Bytes::from_mib(64);
            let zones = ZoneGeometry { first: Bytes::from_mib(1024), size, count, open: 6 };
            Layout::new((zones.first.0 + u64::from(count) * size.0) / BLOCK, Some(zones))
        };
        let layout = made(1000).unwrap();
        assert_eq!((layout.reserved, layout.spare), (27, 27 + 6 + 48));
        assert_eq!((layout.section, layout.main), (64 * 256, 1024 * 256));
        assert_eq!(layout.most(), (1000 - 81) * 64 * 256);
        assert_eq!(made(39).unwrap().spare, 33);
        assert!(matches!(made(38), Err(LayoutError::TooSmall { .. })));
    }
}
