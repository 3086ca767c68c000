use flashlag_spec::profile::{FittedFrom, Parameter, Profile};
use flashlag_units::InOrder;

use super::identifiability::{Identifiability, identifiability, uncertainties};
use super::request::FitRequest;
use super::search::{DETERMINED, SearchResult};
use super::start::Inputs;
use crate::check::at_bound;
use crate::knob;
use crate::nearest::{Figure, misfit};

/// A figure in the measured run and in the fitted simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Residual {
    pub figure: Figure,
    /// Simulated over measured, before the fit.
    pub before: f64,
    /// Simulated over measured, after the fit.
    pub after: f64,
}

/// The result of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The new profile.
    pub profile: Profile,
    /// The run it was fitted to.
    pub run: String,
    /// The profile it was made from.
    pub start: String,
    /// The simulated filesystem and options.
    pub filesystem: String,
    /// The typical residual before the fit, as a share: 0.1 is ten percent.
    pub misfit_before: f64,
    /// The typical residual after the fit.
    pub misfit: f64,
    /// All figures.
    pub residuals: Vec<Residual>,
    /// All parameters with a range.
    pub parameters: Vec<FitParameter>,
    /// The parameters that the run does not determine, or can't separate.
    pub identifiability: Identifiability,
    /// The run's gaps, a sentence each.
    pub lacks: Vec<String>,
    /// The final misfit of each start.
    pub starts: Vec<f64>,
    pub simulations: usize,
    /// Whether the simulations were used up.
    pub exhausted: bool,
}

/// A parameter before and after a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct FitParameter {
    pub key: String,
    /// Its value in the starting profile.
    pub before: String,
    /// Its value in the fitted profile.
    pub after: String,
    /// Standard deviation as a share of the value; `None` if the run does not determine it.
    pub uncertainty: Option<f64>,
    /// The bound of its range that it lies on.
    pub bound: Option<&'static str>,
    /// The tests that determine it, strongest first: `new/rand_write_4k`.
    pub rows: Vec<String>,
    /// The reason why it was not fitted, if it was not.
    pub held: Option<String>,
}

pub(super) fn outcome(
    request: &FitRequest<'_>,
    inputs: &Inputs,
    doubts: Vec<String>,
    simulations: usize,
    before: &[f64],
    found: SearchResult,
) -> Fit {
    let parameters = parameters(&inputs.profile, &inputs.held, &found);
    let residuals = inputs
        .figures
        .iter()
        .zip(before.iter().zip(&found.residuals))
        .map(|(figure, (before, after))| Residual {
            figure: figure.clone(),
            before: before.exp(),
            after: after.exp(),
        })
        .collect();
    let mut profile = named(request, inputs, &found.profile, &parameters);
    let after = misfit(&found.residuals);
    profile.fitted_from = Some(FittedFrom {
        run: request.run_name.to_owned(),
        verdict: request.run.trust.verdict,
        forced: !doubts.is_empty(),
        doubts,
        misfit_percent: (after * 1000.0).round() / 10.0,
    });
    Fit {
        profile,
        run: request.run_name.to_owned(),
        start: request.start.name.clone(),
        filesystem: inputs.mount.to_string(),
        misfit_before: misfit(before),
        misfit: after,
        residuals,
        identifiability: identifiability(&found.axes, &found.jacobian),
        lacks: inputs.lacks.clone(),
        starts: found.starts,
        simulations,
        exhausted: found.exhausted,
        parameters,
    }
}

/// All parameters with a range, before and after the fit.
pub(super) fn parameters(
    start: &Profile,
    held: &[(String, String)],
    found: &SearchResult,
) -> Vec<FitParameter> {
    let uncertainties = uncertainties(&found.axes, &found.jacobian, &found.residuals);
    let value = |profile: &Profile, key: &str| {
        profile.parameters.get(key).map(|one| knob::written(&one.value)).unwrap_or_default()
    };
    let one = |key: &str| FitParameter {
        key: key.to_owned(),
        before: value(start, key),
        after: value(&found.profile, key),
        uncertainty: None,
        bound: None,
        rows: Vec::new(),
        held: None,
    };
    let mut all: Vec<FitParameter> = Vec::new();
    for (index, axis) in found.axes.iter().enumerate() {
        let is_determined = uncertainties[index].is_some();
        let bound = found.profile.parameters.get(&axis.key).and_then(|one| at_bound(one).0);
        all.push(FitParameter {
            uncertainty: uncertainties[index],
            bound: bound.filter(|_| is_determined),
            rows: rows(found, index),
            held: (!is_determined).then(|| {
                if axis.tried {
                    "no figure depends on it".to_owned()
                } else {
                    "the simulations ran out before its effect was known".to_owned()
                }
            }),
            ..one(&axis.key)
        });
    }
    let coarse = found.coarse.iter().map(|axis| axis.key.as_str());
    for key in coarse.chain(found.switches.iter().copied()) {
        let moved = value(start, key) != value(&found.profile, key);
        let held = (!moved).then(|| "no step of it improves the figures".to_owned());
        all.push(FitParameter { held, ..one(key) });
    }
    for (key, why) in held {
        let ranged = start.parameters.get(key).and_then(Parameter::bounds).is_some();
        if ranged && !all.iter().any(|known| known.key == *key) {
            all.push(FitParameter { held: Some(why.clone()), ..one(key) });
        }
    }
    all.order_by(|one, other| one.key.cmp(&other.key));
    all
}

/// The tests that determine a parameter: those it changes at least half as much as the one it changes
/// most.
fn rows(found: &SearchResult, axis: usize) -> Vec<String> {
    let column = found.jacobian.column(axis);
    let most = column.amax();
    let mut rows: Vec<String> = Vec::new();
    if most < DETERMINED {
        return rows;
    }
    let mut order: Vec<usize> = (0..column.len()).collect();
    order.order_by(|one, other| column[*other].abs().total_cmp(&column[*one].abs()));
    for index in order.into_iter().filter(|index| column[*index].abs() >= most / 2.0) {
        let row = &found.labels[index];
        if !rows.contains(row) && rows.len() < 3 {
            rows.push(row.clone());
        }
    }
    rows
}

/// The profile under its new name, each fitted parameter with its new source.
fn named(
    request: &FitRequest<'_>,
    inputs: &Inputs,
    found: &Profile,
    parameters: &[FitParameter],
) -> Profile {
    let run = request.run_name;
    let start = &request.start.name;
    let mut profile = found.clone();
    profile.name = request.name.to_owned();
    profile.about = format!("Fitted to {run}, from {start}.");
    profile.filesystem = inputs.mount.to_string();
    // Published rows belong to another device.
    profile.checks = Vec::new();
    let software = &request.run.environment.software;
    if let Some(system) = software.system.value() {
        profile.os = system.clone();
    }
    profile.assumptions.push(format!(
        "The structure of the device is that of {start}; so are the parameters that the run does not determine."
    ));
    profile.assumptions.extend(inputs.lacks.iter().cloned());
    for one in parameters {
        let Some(parameter) = profile.parameters.get_mut(&one.key) else { continue };
        parameter.fitted = one.rows.clone();
        if one.before != one.after {
            parameter.source = format!("fitted to {run}; in {start} {}", one.before);
        }
    }
    for (key, parameter) in &mut profile.parameters {
        if !parameters.iter().any(|one| one.key == *key) {
            parameter.fitted = Vec::new();
        }
    }
    profile
}
