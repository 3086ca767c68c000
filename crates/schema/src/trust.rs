use flashlag_spec::Verdict;
use flashlag_units::InOrder;
use serde::{Deserialize, Serialize};

/// Whether the run can be believed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Trust {
    /// Untrusted if a check fails, or without a phase or a check.
    pub verdict: Verdict,
    /// Every check, failed ones first.
    pub checks: Vec<Check>,
}

impl Trust {
    /// The verdict of `checks` of a run with this many `phases`; decided only here.
    ///  A failed check makes a run untrusted. A run without a check or without a phase has proved
    /// nothing that could be trusted.
    pub fn of(mut checks: Vec<Check>, phases: usize) -> Trust {
        checks.order_by_key(|check| check.status);
        let failed = checks.iter().any(|check| check.status == CheckStatus::Fail);
        let trusted = !failed && !checks.is_empty() && phases > 0;
        Trust { verdict: if trusted { Verdict::Trusted } else { Verdict::Untrusted }, checks }
    }
}

/// One check with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Which.
    pub id: CheckId,
    /// Its outcome.
    pub status: CheckStatus,
    /// The claim in a few words: "Writes reached storage".
    pub claim: String,
    /// The evidence, with numbers.
    pub detail: String,
    /// The reason for the failure, for a check that can fail for several reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<CheckCause>,
    /// Advice, if the check did not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The phases that it covers, by [`crate::Phase::label`]; empty if it covers the whole run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<String>,
}

/// Why a check failed, of those that can fail for several reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckCause {
    /// Most of the wait, or of the slowest operations' wait, was for a CPU.
    CpuMost,
    /// Waiting for a CPU added to the waits, but storage took the larger part.
    CpuAdded,
    /// A control group's limit of requests or bytes to the disk.
    IoLimit,
    /// A control group's quota of CPUs.
    CpuQuota,
    /// A control group's limit of memory.
    MemoryLimit,
}

/// The outcome of a check. Missing evidence never passes: it is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// The claim was shown to be false.
    Fail,
    /// The evidence could not be read, or is not conclusive.
    Unknown,
    /// The claim was shown to be true.
    Pass,
}

/// The checks there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckId {
    /// The monotonic clock agrees with the boot-time clock and is precise and cheap enough.
    Clock,
    /// The sum of latencies agrees with the elapsed time: no operation took less than no time.
    Accounting,
    /// The engine's own cost is small compared with the measured times.
    EngineOverhead,
    /// The bytes reached the block device, not only the page cache.
    CacheBypass,
    /// Flushes were issued and took as long as a flush must.
    FlushIsReal,
    /// The payload can't be compressed or deduplicated away.
    PayloadIncompressible,
    /// No limit of a control group (requests, CPUs, memory) held the process back.
    MachineLimits,
    /// The measuring thread had a CPU when it needed one.
    CpuContention,
    /// The process was never stopped, frozen or suspended while it measured.
    NeverStopped,
    /// Nothing else used the device.
    ForeignIo,
    /// Heat slowed neither the storage nor the CPU.
    ThermalThrottling,
    /// There was room, and the fill reached its level.
    FreeSpace,
    /// The figures had settled.
    SteadyState,
    /// There were enough samples for each printed percentile.
    EnoughSamples,
    /// Every byte that was read back equals the byte that was written.
    DataVerified,
}

impl CheckId {
    /// Every check, in the order of their declaration.
    pub const ALL: [CheckId; 15] = [
        CheckId::Clock,
        CheckId::Accounting,
        CheckId::EngineOverhead,
        CheckId::CacheBypass,
        CheckId::FlushIsReal,
        CheckId::PayloadIncompressible,
        CheckId::MachineLimits,
        CheckId::CpuContention,
        CheckId::NeverStopped,
        CheckId::ForeignIo,
        CheckId::ThermalThrottling,
        CheckId::FreeSpace,
        CheckId::SteadyState,
        CheckId::EnoughSamples,
        CheckId::DataVerified,
    ];

    /// `cpu_contention`, as in the run file.
    pub fn name(self) -> &'static str {
        match self {
            CheckId::Clock => "clock",
            CheckId::Accounting => "accounting",
            CheckId::EngineOverhead => "engine_overhead",
            CheckId::CacheBypass => "cache_bypass",
            CheckId::FlushIsReal => "flush_is_real",
            CheckId::PayloadIncompressible => "payload_incompressible",
            CheckId::MachineLimits => "machine_limits",
            CheckId::CpuContention => "cpu_contention",
            CheckId::NeverStopped => "never_stopped",
            CheckId::ForeignIo => "foreign_io",
            CheckId::ThermalThrottling => "thermal_throttling",
            CheckId::FreeSpace => "free_space",
            CheckId::SteadyState => "steady_state",
            CheckId::EnoughSamples => "enough_samples",
            CheckId::DataVerified => "data_verified",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checks_name_is_the_one_in_the_run_file() {
        for id in CheckId::ALL {
            assert_eq!(serde_json::to_value(id).unwrap(), id.name());
        }
    }

    #[test]
    fn all_checks_are_those_of_the_json_schema() {
        let schema = schemars::schema_for!(CheckId).to_value();
        let variants = schema["oneOf"].as_array().unwrap().iter();
        let names: Vec<&str> = variants.map(|one| one["const"].as_str().unwrap()).collect();
        assert_eq!(names, CheckId::ALL.map(CheckId::name));
    }
}
