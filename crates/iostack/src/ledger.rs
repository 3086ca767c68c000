use flashlag_units::Bytes;

/// Traffic of each layer since the stack was mounted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Bytes of read and write calls.
    pub call_bytes: Bytes,
    /// Bytes read from the device.
    pub read_bytes: Bytes,
    /// Read requests.
    pub reads: u64,
    /// Bytes written to the device, metadata included.
    pub written_bytes: Bytes,
    /// Write requests.
    pub writes: u64,
    /// Flushes. A durable write counts as one more on a device without FUA, which flushes after the
    /// write instead.
    pub flushes: u64,
    /// Bytes discarded.
    pub discarded_bytes: Bytes,
}
