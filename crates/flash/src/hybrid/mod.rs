//! Log-block maps: one table entry per block, and a few log blocks for new data.
//!
//! The map has one entry per block instead of one per unit, so it needs little memory; the price is
//! merging. With n units per block, writing a block sequentially costs one erase (switch merge:
//! write amplification 1); random writes cost up to n copies for each logical block of which a log
//! block holds units.

mod blocks;
mod cached;
mod fast;
mod host_map;
mod layout;
mod log_blocks;
mod map_cache;
mod medium;
mod store;
#[cfg(test)]
mod tests;

pub(crate) use cached::CachedMap;
pub(crate) use layout::Layout;
pub(crate) use store::LogBlockStore;
