//! Fills storage to a level, empties it again, and trims the free space.

mod blame;
mod filling;
mod gauge;
mod order;
mod readback;
mod run;
mod space;
mod trim;

pub use blame::explained;
pub use run::{FillOutcome, FillSpec, fill};
pub use space::{FreeSpace, free_space, leave_default, leave_default_unfilled};
pub use trim::{TrimError, trim};
