use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::address::{Die, Unit};
use crate::command::FlashError;
use crate::die::DieWork;
use crate::power::WordLine;
use crate::trace::Trace;

/// A unit to write. Unless it is `whole`, the rest of it is read first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UnitWrite {
    pub(crate) unit: Unit,
    pub(crate) whole: bool,
}

/// The map and its dies, as the front sees them. Calls return the end of their work; work that asks
/// for a busy die waits for it.
pub(crate) trait Store {
    /// Reads `count` units.
    fn read(&mut self, at: Nanos, unit: Unit, count: u32) -> Nanos;

    /// Reads `bytes` of a unit: less data is transferred than for all of it.
    fn read_part(&mut self, at: Nanos, unit: Unit, bytes: u64) -> Nanos {
        let _ = bytes;
        self.read(at, unit, 1)
    }

    /// Programs units together, at most one program unit.
    fn write(&mut self, at: Nanos, units: &[UnitWrite]) -> Result<Nanos, FlashError>;

    /// The page of a word line that the last write programmed, if pages of a word line differ.
    fn word_line(&self) -> Option<WordLine>;

    /// Unmaps `count` units.
    fn discard(&mut self, at: Nanos, unit: Unit, count: u32);

    /// Whether a unit has content.
    fn is_mapped(&self, unit: Unit) -> bool;

    /// Number of units with content.
    fn mapped_units(&self) -> u64;

    /// Does idle work from `from` on; nothing begins at `until` or later.
    fn background(&mut self, from: Nanos, until: Nanos) -> Result<(), FlashError>;

    /// Ends everything in progress and returns the time to find the map again, from the return of the
    /// power.
    fn power_cut(&mut self, at: Nanos) -> Nanos;

    /// Number of dies that the write cache and the pages of a map on flash are spread over.
    fn dies(&self) -> u32;

    /// Reserves a die for an operation that is not the map's own; returns the end.
    fn work(&mut self, at: Nanos, die: Die, work: DieWork) -> Nanos;

    /// Units that are programmed together have the same group, and those of one group in the order of
    /// their addresses; `None` if any units can be programmed together.
    #[inline]
    fn group_of(&self, unit: Unit) -> Option<u64> {
        let _ = unit;
        None
    }

    /// Makes the map durable as a part of a flush, where the store does so itself; returns the end.
    fn journal(&mut self, at: Nanos) -> Nanos {
        at
    }

    /// The account of what commands wait for, if one is kept.
    #[inline]
    fn trace(&mut self) -> Option<&mut Trace> {
        None
    }
}
