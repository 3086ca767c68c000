//! Encryption below the filesystem, as time on the CPU.

use flashlag_device::Op;
use flashlag_spec::profile::EncryptionModel;
use flashlag_units::Nanos;

/// Time that encryption takes, in nanoseconds per KiB and per request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Encryption {
    read_per_kib: u64,
    write_per_kib: u64,
    per_request: u64,
}

impl Encryption {
    pub(crate) fn new(model: &EncryptionModel) -> Encryption {
        Encryption {
            read_per_kib: model.read_per_kib.0.0,
            write_per_kib: model.write_per_kib.0.0,
            per_request: model.per_request.0.0,
        }
    }

    /// Time for a request of `length` bytes.
    pub(crate) fn cost(&self, op: Op, length: u64) -> Nanos {
        let per_kib = match op {
            Op::Read => self.read_per_kib,
            Op::Write => self.write_per_kib,
            Op::Flush | Op::Discard => return Nanos::ZERO,
        };
        Nanos(self.per_request + (length * per_kib).div_ceil(1024))
    }
}
