//! The main area: segments of blocks, filled by six logs at once.

use std::collections::BTreeSet;

use flashlag_units::Nanos;

use crate::fs::map::Block;

/// Blocks per segment: 2 MiB.
pub(super) const SEGMENT: u64 = 512;

/// A section of the main area: one segment, or all segments of a zone. Sections are opened, cleaned
/// and freed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Section(pub(super) u32);

impl Section {
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

/// The six logs of F2FS (`active_logs=6`), by how soon their blocks are expected to change again
/// (`__get_segment_type_6`). Not modelled: the log of nodes that point to nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Log {
    /// Directory entries, databases, and files with few dirty pages.
    HotData,
    WarmData,
    /// Pictures, music and films, and data moved by cleaning.
    ColdData,
    /// Nodes of directories.
    HotNode,
    /// Nodes of files.
    WarmNode,
}

impl Log {
    const ALL: [Log; LOGS] =
        [Log::HotData, Log::WarmData, Log::ColdData, Log::HotNode, Log::WarmNode];

    /// Whether it is a log of data.
    const fn is_data(self) -> bool {
        matches!(self, Log::HotData | Log::WarmData | Log::ColdData)
    }
}

const LOGS: usize = 5;
const NOTHING: u32 = u32::MAX;
const IS_NODE: u32 = 1 << 31;

/// Position of a log: in a free segment, or in the holes of a used one (threaded logging).
#[derive(Clone, Copy, Debug)]
struct LogPosition {
    segment: Section,
    next: u64,
    threaded: bool,
}

/// Numbers of segments, each once. One is added for each block that is written or freed.
#[derive(Debug, Default)]
pub(super) struct Changed {
    numbers: Vec<u32>,
    is_in: Vec<bool>,
}

