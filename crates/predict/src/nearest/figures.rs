//! The figures of a run that a simulation is fitted to.

use flashlag_schema::{LatencySummary, Phase, Run};
use flashlag_spec::State;
use flashlag_units::Nanos;

use super::bands;

/// Residual of a figure that a simulation does not have: a factor of twenty.
pub(crate) const FAR: f64 = 3.0;
/// Minimum operations of a figure.
const FEWEST: u64 = 10;
/// The same for a band of ranks.
const FEWEST_IN_BAND: f64 = 3.0;

/// The same if a simulation has fewer operations than the run: a single long wait is a larger share
/// of them.
const FEWEST_OF_PART: f64 = 15.0;

/// Figures of fewer operations weigh less: a single long stall changes them.
const SETTLED: f64 = 300.0;
/// The same for a band of ranks.
const SETTLED_BAND: f64 = 20.0;
/// Weight of a percentile relative to the bands around it, which change more smoothly.
const LEAPS: f64 = 0.5;

/// The compared quantity of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Statistic {
    P50,
    P99,
    Rate,
    /// Operations at these ranks, by their index in [`bands::BANDS`].
    Band(usize),
}

/// One figure of the measured run.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The state it was measured in.
    pub state: State,
    /// The run in that state.
    pub run: u32,
    pub test: String,
    /// `p50`, `p99`, `rate`, or a band of ranks whose mean it is: `p90 to p98`.
    pub what: &'static str,
    pub(crate) statistic: Statistic,
    /// Nanoseconds, or operations a second.
    pub measured: f64,
    /// Weight among the figures.
    pub(crate) weight: f64,
}

/// The figures of a run, for simulations with `simulated` of a phase's operations.
pub(crate) fn figures(run: &Run, simulated: &dyn Fn(&Phase) -> u64) -> Vec<Figure> {
    let usable = |phase: &&Phase| phase.ops >= FEWEST && !phase.cut_short && phase.replay.is_none();
    let mut figures: Vec<Figure> = Vec::new();
    for phase in run.phases.iter().filter(usable) {
        let ops = phase.ops.min(simulated(phase));
        let part = ops < phase.ops;
        let settled = (ops as f64 / SETTLED).min(1.0);
        let mut statistics = vec![(Statistic::P50, "p50", LEAPS * settled)];
        if !part {
            statistics.push((Statistic::P99, "p99", LEAPS * settled));
            statistics.push((Statistic::Rate, "rate", settled));
        }
        let fewest = if part { FEWEST_OF_PART } else { FEWEST_IN_BAND };
        for (band, (what, ..)) in bands::BANDS.iter().enumerate() {
            let many = bands::many(ops, band);
            if many >= fewest {
                statistics.push((
                    Statistic::Band(band),
                    *what,
                    (many / SETTLED_BAND).sqrt().min(settled),
                ));
            }
        }
        for (statistic, what, weight) in statistics {
            let Some(measured) = value(phase, statistic) else { continue };
            figures.push(Figure {
                state: phase.state,
                run: phase.run,
                test: phase.name.clone(),
                what,
                statistic,
                measured,
                weight,
            });
        }
    }
    figures
}

fn value(phase: &Phase, statistic: Statistic) -> Option<f64> {
    let positive = |value: f64| (value.is_finite() && value > 0.0).then_some(value);
    let latency = |value: Option<Nanos>| value.and_then(|value| positive(value.0 as f64));
    match statistic {
        Statistic::P50 => latency(response_summary(phase).p50),
        Statistic::P99 => latency(response_summary(phase).p99),
        // The rate of a paced phase is set by its schedule or its think times, not by the device alone.
        Statistic::Rate if !phase.is_paced() => positive(phase.ops_per_sec),
        Statistic::Rate => None,
        Statistic::Band(band) => {
            let histogram = phase.response_histogram.as_ref().unwrap_or(&phase.histogram);
            bands::mean_of_band(histogram, band).and_then(|mean| positive(mean.exp()))
        }
    }
}

/// An open loop's latency counts from the intended start.
fn response_summary(phase: &Phase) -> &LatencySummary {
    phase.response_ns.as_ref().unwrap_or(&phase.latency_ns)
}

/// The logarithm of simulated over measured for each figure.
pub(crate) fn residuals(figures: &[Figure], simulated: &Run) -> Vec<f64> {
    figures.iter().map(|figure| residual(figure, simulated)).collect()
}

fn residual(figure: &Figure, simulated: &Run) -> f64 {
    let is_it = |phase: &&Phase| {
        phase.name == figure.test && phase.state == figure.state && phase.run == figure.run
    };
    let Some(phase) = simulated.phases.iter().find(is_it).filter(|phase| phase.ops > 0) else {
        return FAR;
    };
    let value = value(phase, figure.statistic).or_else(|| {
        // Too few operations for a p99: it is at most the longest one.
        let longest = response_summary(phase).max.map(|max| max.0 as f64);
        longest.filter(|max| figure.statistic != Statistic::Rate && *max > 0.0)
    });
    value.map_or(FAR, |value| (value / figure.measured).ln().clamp(-FAR, FAR))
}

/// The typical residual as a share: the root mean square as a factor, less 1.
pub(crate) fn misfit(residuals: &[f64]) -> f64 {
    let count = residuals.len().max(1) as f64;
    (residuals.iter().map(|one| one * one).sum::<f64>() / count).sqrt().exp_m1()
}
