use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::address::{Die, Unit};
use crate::command::FlashError;
use crate::power::WordLine;

/// A unit to be written, and whether the host gave all of it; what is missing of one that is not
/// whole must be read first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UnitWrite {
    pub(crate) unit: Unit,
    pub(crate) whole: bool,
}

/// What the front stands before: a map on flash, and the dies that its write cache uses besides.
/// Calls say when they are done; work that begins later than it was asked for waits for its dies.
pub(crate) trait Store {
    /// Reads units in a row.
    fn read(&mut self, at: Nanos, unit: Unit, count: u32) -> Nanos;

    /// Reads so many bytes of a unit: fewer go over the channel than a unit has.
    fn read_part(&mut self, at: Nanos, unit: Unit, bytes: u64) -> Nanos {
        let _ = bytes;
        self.read(at, unit, 1)
    }

    /// Programs units together: at most those of a program unit.
    ///
    /// # Errors
    /// Where the flash is worn out, or nothing can be reclaimed.
    fn write(&mut self, at: Nanos, units: &[UnitWrite]) -> Result<Nanos, FlashError>;

    /// Where on its word line the last write's program went, where that matters.
    fn word_line(&self) -> Option<WordLine>;

    /// Forgets units in a row.
    fn discard(&mut self, at: Nanos, unit: Unit, count: u32);

    /// Whether there is anything in a unit.
    fn is_mapped(&self, unit: Unit) -> bool;

    /// Units that there is anything in.
    fn mapped_units(&self) -> u64;

    /// Does what it does in idle time, from `from` on; begins nothing at `until` or later.
    ///
    /// # Errors
    /// As a write.
    fn background(&mut self, from: Nanos, until: Nanos) -> Result<(), FlashError>;

    /// The power is gone: nothing that is under way goes on. Says how long it takes, from the
    /// power's return on, to find the map again.
    fn power_cut(&mut self, at: Nanos) -> Nanos;

    /// Dies that the write cache and the map's own pages are spread over.
    fn dies(&self) -> u32;

    /// Keeps a die busy with an operation that is not the map's own.
    fn work(&mut self, at: Nanos, die: Die, work: DieWork) -> Nanos;
}

/// An operation on a die, with its own time; its bytes go over the channel besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DieWork {
    /// Reads pages of all planes.
    Read { time: Nanos, bytes: u64 },
    /// Programs pages of all planes.
    Program { time: Nanos, bytes: u64 },
    /// Erases a block of all planes.
    Erase { time: Nanos },
}
