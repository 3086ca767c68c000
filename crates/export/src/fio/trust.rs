//! The trust section of an imported run: every check is unknown.

use flashlag_schema::{Check, CheckId, CheckStatus, Trust};

/// Every check as unknown: fio's results have no evidence for any.
pub(super) fn unknown_trust(phases: usize) -> Trust {
    let check = |id: &CheckId| Check {
        id: *id,
        status: CheckStatus::Unknown,
        claim: claim(*id).to_owned(),
        detail: "These figures were read from fio's results; nothing was checked.".to_owned(),
        cause: None,
        advice: Some("To have it checked, measure with `flashlag run`.".to_owned()),
        phases: Vec::new(),
    };
    Trust::of(CheckId::ALL.iter().map(check).collect(), phases)
}

fn claim(id: CheckId) -> &'static str {
    match id {
        CheckId::Clock => "The clock is right and fine enough",
        CheckId::Accounting => "Latency and elapsed time agree",
        CheckId::EngineOverhead => "The engine's own cost is small",
        CheckId::CacheBypass => "The bytes reached the device",
        CheckId::FlushIsReal => "Flushes reached the device",
        CheckId::PayloadIncompressible => "The payload can't be compressed away",
        CheckId::MachineLimits => "No limit of the machine held it back",
        CheckId::CpuContention => "A CPU was free when it was wanted",
        CheckId::NeverStopped => "The program was never stopped",
        CheckId::ForeignIo => "Nothing else used the device",
        CheckId::ThermalThrottling => "Heat slowed nothing",
        CheckId::FreeSpace => "There was room",
        CheckId::SteadyState => "The figures had settled",
        CheckId::EnoughSamples => "There were enough samples",
        CheckId::DataVerified => "Every byte read back was the one written",
    }
}
