use flashlag_units::{Bytes, Nanos};

/// What a device has done since it was made.
///
/// What is programmed is counted in whole mapping units: of a write that gives a part of one, the
/// rest too.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    /// Bytes the host wrote.
    pub host_written: Bytes,
    /// Bytes the host read.
    pub host_read: Bytes,
    /// Flushes.
    pub flushes: u64,
    /// Discards.
    pub discards: u64,
    /// Bytes programmed for the host, in the main area or the write cache.
    pub programmed_host: Option<Bytes>,
    /// Bytes moved by garbage collection or merges.
    pub programmed_copies: Option<Bytes>,
    /// Bytes of program units with nothing in them.
    pub programmed_padding: Option<Bytes>,
    /// Bytes moved from the write cache to the main area.
    pub programmed_folds: Bytes,
    /// Bytes of pages of the map.
    pub programmed_map: Bytes,
    /// Bytes that the host has in mapping units that hold something, the write buffer aside.
    pub mapped: Bytes,
    /// What the write buffer holds that no program was issued for; `None` where there is none.
    pub buffered: Option<Bytes>,
    /// What the write buffer holds at most.
    pub buffer: Option<Bytes>,
    /// What of the write cache is taken, the dead part of it too; `None` where there is none.
    pub cached: Option<Bytes>,
    /// What of it may be taken now.
    pub cache: Option<Bytes>,
    /// Page reads of the dies.
    pub page_reads: u64,
    /// Programs of the dies.
    pub programs: u64,
    /// Block erases of the dies.
    pub erases: u64,
    /// Programs and erases that were suspended for a read.
    pub suspended: u64,
    /// How long dies were busy, all of them added up.
    pub die_busy: Nanos,
    /// Blocks (of all dies) that are free.
    pub free_blocks: Option<u32>,
    /// Blocks (of all dies) that are bad: from the factory, or worn out; a page map tells.
    pub bad_blocks: Option<u32>,
    /// Victims that were chosen since they were worn less than others; a page map tells.
    pub levelled: Option<u64>,
    /// Program/erase cycles of the mean block.
    pub mean_cycles: u64,
    /// Program/erase cycles of the block with the fewest.
    pub least_cycles: u32,
    /// And of that with the most.
    pub most_cycles: u32,
    /// The share of the rated program/erase cycles that is used, where any are rated.
    pub life_used: Option<f64>,
}

impl Stats {
    /// Everything programmed, for whatever reason; `None` where the map does not tell.
    pub fn programmed(&self) -> Option<Bytes> {
        let parts = [self.programmed_host?, self.programmed_copies?, self.programmed_padding?];
        let own = parts.iter().fold(self.programmed_folds, |sum, part| sum.plus(*part));
        Some(own.plus(self.programmed_map))
    }

    /// Everything programmed over what the host wrote; `None` before it wrote anything, or where
    /// the map does not tell.
    pub fn write_amplification(&self) -> Option<f64> {
        let programmed = self.programmed()?.0;
        (self.host_written > Bytes::ZERO).then(|| programmed as f64 / self.host_written.0 as f64)
    }
}
