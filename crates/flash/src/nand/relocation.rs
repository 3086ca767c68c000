use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use super::Nand;
use super::suspend::Busy;
use crate::address::{Block, Die, Page};

/// Work of one die in relocating a part of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DieMoves {
    /// Page reads.
    pub(crate) reads: u32,
    /// Program units that start on an even page, and on an odd page.
    pub(crate) programs: [u32; 2],
    /// Bytes transferred from and to the die.
    pub(crate) bytes: u64,
}

impl Nand {
    /// Moves units out of a row on all dies at once, with one reservation per die; returns the end.
    ///
    /// Each die does its reads, programs and transfers in a row; a shared channel takes at least
    /// the time of all its transfers. A program's wait for data from another die is not modelled:
    /// the reads of a relocation run ahead of its programs.
    pub(crate) fn relocate(&mut self, at: Nanos, row: Block, moves: &[DieMoves]) -> Nanos {
        let mut end = at;
        for (die, work) in (0..).map(Die).zip(moves) {
            if *work == DieMoves::default() {
                continue;
            }
            let read = self.wear.read_time(row, die, at, self.times.read);
            let [even, odd] = work.programs;
            let time = u64::from(work.reads) * read.0
                + u64::from(even) * self.times.program(Page(0)).0
                + u64::from(odd) * self.times.program(Page(1)).0
                + self.buses.time(work.bytes).0;
            let begin = at.max(self.dies[die.index()].busy_until);
            let times = (at, begin, begin.plus(Nanos(time)));
            let done = self.keep(die, times, Busy::Programs(even + odd));
            end = end.max(done);
            self.counts.page_reads += u64::from(work.reads);
            self.counts.programs += u64::from(even + odd);
        }
        self.wait_for_channels(at, moves, &mut end);
        end
    }

    fn wait_for_channels(&mut self, at: Nanos, moves: &[DieMoves], end: &mut Nanos) {
        let channels = self.buses.channels() as usize;
        if moves.len() == channels {
            return;
        }
        for channel in 0..channels {
            let bytes = moves.iter().skip(channel).step_by(channels).map(|work| work.bytes).sum();
            let least = at.plus(self.buses.time(bytes));
            let dies = (0..).zip(&mut self.dies).zip(moves).skip(channel).step_by(channels);
            for ((number, die), work) in dies {
                if work.bytes > 0 {
                    let before = die.busy_until;
                    die.busy_until = die.busy_until.max(least);
                    if let Some(trace) = self.trace.as_mut().filter(|_| before < least) {
                        trace.works(Die(number), before, least);
                    }
                    if let Some(limits) = &mut self.limits {
                        limits.extend(Die(number), least);
                    }
                    *end = (*end).max(least);
                }
            }
        }
    }
}
