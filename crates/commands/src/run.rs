//! `run`: makes the run that the user's words describe.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_runner::{Prepared, Request, RunError, RunFile, Target};
use flashlag_schema::Run;
use flashlag_spec::scenario::{Scenario, Test};
use flashlag_units::Bytes;

use crate::error::CommandError;
use crate::files::scenario_text;
use crate::limits::{ASK_ABOVE, Limits};

/// The longest label, in characters.
const LONGEST_LABEL: usize = 40;

/// A request for a run, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunWords {
    /// A built-in scenario or a TOML file.
    pub scenario: String,
    /// The target: a directory, `sim:PROFILE+FS`, `lab:PROFILE+FS`, `adb:SERIAL`.
    pub on: String,
    /// Changed settings of the scenario.
    pub set: Vec<(String, String)>,
    /// Changed parameters of a simulated device's profile.
    pub parameters: Vec<(String, String)>,
    /// The seed of every random choice.
    pub seed: u64,
    /// Name of the device under test.
    pub label: Option<String>,
    /// Free space that a fill leaves.
    pub leave: Option<Bytes>,
    /// The most that may be written.
    pub budget: Option<Bytes>,
    /// Whether every byte is read back and compared.
    pub verify: bool,
    /// Limits of charge and heat.
    pub limits: Limits,
}

impl RunWords {
    /// A scenario on a target, with defaults for the rest.
    pub fn new(scenario: &str, on: &str, seed: u64) -> RunWords {
        RunWords {
            scenario: scenario.to_owned(),
            on: on.to_owned(),
            set: Vec::new(),
            parameters: Vec::new(),
            seed,
            label: None,
            leave: None,
            budget: None,
            verify: false,
            limits: Limits::default(),
        }
    }

    /// The command that repeats the run, without the paths of its results: the same run gives the same
    /// file wherever it is stored.
    pub fn command(&self) -> Vec<String> {
        let mut words = vec!["flashlag".to_owned(), "run".to_owned(), self.scenario.clone()];
        words.extend(["--on".to_owned(), self.on.clone()]);
        for (key, value) in &self.set {
            words.extend(["--set".to_owned(), format!("{key}={value}")]);
        }
        for (key, value) in &self.parameters {
            words.extend(["--parameter".to_owned(), format!("{key}={value}")]);
        }
        words.extend(["--seed".to_owned(), self.seed.to_string()]);
        if let Some(label) = &self.label {
            words.extend(["--label".to_owned(), label.clone()]);
        }
        if let Some(leave) = self.leave {
            words.extend(["--leave".to_owned(), format!("{}B", leave.0)]);
        }
        words
    }

    /// The built-in scenario of that name, or the one in that file.
    pub fn scenario(&self) -> Result<Scenario, CommandError> {
        let text = scenario_text(&self.scenario)?;
        Scenario::parse(&text, &self.set).map_err(|source| CommandError::Scenario {
            name: self.scenario.clone(),
            source: Box::new(source),
        })
    }

    /// The storage that is measured.
    pub fn target(&self, resumes: bool) -> Result<Target, CommandError> {
        let target = Target::parse(&self.on)?.with_parameters(&self.parameters)?;
        target.check_options(resumes, self.verify, self.budget.is_some())?;
        match (&target, self.limits.given()) {
            (Target::Directory(_) | Target::Phone(_), _) | (_, None) => Ok(target),
            (_, Some(option)) => {
                let (option, target) = (option.to_owned(), target.name());
                Err(RunError::Option { option, target }.into())
            }
        }
    }

    /// The request for the run, to be recorded with `command`.
    pub fn request(
        &self,
        (scenario, target): (Scenario, Target),
        command: Vec<String>,
        (output, resume): (Option<Arc<RunFile>>, Option<Box<Run>>),
        stop: Arc<AtomicBool>,
    ) -> Request {
        let limits = self.limits.conditions(matches!(target, Target::Phone(_)));
        Request {
            leave: self.leave,
            budget: self.budget,
            verify: self.verify,
            limits,
            label: self.label.clone(),
            command,
            output,
            resume,
            stop,
            ..Request::new(scenario, target, self.seed)
        }
    }
}

/// Whether a run proves a card, for which consent is asked whatever it writes.
pub fn proves_card(prepared: &Prepared) -> bool {
    prepared.scenario().tests.values().any(|test| matches!(test, Test::Card(_)))
}

/// Refuses a run that writes much to the user's own storage without consent.
///
/// # Errors
/// More than [`ASK_ABOVE`] would be written, or to a card; nothing was yet.
pub fn consent(prepared: Prepared, agreed: bool) -> Result<Prepared, CommandError> {
    let much = prepared.cost().is_some_and(|cost| cost.estimate.written > ASK_ABOVE);
    let card = prepared.cost().is_some() && proves_card(&prepared);
    if (much || card) && !agreed {
        prepared.abandon();
        return Err(if card { CommandError::CardConsent } else { CommandError::Consent });
    }
    Ok(prepared)
}

/// A name short enough for the head of a column.
pub fn label(text: &str) -> Result<String, String> {
    let label = flashlag_units::sanitize(text);
    match label.chars().count() {
        0 => Err("a label needs at least one character".to_owned()),
        1..=LONGEST_LABEL => Ok(label),
        long => Err(format!("a label has at most {LONGEST_LABEL} characters, this one {long}")),
    }
}
