use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A command of the host. Offsets and lengths are multiples of 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Reads a range.
    Read {
        /// Start of the range.
        offset: Bytes,
        /// Length of the range.
        length: Bytes,
    },
    /// Writes a range.
    Write {
        /// Start of the range.
        offset: Bytes,
        /// Length of the range.
        length: Bytes,
        /// Whether it is durable before it completes (force unit access).
        fua: bool,
    },
    /// Makes all writes that completed before it durable.
    Flush,
    /// Declares the content of a range unused (TRIM).
    Discard {
        /// Start of the range.
        offset: Bytes,
        /// Length of the range.
        length: Bytes,
    },
}

/// Start and end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Time at which the device started the command, at or after its submission.
    pub started: Nanos,
    /// When the command completed.
    pub ended: Nanos,
}

/// Errors of commands, and of models that describe no device.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum FlashError {
    /// The range is misaligned, empty or beyond the end of the device.
    #[error(
        "{operation} of {length} bytes at {offset}: not within the device\'s {capacity} bytes, in multiples of 512"
    )]
    Range {
        /// The command; not stored, since no stored device contains such an error.
        #[serde(skip)]
        operation: &'static str,
        offset: u64,
        length: u64,
        capacity: u64,
    },
    #[error("{0}")]
    Model(String),
    /// The device is worn out and read-only.
    #[error(
        "the flash is worn out after {cycles} program/erase cycles a block: it can only be read"
    )]
    WornOut { cycles: u64 },
    /// An age that the device does not reach.
    #[error(
        "worn out by then: {days} days of {daily} a day are {cycles} program/erase cycles a block, and this flash has {rated}: \
         name at most {last_days} days, as state=aged:{last_days}d"
    )]
    TooOld { days: u64, daily: Bytes, cycles: u64, rated: u64, last_days: u64 },
    #[error("the device was written to: only a new one can be aged")]
    NotNew,
    /// No past can be computed for this kind of map.
    #[error(
        "a map of log blocks has no aged state, only new and full: run a scenario that writes to it instead"
    )]
    NoPast,
    #[error("no block can be reclaimed: more is mapped than the spare area allows")]
    NoSpace,
    /// Why a zone refuses a command.
    #[error("{0}")]
    Zone(ZoneFault),
    /// The state of a zoned device is its filesystem's, which has the map.
    #[error(
        "a zoned device has no state of its own, since its filesystem has the map: leave state= out, \
         and run a scenario that fills the filesystem, such as lifecycle"
    )]
    ZonedPast,
}

/// Why a zone refuses a command.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum ZoneFault {
    #[error("the device has no zones")]
    None,
    #[error("zone {zone}: the device has {count}")]
    NoSuch { zone: u32, count: u32 },
    #[error(
        "a write of {length} bytes at {offset}: zones are written in whole units of {unit} bytes"
    )]
    Unit { offset: u64, length: u64, unit: u64 },
    #[error(
        "a write of {length} bytes at {offset} crosses a border of zones: write each by itself"
    )]
    Border { offset: u64, length: u64 },
    #[error("a write at {offset}: zone {zone} goes on at {pointer}, and is written in order")]
    Pointer { offset: u64, zone: u32, pointer: u64 },
    #[error("a write at {offset}: zone {zone} is full; reset it first")]
    Full { offset: u64, zone: u32 },
    #[error("zone {zone}: {limit} zones are open already, as many as can be; close or finish one")]
    Open { zone: u32, limit: u32 },
    #[error(
        "a discard of {length} bytes at {offset} is a part of a zone: only whole zones are reset"
    )]
    Part { offset: u64, length: u64 },
}
