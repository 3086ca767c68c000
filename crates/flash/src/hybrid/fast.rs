use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use flashlag_units::{Nanos, never};

use super::blocks::DataBlocks;
use super::medium::{Medium, Place, Shape, merging, waits_for_merges};
use crate::address::{Block, Logical, Slot, Unit};
use crate::front::units::UnitMap;

/// Numbers of log blocks, and of logical blocks with units in them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Logs {
    pub(crate) all: u32,
    /// Log blocks for sequential writes among them.
    pub(crate) sequential: u32,
    /// Logical blocks with units in logs, at most.
    pub(crate) most_open: Option<u32>,
}

/// A sequential log: the log block of one logical block that is written from its start.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct SequentialLog {
    logical: Logical,
    block: Block,
    /// The next slot, equal to the next offset.
    next: u32,
}

/// A log block that all logical blocks share.
#[derive(Debug, Serialize, Deserialize)]
struct RandomLog {
    block: Block,
    /// The unit of each slot; [`Unit::NONE`] for padding.
    units: Vec<Unit>,
}

/// Fully associative sector translation (FAST): one log block or several for sequential writes, the
/// others shared by all random writes.
///
/// A write to the start of a logical block opens a sequential log for it, after merging the one that
/// was not written to for longest if there are as many as there may be; a write that continues such
/// a log is appended to it; any other write goes to the next slots of the random logs. A full sequential log replaces the data block (*switch* merge);
/// one that is closed earlier is completed with the latest copy of each missing unit (*partial*
/// merge). When all random logs are full, the oldest is reclaimed: each logical block with a latest
/// copy in it is rewritten from wherever its units are (*full* merge), which can be as many merges
/// as a block has units.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Fast {
    pub(crate) blocks: DataBlocks,
    most_logs: usize,
    most_sequential: usize,
    /// Sequential logs, the one that was written to last at the end.
    sequential: Vec<SequentialLog>,
    /// Random logs, the oldest in front; the one at the back is being written.
    random: VecDeque<RandomLog>,
    /// Place of each unit whose latest copy is in a random log.
    latest: UnitMap<Place>,
    /// Logical blocks with units in logs, the one that has been open longest in front.
    open: VecDeque<Logical>,
    /// Number of units with their latest copy in a random log, of each logical block.
    in_random: Vec<u32>,
    most_open: usize,
}

impl Fast {
    /// A map with two log blocks at least, one of them or more for sequential writes; there must be
    /// more blocks than `logical_blocks` and log blocks.
    pub(crate) fn new(shape: Shape, logs: Logs) -> Fast {
        let most_sequential = logs.sequential.max(1) as usize;
        Fast {
            blocks: DataBlocks::new(shape),
            most_logs: (logs.all as usize).saturating_sub(most_sequential).max(1),
            most_sequential,
            sequential: Vec::new(),
            random: VecDeque::new(),
            latest: UnitMap::default(),
            open: VecDeque::new(),
            in_random: vec![0; shape.logical_blocks as usize],
            most_open: logs.most_open.map_or(usize::MAX, |open| open as usize),
        }
    }

    /// Place of the latest copy of a unit.
    pub(crate) fn place(&self, unit: Unit) -> Place {
        if !self.blocks.is_mapped(unit) {
            return Place::NOWHERE;
        }
        if let Some(place) = self.latest.get(&unit) {
            return *place;
        }
        let (logical, offset) = self.blocks.split(unit);
        match self.sequential_of(logical) {
            Some(log) if offset < log.next => Place { block: log.block, slot: Slot(offset) },
            _ => self.blocks.place(unit),
        }
    }

    /// The sequential log of a logical block.
    fn sequential_of(&self, logical: Logical) -> Option<SequentialLog> {
        self.sequential.iter().find(|log| log.logical == logical).copied()
    }

    /// Writes `count` units; returns the end of the last program.
    pub(crate) fn write<M: Medium>(
        &mut self,
        medium: &mut M,
        at: Nanos,
        unit: Unit,
        count: u32,
    ) -> Nanos {
        let Shape { units, program, .. } = self.blocks.shape;
        let (mut unit, last, mut at, mut end) = (unit, unit.plus(count), at, at);
        let mut run = Vec::with_capacity(program as usize);
        while unit < last {
            let (logical, offset) = self.blocks.split(unit);
            let came = at;
            at = merging(medium, |medium| self.limit_open(medium, at, logical));
            let take = program.min(last.0 - unit.0).min(units - offset);
            run.clear();
            run.extend(unit.run(take));
            let log = self.sequential_of(logical);
            let follows = log.is_some_and(|log| log.next == offset && self.fills(offset, take));
            let (ready, written) = if follows {
                (at, self.append_sequential(medium, at, logical, &run))
            } else if offset == 0 && self.fills(0, take) {
                let ready = merging(medium, |medium| self.open_sequential(medium, at, logical));
                (ready, self.append_sequential(medium, ready, logical, &run))
            } else {
                self.append_random(medium, at, &run)
            };
            waits_for_merges(medium, came, ready);
            (at, end) = (ready, end.max(written));
            unit = unit.plus(take);
        }
        end
    }

