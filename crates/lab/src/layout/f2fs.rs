//! F2FS: fixed areas, then segments of one kind each, which the kernel reports.

use std::path::Path;

use super::model::{BLOCK, BlockKind, Form, bytes_at};
use crate::error::LabError;

const SEGMENT: u64 = 2 << 20;
/// Offset of the main area's address in the superblock, which begins at 1 KiB.
const MAIN_BLKADDR: u64 = 1024 + 92;
/// Segments of types 0 to 2 hold data, 3 to 5 nodes.
const FIRST_NODE_TYPE: u8 = 3;

pub(super) fn read(image: &Path) -> Result<Form, LabError> {
    let block = u32::from_le_bytes(bytes_at::<4>(image, MAIN_BLKADDR)?);
    Ok(Form::F2fs { main: u64::from(block) * BLOCK as u64, types: Vec::new() })
}

/// Nodes count as the log: an fsync writes a marked node, which recovery finds by rolling forward.
pub(super) fn kind(main: u64, types: &[u8], offset: u64) -> BlockKind {
    let Some(within) = offset.checked_sub(main) else { return BlockKind::Metadata };
    match types.get((within / SEGMENT) as usize) {
        Some(kind) if *kind >= FIRST_NODE_TYPE => BlockKind::Journal,
        _ => BlockKind::Data,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_the_main_area_is_metadata_and_above_what_the_segment_is() {
        let types = [0, 3, 5];
        assert_eq!(kind(4096, &types, 0), BlockKind::Metadata);
        assert_eq!(kind(4096, &types, 4096), BlockKind::Data);
        assert_eq!(kind(4096, &types, 4096 + SEGMENT), BlockKind::Journal);
        assert_eq!(kind(4096, &types, 4096 + 9 * SEGMENT), BlockKind::Data);
    }
}
