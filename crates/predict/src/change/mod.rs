//! Forecasts a device after changes. Each change is simulated on top of the previous ones. The
//! result has the figures after it, the reasons, its share of the total effect, and warnings if it
//! extrapolates beyond published measurements.

mod beyond;
mod figures;
mod fullness;
mod maintenance;
mod mount;
mod parse;
mod plan;
mod reason;
mod scenario;
mod situation;
mod spread;
mod steady;
mod sweep;
mod years;

use flashlag_schema::Run;
use flashlag_spec::profile::Profile;
use flashlag_spec::published::Published;
use flashlag_units::Nanos;

use crate::{PredictError, RunInputError, Simulator, doubts};

pub use figures::{DURABLE, Figures, PredictOptions, TestFigures};
pub use fullness::{Fullness, Plausible};
pub use maintenance::{Maintenance, Moment};
pub use parse::{Change, parse};
pub use plan::{Cause, Plan};
pub use reason::reasons;
pub use scenario::{SAVE, SAVE_ROLLBACK};
pub use situation::Situation;
pub use spread::{Range, SeedSpread};
pub use steady::{DaysOfUse, STEADY, Settling, WINDOW};
pub use sweep::{Level, Sweep, parse_levels, sweep};
pub use years::{Absence, CauseFigures, Years};

/// The figures of a device before and after each change.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// The profile's name.
    pub profile: String,
    /// Filesystem and options before the first change.
    pub filesystem: String,
    /// The figures before the first change.
    pub before: Figures,
    /// The changes, each on top of those before it.
    pub steps: Vec<Stage>,
    /// Warnings: doubts about the run that its profile was fitted to, and a large misfit.
    pub warnings: Vec<String>,
    pub assumptions: Vec<String>,
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The change as requested: `fs=f2fs`.
    pub change: String,
    /// Filesystem and options after it.
    pub filesystem: String,
    pub after: Figures,
    /// Its share of the total change of a durable write's mean time, by logarithms: shares may be
    /// negative and sum up to 1. `None` if the total does not change. Not of the median, which may
    /// move from one of two times to the other while the mean stays.
    pub share: Option<f64>,
    /// The same for saves a second.
    pub share_of_saves: Option<f64>,
    /// The same for saves a second with SQLite's default journal.
    pub share_of_rollback: Option<f64>,
    /// The reasons, derived from the requests to the device.
    pub reasons: Vec<String>,
    /// Extrapolations beyond published measurements.
    pub beyond: Vec<String>,
    /// The effect of the years, cause by cause; `None` for a change that does not make the device
    /// older.
    pub years: Option<Years>,
    /// What of a full device's fall is the day's writes, the reach and the fullness; `None` for other
    /// changes, and without [`PredictOptions::causes`].
    pub fullness: Option<Fullness>,
}

impl Forecast {
    /// The figures after all changes.
    pub fn after(&self) -> &Figures {
        self.steps.last().map_or(&self.before, |step| &step.after)
    }
}

/// The device of a simulated run.
pub fn situation_of(run: &Run, run_name: &str, force: bool) -> Result<Situation, PredictError> {
    let refuse = |reason| PredictError::Run { run: run_name.to_owned(), reason };
    if run.target.profile.is_some() {
        doubts::allowed(run, run_name, force)?;
    }
    let Some(record) = &run.target.profile else {
        return Err(refuse(RunInputError::Measured { run: run_name.to_owned() }));
    };
    let profile = Profile::parse(&record.text).map_err(|error| refuse(error.into()))?;
    Situation::new(&profile, &record.filesystem).map_err(|error| refuse(error.into()))
}

