//! Power cuts: what survives, and the time until the device is ready again.
//!
//! Data survives if it was flushed, or if its program had ended. A die programs one page after
//! another, so the survivors of each open block are a prefix of what was issued to it. Data in a
//! buffer with a battery survives.

mod cut;
mod ledger;
mod undo;

pub use cut::{Lost, PowerCut};
pub(crate) use ledger::{Ledger, LostUnit, WordLine};
pub use undo::Undo;
