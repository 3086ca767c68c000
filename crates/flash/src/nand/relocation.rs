use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use super::Nand;
use crate::address::{Block, Die, Page};

/// What relocating a part of a block asks of one die.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DieMoves {
    /// Pages that are read.
    pub(crate) reads: u32,
    /// Program units that begin on an even page, and on an odd one.
    pub(crate) programs: [u32; 2],
    /// Bytes that leave the die, and that come to it.
    pub(crate) bytes: u64,
}

impl Nand {
    /// Moves units from a row to elsewhere, all dies at once: one reservation a die.
    ///
    /// Each die does its reads and programs in a row, with their transfers; a channel that several
    /// dies share takes at least the time of all their transfers. That a program waits for its
    /// data from another die is left out: the reads of a relocation run ahead of its programs.
    pub(crate) fn relocate(&mut self, at: Nanos, row: Block, moves: &[DieMoves]) -> Nanos {
        let mut end = at;
        for (die, work) in (0..).map(Die).zip(moves) {
            if *work == DieMoves::default() {
                continue;
            }
            let read = self.wear.read_time(row, die, self.times.read);
            let [even, odd] = work.programs;
            let time = u64::from(work.reads) * read.0
                + u64::from(even) * self.times.program(Page(0)).0
                + u64::from(odd) * self.times.program(Page(1)).0
                + self.buses.time(work.bytes).0;
            let begin = at.max(self.dies[die.index()].busy_until);
            let done = self.keep(die, begin, begin.plus(Nanos(time)));
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
            for (die, work) in self.dies.iter_mut().zip(moves).skip(channel).step_by(channels) {
                if work.bytes > 0 {
                    die.busy_until = die.busy_until.max(least);
                    *end = (*end).max(least);
                }
            }
        }
    }
}
