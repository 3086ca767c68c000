//! Allocation for growing files: beyond 64 KiB ext4 preallocates as many blocks again as the file has,
//! up to 8 MiB, and keeps them until the file is closed (`ext4_mb_normalize_request`,
//! `mb_stream_req`).
//!
//! Two files that grow alternately are therefore in pieces of one page up to 64 KiB, and of ever
//! more pages beyond. `filefrag` shows the same on Linux 6.18: 16 + log2(n / 16) pieces for a file
//! of n pages, up to 8 MiB.

use super::{BLOCK, Ext4};
use crate::fs::FileId;
use crate::fs::map::{BlockRun, HOLE};

/// Largest file, in pages, for which nothing is preallocated (`mb_stream_req`).
const SMALL: u64 = 16;
/// Sizes in pages. Up to `DOUBLES` the blocks of a file double; then each pair of `PIECES` is a
/// largest file, and how many blocks are preallocated for it.
const DOUBLES: u64 = (1 << 20) / BLOCK;
const PIECES: [(u64, u64); 2] =
    [((4 << 20) / BLOCK, (2 << 20) / BLOCK), ((8 << 20) / BLOCK, (4 << 20) / BLOCK)];
const LARGEST: u64 = (8 << 20) / BLOCK;

/// The page up to which a file that grows to `pages` pages has blocks preallocated.
fn end_of(pages: u64) -> u64 {
    if pages <= DOUBLES {
        return pages.next_power_of_two();
    }
    let piece = PIECES.iter().find(|(most, _)| pages <= *most).map_or(LARGEST, |(_, piece)| *piece);
    pages.next_multiple_of(piece)
}

impl Ext4 {
    /// Blocks for the pages of a file from `at` to `to`: at least one, or `None` if no block is
    /// free.
    pub(super) fn next_run(&mut self, file: FileId, at: u64, to: u64) -> Option<BlockRun> {
        if let Some(run) = self.take_kept(file, at, to) {
            return Some(run);
        }
        self.release_kept(file);
        let goal = self.goal(file, at);
        let wanted = end_of(to).max(to) - at;
        let grows = to > SMALL && wanted > to - at && self.is_behind(file, at);
        // One block must stay free for the file's map.
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

    /// Releases the blocks that are preallocated for a file.
    pub(super) fn release_kept(&mut self, file: FileId) {
        if let Some((_, run)) = self.files.get_mut(&file).and_then(|inode| inode.kept.take()) {
            self.space.release(run);
        }
    }

    /// Releases the blocks that are preallocated for all files, when no other block is free.
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

    /// Pieces of the first of two files that grow alternately to `pages` pages each, `step` pages
    /// at a time.
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
        // As filefrag counted: 18 pieces of 64 pages, 22 of 1,024, 10 if four pages are written at
        // a time, and 15 of 64 MiB if 64 KiB are; of those the doubling leaves only the first.
        assert_eq!(pieces(64, 1), 18);
        assert_eq!(pieces(1024, 1), 22);
        assert_eq!(pieces(1024, 4), 10);
        assert_eq!(pieces(16_384, 16), 15);
        for doublings in 0..8 {
            assert_eq!(pieces(16 << doublings, 1), 16 + doublings, "{doublings}");
        }
    }
}
