use flashlag_units::Bytes;

use crate::nand::Nand;
use crate::page_map::PageMap;

/// What a device has done since it was made.
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
    /// Bytes programmed for the host, whole mapping units (a page map tells).
    pub programmed_host: Option<Bytes>,
    /// Bytes moved by garbage collection (a page map tells).
    pub programmed_copies: Option<Bytes>,
    /// Bytes of program units with nothing in them (a page map tells).
    pub programmed_padding: Option<Bytes>,
    /// Page reads of the dies.
    pub page_reads: u64,
    /// Programs of the dies.
    pub programs: u64,
    /// Block erases of the dies.
    pub erases: u64,
    /// Blocks (of all dies) that are free; a page map tells.
    pub free_blocks: Option<u32>,
    /// The share of the rated program/erase cycles that is used, where any are rated.
    pub life_used: Option<f64>,
}

impl Stats {
    pub(crate) fn of_pages(&mut self, map: &PageMap, unit: u64) {
        let bytes = |units: u64| Some(Bytes(units * unit));
        self.programmed_host = bytes(map.programmed.host);
        self.programmed_copies = bytes(map.programmed.copied);
        self.programmed_padding = bytes(map.programmed.padded);
        self.free_blocks = Some(map.free_blocks());
        self.of_dies(&map.nand);
    }

    pub(crate) fn of_dies(&mut self, nand: &Nand) {
        self.page_reads = nand.counts.reads;
        self.programs = nand.counts.programs;
        self.erases = nand.counts.erases;
        self.life_used = nand.life_used();
    }

    /// Everything programmed: for the host, copied and padded; `None` where the map does not tell.
    pub fn programmed(&self) -> Option<Bytes> {
        let parts = [self.programmed_host?, self.programmed_copies?, self.programmed_padding?];
        Some(Bytes(parts.iter().map(|part| part.0).sum()))
    }

    /// Everything programmed over what the host wrote; `None` before it wrote anything, or where
    /// the map does not tell.
    pub fn write_amplification(&self) -> Option<f64> {
        let programmed = self.programmed()?.0;
        (self.host_written > Bytes::ZERO).then(|| programmed as f64 / self.host_written.0 as f64)
    }
}
