use flashlag_spec::Reading;
use flashlag_units::Bytes;

/// Bytes and number of write calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Writes {
    pub(crate) bytes: u64,
    pub(crate) calls: u64,
}

impl Writes {
    pub(crate) fn since(self, earlier: Writes) -> Writes {
        Writes {
            bytes: self.bytes.saturating_sub(earlier.bytes),
            calls: self.calls.saturating_sub(earlier.calls),
        }
    }
}

pub(crate) fn bytes_of(writes: &Reading<Writes>) -> Reading<Bytes> {
    match writes {
        Reading::Value(writes) => Reading::Value(Bytes(writes.bytes)),
        Reading::Unavailable { unavailable } => Reading::unavailable(unavailable.clone()),
    }
}

pub(crate) fn calls_of(writes: &Reading<Writes>) -> Reading<u64> {
    match writes {
        Reading::Value(writes) => Reading::Value(writes.calls),
        Reading::Unavailable { unavailable } => Reading::unavailable(unavailable.clone()),
    }
}
