//! Checks a profile: each `[[check]]` is simulated, and compared with its published rows.

mod bars;
mod cells;
mod judge;
mod order;
mod parameters;
mod plan;
mod sensitivity;

use flashlag_schema::Run;
use flashlag_spec::profile::{Profile, ProfileCheck};
use flashlag_spec::published::Published;
use flashlag_spec::scenario::Scenario;
use flashlag_spec::target::{Kind, MountSpec};
use flashlag_units::Bytes;

use crate::{ModelError, PredictError, ProtocolError, Simulation, Simulator, parallel};

pub use bars::{Bar, Verdict};
pub use cells::{Cell, SimulatedFigure};
pub(crate) use cells::{Row, rows_of, states_checked};
pub use order::Inversion;
pub(crate) use parameters::at_bound;
pub use parameters::{FittedParameter, Overfitting};
use plan::Plan;
pub use sensitivity::{Move, Sensitivity};

/// The options of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// The seeds that are averaged.
    pub seeds: Vec<u64>,
    /// Whether to move each fitted parameter by a tenth, down and up: two runs of each protocol for each
    /// parameter.
    pub sensitivity: bool,
}

impl Default for CheckOptions {
    fn default() -> Self {
        CheckOptions { seeds: vec![1, 2, 3], sensitivity: false }
    }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckReport {
    /// The profile's name.
    pub profile: String,
    /// The description of the device.
    pub about: String,
    /// The simulated seeds.
    pub seeds: Vec<u64>,
    /// One for each published row, in their order, also for rows without a simulated figure.
    pub cells: Vec<Cell>,
    /// Pairs of rows of one column in the reverse order.
    pub inversions: Vec<Inversion>,
    pub fitted: Vec<FittedParameter>,
    /// The numbers of fitted parameters and rows.
    pub overfitting: Overfitting,
    /// The sensitivity of the rows to them; empty unless requested.
    pub sensitivity: Vec<Sensitivity>,
    /// The assumptions of profile and protocols.
    pub assumptions: Vec<String>,
}

impl CheckReport {
    /// Number of rows within 20 % of the published value; published changes within 5 points.
    pub fn near(&self) -> usize {
        self.cells.iter().filter(|cell| judge::is_near(cell)).count()
    }

    /// Whether every row is within its bound and no column's order is inverted.
    pub fn passed(&self) -> bool {
        let fine = |cell: &Cell| matches!(cell.verdict, Verdict::Pass | Verdict::Allowance);
        self.cells.iter().all(fine) && self.inversions.is_empty()
    }
}

/// A check with its parsed protocol.
pub(crate) struct Protocol<'a> {
    pub check: &'a ProfileCheck,
    pub mount: MountSpec,
    /// The mount of the run that it is compared with, for changes.
    pub against: Option<MountSpec>,
    pub scenario: Scenario,
    pub leave: Option<Bytes>,
}

/// The runs of one check with one seed: the run, and the one it is compared with, for changes.
pub(crate) struct Pair {
    pub run: Run,
    pub against: Option<Run>,
}

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

pub(crate) fn protocols<'a>(
    profile: &'a Profile,
    scenario_text: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<Protocol<'a>>, PredictError> {
    if profile.checks.is_empty() {
        return Err(PredictError::NoCheck { profile: profile.name.clone() });
    }
    profile
        .checks
        .iter()
        .map(|check| {
            let wrong = |reason| PredictError::Protocol {
                profile: profile.name.clone(),
                device: check.device.clone(),
                reason,
            };
            let text = scenario_text(&check.scenario).ok_or_else(|| {
                wrong(ProtocolError::UnknownScenario { name: check.scenario.clone() })
            })?;
            let scenario = check.scenario_of(&text).map_err(|reason| {
                wrong(ProtocolError::Scenario {
                    name: check.scenario.clone(),
                    reason: Box::new(reason),
                })
            })?;
            let leave = check.leave.as_ref().map(|text| text.parse()).transpose();
            let leave = leave.map_err(|error| wrong(ProtocolError::Leave(error)))?;
            let mount = |text| {
                let mount = MountSpec::parse(Kind::Sim, text);
                mount.map_err(|error| wrong(ProtocolError::Mount(Box::new(error))))
            };
            let against = check.against.as_deref().map(mount).transpose()?;
            // By default the profile's filesystem is used.
            let mount = mount(check.filesystem.as_deref().unwrap_or(&profile.filesystem))?;
            Ok(Protocol { check, mount, against, scenario, leave })
        })
        .collect()
}

pub(crate) fn run_pair(
    profile: &Profile,
    protocol: &Protocol<'_>,
    seed: u64,
    simulator: &dyn Simulator,
) -> Result<Pair, PredictError> {
    let scenario = &protocol.scenario;
    let changed = profile.overridden(&protocol.check.model).map_err(ModelError::from)?;
    let one = |mount: &MountSpec| {
        let simulation =
            Simulation { profile: &changed, mount, scenario, seed, leave: protocol.leave };
        simulator.simulate(&simulation).map_err(|reason| PredictError::Simulation {
            what: format!("{} on sim:{}+{mount}, seed {seed}", scenario.name, profile.name),
            reason,
        })
    };
    let run = one(&protocol.mount)?;
    let against = protocol.against.as_ref().map(one).transpose()?;
    Ok(Pair { run, against })
}
