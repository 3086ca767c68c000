use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use flashlag_units::Nanos;

use super::blocks::DataBlocks;
use super::medium::{Medium, NONE, Place, Shape};

/// A log block: what was written to one logical block, in the order in which it was.
#[derive(Debug, Serialize, Deserialize)]
struct Log {
    logical: u32,
    block: u32,
    /// The slot that is written next.
    next: u32,
    /// Slot by offset; [`NONE`] where the log block has not that unit.
    latest: Vec<u32>,
    /// Every slot up to `next` holds the unit of its own offset.
    in_order: bool,
}

/// Block-associative sector translation (BAST): each logical block that is written to has a log
/// block of its own, of which there are few.
///
/// A write goes to the next slots of its block's log. Where that is full, or where all logs are in
/// use and the oldest must give way, log and data block are merged:
/// - *switch*: the log holds every unit in its place: it becomes the data block; one erase.
/// - *partial*: it holds the first units in their places: the others are copied behind them; one
///   erase, and a copy for each unit that was missing.
/// - *full*: anything else: all units are copied to a fresh block; two erases and a copy for each.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Bast {
    pub(crate) blocks: DataBlocks,
    most_logs: usize,
    logs: Vec<Log>,
    /// Index into `logs` by logical block.
    log_of: Vec<u32>,
    /// Logical blocks with a log, the one that got it first in front.
    oldest: VecDeque<u32>,
}

impl Bast {
    /// `logs` log blocks; there must be more blocks than `logical_blocks + logs`.
    pub(crate) fn new(shape: Shape, logs: u32) -> Bast {
        Bast {
            blocks: DataBlocks::new(shape),
            most_logs: logs as usize,
            logs: Vec::new(),
            log_of: vec![NONE; shape.logical_blocks as usize],
            oldest: VecDeque::new(),
        }
    }

    /// Where a unit's latest version is.
    pub(crate) fn place(&self, unit: u32) -> Place {
        let units = self.blocks.shape.units;
        if !self.blocks.is_mapped(unit) {
            return Place::NOWHERE;
        }
        if let Some(log) = self.logs.get(self.log_of[(unit / units) as usize] as usize) {
            let slot = log.latest[(unit % units) as usize];
            if slot != NONE {
                return Place { block: log.block, slot };
            }
        }
        self.blocks.place(unit)
    }

    /// Writes units in a row; says when the last of them is programmed.
    pub(crate) fn write<M: Medium>(
        &mut self,
        medium: &mut M,
        at: Nanos,
        unit: u32,
        count: u32,
    ) -> Nanos {
        let Shape { units, program, .. } = self.blocks.shape;
        let (mut unit, last, mut at, mut end) = (unit, unit + count, at, at);
        let mut run = Vec::with_capacity(program as usize);
        while unit < last {
            let logical = unit / units;
            let (index, ready) = self.log_for(medium, at, logical);
            at = ready;
            let log = &mut self.logs[index];
            let take = program.min(last - unit).min(units - unit % units).min(units - log.next);
            run.clear();
            run.extend(unit..unit + take);
            end = end.max(medium.program(at, log.block, log.next, &run));
            log.append(unit % units, take, program.min(units - log.next));
            self.blocks.merges.padded += u64::from(program.saturating_sub(take));
            run.iter().for_each(|unit| self.blocks.set_mapped(*unit));
            unit += take;
            if self.logs[index].is_switchable(units) {
                self.merge(medium, end, logical);
            }
        }
        end
    }

    /// A log with a free slot, and when it can be written to.
    fn log_for<M: Medium>(&mut self, medium: &mut M, at: Nanos, logical: u32) -> (usize, Nanos) {
        let mut at = at;
        let index = self.log_of[logical as usize];
        if index != NONE {
            if self.logs[index as usize].next < self.blocks.shape.units {
                return (index as usize, at);
            }
            at = self.merge(medium, at, logical);
        } else if self.logs.len() == self.most_logs
            && let Some(oldest) = self.oldest.front().copied()
        {
            at = self.merge(medium, at, oldest);
        }
        let block = self.blocks.free.take();
        let latest = vec![NONE; self.blocks.shape.units as usize];
        self.log_of[logical as usize] = self.logs.len() as u32;
        self.logs.push(Log { logical, block, next: 0, latest, in_order: true });
        self.oldest.push_back(logical);
        (self.logs.len() - 1, at)
    }

    /// Merges a logical block's log with its data block; says when that is done.
    fn merge<M: Medium>(&mut self, medium: &mut M, at: Nanos, logical: u32) -> Nanos {
        let log = self.detach(logical);
        let units = self.blocks.shape.units;
        let latest = |blocks: &DataBlocks, unit: u32| {
            let slot = log.latest[(unit % units) as usize];
            let in_log = slot != NONE && blocks.is_mapped(unit);
            if in_log { Place { block: log.block, slot } } else { blocks.place(unit) }
        };
        if self.blocks.is_empty(logical) {
            self.blocks.replace(medium, at, logical, NONE);
            self.blocks.give_back(medium, at, log.block);
            return at;
        }
        if log.in_order {
            let end = if log.next == units {
                self.blocks.merges.switches += 1;
                at
            } else {
                self.blocks.merges.partials += 1;
                self.blocks.copy(medium, at, logical, (log.block, log.next), latest)
            };
            self.blocks.replace(medium, end, logical, log.block);
            return end;
        }
        self.blocks.merges.fulls += 1;
        let fresh = self.blocks.free.take();
        let end = self.blocks.copy(medium, at, logical, (fresh, 0), latest);
        self.blocks.replace(medium, end, logical, fresh);
        self.blocks.give_back(medium, end, log.block);
        end
    }

    fn detach(&mut self, logical: u32) -> Log {
        let index = self.log_of[logical as usize] as usize;
        self.log_of[logical as usize] = NONE;
        self.oldest.retain(|other| *other != logical);
        let log = self.logs.swap_remove(index);
        if let Some(moved) = self.logs.get(index) {
            self.log_of[moved.logical as usize] = index as u32;
        }
        log
    }

    /// Forgets units in a row; blocks of which nothing is left are erased.
    pub(crate) fn discard<M: Medium>(&mut self, medium: &mut M, at: Nanos, unit: u32, count: u32) {
        let units = self.blocks.shape.units;
        let mut unit = unit;
        let last = unit + count;
        while unit < last {
            let logical = unit / units;
            let until = last.min((logical + 1) * units);
            (unit..until).for_each(|unit| self.blocks.set_unmapped(unit));
            if self.blocks.is_empty(logical) {
                if self.log_of[logical as usize] != NONE {
                    self.merge(medium, at, logical);
                } else {
                    self.blocks.replace(medium, at, logical, NONE);
                }
            }
            unit = until;
        }
    }

    /// Merges the oldest log, where there is one; says when that is done.
    pub(crate) fn merge_oldest<M: Medium>(&mut self, medium: &mut M, at: Nanos) -> Option<Nanos> {
        let oldest = self.oldest.front().copied()?;
        Some(self.merge(medium, at, oldest))
    }

    /// Slots that have been programmed of blocks that are still open.
    pub(crate) fn open_slots(&self) -> u64 {
        self.logs.iter().map(|log| u64::from(log.next)).sum()
    }
}

impl Log {
    fn append(&mut self, offset: u32, count: u32, room: u32) {
        self.in_order &= offset == self.next && (count == room);
        for index in 0..count {
            self.latest[(offset + index) as usize] = self.next + index;
        }
        self.next += room.max(count);
    }

    fn is_switchable(&self, units: u32) -> bool {
        self.in_order && self.next == units
    }
}
