//! The cost of the software above the device on this phone.

use flashlag_units::{Bytes, Nanos, Text};
use serde::{Deserialize, Serialize};

/// CPU time on the phone for the operations of tests, and how much the kernel reads ahead.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StackModel {
    /// A read or write call, without its bytes.
    #[serde(default)]
    pub call: Text<Nanos>,
    /// For each KiB of a call: copying, checking, page cache.
    #[serde(default)]
    pub per_kib: Text<Nanos>,
    /// For each KiB of a call with direct I/O, which pins pages and copies nothing; as `per_kib` by
    /// default.
    #[serde(default)]
    pub per_kib_direct: Option<Text<Nanos>>,
    /// An fsync call, beside its I/O.
    #[serde(default)]
    pub sync_call: Text<Nanos>,
    /// SQLite's own CPU time for a statement of a save in one database, in addition to its system
    /// calls.
    #[serde(default)]
    pub save_cpu: Text<Nanos>,
    /// Extra time of a request through FUSE: two context switches and a copy.
    #[serde(default)]
    pub fuse_call: Text<Nanos>,
    /// CPU time for each KiB in addition.
    #[serde(default)]
    pub fuse_per_kib: Text<Nanos>,
    /// Encryption of the whole disk.
    #[serde(default)]
    pub encryption: EncryptionModel,
    /// Cores that the threads of a test run on. With one core, the default, the calls of all
    /// threads run one after another; with more, as many threads run in parallel as there are
    /// cores.
    #[serde(default)]
    pub cores: Option<u32>,
    /// Commands that the host's driver has in flight at once: the tags of its queue. As many as the
    /// device takes by default; 1 on eMMC without a command queue.
    #[serde(default)]
    pub tags: Option<u32>,
    /// The largest request that the driver gets; the block layer splits larger ones
    /// (`max_sectors_kb`), and the elevator may send others between the parts. By default, only the
    /// device splits them.
    #[serde(default)]
    pub largest: Option<Text<Bytes>>,
    /// The order in which waiting requests get a tag: the block layer's elevator.
    #[serde(default)]
    pub elevator: ElevatorKind,
    /// CPU time of the driver for each command before the command is sent, one after another.
    #[serde(default)]
    pub issue: Text<Nanos>,
    /// CPU time of the interrupt for each command that completes, one after another; the command's
    /// tag is free afterwards.
    #[serde(default)]
    pub complete: Text<Nanos>,
    /// Whether the last block of a commit is sent as a durable write (FUA: UFS; eMMC as a reliable
    /// write) instead of a write and a flush. No by default, as over virtio.
    #[serde(default)]
    pub fua: bool,
    /// The CPU's governor, which sets the speed of all CPU times above. The times of this section
    /// are those at full speed.
    #[serde(default)]
    pub governor: GovernorKind,
    /// The lowest speed, as a share of full speed; 1 by default.
    #[serde(default)]
    pub speed_min: Option<f64>,
    /// The highest speed, as a share of full speed; 1 by default. Less while the phone is hot: Linux cools a
    /// processor by a limit on its frequency (cpufreq_cooling.c).
    #[serde(default)]
    pub speed_max: Option<f64>,
    /// With `schedutil`: the least speed of a thread that waits for I/O (iowait boost), as a share of
    /// full speed.
    #[serde(default)]
    pub boost: f64,
    /// After a longer wait for the device, the core is in a deeper idle state.
    #[serde(default)]
    pub idle_after: Option<Text<Nanos>>,
    /// The time that leaving this state adds to the wait.
    #[serde(default)]
    pub idle_exit: Text<Nanos>,
    /// The spread of every CPU time: sigma of a log-normal distribution with a mean of one.
    #[serde(default)]
    pub jitter: f64,
    /// Calls that another task preempts.
    #[serde(default)]
    pub preempted: PreemptionModel,
}

/// The order of the requests that wait for a tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ElevatorKind {
    /// In the order of their arrival (`none`, `noop`).
    #[default]
    Fifo,
    /// Reads and all others take turns of at most 100 ms (cfq-iosched.c, `slice_sync`), without
    /// waiting for a next read: `slice_idle` is 0 where a second has 100 ticks, as on phones until
    /// 2015 or so.
    Cfq,
    /// As `cfq`, but others are held back for up to 8 ms after a read, for the next one may come
    /// (`slice_idle` where a second has 250 ticks or more).
    CfqIdle,
    /// Reads first, 32 at most while others wait; then up to 16 others (mq-deadline.c:
    /// `writes_starved` times `fifo_batch`, `fifo_batch`).
    Deadline,
    /// Reads first, 100 at most while others wait; then one other. While reads come within 5 ms of
    /// one another or continue one another, others are held back for up to 5 ms (row-iosched.c of
    /// Qualcomm's kernels from 3.4 on).
    Row,
}

/// Calls that wait for a task that has preempted their thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PreemptionModel {
    /// Share of the calls.
    #[serde(default)]
    pub share: f64,
    /// Mean of the time that such a call waits, which is exponential.
    #[serde(default)]
    pub mean: Text<Nanos>,
}

/// The CPU's governor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GovernorKind {
    /// Always full speed, or `speed_max`.
    #[default]
    Performance,
    /// Always `speed_min`.
    Powersave,
    /// 1.25 times the utilisation of the last 32 ms or so, from `speed_min` to full speed or `speed_max`.
    Schedutil,
}

/// Cost of encryption, for targets with `encrypt`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EncryptionModel {
    /// Decrypting a KiB that was read.
    #[serde(default)]
    pub read_per_kib: Text<Nanos>,
    /// Encrypting a KiB to be written.
    #[serde(default)]
    pub write_per_kib: Text<Nanos>,
    /// Extra time of each request, whatever its size.
    #[serde(default)]
    pub per_request: Text<Nanos>,
}
