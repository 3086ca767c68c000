use std::path::Path;

use flashlag_predict::change::{
    Change, Forecast, PredictOptions, Situation, Sweep, parse, parse_levels, predict, situation_of,
    sweep,
};
use flashlag_runner::sim;
use flashlag_schema::Run;
use flashlag_spec::published::checked;
use flashlag_spec::target::Age;
use flashlag_units::Bytes;

use crate::error::CommandError;
use crate::files::run_from;
use crate::simulations::Simulations;

/// Seeds of a forecast over days of use, whose figures scatter.
const SEEDS_OF_YEARS: u64 = 3;

/// A request for a forecast, in words.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictWords {
    /// A simulated run, or a profile.
    pub subject: String,
    /// Changes, each on top of those before it.
    pub change: Vec<String>,
    /// Fill levels: `full=10%..95%`.
    pub sweep: Option<String>,
    /// Filesystem and options before the first change; `None`: the profile's.
    pub fs: Option<String>,
    /// Bytes written on each day of use.
    pub daily: Bytes,
    /// Number of seeds to average; `None`: 3 over days of use, otherwise 1.
    pub seeds: Option<u64>,
    /// Whether to use a run although there are doubts about it.
    pub force: bool,
    /// Whether the effect of years is also simulated cause by cause.
    pub causes: bool,
}

/// A forecast that is ready to be simulated.
#[derive(Debug)]
pub struct Prediction {
    start: Situation,
    changes: Vec<Change>,
    levels: Option<Vec<f64>>,
    options: PredictOptions,
}

impl Prediction {
    /// Parses the request. Fails if the run, profile, filesystem or change does not exist, or for a
    /// measured run, which has no device model.
    pub fn of(words: &PredictWords) -> Result<Prediction, CommandError> {
        Prediction::beginning_with(situation(words)?, words)
    }

    /// A forecast that begins with the device of a simulated run.
    pub fn of_run(run: &Run, words: &PredictWords) -> Result<Prediction, CommandError> {
        let found = situation_of(run, &words.subject, words.force)?;
        Prediction::beginning_with(on(found, words)?, words)
    }

    fn beginning_with(start: Situation, words: &PredictWords) -> Result<Prediction, CommandError> {
        let changes = words.change.iter().map(|text| parse(text)).collect::<Result<Vec<_>, _>>()?;
        let changes: Vec<_> = changes.into_iter().flatten().collect();
        let levels = words.sweep.as_deref().map(parse_levels).transpose()?;
        let ages = changes.iter().any(|change| matches!(change, Change::Age(_)));
        let seeds = words.seeds.unwrap_or(if ages { SEEDS_OF_YEARS } else { 1 });
        let (daily, causes) = (words.daily, words.causes);
        // A change of the journal is about saves in that mode alone.
        let rollback = !changes.iter().any(|change| matches!(change, Change::Journal(_)));
        let seeds = (1..=seeds).collect();
        let options = PredictOptions { daily, seeds, causes, rollback, saves: true };
        Ok(Prediction { start, changes, levels, options })
    }

    /// The name of the profile.
    pub fn profile(&self) -> &str {
        &self.start.profile.name
    }

    /// Simulates the device before and after each change; `None` without a change.
    pub fn forecast(&self, simulations: &Simulations) -> Result<Option<Forecast>, CommandError> {
        if self.changes.is_empty() {
            return Ok(None);
        }
        let forecast = predict(&self.start, &self.changes, checked(), simulations, &self.options)?;
        Ok(Some(forecast))
    }

    /// Simulates the device, after all changes, at each fill level; `None` if none was requested.
    pub fn sweep(&self, simulations: &Simulations) -> Result<Option<Sweep>, CommandError> {
        let Some(levels) = &self.levels else { return Ok(None) };
        let mut situation = self.start.clone();
        for change in &self.changes {
            situation = situation.with(change)?;
        }
        Ok(Some(sweep(&situation, levels, checked(), simulations, &self.options)?))
    }
}

/// The device of a run file, or the profile of that name.
fn situation(words: &PredictWords) -> Result<Situation, CommandError> {
    let subject = words.subject.strip_prefix("sim:").unwrap_or(&words.subject);
    let is_run = Path::new(subject).extension().is_some_and(|ending| ending == "json");
    let found = if is_run {
        situation_of(&run_from(Path::new(subject))?, subject, words.force)?
    } else {
        let target = sim::SimTarget::parse(subject)?;
        if target.age != Age::New {
            let text =
                "a forecast begins with a new device: leave state= out, and give --change age=12mo";
            return Err(CommandError::Words(text.to_owned()));
        }
        Situation::new(&target.profile, &target.mount.to_string())?
    };
    on(found, words)
}

/// The same device with the requested filesystem.
fn on(found: Situation, words: &PredictWords) -> Result<Situation, CommandError> {
    match &words.fs {
        Some(fs) => Ok(Situation::new(&found.profile, fs)?),
        None => Ok(found),
    }
}
