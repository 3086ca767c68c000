//! Fits a profile's parameters to its published rows, which `profiles check` then compares them
//! with.

use flashlag_spec::profile::Profile;
use flashlag_spec::published::Published;

use super::axis::hold_others;
use super::identifiability::{Identifiability, identifiability};
use super::outcome::{FitParameter, parameters};
use super::request::FitOptions;
use super::search::{Found, Objective, Search};
use crate::check::{Protocol, Row, protocols, rows_of, run_pair};
use crate::nearest::{FAR, misfit};
use crate::{PredictError, SimulationError, Simulator, parallel};

/// This many points of a change weigh as much as a logarithm of one: five points are a fifth, as in
/// their bounds.
pub(super) const POINTS: f64 = 25.0;

/// A profile with the values that come nearest to its published rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    /// The tuned profile; the sources of its parameters are unchanged and need an edit.
    pub profile: Profile,
    /// The typical residual before, as a share: 0.1 is ten percent.
    pub misfit_before: f64,
    /// The typical residual after.
    pub misfit: f64,
    /// All parameters with a range, before and after.
    pub parameters: Vec<FitParameter>,
    /// The parameters that the rows do not determine, or can't separate.
    pub identifiability: Identifiability,
    /// The final misfit of each start.
    pub starts: Vec<f64>,
    /// Number of runs.
    pub simulations: usize,
    /// Whether the simulations were used up.
    pub exhausted: bool,
}

/// The published rows of a profile's checks.
pub(super) struct OfRows<'a> {
    pub protocols: &'a [Protocol<'a>],
    pub published: &'a [Published],
    pub seeds: &'a [u64],
    pub simulator: &'a dyn Simulator,
}

impl Objective for OfRows<'_> {
    fn labels(&self) -> Vec<String> {
        let mut labels = Vec::new();
        for protocol in self.protocols {
            labels.extend(rows_of(protocol, self.published).iter().map(Row::label));
        }
        labels
    }

    fn runs(&self) -> usize {
        let each = |protocol: &Protocol<'_>| 1 + usize::from(protocol.check.against.is_some());
        self.seeds.len() * self.protocols.iter().map(each).sum::<usize>()
    }

    fn threads(&self) -> usize {
        self.simulator.threads()
    }

    fn residuals(&self, profile: &Profile) -> Found {
        let mut jobs = Vec::new();
        for protocol in self.protocols {
            jobs.extend(self.seeds.iter().map(|&seed| (protocol, seed)));
        }
        let pairs = parallel::try_map(self.threads(), &jobs, |(protocol, seed)| {
            run_pair(profile, protocol, *seed, self.simulator).map_err(|error| match error {
                PredictError::Simulation { reason: SimulationError::Stopped, .. } => {
                    SimulationError::Stopped
                }
                other => SimulationError::refused(other),
            })
        })?;
        let mut pairs = pairs.iter();
        let mut residuals = Vec::new();
        for protocol in self.protocols {
            let rows = rows_of(protocol, self.published);
            let mut sums = vec![0.0; rows.len()];
            for pair in pairs.by_ref().take(self.seeds.len()) {
                for (sum, row) in sums.iter_mut().zip(&rows) {
                    // A missing row has the largest residual, however many seeds have it.
                    *sum += row.figure(protocol, pair).unwrap_or(f64::NAN);
                }
            }
            let count = self.seeds.len().max(1) as f64;
            residuals.extend(sums.iter().zip(&rows).map(|(sum, row)| {
                let (mean, wanted) = (sum / count, row.published.value);
                let off = if row.published.unit == "%" {
                    (mean - wanted) / POINTS
                } else {
                    (mean / wanted).ln()
                };
                if off.is_finite() { off.clamp(-FAR, FAR) } else { FAR }
            }));
        }
        Ok(residuals)
    }
}

/// Searches, within the ranges, for the values that come nearest to the published rows of a
/// profile's checks. Fits every given row: leave some out to see whether they are forecast.
pub fn tune(
    profile: &Profile,
    published: &[Published],
    scenario_text: &dyn Fn(&str) -> Option<String>,
    seeds: &[u64],
    simulator: &dyn Simulator,
    options: &FitOptions,
) -> Result<Tuning, PredictError> {
    let protocols = protocols(profile, scenario_text)?;
    let mut held = Vec::new();
    hold_others(profile, options, &mut held)?;
    let objective = OfRows { protocols: &protocols, published, seeds, simulator };
    if objective.labels().is_empty() {
        return Err(PredictError::NoCheck { profile: profile.name.clone() });
    }
    let seed = options.seed.unwrap_or_else(|| seeds.first().copied().unwrap_or(1));
    let mut search = Search::new(&objective, profile, seed, options)?;
    let before = search.plain(profile);
    let found = search.run(profile, &held, options);
    if search.is_stopped() {
        return Err(super::request::stopped(profile));
    }
    let simulations = search.runs();
    Ok(Tuning {
        misfit_before: misfit(&before),
        misfit: misfit(&found.residuals),
        parameters: parameters(profile, &held, &found),
        identifiability: identifiability(&found.axes, &found.jacobian),
        starts: found.starts,
        simulations,
        exhausted: found.exhausted,
        profile: found.profile,
    })
}
