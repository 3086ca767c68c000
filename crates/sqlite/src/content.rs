use flashlag_units::Bytes;
use flashlag_workload::{Payload, SECTOR_BYTES};

/// Content of rows: bytes that do not compress and that no two rows of the job's databases share;
/// the same for the same seed.
#[derive(Debug)]
pub(crate) struct Content {
    payload: Payload,
    buffer: Vec<u8>,
    /// Distance between rows in the payload's address space.
    stride: u64,
}

impl Content {
    pub(crate) fn new(row: Bytes, seed: u64) -> Content {
        let stride = row.0.next_multiple_of(SECTOR_BYTES as u64).max(SECTOR_BYTES as u64);
        // The reader of the scenario limits rows to 1 MiB.
        let buffer = vec![0; usize::try_from(row.0).unwrap_or_default()];
        Content { payload: Payload::new(seed), buffer, stride }
    }

    /// Content of a row in its `generation`-th version.
    pub(crate) fn of(&mut self, database: u32, row: i64, generation: u32) -> &[u8] {
        let storage = (row as u64).wrapping_mul(self.stride);
        let offset = Bytes((u64::from(database) << 56) ^ storage);
        self.payload.fill(&mut self.buffer, offset, generation);
        &self.buffer
    }

    /// Bytes per row.
    pub(crate) fn row_bytes(&self) -> Bytes {
        Bytes(self.buffer.len() as u64)
    }
}
