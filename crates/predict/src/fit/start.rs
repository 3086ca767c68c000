//! The start of a fit: the run's scenario and filesystem, and the starting profile at the capacity of
//! the measured device.

use flashlag_schema::{Phase, RunStatus};
use flashlag_spec::profile::Profile;
use flashlag_spec::scenario::{IoOperation, Scenario, Step, Test};
use flashlag_spec::target::MountSpec;
use flashlag_spec::{Operation, State};
use flashlag_units::{Bytes, Text};

use super::request::FitRequest;
use super::search::{Found, Objective};
use super::size::sized;
use super::{lacks, pace};
use crate::nearest::{Figure, figures, mount_of, only_new, residuals, scenario_of};
use crate::{PredictError, RunInputError, Simulation, Simulator};

/// Beyond this a residual weighs less and less, so that one outlier does not dominate.
const SOFT: f64 = 0.5;

/// The inputs of a search besides its simulator.
pub(super) struct Inputs {
    pub profile: Profile,
    pub scenario: Scenario,
    pub mount: MountSpec,
    pub leave: Option<Bytes>,
    pub seed: u64,
    pub figures: Vec<Figure>,
    /// Parameters that this run does not determine, with the reasons.
    pub held: Vec<(String, String)>,
    /// The run's gaps, a sentence each.
    pub lacks: Vec<String>,
}

/// The objective of fitting to a run: its scenario is simulated.
pub(super) struct RunObjective<'a> {
    pub inputs: &'a Inputs,
    pub simulator: &'a dyn Simulator,
    pub seed: u64,
}

impl Objective for RunObjective<'_> {
    fn labels(&self) -> Vec<String> {
        let label = |figure: &Figure| format!("{}/{}", figure.state.name(), figure.test);
        self.inputs.figures.iter().map(label).collect()
    }

    fn runs(&self) -> usize {
        1
    }

    fn threads(&self) -> usize {
        self.simulator.threads()
    }

    fn of_new(&self, profile: &Profile) -> Option<(Found, usize)> {
        let Inputs { mount, scenario, leave, figures, .. } = self.inputs;
        let new = only_new(scenario.clone());
        let part = measured(&new);
        // Filling and idling without tests are cheap to simulate.
        let whole = (measured(scenario) / part.max(1)).max(1);
        if part == 0 || whole == 1 {
            return None;
        }
        let run = self.simulator.simulate(&Simulation {
            profile,
            mount,
            scenario: &new,
            seed: self.seed,
            leave: *leave,
        });
        let found = run.map(|run| {
            let mut found = residuals(figures, &run);
            for (residual, figure) in found.iter_mut().zip(figures) {
                if figure.state != State::New {
                    *residual = 0.0;
                }
            }
            found
        });
        Some((found, whole))
    }

    fn by_seed(&self, profile: &Profile, seed: u64) -> Option<Found> {
        Some(self.simulated_by(profile, seed))
    }

    fn counted(&self, residuals: Vec<f64>) -> Vec<f64> {
        counted(&self.inputs.figures, &residuals)
    }

    fn residuals(&self, profile: &Profile) -> Found {
        self.simulated_by(profile, self.seed)
    }
}

impl RunObjective<'_> {
    fn simulated_by(&self, profile: &Profile, seed: u64) -> Found {
        let Inputs { mount, scenario, leave, figures, .. } = self.inputs;
        let simulation = Simulation { profile, mount, scenario, seed, leave: *leave };
        let run = self.simulator.simulate(&simulation)?;
        Ok(residuals(figures, &run))
    }
}

/// Number of tests that a scenario measures, with repeats.
fn measured(scenario: &Scenario) -> usize {
    let tests = |step: &Step| match step {
        Step::Measure { tests, repeat, .. } => tests.len() * *repeat as usize,
        _ => 0,
    };
    scenario.steps.iter().map(tests).sum()
}

pub(super) fn inputs(request: &FitRequest<'_>) -> Result<Inputs, PredictError> {
    let (run, paced) = pace::measured(request.run);
    let run = &run;
    let refuse = |reason| PredictError::Run { run: request.run_name.to_owned(), reason };
    let figures = figures(run, &simulated);
    if figures.is_empty() {
        return Err(refuse(RunInputError::NoPhase));
    }
    let scenario = with_fewer_reads(scenario_of(run).map_err(refuse)?);
    let (mount, note) = match request.mount {
        Some(mount) => (mount.clone(), None),
        None => mount_of(run).map_err(refuse)?,
    };
    if request.start.is_zoned() {
        return Err(refuse(RunInputError::Zoned { profile: request.start.name.clone() }));
    }
    let profile = sized(request.start, run).map_err(refuse)?;
    let (held, mut lacks) = lacks::lacks(run, &profile, &mount);
    lacks.extend(note.into_iter().chain(paced));
    if run.status != RunStatus::Complete {
        lacks.push("The run did not end; only its finished phases are fitted.".to_owned());
    }
    Ok(Inputs {
        profile,
        scenario,
        mount,
        leave: (run.options.leave_bytes > Bytes::ZERO).then_some(run.options.leave_bytes),
        seed: run.scenario.seed,
        figures,
        held,
        lacks,
    })
}

/// Number of simulated operations of a phase.
fn simulated(phase: &Phase) -> u64 {
    match phase.operation {
        Operation::SequentialRead | Operation::RandomRead => reads(phase.block_bytes),
        _ => phase.ops,
    }
}

/// Residuals with their weights in a search.
fn counted(figures: &[Figure], residuals: &[f64]) -> Vec<f64> {
    let soft = |residual: f64| SOFT * (residual / SOFT).asinh();
    figures.iter().zip(residuals).map(|(figure, one)| figure.weight * soft(*one)).collect()
}

/// The scenario with fewer reads, which give the same figures sooner.
fn with_fewer_reads(mut scenario: Scenario) -> Scenario {
    for test in scenario.tests.values_mut() {
        if let Test::Io(io) = test
            && io.operation == IoOperation::Read
        {
            let enough = Bytes(reads(io.block.0) * io.block.0.0);
            io.bytes = Some(Text(io.bytes.map_or(enough, |bytes| bytes.0.min(enough))));
        }
    }
    scenario
}

/// Maximum reads of a test, in blocks and bytes. All reads of a test cost the same, and they are
/// most of the work of a simulation.
const READS: u64 = 2048;
const READ_BYTES: u64 = 64 << 20;

/// Number of simulated reads with this block size.
fn reads(block: Bytes) -> u64 {
    READS.min(READ_BYTES / block.0.max(1)).max(1)
}
