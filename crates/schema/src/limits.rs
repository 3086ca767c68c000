//! Limits that the machine imposes on this process: what its control groups allow of I/O, CPU and
//! memory.

use flashlag_spec::Reading;
use serde::{Deserialize, Serialize};

/// The limits of the process's control groups, from its own up to the root, and the groups that
/// could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// The limits that are set, the process's own group first.
    pub set: Vec<Limit>,
    /// Why some groups, or files of theirs, could not be read; empty if every group up to the root
    /// was.
    pub unseen: Vec<String>,
}

/// One limit of one control group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// What is limited.
    pub kind: LimitKind,
    /// The file that sets it: `/sys/fs/cgroup/system.slice/db.service/io.max`.
    pub file: String,
    /// The kernel's name of the block device that it applies to; absent for CPUs and memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Its value: bytes or operations a second, thousandths of a CPU, or bytes, by `kind`. For a
    /// controller that shares the device by targets and weights: the target in microseconds, or the
    /// highest rate in hundredths of a percent.
    pub value: u64,
    /// What the group uses of it now, in bytes; for memory only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
}

/// What a control group limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Bytes read in a second (`io.max` rbps, `blkio.throttle.read_bps_device`).
    ReadBytes,
    /// Bytes written in a second (`io.max` wbps, `blkio.throttle.write_bps_device`).
    WriteBytes,
    /// Reads in a second (`io.max` riops, `blkio.throttle.read_iops_device`).
    ReadOps,
    /// Writes in a second (`io.max` wiops, `blkio.throttle.write_iops_device`).
    WriteOps,
    /// Another group's latency target, for which this one is held back (`io.latency`).
    Latency,
    /// The device's time is shared by weight, at most at a rate (`io.cost.qos`).
    Cost,
    /// CPUs (`cpu.max`, `cpu.cfs_quota_us`).
    Cpu,
    /// Memory above which allocations are slowed down (`memory.high`).
    MemoryHigh,
    /// Memory that can't be exceeded (`memory.max`, `memory.limit_in_bytes`).
    MemoryMax,
}

impl LimitKind {
    /// Whether it limits requests to a block device by their rate.
    pub fn is_of_rate(self) -> bool {
        use LimitKind::{ReadBytes, ReadOps, WriteBytes, WriteOps};
        matches!(self, ReadBytes | WriteBytes | ReadOps | WriteOps)
    }

    /// Whether it can hold back requests to a block device.
    pub fn is_of_io(self) -> bool {
        self.is_of_rate() || matches!(self, LimitKind::Latency | LimitKind::Cost)
    }

    /// Whether it limits memory.
    pub fn is_of_memory(self) -> bool {
        matches!(self, LimitKind::MemoryHigh | LimitKind::MemoryMax)
    }
}

impl Limit {
    /// `400 kB/s of writes to loop7`, `0.20 CPUs`, `256 MB of memory`.
    pub fn in_words(&self) -> String {
        use flashlag_units::{Bytes, Nanos};
        let on = self.device.as_ref().map(|device| format!(" {device}")).unwrap_or_default();
        let ops = || flashlag_units::count(self.value);
        match self.kind {
            LimitKind::ReadBytes => format!("{}/s of reads from{on}", Bytes(self.value)),
            LimitKind::WriteBytes => format!("{}/s of writes to{on}", Bytes(self.value)),
            LimitKind::ReadOps => format!("{} reads a second from{on}", ops()),
            LimitKind::WriteOps => format!("{} writes a second to{on}", ops()),
            LimitKind::Latency => {
                format!("another group's target of {} on{on}", Nanos::from_micros(self.value))
            }
            LimitKind::Cost => format!(
                "shares by weight of at most {}.{:02}% of{on}",
                self.value / 100,
                self.value % 100
            ),
            LimitKind::Cpu => match self.value % 1000 {
                0 if self.value == 1000 => "1 CPU".to_owned(),
                0 => format!("{} CPUs", self.value / 1000),
                _ => format!("{:.2} CPUs", self.value as f64 / 1000.0),
            },
            LimitKind::MemoryHigh | LimitKind::MemoryMax => {
                format!("{} of memory", Bytes(self.value))
            }
        }
    }

    /// Whether both are the same limit, whatever its value.
    pub fn is_same_as(&self, other: &Limit) -> bool {
        self.kind == other.kind && self.file == other.file && self.device == other.device
    }
}

/// The counters of a limit's group at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitCount {
    pub limit: Limit,
    /// What the group has used since it was created: bytes or operations of that device; for CPUs
    /// the time for which it was held back, in nanoseconds; for memory the time in which one of its
    /// tasks waited for memory, in nanoseconds. For io.cost and io.latency the time for which the
    /// group was held back, if that is counted.
    pub amount: Reading<u64>,
    /// How often it was held back, for CPUs and memory.
    pub times: Reading<u64>,
}
