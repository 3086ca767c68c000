//! What a fit starts from: the run's scenario, its filesystem, the device's size, the profile's
//! values and ranges.

use flashlag_schema::profile::Profile;
use flashlag_schema::scenario::{IoOperation, Scenario, Step, Test};
use flashlag_schema::{Operation, Phase, Run, RunStatus, State, TargetKind};
use flashlag_units::{Bytes, Text};

use super::FitRequest;
use super::figures::{Figure, counted, figures, residuals};
use super::lacks;
use super::nearest::only_new;
use super::search::Objective;
use crate::error::FitInputError;
use crate::{PredictError, SimulationError, Simulator, knob};

/// All that a search needs besides a simulator.
pub(super) struct Prepared {
    pub profile: Profile,
    pub scenario: Scenario,
    pub filesystem: String,
    pub leave: Option<Bytes>,
    pub seed: u64,
    pub figures: Vec<Figure>,
    /// Parameters that this run has nothing to say about, and why.
    pub held: Vec<(String, String)>,
    /// What it lacks, in words.
    pub lacks: Vec<String>,
}

/// A profile against a run: the run's scenario, simulated.
pub(super) struct OfRun<'a> {
    pub prepared: &'a Prepared,
    pub simulator: &'a mut dyn Simulator,
    pub seed: u64,
}

impl Objective for OfRun<'_> {
    fn labels(&self) -> Vec<String> {
        let label = |figure: &Figure| format!("{}/{}", figure.state.name(), figure.test);
        self.prepared.figures.iter().map(label).collect()
    }

    fn runs(&self) -> usize {
        1
    }

    fn of_new(&mut self, profile: &Profile) -> Option<(Result<Vec<f64>, SimulationError>, usize)> {
        let Prepared { filesystem, scenario, leave, figures, .. } = self.prepared;
        let new = only_new(scenario.clone());
        let part = measured(&new);
        // Filling and idle waits take longer than tests, but without tests they are cheap.
        let whole = (measured(scenario) / part.max(1)).max(1);
        if part == 0 || whole == 1 {
            return None;
        }
        let run = self.simulator.simulate(profile, filesystem, &new, self.seed, *leave);
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

    fn by_seed(
        &mut self,
        profile: &Profile,
        seed: u64,
    ) -> Option<Result<Vec<f64>, SimulationError>> {
        Some(self.simulated_by(profile, seed))
    }

    fn counted(&self, residuals: Vec<f64>) -> Vec<f64> {
        counted(&self.prepared.figures, &residuals)
    }

    fn residuals(&mut self, profile: &Profile) -> Result<Vec<f64>, SimulationError> {
        self.simulated_by(profile, self.seed)
    }
}

impl OfRun<'_> {
    fn simulated_by(&mut self, profile: &Profile, seed: u64) -> Result<Vec<f64>, SimulationError> {
        let Prepared { filesystem, scenario, leave, figures, .. } = self.prepared;
        let run = self.simulator.simulate(profile, filesystem, scenario, seed, *leave)?;
        Ok(residuals(figures, &run))
    }
}

/// How many tests a scenario measures, all repeats counted.
fn measured(scenario: &Scenario) -> usize {
    let tests = |step: &Step| match step {
        Step::Measure { tests, repeat, .. } => tests.len() * *repeat as usize,
        _ => 0,
    };
    scenario.steps.iter().map(tests).sum()
}

pub(super) fn prepare(request: &FitRequest<'_>) -> Result<Prepared, PredictError> {
    let run = request.run;
    let refuse = |reason: String| PredictError::Run { run: request.run_name.to_owned(), reason };
    let figures = figures(run, &simulated);
    if figures.is_empty() {
        return Err(refuse(
            "it has no finished phase of ten operations or more; make one with `flashlag run \
             lifecycle`"
                .to_owned(),
        ));
    }
    let scenario = with_fewer_reads(scenario_of(run).map_err(|error| refuse(error.to_string()))?);
    let (filesystem, note) = match request.filesystem {
        Some(text) => (text.to_owned(), None),
        None => filesystem_of(run),
    };
    let profile = sized(request.start, run).map_err(|error| refuse(error.to_string()))?;
    let (held, mut lacks) = lacks::lacks(run, &profile, &filesystem);
    lacks.extend(note);
    if run.status != RunStatus::Complete {
        lacks.push("The run did not end; only what it finished is fitted.".to_owned());
    }
    Ok(Prepared {
        profile,
        scenario,
        filesystem,
        leave: (run.options.leave_bytes > Bytes::ZERO).then_some(run.options.leave_bytes),
        seed: run.scenario.seed,
        figures,
        held,
        lacks,
    })
}

