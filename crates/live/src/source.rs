use std::path::PathBuf;
use std::time::Duration;

use flashlag_spec::TraceSourceKind;
use flashlag_trace::Builder;

use crate::disks::Disks;
use crate::error::LiveError;

/// What is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The filesystem of this path; all storage where absent.
    pub path: Option<PathBuf>,
    /// The processes that this process starts from now on, and theirs; all where false.
    pub command_only: bool,
    /// Whether reads are recorded as well.
    pub reads: bool,
    /// Whether tracefs may be mounted while it records.
    pub mount_tracefs: bool,
}

/// What the kernel spent on recording, counted for a part of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelCost {
    /// The time that the programs ran while it was counted.
    pub time: Duration,
    /// How often they ran.
    pub runs: u64,
    /// How long it was counted.
    pub counted: Duration,
}

/// Where events come from while they happen.
pub trait Source {
    /// The kind.
    fn kind(&self) -> TraceSourceKind;

    /// Adds what happened since the last call. To be called several times a second: what is not fetched
    /// is lost after a while.
    fn collect(&mut self, to: &mut Builder) -> Result<(), LiveError>;

    /// Adds the rest, and says what was lost and what the source can't see.
    fn end(&mut self, to: &mut Builder) -> Result<(), LiveError>;

    /// What the watched disks did so far; absent where block requests are recorded themselves.
    fn disks(&self) -> Option<Disks> {
        None
    }

    /// What the kernel spent; absent where that can't be counted.
    fn kernel_cost(&self) -> Option<KernelCost> {
        None
    }
}
