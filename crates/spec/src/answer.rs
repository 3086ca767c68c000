//! Reports of workers about their requests, besides their figures.

use flashlag_units::Bytes;
use serde::{Deserialize, Serialize};

/// A request that could not be fulfilled exactly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Downgrade {
    /// What was asked for: `O_DIRECT`.
    pub requested: String,
    /// What was done instead: `buffered`.
    pub effective: String,
    /// Why.
    pub reason: String,
}

/// What a clean-up removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cleanup {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: Bytes,
}

/// Statistics and state of a modelled flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FlashState {
    /// Everything programmed.
    pub programmed_bytes: Option<Bytes>,
    /// Moved by garbage collection or merges.
    pub copied_bytes: Option<Bytes>,
    /// Programmed with nothing in it.
    pub padding_bytes: Option<Bytes>,
    /// Moved from the write cache to the main area.
    pub folded_bytes: Bytes,
    /// Pages of the map.
    pub map_bytes: Bytes,
    /// Programmed over what the host wrote.
    pub write_amplification: Option<f64>,
    /// Held for the host.
    pub mapped_bytes: Bytes,
    /// Blocks that are free.
    pub free_blocks: Option<u32>,
    /// Blocks that are bad.
    pub bad_blocks: Option<u32>,
    /// Page reads of the dies.
    pub page_reads: u64,
    /// Programs of the dies.
    pub programs: u64,
    /// Block erases of the dies.
    pub erases: u64,
    /// Bytes in the write buffer that are not being programmed; absent without a buffer.
    pub buffered_bytes: Option<Bytes>,
    /// Size of the write buffer.
    pub buffer_bytes: Option<Bytes>,
    /// Occupied bytes of the write cache, stale ones included; absent without a cache.
    pub cache_used_bytes: Option<Bytes>,
    /// Present size of the write cache.
    pub cache_bytes: Option<Bytes>,
    /// Program/erase cycles of the mean block.
    pub mean_cycles: u64,
    /// The share of the rated cycles used, if there is a rating.
    pub life_used: Option<f64>,
}
