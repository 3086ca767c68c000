//! What stands before the map: host link, write buffer, write cache, discards.

mod buffer;
mod host;
mod line;
mod queue;
mod rate;
mod ring;
mod trim;
pub(crate) mod units;
