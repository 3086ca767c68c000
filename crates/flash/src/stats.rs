use flashlag_spec::FlashState;
use flashlag_units::{Bytes, Nanos};

/// Statistics of a device since it was made.
///  Programmed bytes are whole mapping units, even if the host wrote a part of one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    pub host_written: Bytes,
    pub host_read: Bytes,
    /// Flushes by the host.
    pub flushes: u64,
    /// Discards by the host.
    pub discards: u64,
    /// Bytes programmed for the host, in the main area or the write cache.
    pub programmed_host: Option<Bytes>,
    /// Bytes moved by garbage collection or merges.
    pub programmed_copies: Option<Bytes>,
    /// Bytes of program units that were padded.
    pub programmed_padding: Option<Bytes>,
    /// Bytes moved from the write cache to the main area.
    pub programmed_folds: Bytes,
    /// Bytes of map pages that were programmed.
    pub programmed_map: Bytes,
    /// Bytes of mapping units with content, those in the write buffer aside.
    pub mapped: Bytes,
    /// Bytes in the write buffer for which no program was issued; `None` without a write buffer.
    pub buffered: Option<Bytes>,
    /// Size of the write buffer.
    pub buffer: Option<Bytes>,
    /// Occupied bytes of the write cache, stale ones included; `None` without a write cache.
    pub cached: Option<Bytes>,
    /// Size of the write cache at present.
    pub cache: Option<Bytes>,
    /// Page reads of all dies.
    pub page_reads: u64,
    /// Programs of all dies.
    pub programs: u64,
    /// Block erases of all dies.
    pub erases: u64,
    /// Programs and erases that were suspended by a read.
    pub suspended: u64,
    /// Busy time, summed over all dies.
    pub die_busy: Nanos,
    /// Free blocks, each over all dies.
    pub free_blocks: Option<u32>,
    /// Bad blocks, each over all dies: from the factory, or worn out. Page maps only.
    pub bad_blocks: Option<u32>,
    /// Victims that were chosen by wear levelling. Page maps only.
    pub levelled: Option<u64>,
    /// Mean program/erase cycles of a block.
    pub mean_cycles: u64,
    /// Program/erase cycles of the least worn block.
    pub least_cycles: u32,
    /// Program/erase cycles of the most worn block.
    pub most_cycles: u32,
    /// Used share of the rated program/erase cycles; `None` without a rating.
    pub life_used: Option<f64>,
}

impl Stats {
    /// All bytes programmed, for whatever reason; `None` if the map does not count them.
    pub fn programmed(&self) -> Option<Bytes> {
        let parts = [self.programmed_host?, self.programmed_copies?, self.programmed_padding?];
        let own = parts.iter().fold(self.programmed_folds, |sum, part| sum.plus(*part));
        Some(own.plus(self.programmed_map))
    }

    /// Write amplification: bytes programmed over bytes written by the host. `None` before the
    /// first write, or if the map does not count.
    pub fn write_amplification(&self) -> Option<f64> {
        let programmed = self.programmed()?.0;
        (self.host_written > Bytes::ZERO).then(|| programmed as f64 / self.host_written.0 as f64)
    }
}

impl From<&Stats> for FlashState {
    fn from(stats: &Stats) -> FlashState {
        FlashState {
            programmed_bytes: stats.programmed(),
            copied_bytes: stats.programmed_copies,
            padding_bytes: stats.programmed_padding,
            folded_bytes: stats.programmed_folds,
            map_bytes: stats.programmed_map,
            write_amplification: stats.write_amplification(),
            mapped_bytes: stats.mapped,
            free_blocks: stats.free_blocks,
            bad_blocks: stats.bad_blocks,
            page_reads: stats.page_reads,
            programs: stats.programs,
            erases: stats.erases,
            buffered_bytes: stats.buffered,
            buffer_bytes: stats.buffer,
            cache_used_bytes: stats.cached,
            cache_bytes: stats.cache,
            mean_cycles: stats.mean_cycles,
            life_used: stats.life_used,
        }
    }
}