/// Simulates a device before and after each change, in parallel.
pub fn predict(
    start: &Situation,
    changes: &[Change],
    published: &[Published],
    simulator: &dyn Simulator,
    options: &PredictOptions,
) -> Result<Forecast, PredictError> {
    let mut situations = asked_for(start, changes, options)?;
    let count = situations.len();
    let (mut chains, mut fillings) = (Vec::new(), Vec::new());
    for (index, change) in (1..).zip(changes) {
        let ages = matches!(change, Change::Age(age) if *age > Nanos::ZERO);
        let chain =
            (ages && options.causes).then(|| years::chain(index, &mut situations)).transpose();
        let chain = chain.map_err(|error| PredictError::Change {
            change: change.to_string(),
            reason: error.into(),
        })?;
        chains.push(chain);
        let fills = matches!(change, Change::Full(_)) && situations[index].0.plan.is_only_full();
        fillings.push(
            (fills && options.causes).then(|| fullness::chain(index, published, &mut situations)),
        );
    }
    let measured = figures::measure(&situations, simulator, options)?;
    situations.truncate(count);
    let before = measured.first().cloned().unwrap_or_default();
    let mut assumptions = plan::assumptions(&situations[0].0.plan);
    let mut steps: Vec<Stage> = Vec::new();
    let each = situations.windows(2).zip(changes).zip(chains.iter().zip(&fillings));
    for (((pair, change), (chain, filling)), after) in each.zip(measured.iter().skip(1).cloned()) {
        let ((previous, _), (next, what)) = (&pair[0], &pair[1]);
        let last = steps.last().map_or(&before, |step| &step.after);
        steps.push(Stage {
            change: what.clone(),
            filesystem: next.mount.to_string(),
            share: None,
            share_of_saves: None,
            share_of_rollback: None,
            reasons: reason::reasons(last, &after),
            beyond: beyond::beyond(previous, next, change, published),
            years: chain.as_ref().map(|chain| chain.years(&measured)),
            fullness: filling.as_ref().and_then(|filling| filling.fullness(&measured)),
            after,
        });
        for assumption in plan::assumptions(&next.plan) {
            if !assumptions.contains(&assumption) {
                assumptions.push(assumption);
            }
        }
    }
    shares(&before, &mut steps);
    Ok(Forecast {
        profile: start.profile.name.clone(),
        filesystem: start.mount.to_string(),
        before,
        steps,
        warnings: start.warnings(),
        assumptions,
    })
}

/// The device before the first change and after each, with its name in errors.
fn asked_for(
    start: &Situation,
    changes: &[Change],
    options: &PredictOptions,
) -> Result<Vec<figures::Named>, PredictError> {
    let mut first = start.clone();
    (first.plan.daily, first.plan.rollback) = (options.daily, options.rollback);
    let fills = changes.iter().any(|change| matches!(change, Change::Full(_)));
    first.plan.afterwards = options.causes && fills;
    first.plan.saves = options.saves;
    let mut situations = vec![(first, "as it is".to_owned())];
    for change in changes {
        let last = &situations[situations.len() - 1].0;
        let next = last.with(change).map_err(|error| PredictError::Change {
            change: change.to_string(),
            reason: error.into(),
        })?;
        situations.push((next, change.to_string()));
    }
    Ok(situations)
}

/// A smaller total change counts as none.
const CHANGED: f64 = 0.02;

fn shares(before: &Figures, steps: &mut [Stage]) {
    let rates = |of: fn(&Figures) -> Option<&TestFigures>| -> Vec<Option<f64>> {
        let all = std::iter::once(before).chain(steps.iter().map(|step| &step.after));
        all.map(|figures| of(figures).map(|test| test.per_second)).collect()
    };
    let writes = rates(Figures::durable);
    let (saves, rollback) = (rates(Figures::saves), rates(Figures::rollback_saves));
    for (index, step) in steps.iter_mut().enumerate() {
        step.share = share(&writes, index);
        step.share_of_saves = share(&saves, index);
        step.share_of_rollback = share(&rollback, index);
    }
}

/// The share of step `index` in the total change.
fn share(figures: &[Option<f64>], index: usize) -> Option<f64> {
    let (first, last) = ((*figures.first()?)?, (*figures.last()?)?);
    let whole = (last / first).ln();
    if !whole.is_finite() || whole.abs() < CHANGED {
        return None;
    }
    let (from, to) = ((*figures.get(index)?)?, (*figures.get(index + 1)?)?);
    Some((to / from).ln() / whole)
}
