//! Where F2FS keeps what is not in its logs, and how much it keeps spare (`mkfs.f2fs`).

use crate::fs::BLOCK;

/// Blocks of a segment: 2 MiB.
pub(super) const SEGMENT: u64 = 512;
/// Share of the main area that is spare, in percent (`mkfs.f2fs -o`, its default for long).
const SPARE_PERCENT: u64 = 5;
/// Entries of a block of the node address table, and of the segment information table.
const NODES_IN_BLOCK: u64 = BLOCK / 9;
const SEGMENTS_IN_BLOCK: u64 = BLOCK / 74;

#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Where the two checkpoint packs begin, a segment each.
    checkpoint: u64,
    segment_table: (u64, u64),
    node_table: (u64, u64),
    /// Where the main area begins, and how many segments it has.
    pub(super) main: u64,
    pub(super) segments: u32,
    /// Segments that cleaning is to keep free.
    pub(super) reserved: u32,
    /// Segments that files cannot have: the reserved ones and the spare.
    pub(super) spare: u32,
}

impl Layout {
    pub(super) fn new(blocks: u64) -> Result<Layout, String> {
        let all = blocks / SEGMENT;
        let to_segments = |blocks: u64| blocks.div_ceil(SEGMENT);
        let segment_table = 2 * to_segments(all.div_ceil(SEGMENTS_IN_BLOCK));
        let node_table = 2 * to_segments((all * SEGMENT).div_ceil(NODES_IN_BLOCK));
        let summaries = to_segments(all);
        // A segment for the superblocks, two for checkpoints.
        let before = 3 + segment_table + node_table + summaries;
        let reserved = 2 * (100 / SPARE_PERCENT + 1) + 6;
        let main = all.saturating_sub(before);
        let spare = reserved + main.saturating_sub(reserved) * SPARE_PERCENT / 100;
        if main < spare + 16 {
            return Err(format!(
                "f2fs needs a device of 200 MiB at least; this one has {} MiB",
                (blocks * BLOCK) >> 20
            ));
        }
        Ok(Layout {
            checkpoint: SEGMENT,
            segment_table: (3 * SEGMENT, segment_table * SEGMENT),
            node_table: ((3 + segment_table) * SEGMENT, node_table * SEGMENT),
            main: before * SEGMENT,
            segments: u32::try_from(main).map_err(|_| "the device is too large".to_owned())?,
            reserved: reserved as u32,
            spare: spare as u32,
        })
    }

    /// With this many free segments or fewer, logs go on in the holes of others (`need_SSR`): with
    /// twice the reserved ones; before Linux 3.17 with as many as are kept from files.
    pub(super) fn thread_from(&self, since_3_17: bool) -> u32 {
        if since_3_17 { 2 * self.reserved } else { self.spare }
    }

    /// First block of the checkpoint pack that is written next, of two in turn.
    pub(super) fn pack(&self, version: u64) -> u64 {
        self.checkpoint + version % 2 * SEGMENT
    }

    /// The block of the segment table that a segment's entry is in: of two copies in turn.
    pub(super) fn segment_entry(&self, segment: u32, version: u64) -> u64 {
        in_table(self.segment_table, u64::from(segment) / SEGMENTS_IN_BLOCK, version)
    }

    /// The block of the node table that a node's entry is in: of two copies in turn.
    pub(super) fn node_entry(&self, node: u64, version: u64) -> u64 {
        in_table(self.node_table, node / NODES_IN_BLOCK, version)
    }
}

fn in_table((first, blocks): (u64, u64), index: u64, version: u64) -> u64 {
    let copy = (blocks / 2).max(1);
    first + version % 2 * copy + index % copy
}
