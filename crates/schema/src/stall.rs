//! Stalls: long waits, their causes, and how the causes are known.

use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::watched::Surroundings;

/// Where a thread's time went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Time {
    /// Executing.
    pub on_cpu_ns: Nanos,
    /// Runnable, but no CPU was free.
    pub runnable_ns: Nanos,
    /// Asleep until something completed.
    pub blocked_ns: Nanos,
    /// Stopped with the whole process: by a signal, a frozen cgroup, a suspended machine.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stopped_ns: Nanos,
}

impl Time {
    /// All parts together.
    pub fn total(&self) -> Nanos {
        self.on_cpu_ns.plus(self.runnable_ns).plus(self.blocked_ns).plus(self.stopped_ns)
    }

    /// The sum, part by part.
    pub fn plus(&self, other: &Time) -> Time {
        Time {
            on_cpu_ns: self.on_cpu_ns.plus(other.on_cpu_ns),
            runnable_ns: self.runnable_ns.plus(other.runnable_ns),
            blocked_ns: self.blocked_ns.plus(other.blocked_ns),
            stopped_ns: self.stopped_ns.plus(other.stopped_ns),
        }
    }
}

fn is_zero(time: &Nanos) -> bool {
    *time == Nanos::ZERO
}

/// One long wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StallRecord {
    /// Its start, counted from the start of the phase.
    pub t_ns: Nanos,
    /// Duration.
    pub ns: Nanos,
    /// The cause: what the operation waited for most of the time.
    pub cause: StallCause,
    /// How the cause is known.
    #[serde(default, skip_serializing_if = "CauseBasis::is_measured")]
    pub cause_basis: CauseBasis,
    /// Where its time went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
    /// What it waited for, each cause once, if a model knows: the parts add up to `ns`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waited: Vec<WaitPart>,
    /// What counters showed around it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around: Option<Surroundings>,
}

/// How the cause of a stall is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CauseBasis {
    /// From the scheduler's statistics of the thread: on a CPU, waiting for one, blocked, stopped.
    #[default]
    Measured,
    /// From the model of a simulation.
    Modelled,
    /// From a virtual device below a real kernel.
    Reported,
    /// From counters around the stall, by rules.
    Inferred,
}

impl CauseBasis {
    /// Whether the cause rests on the scheduler's statistics alone.
    pub fn is_measured(&self) -> bool {
        *self == CauseBasis::Measured
    }
}

/// The time waited for one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WaitPart {
    /// The cause.
    pub cause: StallCause,
    /// The time, more than none.
    pub ns: Nanos,
}

/// What a stall waited for.
///  [`CauseBasis`] says how it is known. The scheduler's statistics of the thread give the first
/// six; a model, a virtual device or counters around the stall give more. With a model, the cause
/// is that of the largest part of the wait. If the flash's own work delayed the filesystem's, the
/// flash's counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StallCause {
    /// Blocked on storage for more than half of it, for an unknown reason; with a model or a
    /// virtual device, the device's plain work for it.
    Storage,
    /// Waiting for a CPU: the run queue.
    Cpu,
    /// Executing.
    Executing,
    /// The whole process was stopped for more than half of it: no wait for storage.
    Stopped,
    /// No part has more than half.
    Mixed,
    /// The split could not be read.
    #[default]
    Unknown,
    /// A commit of the filesystem's journal or log.
    FilesystemCommit,
    /// A checkpoint of the filesystem, or of its journal.
    Checkpoint,
    /// The filesystem's cleaning of segments.
    Cleaning,
    /// Discards.
    Discard,
    /// Requests of another process.
    OtherIo,
    /// Garbage collection in the flash: copying a block's data and erasing it, merging log blocks.
    GarbageCollection,
    /// Wear levelling in the flash.
    WearLevelling,
    /// Waiting for room in the device's write cache, or writes that bypass it.
    WriteCacheFull,
    /// The device or its link waking up.
    WakeUp,
    /// Throttling.
    Throttling,
    /// Work that the device does after a number of writes, such as writing its map.
    DevicePeriod,
    /// A control group's limit on I/O, which holds requests back above the disk.
    GroupLimit,
}
