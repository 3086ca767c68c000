//! Log-block maps: a table of blocks, and a few log blocks for what is written anew.
//!
//! They need little memory, since the map has an entry a block and not a unit; what they pay is
//! merging. With n units a block, writing a block from its beginning to its end costs one erase
//! (switch merge: write amplification 1); random writes cost up to n copies for each unit written
//! with BAST once more blocks are written to than there are logs, and with FAST up to n copies for
//! each logical block that a log block holds units of.

mod bast;
mod blocks;
mod cached;
mod fast;
mod layout;
mod log_blocks;
mod map_cache;
mod medium;
mod store;
#[cfg(test)]
mod tests;

pub(crate) use cached::CachedMap;
pub(crate) use layout::{Layout, Spot};
pub(crate) use log_blocks::Dies;
pub(crate) use store::LogBlockStore;
