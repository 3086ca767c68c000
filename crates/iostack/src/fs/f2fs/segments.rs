//! The main area: segments of blocks, filled by a few logs at once.

use std::collections::BTreeSet;

use crate::fs::map::Block;

/// Blocks per segment: 2 MiB.
pub(super) const SEGMENT: u64 = 512;

/// A segment of the main area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Segment(pub(super) u32);

impl Segment {
    /// The segment of a block.
    const fn of(block: Block) -> Segment {
        Segment(block.0 / SEGMENT as u32)
    }

    /// The block at an index within the segment.
    const fn block(self, index: u64) -> Block {
        Block(self.0 * SEGMENT as u32 + index as u32)
    }

    const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Owner of a block of the main area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A page of a file.
    Data { file: u32, page: u32 },
    /// A node of a file.
    Node { file: u32, node: u32 },
}

/// The logs of this model; F2FS has six.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Log {
    /// Data.
    Data,
    /// Nodes.
    Node,
    /// Blocks moved by cleaning.
    Cold,
}

const LOGS: usize = 3;
const NOTHING: u32 = u32::MAX;
const IS_NODE: u32 = 1 << 31;

/// Position of a log: in a free segment, or in the holes of one in use (threaded).
#[derive(Clone, Copy, Debug)]
struct LogPosition {
    segment: Segment,
    next: u64,
    threaded: bool,
}

#[derive(Debug)]
pub(super) struct Segments {
    /// Owner of each block: file (the highest bit marks nodes) and index of the page or node.
    owners: Vec<(u32, u32)>,
    valid: Vec<u16>,
    open: [Option<LogPosition>; LOGS],
    free: BTreeSet<Segment>,
    /// Segments emptied since the last checkpoint, which will free them.
    prefree: BTreeSet<Segment>,
    /// Segments whose table entry changed since the last checkpoint.
    pub(super) changed: BTreeSet<Segment>,
    /// Valid blocks in all.
    used: u64,
    hint: Segment,
    /// At this number of free segments or fewer, logs fill the holes of other segments.
    thread_from: usize,
}

impl Segments {
    pub(super) fn new(segments: u32, thread_from: u32) -> Segments {
        Segments {
            owners: vec![(NOTHING, 0); segments as usize * SEGMENT as usize],
            valid: vec![0; segments as usize],
            open: [None; LOGS],
            free: (0..segments).map(Segment).collect(),
            prefree: BTreeSet::new(),
            changed: BTreeSet::new(),
            used: 0,
            hint: Segment(0),
            thread_from: thread_from as usize,
        }
    }

    pub(super) fn used(&self) -> u64 {
        self.used
    }

    pub(super) fn free_segments(&self) -> usize {
        self.free.len()
    }

    pub(super) fn prefree_segments(&self) -> usize {
        self.prefree.len()
    }

    pub(super) fn owner(&self, block: Block) -> Option<Owner> {
        let (file, index) = *self.owners.get(block.0 as usize)?;
        match file {
            NOTHING => None,
            node if node & IS_NODE != 0 => Some(Owner::Node { file: node & !IS_NODE, node: index }),
            file => Some(Owner::Data { file, page: index }),
        }
    }

    /// Appends a block for an owner to a log; `None` if no block is left.
    pub(super) fn append(&mut self, log: Log, owner: Owner) -> Option<Block> {
        let block = match self.next_of(log) {
            Some(block) => block,
            None => {
                self.begin_segment(log)?;
                self.next_of(log)?
            }
        };
        self.owners[block.0 as usize] = match owner {
            Owner::Data { file, page } => (file, page),
            Owner::Node { file, node } => (file | IS_NODE, node),
        };
        let segment = Segment::of(block);
        self.valid[segment.index()] += 1;
        self.changed.insert(segment);
        self.used += 1;
        Some(block)
    }

    /// The next free block of a log's segment.
    fn next_of(&mut self, log: Log) -> Option<Block> {
        let open = self.open[log as usize].as_mut()?;
        while open.next < SEGMENT {
            let block = open.segment.block(open.next);
            open.next += 1;
            if self.owners[block.0 as usize].0 == NOTHING {
                return Some(block);
            }
        }
        None
    }

    fn begin_segment(&mut self, log: Log) -> Option<()> {
        // A segment emptied while a log was in it is freed by the next checkpoint.
        let left = self.open[log as usize].take().map(|open| open.segment);
        self.prefree.extend(left.filter(|segment| self.valid[segment.index()] == 0));
        let threads = self.free.len() <= self.thread_from && log != Log::Cold;
        let threaded = if threads { self.fewest_valid() } else { None };
        let segment = match threaded {
            Some(segment) => segment,
            None => {
                let next = self.free.range(self.hint..).next().or_else(|| self.free.first());
                let segment = *next?;
                self.free.remove(&segment);
                self.hint = Segment(segment.0 + 1);
                segment
            }
        };
        self.open[log as usize] =
            Some(LogPosition { segment, next: 0, threaded: threaded.is_some() });
        Some(())
    }

    /// Blocks that the data log has passed in its segment; all of them if it fills holes.
    pub(super) fn written_in_data_log(&self) -> u64 {
        match self.open[Log::Data as usize] {
            Some(open) if open.threaded => SEGMENT,
            Some(open) => open.next,
            None => 0,
        }
    }

    fn is_open(&self, segment: Segment) -> bool {
        self.open.iter().flatten().any(|open| open.segment == segment)
    }

    /// The segment in use with the fewest valid blocks and at least one hole.
    pub(super) fn fewest_valid(&self) -> Option<Segment> {
        let candidates = (0..self.valid.len() as u32).map(Segment).filter(|segment| {
            let valid = u64::from(self.valid[segment.index()]);
            valid > 0 && valid < SEGMENT && !self.is_open(*segment)
        });
        candidates.min_by_key(|segment| self.valid[segment.index()])
    }

    /// Valid blocks of a segment.
    pub(super) fn valid_blocks(&self, segment: Segment) -> Vec<Block> {
        let blocks = (0..SEGMENT).map(|index| segment.block(index));
        blocks.filter(|block| self.owners[block.0 as usize].0 != NOTHING).collect()
    }

    /// Marks a block invalid.
    pub(super) fn invalidate(&mut self, block: Block) {
        let owner = &mut self.owners[block.0 as usize];
        assert_ne!(owner.0, NOTHING, "{block:?} is freed twice");
        *owner = (NOTHING, 0);
        let segment = Segment::of(block);
        self.valid[segment.index()] -= 1;
        self.changed.insert(segment);
        self.used -= 1;
        if self.valid[segment.index()] == 0 && !self.is_open(segment) {
            self.prefree.insert(segment);
        }
    }

    /// Takes a checkpoint: empty segments become free and are returned.
    pub(super) fn checkpoint(&mut self) -> Vec<Segment> {
        // A log may have left a segment before it became empty, or may be filling its holes.
        let empty = |segment: &Segment| self.valid[segment.index()] == 0 && !self.is_open(*segment);
        let freed: Vec<Segment> = self.prefree.iter().copied().filter(empty).collect();
        self.prefree.clear();
        self.free.extend(&freed);
        self.changed.clear();
        freed
    }

    /// Free segments, ascending.
    pub(super) fn free_list(&self) -> impl Iterator<Item = Segment> {
        self.free.iter().copied()
    }
}
