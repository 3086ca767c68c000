//! Blocks for files that grow: beyond 64 KiB a file gets as many blocks again as it has, up to 8 MiB,
//! and keeps them until it is closed (`ext4_mb_normalize_request`, `mb_stream_req`).
//!
//! So two files that grow by turns lie in pieces of a page up to 64 KiB and in ever longer ones beyond,
//! as `filefrag` shows on Linux 6.18: 16 + log2(n / 16) pieces of a file of n pages, up to 8 MiB.

use super::{BLOCK, Ext4};
use crate::fs::FileId;
use crate::fs::map::{BlockRun, HOLE};

/// Pages of the largest file without blocks of its own (`mb_stream_req`).
const SMALL: u64 = 16;
/// Sizes in pages: up to the first a file doubles; then the pieces of files up to a size.
const DOUBLES: u64 = (1 << 20) / BLOCK;
const PIECES: [(u64, u64); 2] =
    [((4 << 20) / BLOCK, (2 << 20) / BLOCK), ((8 << 20) / BLOCK, (4 << 20) / BLOCK)];
const LARGEST: u64 = (8 << 20) / BLOCK;

/// The page up to which a file that grows to `pages` pages gets blocks.
fn end_of(pages: u64) -> u64 {
    if pages <= DOUBLES {
        return pages.next_power_of_two();
    }
    let piece = PIECES.iter().find(|(most, _)| pages <= *most).map_or(LARGEST, |(_, piece)| *piece);
    pages.next_multiple_of(piece)
}

impl Ext4 {
    /// Blocks for pages of a file from `at` on, up to `to`: at least one, or `None` if no block is
    /// free.
    pub(super) fn next_run(&mut self, file: FileId, at: u64, to: u64) -> Option<BlockRun> {
        if let Some(run) = self.take_kept(file, at, to) {
            return Some(run);
        }
        self.release_kept(file);
        let goal = self.goal(file, at);
        let wanted = end_of(to).max(to) - at;
        let grows = to > SMALL && wanted > to - at && self.is_behind(file, at);
        // A block is left for the file's map.
        let has_room = wanted < self.space.unkept();
        if grows
            && has_room
            && let Some(run) = self.space.keep(goal, wanted)
        {
            self.files.get_mut(&file)?.kept = Some((at, run));
            return self.take_kept(file, at, to);
        }
        self.space.allocate(goal, to - at)
    }

    /// Whether no page from `at` on has a block.
    fn is_behind(&self, file: FileId, at: u64) -> bool {
        let Some(inode) = self.files.get(&file) else { return false };
        inode.map.get(at as usize..).is_none_or(|map| map.iter().all(|block| *block == HOLE))
    }

    fn take_kept(&mut self, file: FileId, at: u64, to: u64) -> Option<BlockRun> {
        let inode = self.files.get_mut(&file)?;
        let (_, kept) = inode.kept.filter(|(page, _)| *page == at)?;
        let run = BlockRun { first: kept.first, count: kept.count.min(to - at) };
        let left = BlockRun { first: run.end(), count: kept.count - run.count };
        inode.kept = (left.count > 0).then_some((at + run.count, left));
        self.space.use_kept(run);
        Some(run)
    }

    /// Gives back what is kept for a file.
    pub(super) fn release_kept(&mut self, file: FileId) {
        if let Some((_, run)) = self.files.get_mut(&file).and_then(|inode| inode.kept.take()) {
            self.space.release(run);
        }
    }

    /// Gives back what is kept for all files, as where nothing else is free.
    pub(super) fn release_all(&mut self) {
        for inode in self.files.values_mut() {
            if let Some((_, run)) = inode.kept.take() {
                self.space.release(run);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flashlag_units::{Bytes, Nanos};

    use super::*;
    use crate::fs::{Filesystem, Reason};
    use crate::spec::StackSpec;

    /// Pieces of the first of two files that grow by turns to `pages` pages each, `step` at once.
    fn pieces(pages: u64, step: u64) -> usize {
        let spec = StackSpec::parse("ext4").unwrap();
        let mut fs = Ext4::new(Bytes::from_mib(1024), &spec).unwrap();
        let files = [FileId(1), FileId(2)];
        for file in files {
            fs.create(Nanos::ZERO, file).unwrap();
        }
        for page in (0..pages).step_by(step as usize) {
            for file in files {
                let range = [(page * BLOCK, step * BLOCK)];
                fs.write(Nanos::ZERO, file, &range, Reason::Direct).unwrap();
            }
        }
        fs.locate(files[0], 0, pages * BLOCK).len()
    }

    #[test]
    fn files_that_grow_by_turns_lie_in_as_many_pieces_as_on_a_real_kernel() {
        // As filefrag counted: 18 pieces of 64 pages, 22 of 1,024, 10 by four pages at once, and 15
        // of 64 MiB by 64 KiB at once, of which the first is the only one that the doubling left.
        assert_eq!(pieces(64, 1), 18);
        assert_eq!(pieces(1024, 1), 22);
        assert_eq!(pieces(1024, 4), 10);
        assert_eq!(pieces(16_384, 16), 15);
        for doublings in 0..8 {
            assert_eq!(pieces(16 << doublings, 1), 16 + doublings, "{doublings}");
        }
    }
}
