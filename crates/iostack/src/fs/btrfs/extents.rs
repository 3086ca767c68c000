//! Extents: runs of blocks that are written once, and the pieces of them that make up a file.
//!
//! An extent is freed when no file uses any block of it: overwriting a part of a file does not free
//! a part of an extent.

use std::collections::BTreeMap;

use crate::fs::BLOCK;
use crate::fs::map::{Block, BlockRun};
use crate::plan::{Run, push_run};

/// All extents by their first block: length, and how many blocks files use.
#[derive(Debug, Default)]
pub(super) struct Extents(BTreeMap<Block, (u64, u64)>);

impl Extents {
    pub(super) fn add(&mut self, run: BlockRun) {
        self.0.insert(run.first, (run.count, run.count));
    }

    /// Takes blocks of an extent out of use; returns the extent if these were the last in use.
    pub(super) fn release(&mut self, run: BlockRun) -> Option<BlockRun> {
        let (&first, (count, used)) = self.0.range_mut(..=run.first).next_back()?;
        *used -= run.count;
        if *used > 0 {
            return None;
        }
        let extent = BlockRun { first, count: *count };
        self.0.remove(&first);
        Some(extent)
    }

    #[cfg(test)]
    pub(super) fn runs(&self) -> impl Iterator<Item = BlockRun> {
        self.0.iter().map(|(&first, &(count, _))| BlockRun { first, count })
    }
}

/// Blocks that are consecutive both in a file and in an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) run: BlockRun,
    /// The transaction in which the blocks were written.
    pub(super) born: u64,
}

/// What cutting pages out of a file removed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Cut {
    /// First pages of the pieces that were removed.
    pub(super) gone: Vec<u64>,
    /// First page of what is left behind the cut, if the cut split a piece.
    pub(super) rest: Option<u64>,
    pub(super) freed: Vec<BlockRun>,
}

/// The pieces of a file, by their first page.
#[derive(Debug, Default)]
pub(super) struct FileMap(BTreeMap<u64, Piece>);

impl FileMap {
    /// Cuts pages out of the file.
    pub(super) fn cut(&mut self, first: u64, end: u64) -> Cut {
        let mut cut = Cut::default();
        let before =
            self.0.range(..first).next_back().filter(|(at, piece)| *at + piece.run.count > first);
        let begin = before.map_or(first, |(at, _)| *at);
        let touched: Vec<(u64, Piece)> =
            self.0.range(begin..end).map(|(at, one)| (*at, *one)).collect();
        for (at, piece) in touched {
            let part = |from: u64, to: u64| BlockRun {
                first: piece.run.first.plus(from - at),
                count: to - from,
            };
            let last = at + piece.run.count;
            let (from, to) = (at.max(first), last.min(end));
            cut.freed.push(part(from, to));
            if at < first {
                self.0.insert(at, Piece { run: part(at, first), ..piece });
            } else {
                self.0.remove(&at);
                cut.gone.push(at);
            }
            if last > end {
                self.0.insert(end, Piece { run: part(end, last), ..piece });
                cut.rest = Some(end);
            }
        }
        cut
    }

    /// Adds a piece; the file has no blocks for these pages.
    pub(super) fn put(&mut self, page: u64, piece: Piece) {
        self.0.insert(page, piece);
    }

    /// The block of a page.
    pub(super) fn block(&self, page: u64) -> Option<Block> {
        let (at, piece) = self.0.range(..=page).next_back()?;
        (page < at + piece.run.count).then(|| piece.run.first.plus(page - at))
    }

    /// Pieces that begin within these pages, with their first pages.
    pub(super) fn pieces(&self, first: u64, end: u64) -> impl Iterator<Item = (u64, Piece)> {
        self.0.range(first..end.max(first)).map(|(at, piece)| (*at, *piece))
    }

    /// Ranges of pages within these that have no block.
    pub(super) fn holes(&self, first: u64, end: u64) -> Vec<(u64, u64)> {
        let mut holes: Vec<(u64, u64)> = Vec::new();
        for page in (first..end).filter(|page| self.block(*page).is_none()) {
            match holes.last_mut() {
                Some(last) if last.1 == page => last.1 += 1,
                _ => holes.push((page, page + 1)),
            }
        }
        holes
    }

    /// Ranges of the device that hold a range of a file; holes are skipped.
    pub(super) fn locate(&self, offset: u64, length: u64) -> Vec<Run> {
        let mut runs = Vec::new();
        let end = offset + length;
        let first = self.0.range(..=offset / BLOCK).next_back().map_or(0, |(at, _)| *at);
        for (at, piece) in self.0.range(first..end.div_ceil(BLOCK).max(first)) {
            let (begin, last) = (at * BLOCK, (at + piece.run.count) * BLOCK);
            let (from, to) = (offset.max(begin), end.min(last));
            if from < to {
                let offset = piece.run.first.number() * BLOCK + from - begin;
                push_run(&mut runs, Run { offset, length: to - from });
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(first: u64, count: u64) -> BlockRun {
        BlockRun { first: Block::at(first), count }
    }

    #[test]
    fn a_cut_within_a_piece_leaves_its_two_ends() {
        let mut map = FileMap::default();
        map.put(10, Piece { run: run(100, 8), born: 1 });
        let cut = map.cut(12, 14);
        assert_eq!(cut, Cut { gone: vec![], rest: Some(14), freed: vec![run(102, 2)] });
        let blocks: Vec<Option<u64>> =
            (9..19).map(|page| map.block(page).map(Block::number)).collect();
        let expected = [
            None,
            Some(100),
            Some(101),
            None,
            None,
            Some(104),
            Some(105),
            Some(106),
            Some(107),
            None,
        ];
        assert_eq!(blocks, expected);
        assert_eq!(map.holes(10, 18), [(12, 14)]);
        let cut = map.cut(0, 15);
        assert_eq!(
            cut,
            Cut { gone: vec![10, 14], rest: Some(15), freed: vec![run(100, 2), run(104, 1)] }
        );
    }

    #[test]
    fn an_extent_is_free_once_its_last_block_is() {
        let mut extents = Extents::default();
        extents.add(run(100, 8));
        assert_eq!(extents.release(run(102, 2)), None);
        assert_eq!(extents.release(run(104, 4)), None);
        assert_eq!(extents.release(run(100, 2)), Some(run(100, 8)));
    }
}
