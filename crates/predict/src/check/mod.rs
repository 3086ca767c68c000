//! Checks a profile: each `[[check]]` is simulated, and compared with its published rows.

mod bars;
mod cells;
mod judge;
mod order;
mod parameters;
mod plan;
mod protocol;
mod report;
#[cfg(feature = "fit")]
mod row;
mod sensitivity;

use flashlag_spec::profile::Profile;
use flashlag_spec::published::Published;

use crate::{PredictError, Simulator, parallel};

pub use bars::{Bar, Verdict};
pub(crate) use cells::states_checked;
pub use cells::{Cell, SimulatedFigure};
pub use order::Inversion;
pub use parameters::{FittedParameter, Overfitting};
use plan::Plan;
pub use protocol::CheckOptions;
pub use report::CheckReport;
pub use sensitivity::{Move, Sensitivity};
#[cfg(feature = "fit")]
pub(crate) use {
    parameters::at_bound,
    protocol::{Protocol, protocols, run_pair},
    row::{Row, rows_of},
};

/// Simulates the protocols of a profile and compares the rows. `scenario_text` returns the text of a
/// built-in scenario or protocol by its name.
pub fn check(
    profile: &Profile,
    published: &[Published],
    scenario_text: &dyn Fn(&str) -> Option<String>,
    simulator: &dyn Simulator,
    options: &CheckOptions,
) -> Result<CheckReport, PredictError> {
    let mut reports = Vec::new();
    let one = std::slice::from_ref(profile);
    check_each(one, published, scenario_text, simulator, options, |report| {
        reports.push(report);
        Ok::<(), PredictError>(())
    })?;
    reports.pop().ok_or_else(|| PredictError::NoCheck { profile: profile.name.clone() })
}

/// Checks several profiles, simulating them in parallel, and calls `report` with the result of
/// each, in their order, as soon as it is complete. Fails with the first error by the order of
/// profiles and protocols (a profile has no check, a check's protocol can't be parsed, a run can't
/// be simulated), or with that of `report`.
pub fn check_each<E: From<PredictError>>(
    profiles: &[Profile],
    published: &[Published],
    scenario_text: &dyn Fn(&str) -> Option<String>,
    simulator: &dyn Simulator,
    options: &CheckOptions,
    mut report: impl FnMut(CheckReport) -> Result<(), E>,
) -> Result<(), E> {
    let plans = profiles.iter().map(|profile| Plan::new(profile, scenario_text, options));
    let plans: Vec<Plan<'_>> = plans.collect::<Result<_, PredictError>>()?;
    let mut ends = Vec::new();
    let mut jobs = Vec::new();
    for plan in &plans {
        jobs.extend(plan.jobs());
        ends.push((plan, jobs.len()));
    }
    let mut ends = ends.into_iter().peekable();
    let (mut done, mut results) = (0, Vec::new());
    let run = |job: &plan::Job<'_>| job.run(simulator);
    parallel::in_order(simulator.threads(), &jobs, run, |result| {
        let is_unmoved = ends.peek().is_some_and(|(plan, _)| results.len() < plan.unmoved());
        // The report shows the error of a profile with a moved parameter.
        results.push(if is_unmoved { Ok(result?) } else { result });
        done += 1;
        while let Some((plan, _)) = ends.next_if(|(_, end)| *end == done) {
            report(plan.report(std::mem::take(&mut results), published)?)?;
        }
        Ok::<(), E>(())
    })?;
    // Without seeds there are no jobs.
    for (plan, _) in ends {
        report(plan.report(Vec::new(), published)?)?;
    }
    Ok(())
}

/// Number of simulations of a check, for progress.
pub fn runs(profile: &Profile, options: &CheckOptions) -> usize {
    let each: usize =
        profile.checks.iter().map(|check| 1 + usize::from(check.against.is_some())).sum();
    let moved = if options.sensitivity { 2 * parameters::fitted(profile).len() } else { 0 };
    each * (options.seeds.len() + moved)
}
