//! A file's map, page by page, to blocks: what ext4 and F2FS have alike.

use flashlag_units::Nanos;

use super::{BLOCK, blocks};
use crate::plan::{Run, push_run};

/// A page that has no block.
pub(super) const HOLE: u32 = u32::MAX;
/// The kernel's clock for times of files moves in ticks: 100 a second on phones (`HZ`).
const TICK: Nanos = Nanos::from_millis(10);

/// The tick that a moment is in.
pub(super) const fn tick(now: Nanos) -> u64 {
    now.0 / TICK.0
}

/// Whether a page has a block.
pub(super) fn is_mapped(map: &[u32], page: u64) -> bool {
    map.get(page as usize).is_some_and(|block| *block != HOLE)
}

/// Where a range of a file is, given where on the device each block begins; nothing for holes.
pub(super) fn locate(
    map: &[u32],
    (offset, length): (u64, u64),
    begins: impl Fn(u32) -> u64,
) -> Vec<Run> {
    let mut runs = Vec::new();
    let (first, end) = blocks(offset, length);
    for page in first..end.min(map.len() as u64) {
        let block = map[page as usize];
        if block == HOLE {
            continue;
        }
        let (from, to) = (offset.max(page * BLOCK), (offset + length).min((page + 1) * BLOCK));
        push_run(&mut runs, Run { offset: begins(block) + from - page * BLOCK, length: to - from });
    }
    runs
}
