//! Power cuts: what survives them, and how long it takes to be ready again.
//!
//! What survives is what was flushed, and of the rest what the order of programming allows: every
//! program that had ended. A die programs one page after another, so that is a prefix of what was
//! issued to each of its open blocks. What was in a buffer with a battery survives.

mod cut;
mod ledger;
mod undo;

pub use cut::{Lost, PowerCut};
pub(crate) use ledger::{Ledger, LostUnit, WordLine};
pub use undo::Undo;
