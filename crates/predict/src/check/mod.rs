//! The check of a profile: each `[[check]]` is simulated, and compared with its published rows.

mod bars;
mod cells;
mod judge;
mod order;
mod parameters;
mod sensitivity;

use flashlag_schema::Run;
use flashlag_schema::profile::{Profile, ProfileCheck};
use flashlag_schema::published::Published;
use flashlag_schema::scenario::Scenario;
use flashlag_schema::target::{Kind, MountSpec};
use flashlag_units::Bytes;

use crate::{ModelError, PredictError, ProtocolError, Simulation, Simulator};

pub use bars::{Bar, Verdict};
pub use cells::{Cell, SimulatedFigure};
pub(crate) use cells::{Row, rows_of, states_checked};
pub use order::Inversion;
pub(crate) use parameters::at_bound;
pub use parameters::{FittedParameter, Overfitting};
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
    /// The fitted parameters.
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
///
/// # Errors
/// The profile has no check, a check's protocol can't be parsed, or a run can't be simulated.
pub fn check(
    profile: &Profile,
    published: &[Published],
    scenario_text: &dyn Fn(&str) -> Option<String>,
    simulator: &mut dyn Simulator,
    options: &CheckOptions,
) -> Result<CheckReport, PredictError> {
    let protocols = protocols(profile, scenario_text)?;
    let mut cells = Vec::new();
    let mut first = Vec::new();
    for protocol in &protocols {
        let mut pairs = Vec::new();
        for &seed in &options.seeds {
            pairs.push(run_pair(profile, protocol, seed, simulator)?);
        }
        cells.extend(cells::cells(profile, protocol, published, &pairs));
        first.extend(pairs.into_iter().next());
    }
    judge::judge(&mut cells);
    let sensitivity = if options.sensitivity && !first.is_empty() {
        let seed = options.seeds.first().copied().unwrap_or_default();
        sensitivity::sensitivity(profile, &protocols, &first, published, seed, simulator)
    } else {
        Vec::new()
    };
    let mut assumptions = profile.assumptions.clone();
    for protocol in &protocols {
        for assumption in &protocol.scenario.assumptions {
            if !assumptions.contains(assumption) {
                assumptions.push(assumption.clone());
            }
        }
    }
    let fitted = parameters::fitted(profile);
    Ok(CheckReport {
        profile: profile.name.clone(),
        about: profile.about.clone(),
        seeds: options.seeds.clone(),
        inversions: order::inversions(&cells),
        overfitting: parameters::overfitting(&fitted, &cells),
        fitted,
        cells,
        sensitivity,
        assumptions,
    })
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
            // By default the profile's.
            let mount = mount(check.filesystem.as_deref().unwrap_or(&profile.filesystem))?;
            Ok(Protocol { check, mount, against, scenario, leave })
        })
        .collect()
}

pub(crate) fn run_pair(
    profile: &Profile,
    protocol: &Protocol<'_>,
    seed: u64,
    simulator: &mut dyn Simulator,
) -> Result<Pair, PredictError> {
    let scenario = &protocol.scenario;
    let changed = profile.overridden(&protocol.check.model).map_err(ModelError::from)?;
    let mut one = |mount: &MountSpec| {
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
