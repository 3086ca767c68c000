//! Power cuts: what survives, and the time until the device is ready again.
//!
//! Data survives if it was flushed, or if its program had ended. A die programs one page after
//! another, so the survivors of each open block are a prefix of what was issued to it. Data in a
//! buffer with a battery survives.

mod ledger;
mod undo;

use flashlag_units::{Bytes, Nanos};

pub(crate) use ledger::{Ledger, LostUnit, WordLine};
pub use undo::Undo;

/// Outcome of a power cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerCut {
    /// Mapping units that lost data, by address; `None` if the device recorded no changes
    /// ([`Flash::keep_ledger`](crate::Flash::keep_ledger)).
    pub lost: Option<Vec<Lost>>,
    /// Time to find the map again, from the return of the power.
    pub recovery: Nanos,
}

/// A mapping unit that has reverted to an earlier content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Start of the unit.
    pub offset: Bytes,
    /// Length of the unit.
    pub length: Bytes,
    /// The first command whose data is lost, counted from 1 over all writes and discards. All later
    /// data of the unit is lost too.
    pub command: u64,
}
