//! Forecasts the effect of findings whose run has no two sides to compare; adds findings that only
//! a forecast shows.

mod device;
mod plan;

use flashlag_explain::{LagVerdict, Subjects, finding, ordered, verdict};
use flashlag_schema::Run;
use flashlag_schema::finding::{
    Counted, Effect, EffectBasis, Estimate, Fact, Finding, FindingId, Severity,
};
use flashlag_spec::Reading;
use flashlag_spec::profile::builtin_profile;
use flashlag_spec::target::FilesystemKind;
use flashlag_units::{Bytes, Nanos, ratio};

use crate::change::{Change, Figures, PredictOptions, Situation, predict};
use crate::{PredictError, SimulationError, Simulator};

pub use device::{Device, NoDevice, device_of};
use plan::{Forecasting, affected, plan_of};

/// Another filesystem is a finding if its forecast wait is shorter by this share.
const SHORTER: f64 = 0.1;

/// A possible cost or gain is a finding if the forecast wait without it is shorter by this share.
const GAIN: f64 = 0.02;

/// The findings with the effects that can be forecast on a device. A measured effect stays. Where a
/// forecast can't be made, the reason says so.
pub fn with_forecasts(
    run: &Run,
    found: Vec<Finding>,
    device: &Device,
    simulator: &dyn Simulator,
) -> Vec<Finding> {
    let mut found = found;
    for finding in &mut found {
        let Some(reason) = finding.effect.reason().map(str::to_owned) else { continue };
        let Some(plan) = plan_of(finding.id, run, Some(&device.situation.profile)) else {
            continue;
        };
        let forecast = match plan {
            Reading::Unavailable { unavailable } => Reading::unavailable(unavailable),
            Reading::Value(plan) => {
                let effect = forecast(device, &plan, simulator);
                match &effect {
                    Ok(_) => finding.commands.clear(),
                    Err(error) if is_late(error) => finding.commands = vec![command(device, &plan)],
                    Err(_) => {}
                }
                effect.map_err(|error| why(&error)).into()
            }
        };
        finding.effect = match forecast {
            Reading::Value(mut effect) => {
                effect.cost_s_per_1000.value *= affected(finding.id, run);
                Reading::Value(effect)
            }
            Reading::Unavailable { unavailable: why } => {
                Reading::unavailable(format!("{reason}; no forecast: {why}"))
            }
        };
    }
    found.retain(|finding| finding.id != FindingId::FastCommit || gains(finding));
    found.extend(other_filesystem(run, device, simulator));
    ordered(run, found)
}

/// Whether a forecast shows a gain, for a possible cost or gain; `true` if no forecast was made.
fn gains(finding: &Finding) -> bool {
    let Some(effect) = finding.effect.value() else { return true };
    let fixed = effect.fixed_ns.unwrap_or(effect.now_ns).0 as f64;
    fixed < (1.0 - GAIN) * effect.now_ns.0 as f64
}

/// The findings without forecasts, each with the reason why there are none.
pub fn without_forecasts(found: Vec<Finding>, run: &Run, why: &str) -> Vec<Finding> {
    let mut found = found;
    for finding in &mut found {
        let why = match plan_of(finding.id, run, None) {
            None => continue,
            Some(Reading::Value(_)) => why.to_owned(),
            Some(Reading::Unavailable { unavailable }) => unavailable,
        };
        if let Some(reason) = finding.effect.reason() {
            finding.effect = Reading::unavailable(format!("{reason}; no forecast: {why}"));
        }
    }
    found
}

fn is_late(error: &PredictError) -> bool {
    matches!(error, PredictError::Simulation { reason: SimulationError::Stopped, .. })
}

fn why(error: &PredictError) -> String {
    if is_late(error) { "it was not done in time".to_owned() } else { error.to_string() }
}

/// The command that makes a forecast which was left out.
fn command(device: &Device, plan: &Forecasting) -> String {
    let Situation { profile, mount, .. } = &device.situation;
    let subject = match builtin_profile(&profile.name) {
        Some(_) => profile.name.as_str(),
        None => "PROFILE.toml",
    };
    let changes = plan.before.iter().chain(std::iter::once(&plan.change));
    let changes: Vec<String> = changes.map(Change::to_string).collect();
    format!("flashlag predict {subject} --fs {mount} --change {}", changes.join(","))
}