/// Reads are alike from the first to the last, and most of what a simulation has to do: so many
/// blocks, or bytes, tell as much as a test's full time.
const READS: u64 = 2048;
const READ_BYTES: u64 = 64 << 20;

/// How many reads of a block so large are simulated.
fn reads(block: Bytes) -> u64 {
    READS.min(READ_BYTES / block.0.max(1)).max(1)
}

/// How many of a phase's operations are simulated.
fn simulated(phase: &Phase) -> u64 {
    match phase.operation {
        Operation::SequentialRead | Operation::RandomRead => reads(phase.block_bytes),
        _ => phase.ops,
    }
}

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

/// The scenario of a run, with the settings that were in force.
pub(super) fn scenario_of(run: &Run) -> Result<Scenario, FitInputError> {
    let record = &run.scenario;
    let settings: Vec<(String, String)> =
        record.settings.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    let name = || record.name.clone();
    Scenario::parse(&record.text, &settings)
        .map_err(|source| FitInputError::Scenario { name: name(), source })
}

/// Filesystem and options below a run, as a simulation takes them, and what is not modelled.
pub fn filesystem_of(run: &Run) -> (String, Option<String>) {
    if let Some(profile) = &run.target.profile {
        return (profile.filesystem.clone(), None);
    }
    let environment = &run.environment;
    let seen = environment.filesystem.kind.value().map(String::as_str);
    let (kind, note) = match seen {
        Some(kind @ ("ext4" | "f2fs")) => (kind, None),
        other => {
            let other = other.unwrap_or("an unknown filesystem");
            ("ext4", Some(format!("{other} is not modelled: ext4 stands in for it.")))
        }
    };
    let mut words = vec![kind];
    let options = environment.filesystem.options.value().map_or(&[][..], Vec::as_slice);
    let has = |wanted: &[&str]| options.iter().any(|one| wanted.contains(&one.as_str()));
    if has(&["nobarrier", "barrier=0"]) {
        words.push("nobarrier");
    }
    if kind == "ext4" && has(&["discard"]) {
        words.push("discard");
    }
    if kind == "f2fs" && has(&["nodiscard"]) {
        words.push("nodiscard");
    }
    if environment.filesystem.layers.iter().any(|layer| layer.starts_with("fuse")) {
        words.push("fuse");
    }
    let encrypted = environment.encryption.value();
    if encrypted.is_some_and(|encryption| !encryption.kind.starts_with("none")) {
        words.push("encrypt");
    }
    (words.join(","), note)
}

/// The profile on a device of the run's size; its spare area goes with it.
fn sized(start: &Profile, run: &Run) -> Result<Profile, FitInputError> {
    let measured = match run.target.kind {
        TargetKind::Simulated => run.environment.device.size_bytes.value(),
        _ => run.environment.filesystem.total_bytes.value(),
    };
    let present = start.parameters.get("map.capacity").and_then(|capacity| capacity.number());
    let (Some(measured), Some(present)) = (measured, present) else {
        return Ok(start.clone());
    };
    let factor = measured.0 as f64 / present;
    if !(0.01..=1e4).contains(&factor) {
        let (measured, profile) = (*measured, start.name.clone());
        return Err(FitInputError::Size { measured, profile });
    }
    if (factor - 1.0).abs() < 0.01 {
        return Ok(start.clone());
    }
    let mut profile = knob::set(start, "map.capacity", measured.0 as f64)?;
    if let Some(capacity) = profile.parameters.get_mut("map.capacity") {
        capacity.range = None;
        capacity.source = "the size of the storage that was measured".to_owned();
    }
    let spare = profile.parameters.get("map.spare").cloned();
    if let Some(number) = spare.as_ref().and_then(|spare| spare.number()) {
        profile = knob::set(&profile, "map.spare", number * factor)?;
        let bounds = spare.as_ref().and_then(|spare| spare.bounds());
        if let (Some(parameter), Some((low, high))) =
            (profile.parameters.get_mut("map.spare"), bounds)
        {
            let [low, high] = [low, high]
                .map(|bound| toml::Value::String(knob::spelled(parameter, bound * factor)));
            parameter.range = Some([low, high]);
        }
    }
    Ok(profile)
}
