//! What stands before the map: host link, write buffer, write cache, discards.

mod buffer;
mod host;
mod line;
mod queue;
mod rate;
pub(crate) mod units;