    /// Whether `count` units from `offset` on are a whole program unit: padding would misplace all
    /// that follows in a sequential log.
    fn fills(&self, offset: u32, count: u32) -> bool {
        let Shape { units, program, .. } = self.blocks.shape;
        count == program.min(units - offset)
    }

    /// Appends to the sequential log of a logical block; returns the end.
    fn append_sequential<M: Medium>(
        &mut self,
        medium: &mut M,
        at: Nanos,
        logical: Logical,
        run: &[Unit],
    ) -> Nanos {
        let Some(mut log) = self.take_sequential(logical) else {
            never!("a write to a sequential log that is not open");
            return at;
        };
        let SequentialLog { block, next, .. } = log;
        log.next += run.len() as u32;
        self.sequential.push(log);
        let full = log.next == self.blocks.shape.units;
        let end = medium.program(at, block, Slot(next), run);
        for unit in run {
            self.blocks.set_mapped(*unit);
            self.forget_random(*unit);
        }
        self.note_open(logical);
        if full {
            merging(medium, |medium| self.merge_sequential(medium, end, logical));
        }
        end
    }

    fn take_sequential(&mut self, logical: Logical) -> Option<SequentialLog> {
        let index = self.sequential.iter().position(|log| log.logical == logical)?;
        Some(self.sequential.remove(index))
    }

    fn open_sequential<M: Medium>(&mut self, medium: &mut M, at: Nanos, logical: Logical) -> Nanos {
        let mut at = self.merge_sequential(medium, at, logical);
        if self.sequential.len() == self.most_sequential {
            at = self.merge_sequential(medium, at, self.sequential[0].logical);
        }
        let block = self.blocks.free.take();
        self.sequential.push(SequentialLog { logical, block, next: 0 });
        at
    }

    /// Replaces the data block by its sequential log, if there is one, completed if necessary; returns
    /// the end.
    fn merge_sequential<M: Medium>(
        &mut self,
        medium: &mut M,
        at: Nanos,
        logical: Logical,
    ) -> Nanos {
        let Some(SequentialLog { block, next, .. }) = self.take_sequential(logical) else {
            return at;
        };
        let mut end = at;
        if next == self.blocks.shape.units {
            self.blocks.merges.switches += 1;
        } else {
            self.blocks.merges.partials += 1;
            let latest = |blocks: &DataBlocks, unit: Unit| {
                self.latest.get(&unit).copied().unwrap_or_else(|| blocks.place(unit))
            };
            end = self.blocks.copy(medium, at, logical, (block, Slot(next)), latest);
            let units = self.blocks.shape.units;
            for offset in next..units {
                self.forget_random(self.blocks.unit(logical, offset));
            }
        }
        self.blocks.replace(medium, end, logical, block);
        self.note_closed(logical);
        end
    }

    fn append_random<M: Medium>(
        &mut self,
        medium: &mut M,
        at: Nanos,
        run: &[Unit],
    ) -> (Nanos, Nanos) {
        let Shape { units, program, .. } = self.blocks.shape;
        let (mut at, mut end, mut rest) = (at, at, run);
        while !rest.is_empty() {
            at = merging(medium, |medium| self.make_room(medium, at));
            let Some(log) = self.random.back_mut() else {
                never!("room was made, but there is no random log");
                break;
            };
            let next = log.units.len() as u32;
            let room = program.min(units - next);
            let (now, later) = rest.split_at(rest.len().min(room as usize));
            end = end.max(medium.program(at, log.block, Slot(next), now));
            let block = log.block;
            log.units.extend_from_slice(now);
            log.units.resize((next + room) as usize, Unit::NONE);
            self.blocks.merges.padded += u64::from(program) - now.len() as u64;
            for (slot, unit) in (next..).map(Slot).zip(now) {
                self.blocks.set_mapped(*unit);
                let (logical, _) = self.blocks.split(*unit);
                if self.latest.insert(*unit, Place { block, slot }).is_none() {
                    self.in_random[logical.index()] += 1;
                }
                self.note_open(logical);
            }
            rest = later;
        }
        (at, end)
    }