/// A used device is simulated as one of this part of its capacity, equally full, which behaves alike.
const SMALLER: u64 = 8;
/// The smallest device that stands for a larger one: the blocks of all profiles fit into it.
const SMALLEST: Bytes = Bytes(2 << 30);

/// A smaller device of the same make, with the part of a day's writes that it takes; `None` where the
/// simulator has none, or none that is smaller.
fn smaller(start: &Situation, simulator: &dyn Simulator) -> Option<(Situation, Bytes)> {
    let whole = start.profile.model().ok()?.map.capacity.0;
    let size = Bytes((whole.0 / SMALLER).max(SMALLEST.0)).round_down(Bytes::from_mib(1));
    if size >= whole {
        return None;
    }
    let profile = simulator.of_size(&start.profile, size)?;
    Some((Situation { profile, ..start.clone() }, size))
}

fn forecast(
    device: &Device,
    plan: &Forecasting,
    simulator: &dyn Simulator,
) -> Result<Effect, PredictError> {
    let mut start = device.situation.clone();
    for change in &plan.before {
        start = start.with(change).map_err(|error| PredictError::Change {
            change: change.to_string(),
            reason: error.into(),
        })?;
    }
    let mut options = PredictOptions { causes: false, ..PredictOptions::default() };
    let small = if plan.used { smaller(&start, simulator) } else { None };
    let size_bytes = small.as_ref().map(|(_, size)| *size);
    if let Some((situation, size)) = small {
        let whole = start.profile.model().map_or(size, |model| model.map.capacity.0);
        let part = ratio(size.0, whole.0).unwrap_or(1.0);
        options.daily = Bytes((options.daily.0 as f64 * part) as u64);
        start = situation;
    }
    let change = std::slice::from_ref(&plan.change);
    let forecast = predict(&start, change, &[], simulator, &options)?;
    let unknown = || PredictError::Simulation {
        what: plan.change.to_string(),
        reason: SimulationError::NoDurableWrites,
    };
    let now = wait(&forecast.before, plan.per).ok_or_else(unknown)?;
    let fixed = wait(forecast.after(), plan.per).ok_or_else(unknown)?;
    Ok(Effect {
        basis: EffectBasis::Forecast {
            profile: forecast.profile.clone(),
            of: device.of,
            change: plan.change.to_string(),
            size_bytes,
        },
        per: plan.per,
        now_ns: Nanos(now as u64),
        fixed_ns: Some(Nanos(fixed as u64)),
        cost_s_per_1000: Estimate { value: (now - fixed) * 1e3 / 1e9, interval: None },
    })
}

/// Mean wait in nanoseconds, of operations one after the other.
fn wait(figures: &Figures, per: Counted) -> Option<f64> {
    let test = match per {
        Counted::Saves => figures.saves(),
        Counted::Writes => figures.durable(),
        Counted::Reads => figures.test("rand_read_4k"),
    }?;
    let wait = 1e9 / test.per_second;
    (wait.is_finite() && wait > 0.0).then_some(wait)
}

/// Another filesystem on which saves would wait less.
fn other_filesystem(run: &Run, device: &Device, simulator: &dyn Simulator) -> Option<Finding> {
    let now = device.situation.mount.filesystem;
    let other = match now {
        FilesystemKind::Ext4 => FilesystemKind::F2fs,
        FilesystemKind::F2fs | FilesystemKind::Btrfs => FilesystemKind::Ext4,
        _ => return None,
    };
    let (before, per) = plan::saves_of(run);
    let plan = Forecasting { before, change: Change::Filesystem(other), per, used: false };
    let effect = forecast(device, &plan, simulator).ok()?;
    let fixed = effect.fixed_ns?.0 as f64;
    if fixed > (1.0 - SHORTER) * effect.now_ns.0 as f64 {
        return None;
    }
    let judged = Subjects::of(run).main.and_then(|main| verdict(run, main));
    let severity = match judged {
        Some(LagVerdict::Smooth) => Severity::Minor,
        _ => Severity::Costly,
    };
    let field = match run.target.profile {
        Some(_) => "target.profile.filesystem",
        None => "environment.filesystem.kind",
    };
    let evidence = vec![Fact { field: field.to_owned(), value: format!("{now}, not {other}") }];
    let source = "docs/model.md: the filesystems' own writes for a save";
    Some(finding(FindingId::OtherFilesystem, severity, source, evidence, Reading::Value(effect)))
}
