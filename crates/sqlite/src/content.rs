use flashlag_units::Bytes;
use flashlag_workload::{Payload, SECTOR_BYTES};

/// Makes the content of rows: bytes that do not compress and that no other row of any database of
/// the job shares, the same for the same seed.
#[derive(Debug)]
pub(crate) struct Content {
    payload: Payload,
    buffer: Vec<u8>,
    /// Rows are this far apart in the payload's space.
    stride: u64,
}

impl Content {
    pub(crate) fn new(row: Bytes, seed: u64) -> Content {
        let stride = row.0.next_multiple_of(SECTOR_BYTES as u64).max(SECTOR_BYTES as u64);
        // A row is 1 MiB at most: the scenario's reader has seen to it.
        let buffer = vec![0; usize::try_from(row.0).unwrap_or_default()];
        Content { payload: Payload::new(seed), buffer, stride }
    }

    /// The content of a row in its `generation`-th writing.
    pub(crate) fn of(&mut self, database: u32, row: i64, generation: u32) -> &[u8] {
        let place = (row as u64).wrapping_mul(self.stride);
        let offset = Bytes((u64::from(database) << 56) ^ place);
        self.payload.fill(&mut self.buffer, offset, generation);
        &self.buffer
    }

    /// Bytes in a row.
    pub(crate) fn row_bytes(&self) -> Bytes {
        Bytes(self.buffer.len() as u64)
    }
}
