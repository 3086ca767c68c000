//! Filling storage up to a level, emptying it again, and telling the device what is free.

mod space;
mod trim;

pub use space::{FreeSpace, free_space, leave_default};
pub use trim::{TrimError, trim};
