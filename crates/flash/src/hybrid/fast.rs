use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use flashlag_units::{Nanos, never};

use super::blocks::DataBlocks;
use super::medium::{Medium, Place, Shape};
use crate::address::{Block, Logical, Slot, Unit};
use crate::front::units::UnitMap;

/// The log block of one logical block that is being written from its beginning on.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct SequentialLog {
    logical: Logical,
    block: Block,
    /// The slot, and the offset, that is written next.
    next: u32,
}

/// A log block that all logical blocks share.
#[derive(Debug, Serialize, Deserialize)]
struct RandomLog {
    block: Block,
    /// The unit that was written to each slot; [`Unit::NONE`] for padding.
    units: Vec<Unit>,
}

/// Fully associative sector translation (FAST): one log block for sequential writes, the others
/// shared by all random ones.
///
/// A write that begins a logical block opens the sequential log for it, after the one before was
/// merged; a write that goes on where that log ends follows it; every other one goes to the next
/// slots of the random logs, wherever it belongs. A full sequential log takes the data block's
/// place (*switch*); one that must give way before is filled up with the latest of what it lacks
/// (*partial*). Where all random logs are full, the oldest is reclaimed: each logical block that
/// has a unit in it whose latest version is there is put together anew from wherever its units are
/// (*full*). That can be as many merges as a block has units.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Fast {
    pub(crate) blocks: DataBlocks,
    most_logs: usize,
    sequential: Option<SequentialLog>,
    /// The oldest in front, the one that is written to at the back.
    random: VecDeque<RandomLog>,
    /// Where the random logs have the latest version of a unit.
    latest: UnitMap<Place>,
    /// Logical blocks with units in a log, the one that has had them longest in front.
    open: VecDeque<Logical>,
    /// Of each logical block the units whose latest version is in a random log.
    in_random: Vec<u32>,
    most_open: usize,
}

impl Fast {
    /// `logs` log blocks, two at least, of which one is for sequential writes; there must be more
    /// blocks than `logical_blocks + logs`. No more than `open` logical blocks have units in logs.
    pub(crate) fn new(shape: Shape, logs: u32, open: Option<u32>) -> Fast {
        Fast {
            blocks: DataBlocks::new(shape),
            most_logs: logs.max(2) as usize - 1,
            sequential: None,
            random: VecDeque::new(),
            latest: UnitMap::default(),
            open: VecDeque::new(),
            in_random: vec![0; shape.logical_blocks as usize],
            most_open: open.map_or(usize::MAX, |open| open as usize),
        }
    }

    /// Where a unit's latest version is.
    pub(crate) fn place(&self, unit: Unit) -> Place {
        if !self.blocks.is_mapped(unit) {
            return Place::NOWHERE;
        }
        if let Some(place) = self.latest.get(&unit) {
            return *place;
        }
        let (logical, offset) = self.blocks.split(unit);
        match self.sequential {
            Some(log) if log.logical == logical && offset < log.next => {
                Place { block: log.block, slot: Slot(offset) }
            }
            _ => self.blocks.place(unit),
        }
    }

    /// Writes units in a row; says when the last of them is programmed.
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
            at = self.limit_open(medium, at, logical);
            let take = program.min(last.0 - unit.0).min(units - offset);
            run.clear();
            run.extend(unit.run(take));
            let follows = self.sequential.is_some_and(|log| {
                log.logical == logical && log.next == offset && self.fills(offset, take)
            });
            let (ready, written) = if follows {
                self.append_sequential(medium, at, &run)
            } else if offset == 0 && self.fills(0, take) {
                let ready = self.open_sequential(medium, at, logical);
                let (_, written) = self.append_sequential(medium, ready, &run);
                (ready, written)
            } else {
                self.append_random(medium, at, &run)
            };
            (at, end) = (ready, end.max(written));
            unit = unit.plus(take);
        }
        end
    }

    /// Whether so many units from that offset on are a whole program: padding would put all that
    /// follows out of its place.
    fn fills(&self, offset: u32, count: u32) -> bool {
        let Shape { units, program, .. } = self.blocks.shape;
        count == program.min(units - offset)
    }

    /// When the data may be programmed, and when it is.
    fn append_sequential<M: Medium>(
        &mut self,
        medium: &mut M,
        at: Nanos,
        run: &[Unit],
    ) -> (Nanos, Nanos) {
        let Some(log) = self.sequential.as_mut() else {
            never!("a write to a sequential log that is not open");
            return (at, at);
        };
        let SequentialLog { logical, block, next } = *log;
        log.next += run.len() as u32;
        let full = log.next == self.blocks.shape.units;
        let end = medium.program(at, block, Slot(next), run);
        for unit in run {
            self.blocks.set_mapped(*unit);
            self.forget_random(*unit);
        }
        self.note_open(logical);
        if full {
            self.merge_sequential(medium, end);
        }
        (at, end)
    }

    fn open_sequential<M: Medium>(&mut self, medium: &mut M, at: Nanos, logical: Logical) -> Nanos {
        let at = self.merge_sequential(medium, at);
        let block = self.blocks.free.take();
        self.sequential = Some(SequentialLog { logical, block, next: 0 });
        at
    }

    /// The sequential log takes its data block's place.
    fn merge_sequential<M: Medium>(&mut self, medium: &mut M, at: Nanos) -> Nanos {
        let Some(SequentialLog { logical, block, next }) = self.sequential.take() else {
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
            at = self.make_room(medium, at);
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

    /// A random log with a free slot at the back.
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

    /// Empties the oldest random log, where there is one; says when that is done.
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

    /// Puts a logical block together anew, from wherever its units are.
    fn merge_full<M: Medium>(&mut self, medium: &mut M, at: Nanos, logical: Logical) -> Nanos {
        self.blocks.merges.fulls += 1;
        let fresh = self.blocks.free.take();
        let units = self.blocks.shape.units;
        let sequential = self.sequential.filter(|log| log.logical == logical);
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
            self.sequential = None;
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

    /// A logical block has no units in logs any more, unless some are left.
    fn note_closed(&mut self, logical: Logical) {
        let sequential = self.sequential.is_some_and(|log| log.logical == logical);
        if self.in_random[logical.index()] == 0 && !sequential {
            self.open.retain(|other| *other != logical);
        }
    }

    /// Closes the oldest open block where another one than `logical` would be too many.
    fn limit_open<M: Medium>(&mut self, medium: &mut M, at: Nanos, logical: Logical) -> Nanos {
        if self.open.len() < self.most_open || self.open.contains(&logical) {
            return at;
        }
        let Some(oldest) = self.open.front().copied() else {
            never!("a limit of no open blocks, which a profile can't have");
            return at;
        };
        let sequential = self.sequential.is_some_and(|log| log.logical == oldest);
        if sequential && self.in_random[oldest.index()] == 0 {
            return self.merge_sequential(medium, at);
        }
        self.merge_full(medium, at, oldest)
    }

    /// Forgets units in a row; a data block of which nothing is left is erased.
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
                if let Some(log) = self.sequential.take_if(|log| log.logical == logical) {
                    self.blocks.give_back(medium, at, log.block);
                }
            }
            self.note_closed(logical);
            unit = unit.plus(here);
        }
    }

    /// Slots that have been programmed of blocks that are still open.
    pub(crate) fn open_slots(&self) -> u64 {
        let random: u64 = self.random.iter().map(|log| log.units.len() as u64).sum();
        random + self.sequential.map_or(0, |log| u64::from(log.next))
    }
}
