//! The work of dies, and what its duration consists of: the bottom of the device.

mod line;
mod rate;

use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::address::{Block, Die, Page};
use crate::command::FlashError;
use crate::power::WordLine;
use crate::trace::Trace;

pub(crate) use line::Line;
pub(crate) use rate::Rate;

/// Place of a program on the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spot {
    pub(crate) die: Die,
    /// Block of the die, all planes together.
    pub(crate) block: Block,
    /// Page of the block, all planes together.
    pub(crate) page: Page,
}

/// An operation of a die. `time` is that of the array; the transfer of `bytes` on the bus is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DieWork {
    /// Reads pages of all planes.
    Read { time: Nanos, bytes: u64 },
    /// Programs pages of all planes.
    Program { time: Nanos, bytes: u64 },
    /// Erases a block of all planes.
    Erase { time: Nanos },
}

/// The dies as a log-block map drives them. Calls return the end of their work.
pub(crate) trait Dies {
    /// Reads a page of all planes and transfers `bytes` of it.
    fn read(&mut self, at: Nanos, spot: Spot, bytes: u64) -> Nanos;

    /// Programs a program unit of `bytes`.
    fn program(&mut self, at: Nanos, spot: Spot, bytes: u64) -> Nanos;

    /// Erases a block of all planes.
    fn erase(&mut self, at: Nanos, spot: Spot) -> Nanos;

    /// An operation of the write cache or of a map on flash.
    fn work(&mut self, at: Nanos, die: Die, work: DieWork) -> Nanos;

    /// The page of a word line that the last program operation wrote, if pages of a word line
    /// differ.
    fn word_line(&self) -> Option<WordLine>;

    /// The account of what commands wait for, if one is kept.
    fn trace(&mut self) -> Option<&mut Trace> {
        None
    }

    /// Number of dies.
    fn count(&self) -> u32;

    /// Ends everything in progress.
    fn power_cut(&mut self, at: Nanos);

    /// Whether the dies can still be written to.
    fn check_wear(&self) -> Result<(), FlashError>;
}
