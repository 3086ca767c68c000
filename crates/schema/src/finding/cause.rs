//! Causes of waiting that a run shows by comparing its own phases, causes that were ruled out, and what
//! operations waited for.

use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use super::table::{FindingAction, FindingId, FindingRisk};
use crate::stall::StallCause;
use crate::trust::CheckId;

/// A cause of waiting, with what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// The cause.
    pub id: CauseId,
    /// What was compared.
    pub sides: FindingSides,
    /// How much longer the wait is with the cause than without.
    pub effect: FindingEffect,
    /// How the effect was measured.
    pub evidence: FindingEvidence,
    /// What would remove the cause.
    pub action: FindingAction,
    /// The price of that action.
    pub risk: FindingRisk,
}

/// A suspected cause that was measured and shown not to matter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RuledOut {
    /// The suspicion.
    pub id: CauseId,
    /// What was compared.
    pub sides: FindingSides,
    /// The difference, which is within chance or too small to matter.
    pub effect: FindingEffect,
    /// How the difference was measured.
    pub evidence: FindingEvidence,
}

/// The causes that a run can prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CauseId {
    /// SQLite saves with a rollback journal wait longer than with WAL.
    RollbackJournal,
    /// Saves that make a file grow wait longer than saves within allocated space.
    GrowingFiles,
    /// The storage is slower full than it was at first.
    FullStorage,
    /// Files were deleted and the free space was not trimmed.
    DeletedNotTrimmed,
    /// The storage is full; deleting and trimming makes it faster.
    FullNotTrimmed,
    /// Another workload wrote at the same time.
    OtherWriter,
    /// The measuring thread was runnable, but no CPU was free.
    CpuWait,
    /// Every durable write waits for its own flush.
    FlushPerWrite,
    /// One save changes several databases, each in its own transaction.
    SeveralDatabases,
    /// Each change is its own transaction.
    SmallTransactions,
    /// Each of several changes of `SharedPreferences` has a `commit` of its own.
    CommitPerChange,
    /// A large file is written anew for a small change.
    WholeFileAgain,
}

impl CauseId {
    /// The finding that the cause is one of.
    pub fn finding(self) -> FindingId {
        match self {
            CauseId::RollbackJournal => FindingId::RollbackJournal,
            CauseId::GrowingFiles => FindingId::GrowingFiles,
            CauseId::FullStorage => FindingId::FullStorage,
            CauseId::DeletedNotTrimmed => FindingId::DeletedNotTrimmed,
            CauseId::FullNotTrimmed => FindingId::FullNotTrimmed,
            CauseId::OtherWriter => FindingId::OtherWriter,
            CauseId::CpuWait => FindingId::CpuWait,
            CauseId::FlushPerWrite => FindingId::FlushPerWrite,
            CauseId::SeveralDatabases => FindingId::SeveralDatabases,
            CauseId::SmallTransactions => FindingId::SmallTransactions,
            CauseId::CommitPerChange => FindingId::CommitPerChange,
            CauseId::WholeFileAgain => FindingId::WholeFileAgain,
        }
    }
}

/// The two sides of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FindingSides {
    /// With the cause.
    pub now: FindingSide,
    /// The side without the cause; absent if the effect is a part of one side's waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<FindingSide>,
}

/// One side: a phase, or a part of its saves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FindingSide {
    /// The phase's label: `filled 2: save_wal`.
    pub phase: String,
    /// Which of its saves; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<SavePart>,
}

/// Saves by whether a file grew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SavePart {
    /// Saves after which the database or its journal was larger.
    Grew,
    /// Saves within what was allocated.
    InPlace,
}

/// How much longer one side waits than the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FindingEffect {
    /// The unit of the cost: seconds of waiting for each 1,000 of these.
    pub per: Counted,
    /// The wait with the cause.
    pub now: MeasuredWait,
    /// The wait without the cause; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<MeasuredWait>,
    /// Mean wait with the cause divided by the mean without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ratio: Option<Estimate>,
    /// Seconds of waiting that the cause adds to 1,000 operations.
    pub cost_s_per_1000: Estimate,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// SQLite transactions.
    Saves,
    /// Block writes.
    Writes,
    /// Block reads.
    Reads,
}

/// The wait of one side, from the call, or from the intended start of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MeasuredWait {
    /// Operations.
    pub ops: u64,
    /// Mean.
    pub mean_ns: Nanos,
    /// Median; absent if there are too few values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<Nanos>,
    /// 99.9 %; absent if there are too few values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_ns: Option<Nanos>,
}

/// A number with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Both ends; absent if the sample is too small.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
}

/// How an effect was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum FindingEvidence {
    /// Two phases that differ in one thing.
    TwoPhases,
    /// Two parts of the same phase's saves.
    TwoParts {
        /// Share of all saves that made a file grow, 0 to 1.
        share: f64,
    },
    /// The scheduler's statistics over the phase.
    SchedulerCount {
        /// Mean time that an operation's thread was runnable, waiting for a CPU.
        runnable_ns: Nanos,
        /// That time as a share of the thread's time, 0 to 1.
        share: f64,
    },
    /// Write and flush timed apart.
    FlushTimedApart {
        /// Mean time of the flush.
        flush_ns: Nanos,
        /// That time as a share of the whole durable write, 0 to 1.
        share: f64,
    },
}

/// What the operations of one test waited for, by how slow they were.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WaitFinding {
    /// The phase's label.
    pub phase: String,
    /// The state with at least half of the first group's wait; `mixed` if there is none, `unknown`
    /// after a failed check.
    pub cause: StallCause,
    /// The failed check that makes the cause unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubted_by: Option<CheckId>,
    /// Groups of operations: typical ones of the same test when new, if that was another stage;
    /// then those of this phase, fastest first.
    pub groups: Vec<WaitGroupRecord>,
}

/// What a group of operations waited for. The three shares add up to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WaitGroupRecord {
    /// The phase's label.
    pub phase: String,
    /// Which operations.
    pub range: WaitRange,
    /// Operations in the range.
    pub ops: u64,
    /// Mean wait in the range.
    pub mean_ns: Nanos,
    /// Operations whose time was split, in the latency classes that overlap the range. Classes are
    /// powers of two, so there may be more than in the range.
    pub sampled: u64,
    /// Shortest latency of those classes.
    pub sampled_from_ns: Nanos,
    /// Latencies of those classes are below this.
    pub sampled_below_ns: Nanos,
    /// Share of the wait spent executing, 0 to 1.
    pub on_cpu: f64,
    /// Share spent runnable, waiting for a CPU.
    pub waiting_for_cpu: f64,
    /// Share spent blocked on storage.
    pub blocked: f64,
}

/// Ranges of percentiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WaitRange {
    /// p45 to p55.
    Typical,
    /// p90 to p99.
    Slow,
    /// Above p99.
    Slowest,
}

/// The stalls of one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StallFinding {
    /// The phase's label.
    pub phase: String,
    /// How many there were.
    pub seen: u64,
    /// Whether the median wait of the phase is also over the limit, so that these are no stalls.
    pub usual: bool,
    /// The longest that is listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_ns: Option<Nanos>,
    /// All that are listed together.
    pub total_ns: Nanos,
    /// Listed stalls by cause, most first.
    pub causes: Vec<StallCount>,
}

/// Number of stalls with one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StallCount {
    /// The cause.
    pub cause: StallCause,
    /// Stalls.
    pub stalls: u64,
}
