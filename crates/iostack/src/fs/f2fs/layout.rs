//! Layout of F2FS outside its logs, and its spare segments (`mkfs.f2fs`).

use flashlag_units::{Bytes, Nanos};

use super::segments::{SEGMENT, Segment};
use crate::fs::BLOCK;
use crate::fs::error::LayoutError;

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
    /// First block of the main area, and its number of segments.
    pub(super) main: u64,
    pub(super) segments: u32,
    /// Segments that cleaning keeps free.
    pub(super) reserved: u32,
    /// Segments that files can't use: the reserve and the spare.
    pub(super) spare: u32,
}

impl Layout {
    pub(super) fn new(blocks: u64) -> Result<Layout, LayoutError> {
        let all = blocks / SEGMENT;
        let to_segments = |blocks: u64| blocks.div_ceil(SEGMENT);
        let segment_table = 2 * to_segments(all.div_ceil(SEGMENTS_IN_BLOCK));
        let node_table = 2 * to_segments((all * SEGMENT).div_ceil(NODES_IN_BLOCK));
        let summaries = to_segments(all);
        // One segment for the superblocks, two for checkpoints.
        let before = 3 + segment_table + node_table + summaries;
        let reserved = 2 * (100 / SPARE_PERCENT + 1) + 6;
        let main = all.saturating_sub(before);
        let spare = reserved + main.saturating_sub(reserved) * SPARE_PERCENT / 100;
        if main < spare + 16 {
            return Err(LayoutError::TooSmall {
                filesystem: "f2fs",
                least: Bytes::from_mib(200),
                size: Bytes(blocks * BLOCK),
            });
        }
        Ok(Layout {
            checkpoint: SEGMENT,
            segment_table: (3 * SEGMENT, segment_table * SEGMENT),
            node_table: ((3 + segment_table) * SEGMENT, node_table * SEGMENT),
            main: before * SEGMENT,
            segments: u32::try_from(main).map_err(|_| LayoutError::TooLarge)?,
            reserved: reserved as u32,
            spare: spare as u32,
        })
    }

    /// Number of blocks that files and their nodes can have.
    pub(super) fn most(&self) -> u64 {
        u64::from(self.segments - self.spare) * SEGMENT
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
    pub(super) fn segment_entry(&self, segment: Segment, version: u64) -> u64 {
        in_table(self.segment_table, u64::from(segment.0) / SEGMENTS_IN_BLOCK, version)
    }

    /// Block of the node table that holds a node's entry; two copies alternate.
    pub(super) fn node_entry(&self, node: u64, version: u64) -> u64 {
        in_table(self.node_table, node / NODES_IN_BLOCK, version)
    }
}

fn in_table((first, blocks): (u64, u64), index: u64, version: u64) -> u64 {
    let copy = (blocks / 2).max(1);
    first + version % 2 * copy + index % copy
}