    /// Makes sure that the last random log has a free slot; returns the end.
    fn make_room<M: Medium>(&mut self, medium: &mut M, at: Nanos) -> Nanos {
        let units = self.blocks.shape.units as usize;
        if self.random.back().is_some_and(|log| log.units.len() < units) {
            return at;
        }
        let mut at = at;
        if self.random.len() == self.most_logs {
            match self.reclaim_oldest(medium, at) {
                Some(end) => at = end,
                None => never!("as many random logs as there may be, and none to reclaim"),
            }
        }
        let block = self.blocks.free.take();
        self.random.push_back(RandomLog { block, units: Vec::with_capacity(units) });
        at
    }

    /// Reclaims the oldest random log and returns the end; `None` if there is none.
    pub(crate) fn reclaim_oldest<M: Medium>(&mut self, medium: &mut M, at: Nanos) -> Option<Nanos> {
        let victim = self.random.pop_front()?;
        let mut end = at;
        for (slot, unit) in (0..).map(Slot).zip(&victim.units) {
            let here = Place { block: victim.block, slot };
            if self.latest.get(unit) == Some(&here) {
                let (logical, _) = self.blocks.split(*unit);
                end = self.merge_full(medium, end, logical);
            }
        }
        self.blocks.give_back(medium, end, victim.block);
        Some(end)
    }

    /// Rewrites a logical block from wherever its units are; returns the end.
    fn merge_full<M: Medium>(&mut self, medium: &mut M, at: Nanos, logical: Logical) -> Nanos {
        self.blocks.merges.fulls += 1;
        let fresh = self.blocks.free.take();
        let units = self.blocks.shape.units;
        let sequential = self.sequential_of(logical);
        let latest = |blocks: &DataBlocks, unit: Unit| {
            let (_, offset) = blocks.split(unit);
            match (self.latest.get(&unit), sequential) {
                (Some(place), _) => *place,
                (None, Some(log)) if offset < log.next && blocks.is_mapped(unit) => {
                    Place { block: log.block, slot: Slot(offset) }
                }
                _ => blocks.place(unit),
            }
        };
        let end = self.blocks.copy(medium, at, logical, (fresh, Slot::FIRST), latest);
        for offset in 0..units {
            self.forget_random(self.blocks.unit(logical, offset));
        }
        self.blocks.replace(medium, end, logical, fresh);
        if let Some(log) = sequential {
            self.take_sequential(logical);
            self.blocks.give_back(medium, end, log.block);
        }
        self.note_closed(logical);
        end
    }

    fn forget_random(&mut self, unit: Unit) {
        if self.latest.remove(&unit).is_some() {
            let (logical, _) = self.blocks.split(unit);
            self.in_random[logical.index()] -= 1;
        }
    }

    fn note_open(&mut self, logical: Logical) {
        if self.most_open != usize::MAX && !self.open.contains(&logical) {
            self.open.push_back(logical);
        }
    }

    /// Notes that a logical block is closed, unless it still has units in logs.
    fn note_closed(&mut self, logical: Logical) {
        let sequential = self.sequential_of(logical).is_some();
        if self.in_random[logical.index()] == 0 && !sequential {
            self.open.retain(|other| *other != logical);
        }
    }

    /// Closes the logical block that has been open longest, if `logical` would be one too many.
    fn limit_open<M: Medium>(&mut self, medium: &mut M, at: Nanos, logical: Logical) -> Nanos {
        if self.open.len() < self.most_open || self.open.contains(&logical) {
            return at;
        }
        let Some(oldest) = self.open.front().copied() else {
            never!("a limit of no open blocks, which a profile can't have");
            return at;
        };
        if self.in_random[oldest.index()] == 0 && self.sequential_of(oldest).is_some() {
            return self.merge_sequential(medium, at, oldest);
        }
        self.merge_full(medium, at, oldest)
    }

    /// Unmaps `count` units and erases data blocks without content.
    pub(crate) fn discard<M: Medium>(&mut self, medium: &mut M, at: Nanos, unit: Unit, count: u32) {
        let units = self.blocks.shape.units;
        let (mut unit, last) = (unit, unit.plus(count));
        while unit < last {
            let (logical, offset) = self.blocks.split(unit);
            let here = (units - offset).min(last.0 - unit.0);
            for unit in unit.run(here) {
                self.blocks.set_unmapped(unit);
                self.forget_random(unit);
            }
            if self.blocks.is_empty(logical) {
                self.blocks.replace(medium, at, logical, Block::NONE);
                if let Some(log) = self.take_sequential(logical) {
                    self.blocks.give_back(medium, at, log.block);
                }
            }
            self.note_closed(logical);
            unit = unit.plus(here);
        }
    }

    /// Programmed slots of open blocks.
    pub(crate) fn open_slots(&self) -> u64 {
        let random: u64 = self.random.iter().map(|log| log.units.len() as u64).sum();
        random + self.sequential.iter().map(|log| u64::from(log.next)).sum::<u64>()
    }
}
