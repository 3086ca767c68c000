//! Whether a card is what it says: its free space is written, each sector with its own address, and read back.

mod files;
mod plan;
mod read;
mod rewrite;
mod tally;
#[cfg(test)]
mod tests;
mod write;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flashlag_device::{Clock, DeviceError, MonotonicClock};
use flashlag_stats::live::Live;
use flashlag_stats::{OpTimes, PhaseRecord, Recorder, RecorderConfig};
use flashlag_units::{Bytes, Nanos};

pub use files::CardFiles;
pub use plan::CardPlan;
pub use read::read_card;
pub use rewrite::{REWRITTEN, rewrite_card};
pub use write::write_card;

/// What is written and read at once.
pub const CHUNK: Bytes = Bytes::from_mib(1);

/// Where the files of a card's proof lie. One of them is open at a time.
pub trait CardMedium {
    /// Makes a file, empty, and opens it. With `reserve` the filesystem gives it this much room, of which
    /// nothing is written.
    ///
    /// # Errors
    /// As the filesystem says.
    fn create(&mut self, file: u32, reserve: Option<Bytes>) -> Result<(), DeviceError>;

    /// Opens a file that was made.
    ///
    /// # Errors
    /// As the filesystem says.
    fn open(&mut self, file: u32) -> Result<(), DeviceError>;

    /// Writes to the open file.
    ///
    /// # Errors
    /// As the filesystem says.
    fn write(&mut self, offset: Bytes, from: &[u8]) -> Result<(), DeviceError>;

    /// Makes the open file durable, and drops it from the page cache.
    ///
    /// # Errors
    /// As the filesystem says.
    fn sync(&mut self) -> Result<(), DeviceError>;

    /// Reads from the open file, past the page cache where that can be.
    ///
    /// # Errors
    /// As the filesystem says; a short read is an error.
    fn read(&mut self, offset: Bytes, into: &mut [u8]) -> Result<(), DeviceError>;

    /// Whether the open file is read and written past the page cache.
    fn is_direct(&self) -> bool;
}

/// What writing and reading a card share.
#[derive(Clone, Debug)]
pub struct CardJob<'a> {
    /// The seed of the data.
    pub seed: u64,
    /// Width of an interval of the series, at first.
    pub interval: Nanos,
    /// A wait longer than this is a stall.
    pub stall_over: Nanos,
    /// Where progress is published, if anywhere.
    pub live: Option<Arc<Live>>,
    /// Raised to end it.
    pub stop: &'a AtomicBool,
}

/// What writing or reading a card recorded.
#[derive(Clone, Debug)]
pub struct CardPhase {
    pub recorded: PhaseRecord,
    /// Bytes moved.
    pub moved: Bytes,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

impl CardJob<'_> {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn recording(&self) -> Recording {
        let config = RecorderConfig {
            start: MonotonicClock.now(),
            interval: self.interval,
            stall_over: self.stall_over,
            live: self.live.clone(),
        };
        Recording { recorder: Recorder::new(config), moved: Bytes::ZERO }
    }
}

/// Times each operation of a phase.
struct Recording {
    recorder: Recorder,
    moved: Bytes,
}

impl Recording {
    /// Does an operation, and records it if it succeeds.
    fn time<T>(
        &mut self,
        bytes: Bytes,
        operation: impl FnOnce() -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let started = MonotonicClock.now();
        let done = operation()?;
        let ended = MonotonicClock.now();
        let op = OpTimes { intended: None, started, flush_from: None, ended, bytes };
        if self.recorder.record(op) {
            self.recorder.record_stall(op, None);
        }
        self.moved = self.moved.plus(bytes);
        Ok(done)
    }

    fn end(self, stopped: bool) -> CardPhase {
        let recorded = self.recorder.finish(MonotonicClock.now());
        CardPhase { recorded, moved: self.moved, stopped }
    }
}
