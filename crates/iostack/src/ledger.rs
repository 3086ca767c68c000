use flashlag_units::Bytes;

/// What went through each layer since the stack was mounted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Bytes of read and write calls.
    pub call_bytes: Bytes,
    /// Bytes read from the device.
    pub read_bytes: Bytes,
    /// Read requests.
    pub reads: u64,
    /// Bytes written to the device: data, journal, nodes and all.
    pub written_bytes: Bytes,
    /// Write requests.
    pub writes: u64,
    /// Flushes. A write that is durable by itself counts as one more: no device here knows FUA,
    /// which is then a flush after it.
    pub flushes: u64,
    /// Bytes that were discarded.
    pub discarded_bytes: Bytes,
}