impl Changed {
    fn insert(&mut self, number: u32) {
        let index = number as usize;
        if index >= self.is_in.len() {
            self.is_in.resize(index + 1, false);
        }
        if !std::mem::replace(&mut self.is_in[index], true) {
            self.numbers.push(number);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Removes all and returns them, in the order in which they came.
    pub(super) fn take(&mut self) -> Vec<u32> {
        for number in &self.numbers {
            self.is_in[*number as usize] = false;
        }
        std::mem::take(&mut self.numbers)
    }
}

#[derive(Debug)]
pub(super) struct Segments {
    /// Owner of each block: file (the highest bit marks nodes) and index of the page or node.
    owners: Vec<(u32, u32)>,
    /// Blocks of a section.
    size: u64,
    valid: Vec<u32>,
    open: [Option<LogPosition>; LOGS],
    filled_by: Vec<Log>,
    /// When a block of each segment was last written or freed.
    modified: Vec<Nanos>,
    /// The time of the call that is being carried out.
    pub(super) now: Nanos,
    /// Whether a block was freed since cleaning last found no victim.
    pub(super) has_new_holes: bool,
    free: BTreeSet<Section>,
    /// Segments emptied since the last checkpoint, which will free them.
    prefree: BTreeSet<Section>,
    /// Segments of 2 MiB whose table entry changed since the last checkpoint.
    pub(super) changed: Changed,
    /// Valid blocks in all.
    used: u64,
    hint: Section,
    /// With this many free sections or fewer, logs fill the holes of other sections; `None` where
    /// every log only appends.
    thread_from: Option<usize>,
}

impl Segments {
    /// Opens each log in one of the first segments, in the order of `mkfs.f2fs`.
    pub(super) fn new(segments: u32, size: u64, thread_from: Option<u32>) -> Segments {
        let mut made = Segments::empty(segments, size, thread_from);
        let logs = [Log::HotNode, Log::WarmNode, Log::HotData, Log::ColdData, Log::WarmData];
        for (log, segment) in logs.into_iter().zip((0..segments).map(Section)) {
            made.free.remove(&segment);
            made.filled_by[segment.index()] = log;
            made.open[log as usize] = Some(LogPosition { segment, next: 0, threaded: false });
        }
        made
    }

    fn empty(segments: u32, size: u64, thread_from: Option<u32>) -> Segments {
        Segments {
            owners: vec![(NOTHING, 0); segments as usize * size as usize],
            size,
            valid: vec![0; segments as usize],
            open: [None; LOGS],
            filled_by: vec![Log::WarmData; segments as usize],
            modified: vec![Nanos::ZERO; segments as usize],
            now: Nanos::ZERO,
            has_new_holes: false,
            free: (0..segments).map(Section).collect(),
            prefree: BTreeSet::new(),
            changed: Changed::default(),
            used: 0,
            hint: Section(0),
            thread_from: thread_from.map(|free| free as usize),
        }
    }

    /// The section of a block.
    fn section(&self, block: Block) -> Section {
        Section((block.number() / self.size) as u32)
    }

    /// The block at an index within a section.
    fn block(&self, section: Section, index: u64) -> Block {
        Block::at(u64::from(section.0) * self.size + index)
    }

    pub(super) fn used(&self) -> u64 {
        self.used
    }

    pub(super) fn free_sections(&self) -> usize {
        self.free.len()
    }

    pub(super) fn prefree_sections(&self) -> usize {
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
        let segment = self.section(block);
        self.valid[segment.index()] += 1;
        self.modified[segment.index()] = self.now;
        self.changed.insert(block.0 / SEGMENT as u32);
        self.used += 1;
        Some(block)
    }

    /// The next free block of a log's segment.
    fn next_of(&mut self, log: Log) -> Option<Block> {
        let mut open = self.open[log as usize]?;
        let mut found = None;
        while open.next < self.size && found.is_none() {
            let block = self.block(open.segment, open.next);
            open.next += 1;
            found = (self.owners[block.0 as usize].0 == NOTHING).then_some(block);
        }
        self.open[log as usize] = Some(open);
        found
    }

    fn begin_segment(&mut self, log: Log) -> Option<()> {
        // A segment that became empty while a log had it open is freed by the next checkpoint.
        let left = self.open[log as usize].take().map(|open| open.segment);
        self.prefree.extend(left.filter(|segment| self.valid[segment.index()] == 0));
        let few = self.thread_from.is_some_and(|few| self.free.len() <= few);
        let threads = few && log != Log::ColdData;
        let threaded = if threads { self.to_thread(log) } else { None };
        let segment = match threaded {
            Some(segment) => segment,
            None => {
                let next = self.free.range(self.hint..).next().or_else(|| self.free.first());
                let segment = *next?;
                self.free.remove(&segment);
                self.hint = Section(segment.0 + 1);
                segment
            }
        };
        self.filled_by[segment.index()] = log;
        self.open[log as usize] =
            Some(LogPosition { segment, next: 0, threaded: threaded.is_some() });
        Some(())
    }

    /// Blocks that the data logs have passed in their segments: all of a segment whose holes are
    /// being filled, none of a full one, since the kernel opens the next segment when it writes the
    /// last block.
    pub(super) fn written_in_data_logs(&self) -> u64 {
        let data = Log::ALL.into_iter().filter(|log| log.is_data());
        let open = data.filter_map(|log| self.open[log as usize]);
        open.map(|open| if open.threaded { SEGMENT } else { open.next % SEGMENT }).sum()
    }

    fn is_open(&self, segment: Section) -> bool {
        self.open.iter().flatten().any(|open| open.segment == segment)
    }

    /// Used segments with at least one hole that no log has open.
    fn with_holes(&self) -> impl Iterator<Item = Section> {
        (0..self.valid.len() as u32).map(Section).filter(|segment| {
            let valid = u64::from(self.valid[segment.index()]);
            valid > 0 && valid < self.size && !self.is_open(*segment)
        })
    }

    /// The segment with holes that has the fewest valid blocks.
    pub(super) fn fewest_valid(&self) -> Option<Section> {
        self.with_holes().min_by_key(|segment| self.valid[segment.index()])
    }

    /// The segment whose holes a log fills: among those that this log filled, or else among those
    /// of its kind (data or nodes), the one with the fewest valid blocks (`get_ssr_segment`).
    fn to_thread(&self, log: Log) -> Option<Section> {
        let is_of_kind =
            |segment: &Section| self.filled_by[segment.index()].is_data() == log.is_data();
        let key = |segment: &Section| {
            (self.filled_by[segment.index()] != log, self.valid[segment.index()])
        };
        self.with_holes().filter(is_of_kind).min_by_key(key)
    }

    /// The segment that is cheapest to clean for its age (`get_cb_cost`): few valid blocks, none
    /// written or freed recently.
    pub(super) fn cheapest(&self) -> Option<Section> {
        let times = || self.with_holes().map(|segment| self.modified[segment.index()]);
        let (oldest, newest) = (times().min()?, times().max()?);
        let span = u128::from(newest.since(oldest).0).max(1);
        let worth = |segment: &Section| {
            let used = u128::from(self.valid[segment.index()]) * 100 / u128::from(self.size);
            let since = self.modified[segment.index()].since(oldest);
            let age = 100 - 100 * u128::from(since.0) / span;
            100 * (100 - used) * age / (100 + used)
        };
        self.with_holes().max_by_key(|segment| (worth(segment), std::cmp::Reverse(*segment)))
    }

    /// Valid blocks of a segment.
    pub(super) fn valid_blocks(&self, segment: Section) -> Vec<Block> {
        let blocks = (0..self.size).map(|index| self.block(segment, index));
        blocks.filter(|block| self.owners[block.0 as usize].0 != NOTHING).collect()
    }

    /// Marks a block invalid.
    pub(super) fn invalidate(&mut self, block: Block) {
        let owner = &mut self.owners[block.0 as usize];
        assert_ne!(owner.0, NOTHING, "{block:?} is freed twice");
        *owner = (NOTHING, 0);
        let segment = self.section(block);
        self.valid[segment.index()] -= 1;
        self.modified[segment.index()] = self.now;
        self.has_new_holes = true;
        self.changed.insert(block.0 / SEGMENT as u32);
        self.used -= 1;
        if self.valid[segment.index()] == 0 && !self.is_open(segment) {
            self.prefree.insert(segment);
        }
    }

    /// Applies a checkpoint: empty segments become free; returns them.
    pub(super) fn checkpoint(&mut self) -> Vec<Section> {
        // A log may have left a segment before it became empty, or may still fill its holes.
        let empty = |segment: &Section| self.valid[segment.index()] == 0 && !self.is_open(*segment);
        let freed: Vec<Section> = self.prefree.iter().copied().filter(empty).collect();
        self.prefree.clear();
        self.free.extend(&freed);
        self.changed.take();
        freed
    }

    /// Whether a segment is free.
    pub(super) fn is_free(&self, segment: Section) -> bool {
        self.free.contains(&segment)
    }
}
