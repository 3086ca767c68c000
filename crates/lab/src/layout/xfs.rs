//! XFS: a log in one place, and metadata that bears marks.

use std::path::Path;

use super::model::{Form, bytes_at};
use crate::error::LabError;

/// Offset of the log's first block: 64 bits, big-endian as the whole superblock.
const LOG_START: u64 = 48;
/// Offset of the number of blocks in an allocation group.
const GROUP_BLOCKS: u64 = 84;
/// Offset of the number of blocks in the log.
const LOG_BLOCKS: u64 = 96;
/// Offsets of the base-2 logarithms of a block's size and a group's blocks, rounded up.
const BLOCK_LOG: u64 = 120;
const GROUP_LOG: u64 = 124;

pub(super) fn read(image: &Path) -> Result<Form, LabError> {
    let start = u64::from_be_bytes(bytes_at(image, LOG_START)?);
    let group_blocks = u64::from(u32::from_be_bytes(bytes_at(image, GROUP_BLOCKS)?));
    let blocks = u64::from(u32::from_be_bytes(bytes_at(image, LOG_BLOCKS)?));
    let [block_log] = bytes_at::<1>(image, BLOCK_LOG)?;
    let [group_log] = bytes_at::<1>(image, GROUP_LOG)?;
    Ok(Form::Xfs { log: log(start, group_blocks, blocks, (block_log, group_log)) })
}

/// The log's range in bytes. The upper bits of a block's number are its group.
fn log(
    start: u64,
    group_blocks: u64,
    blocks: u64,
    (block_log, group_log): (u8, u8),
) -> std::ops::Range<u64> {
    let (block_log, group_log) = (u32::from(block_log).min(16), u32::from(group_log).min(40));
    let (group, within) = (start >> group_log, start & ((1 << group_log) - 1));
    let first = group.saturating_mul(group_blocks).saturating_add(within) << block_log;
    first..first.saturating_add(blocks << block_log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_within_its_group() {
        // Group 2 of 1000 blocks, rounded up to 1024: the 6th block in it.
        assert_eq!(log((2 << 10) | 6, 1000, 10, (12, 10)), (2006 << 12)..(2016 << 12));
    }
}
