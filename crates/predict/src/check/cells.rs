use flashlag_schema::{Phase, Run, RunStatus};
use flashlag_spec::State;
use flashlag_spec::profile::{Parameter, Profile};
use flashlag_spec::published::Published;
use flashlag_units::InOrder;

use super::bars::{Bar, Verdict, bar};
use super::protocol::{Pair, Protocol};
use crate::FigureError;

/// The simulated figure of a published row, over all seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedFigure {
    pub mean: f64,
    /// The lowest of all seeds.
    pub low: f64,
    /// The highest.
    pub high: f64,
    /// The figure with each seed.
    pub each: Vec<f64>,
}

/// A published row with its simulated figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The published row.
    pub published: Published,
    /// Filesystem and options that it was simulated with.
    pub filesystem: String,
    /// The state and the run in it that correspond to its condition; `None` if no state does.
    pub place: Option<(State, u32)>,
    /// The test that corresponds to its workload.
    pub test: String,
    pub simulated: Result<SimulatedFigure, FigureError>,
    /// The error in percent of the published value; in points if that is a change in percent.
    pub error: Option<f64>,
    /// The bound on its error.
    pub bar: Bar,
    pub verdict: Verdict,
    /// Parameters that were fitted to this row.
    pub fitted: Vec<String>,
}

impl Cell {
    /// The column of the reviewers' table: device, workload and metric.
    pub fn column(&self) -> (&str, &str, &str) {
        (&self.published.device, &self.published.workload, &self.published.metric)
    }

    /// `filled 2: rand_write_4k`.
    pub fn label(&self) -> String {
        match self.place {
            Some((state, run)) => state.label(run, &self.test),
            None => format!("{}: {}", self.published.condition, self.test),
        }
    }
}

pub(super) fn cells(
    profile: &Profile,
    protocol: &Protocol<'_>,
    published: &[Published],
    pairs: &[Pair],
) -> Vec<Cell> {
    rows(protocol, published).map(|row| cell(profile, protocol, row, pairs)).collect()
}

/// The published rows of a check.
pub(super) fn rows<'a>(
    protocol: &'a Protocol<'_>,
    published: &'a [Published],
) -> impl Iterator<Item = &'a Published> {
    let check = protocol.check;
    published.iter().filter(move |row| {
        row.device == check.device
            && (check.conditions.is_empty() || check.conditions.contains_key(&row.condition))
            // A check with a second target has only changes; a check with one has none.
            && (row.metric == CHANGE) == check.against.is_some()
    })
}

const CHANGE: &str = "throughput change";

fn cell(profile: &Profile, protocol: &Protocol<'_>, row: &Published, pairs: &[Pair]) -> Cell {
    let check = protocol.check;
    let place = protocol.check.place_of(&row.condition);
    let test = check.workloads.get(&row.workload).unwrap_or(&row.workload).clone();
    let values: Result<Vec<f64>, FigureError> =
        pairs.iter().map(|pair| value(protocol, row, pair)).collect();
    let simulated = values.and_then(|each| summary(each).ok_or(FigureError::NoSeed));
    let error = simulated.as_ref().ok().map(|simulated| error_of(row, simulated.mean));
    let fitted = profile
        .parameters
        .iter()
        .filter(|(_, parameter)| place.is_some_and(|place| is_fitted_to(parameter, place, &test)))
        .map(|(key, _)| key.clone())
        .collect();
    Cell {
        published: row.clone(),
        filesystem: protocol.mount.to_string(),
        place,
        test,
        simulated,
        error,
        bar: bar(row, check),
        verdict: Verdict::Missing,
        fitted,
    }
}

fn summary(each: Vec<f64>) -> Option<SimulatedFigure> {
    let low = each.iter().copied().min_by(f64::total_cmp)?;
    let high = each.iter().copied().max_by(f64::total_cmp)?;
    let mean = each.iter().sum::<f64>() / each.len() as f64;
    Some(SimulatedFigure { mean, low, high, each })
}

/// The error in percent, or in points for a row that is a percentage.
pub(super) fn error_of(row: &Published, simulated: f64) -> f64 {
    if row.unit == "%" { simulated - row.value } else { (simulated / row.value - 1.0) * 100.0 }
}

/// A published row's figure in the runs of one seed.
pub(super) fn value(
    protocol: &Protocol<'_>,
    row: &Published,
    pair: &Pair,
) -> Result<f64, FigureError> {
    let Some((state, run)) = protocol.check.place_of(&row.condition) else {
        return Err(FigureError::NoState { condition: row.condition.clone() });
    };
    let test = protocol.check.workloads.get(&row.workload).unwrap_or(&row.workload);
    let figure = |of: &Run| figure(of, state, run, test, &row.metric);
    match &pair.against {
        Some(against) => {
            let (with, without) = (figure(&pair.run)?, figure(against)?);
            Ok((with / without - 1.0) * 100.0)
        }
        None => figure(&pair.run),
    }
}

fn figure(
    run: &Run,
    state: State,
    number: u32,
    test: &str,
    metric: &str,
) -> Result<f64, FigureError> {
    let label = state.label(number, test);
    let found = |phase: &&Phase| {
        phase.name == test && phase.state == state && phase.run == number && phase.ops > 0
    };
    // If a state is measured twice, the later phase counts.
    let phase = run.phases.iter().rev().find(found).ok_or_else(|| missing(run, &label))?;
    let latency = |value: Option<flashlag_units::Nanos>, percentile: &'static str| {
        let few = || FigureError::TooFew { label: label.clone(), percentile };
        value.map(|value| value.as_secs_f64() * 1e3).ok_or_else(few)
    };
    match metric {
        "throughput" | CHANGE => Ok(phase.bytes_per_sec / 1e6),
        "IOPS" => Ok(phase.ops_per_sec),
        "latency p50" => latency(phase.latency_ns.p50, "p50"),
        "latency p90" => latency(phase.latency_ns.p90, "p90"),
        "latency p99" => latency(phase.latency_ns.p99, "p99"),
        "latency p99.9" => latency(phase.latency_ns.p999, "p99.9"),
        "latency mean" => latency(phase.latency_ns.mean, "mean"),
        other => Err(FigureError::UnknownMetric { metric: other.to_owned() }),
    }
}

fn missing(run: &Run, label: &str) -> FigureError {
    let label = label.to_owned();
    let skipped = run.skipped.iter().find(|skipped| label.ends_with(&skipped.step));
    match (&run.status, skipped) {
        (_, Some(skipped)) => FigureError::Skipped { label, reason: skipped.reason.clone() },
        (RunStatus::Failed { error, .. }, None) => FigureError::RunFailed { error: error.clone() },
        _ => FigureError::NoTest { label },
    }
}

/// The states of a profile's published rows.
pub(crate) fn states_checked(profile: &Profile, published: &[Published]) -> Vec<State> {
    let mut states = Vec::new();
    for check in &profile.checks {
        let rows = published.iter().filter(|row| row.device == check.device);
        states.extend(rows.filter_map(|row| Some(check.place_of(&row.condition)?.0)));
    }
    states.order();
    states.dedup();
    states
}

/// `filled/rand_write_4k` means all runs of that state, `filled/2/rand_write_4k` one.
pub(super) fn is_fitted_to(parameter: &Parameter, place: (State, u32), test: &str) -> bool {
    let (state, run) = place;
    parameter.fitted.iter().any(|row| {
        let parts: Vec<&str> = row.split('/').collect();
        match parts.as_slice() {
            [of, name] => *of == state.name() && *name == test,
            [of, number, name] => {
                *of == state.name() && *number == run.to_string() && *name == test
            }
            _ => false,
        }
    })
}
