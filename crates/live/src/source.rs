use std::path::PathBuf;
use std::time::Duration;

use flashlag_spec::TraceSourceKind;
use flashlag_trace::Builder;
use flashlag_units::{Bytes, Nanos};

use crate::error::LiveError;

/// The scope of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Record only the filesystem of this path; all storage if absent.
    pub path: Option<PathBuf>,
    /// Record only the processes that this process starts from now on, and their descendants;
    /// otherwise all.
    pub command_only: bool,
    /// Whether reads are recorded as well.
    pub reads: bool,
    /// Whether tracefs may be mounted while it records.
    pub mount_tracefs: bool,
}

/// What recording cost in the kernel, counted for a part of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelCost {
    /// How long the programs ran while it was counted.
    pub time: Duration,
    /// How often they ran.
    pub runs: u64,
    /// How long it was counted.
    pub counted: Duration,
}

/// A source of events while they happen.
pub trait Source {
    /// The kind.
    fn kind(&self) -> TraceSourceKind;

    /// The monotonic clock at time 0 of the trace.
    fn zero(&self) -> Nanos;

    /// Adds what happened since the last call. Call it several times a second: the kernel's buffers
    /// overflow otherwise.
    fn collect(&mut self, to: &mut Builder) -> Result<(), LiveError>;

    /// Adds the rest, and reports what was lost and what the source can't see.
    fn end(&mut self, to: &mut Builder) -> Result<(), LiveError>;

    /// What the watched disks did so far; absent if block requests are recorded.
    fn disks(&self) -> Option<Disks> {
        None
    }

    /// CPU time in the kernel; absent if that can't be counted.
    fn kernel_cost(&self) -> Option<KernelCost> {
        None
    }
}

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

/// The monotonic clock, which the kernel's instances and programs use as well, in nanoseconds.
pub(crate) fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}
