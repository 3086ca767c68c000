//! Forecasts of what findings cost, where the run itself has no two sides to compare; and findings that
//! only a forecast shows.

mod device;
mod plan;

use flashlag_explain::{LagVerdict, Subjects, finding, ordered, verdict};
use flashlag_schema::finding::{
    Counted, Effect, EffectBasis, Estimate, Fact, Finding, FindingId, Severity,
};
use flashlag_schema::target::FilesystemKind;
use flashlag_schema::{Reading, Run};
use flashlag_units::Nanos;

use crate::change::{Change, Figures, PredictOptions, predict};
use crate::{PredictError, SimulationError, Simulator};

pub use device::{Device, device_of};
use plan::plan_of;

/// Another filesystem is a finding where its forecast wait is shorter by this share.
const SHORTER: f64 = 0.1;

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
        let Some(plan) = plan_of(finding.id, run) else { continue };
        finding.effect = match forecast(device, &plan, simulator) {
            Ok(effect) => Reading::Value(effect),
            Err(error) => Reading::unavailable(format!("{reason}; no forecast: {}", why(&error))),
        };
    }
    found.extend(other_filesystem(run, device, simulator));
    ordered(found)
}

/// The findings without forecasts, each with the reason why there are none.
pub fn without_forecasts(found: Vec<Finding>, run: &Run, why: &str) -> Vec<Finding> {
    let mut found = found;
    for finding in &mut found {
        let can = plan_of(finding.id, run).is_some();
        if let (true, Some(reason)) = (can, finding.effect.reason()) {
            finding.effect = Reading::unavailable(format!("{reason}; no forecast: {why}"));
        }
    }
    found
}

fn why(error: &PredictError) -> String {
    match error {
        PredictError::Simulation { reason: SimulationError::Stopped, .. } => {
            "it was not done in time".to_owned()
        }
        other => other.to_string(),
    }
}

/// What is simulated before and after, and which of its figures counts.
struct Forecasting {
    before: Vec<Change>,
    change: Change,
    per: Counted,
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
    let options = PredictOptions { causes: false, ..PredictOptions::default() };
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
        },
        per: plan.per,
        now_ns: Nanos(now as u64),
        fixed_ns: Some(Nanos(fixed as u64)),
        cost_s_per_1000: Estimate { value: (now - fixed) * 1e3 / 1e9, interval: None },
    })
}

/// Mean wait in nanoseconds: one operation follows the other.
fn wait(figures: &Figures, per: Counted) -> Option<f64> {
    let test = match per {
        Counted::Saves => figures.saves(),
        Counted::Writes => figures.durable(),
        Counted::Reads => figures.test("rand_read_4k"),
    }?;
    let wait = 1e9 / test.per_second;
    (wait.is_finite() && wait > 0.0).then_some(wait)
}

/// Another filesystem, where saves would wait less.
fn other_filesystem(run: &Run, device: &Device, simulator: &dyn Simulator) -> Option<Finding> {
    let now = device.situation.mount.filesystem;
    let other = match now {
        FilesystemKind::Ext4 => FilesystemKind::F2fs,
        FilesystemKind::F2fs | FilesystemKind::Btrfs => FilesystemKind::Ext4,
        _ => return None,
    };
    let (before, per) = plan::saves_of(run);
    let plan = Forecasting { before, change: Change::Filesystem(other), per };
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
