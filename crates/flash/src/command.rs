use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What a host asks of the device. Offsets and lengths are multiples of 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Reads a range.
    Read {
        /// Where it begins.
        offset: Bytes,
        /// How long it is.
        length: Bytes,
    },
    /// Writes a range.
    Write {
        /// Where it begins.
        offset: Bytes,
        /// How long it is.
        length: Bytes,
        /// Whether it is durable before it completes (force unit access).
        fua: bool,
    },
    /// Makes every write that completed before durable.
    Flush,
    /// Tells that a range holds nothing of worth.
    Discard {
        /// Where it begins.
        offset: Bytes,
        /// How long it is.
        length: Bytes,
    },
}

/// When a command was taken, and when it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// When the device took it, at or after it was handed over.
    pub started: Nanos,
    /// When it completed.
    pub ended: Nanos,
}

/// Why a command or a device is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum FlashError {
    /// The range is not aligned, empty or beyond the end.
    #[error(
        "{operation} of {length} bytes at {offset}: not within the device\'s {capacity} bytes, in multiples of 512"
    )]
    Range {
        /// What was asked; not stored, since no device keeps such an error.
        #[serde(skip)]
        operation: &'static str,
        /// Where.
        offset: u64,
        /// How much.
        length: u64,
        /// What there is.
        capacity: u64,
    },
    /// The model makes no device.
    #[error("{0}")]
    Model(String),
    /// The device is worn out: it only reads.
    #[error(
        "the flash is worn out after {cycles} program/erase cycles a block: it can only be read"
    )]
    WornOut {
        /// Cycles, on average.
        cycles: u64,
    },
    /// A past was asked for, but there is one already.
    #[error("the device was written to: only a new one can be given a past")]
    NotNew,
    /// A past was asked for of a map that none is known for.
    #[error("only page maps can be given a past: write to a map of log blocks instead")]
    NoPast,
    /// A garbage collection found nothing to reclaim.
    #[error("no block can be reclaimed: more is mapped than the spare area allows")]
    NoSpace,
}
