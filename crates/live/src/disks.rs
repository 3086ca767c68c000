use flashlag_units::Bytes;

/// What all watched disks did since counting began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disks {
    /// Writes that completed.
    pub writes: u64,
    /// Bytes of those.
    pub bytes: Bytes,
    /// Flushes; 0 before Linux 5.5, which does not count them.
    pub flushes: u64,
}

impl Disks {
    /// The difference from an earlier reading.
    pub(crate) fn since(self, before: Disks) -> Disks {
        Disks {
            writes: self.writes.saturating_sub(before.writes),
            bytes: Bytes(self.bytes.0.saturating_sub(before.bytes.0)),
            flushes: self.flushes.saturating_sub(before.flushes),
        }
    }
}
