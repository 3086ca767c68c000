//! Saves without SQLite: one file, made durable by the calls of the library that writes it.
//!
//! A save is all calls of [`calls_of`], on one thread and with nothing between them: its latency is the time
//! from the first to the end of the last, which is what `commit` takes on the thread that calls it, what a
//! `DataStore` edit takes until it is durable, and what an activity that stops waits for after `apply`. What the
//! library computes (the map of values as XML, the change of threads) is in no latency. The content is other
//! bytes at each save, that do not compress.

mod calls;
mod examine;
mod place;
mod prepared;
mod real;
mod salvage;
mod saver;
mod simulated;
#[cfg(test)]
mod tests;

pub use calls::{FileCall, Named, calls_of};
pub use examine::{Found, examine_file};
pub use prepared::{PreparedFile, remove_file_on};
pub use salvage::examine_salvage;
