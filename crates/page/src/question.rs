//! A question, and the run that answers it.

use flashlag_predict::{ModelError, PredictError};
use flashlag_runner::{Request, RunError, SimTarget, Target, builtin, profile, sim};
use flashlag_spec::profile::Profile;
use flashlag_spec::scenario::{Scenario, ScenarioError};
use flashlag_spec::target::{Kind, MountSpec, TargetError};
use flashlag_units::Bytes;
use serde::Deserialize;
use thiserror::Error;

/// The scenario that a page runs.
const SCENARIO: &str = "write";
/// The seed of every random choice.
const SEED: u64 = 1;
/// The most months of use.
pub(crate) const OLDEST: u32 = 48;
/// The fullest that a device can be, in percent.
const FULLEST: u32 = 99;
/// Sizes of the simulated device, in GiB: the first is taken that the profile's blocks fit into.
const SIZES: [u64; 5] = [1, 2, 4, 8, 16];
/// Layers above or below any filesystem.
const LAYERS: [&str; 3] = ["fuse", "esdfs", "encrypt"];

/// A device in a state, as a reader chose it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The name of a built-in profile.
    pub device: String,
    /// `ext4`, `f2fs`, …
    pub filesystem: String,
    /// Whether a sync flushes the device.
    pub barriers: bool,
    /// The part of the room for files that is in use, in percent.
    pub full: u32,
    /// Months of use before the filesystem was made.
    pub months: u32,
    /// Whether the run file is wanted, too.
    #[serde(default)]
    pub with_run: bool,
    /// Whether a forecast is wanted instead.
    #[serde(default)]
    pub forecast: bool,
}

/// Why a question has no answer.
#[derive(Debug, Error)]
pub enum QuestionError {
    #[error("the question can't be read: {0}")]
    Syntax(#[from] serde_json::Error),
    #[error("{asked}% full: choose at most {FULLEST}%")]
    TooFull { asked: u32 },
    #[error("{asked} months old: choose at most {OLDEST}")]
    TooOld { asked: u32 },
    #[error(
        "the device as it was sold, new and empty: choose something else, and see what that changes"
    )]
    NoChange,
    #[error(
        "{months} months of use are simulated day by day, by the program: flashlag predict --change age={months}mo"
    )]
    Ages { months: u32 },
    #[error("no size is simulated")]
    NoSize,
    #[error("there is no scenario named {SCENARIO}")]
    NoScenario,
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Forecast(#[from] PredictError),
    #[error("the simulation ended early: {0}")]
    Failed(String),
    #[error("the simulation measured nothing")]
    Nothing,
}

/// The filesystem of a mount, without options.
pub(crate) fn filesystem_of(mount: &str) -> &str {
    mount.split(',').next().unwrap_or_default()
}

/// Whether a mount flushes the device when a file is synced.
pub(crate) fn has_barriers(mount: &str) -> bool {
    !mount.split(',').any(|word| word == "nobarrier")
}

impl Question {
    /// The same device, new and empty.
    pub(crate) fn when_new(&self) -> Question {
        Question { full: 0, months: 0, with_run: false, forecast: false, ..self.clone() }
    }

    /// The same device as it was sold, new and empty.
    pub(crate) fn as_sold(&self, profile: &Profile) -> Question {
        let own = &profile.filesystem;
        Question {
            filesystem: filesystem_of(own).to_owned(),
            barriers: has_barriers(own),
            ..self.when_new()
        }
    }

    /// Whether both are of one state.
    pub(crate) fn is_state_of(&self, other: &Question) -> bool {
        (self.full, self.months) == (other.full, other.months)
    }

    /// The run that answers, with the command that asks the program for it.
    pub(crate) fn request(&self) -> Result<Request, QuestionError> {
        if self.full > FULLEST {
            return Err(QuestionError::TooFull { asked: self.full });
        }
        if self.months > OLDEST {
            return Err(QuestionError::TooOld { asked: self.months });
        }
        let profile = profile(&self.device)?;
        let target = self.target(&profile)?;
        let text = builtin(SCENARIO).ok_or(QuestionError::NoScenario)?.text();
        let mut words: Vec<String> =
            ["flashlag", "run", SCENARIO, "--on", &target.text].map(str::to_owned).into();
        let mut set = Vec::new();
        let mut leave = None;
        if self.full > 0 {
            let left = left(sim::room(&target.profile, &target.mount)?, self.full);
            words.extend(["--set", "filled=true", "--leave"].map(str::to_owned));
            words.push(format!("{}B", left.0));
            set.push(("filled".to_owned(), "true".to_owned()));
            leave = Some(left);
        }
        let scenario = Scenario::parse(text, &set)?;
        let request = Request::new(scenario, Target::Simulated(target), SEED);
        Ok(Request { leave, command: words, ..request })
    }

    /// The device with its filesystem, of the least size.
    pub(crate) fn target(&self, profile: &Profile) -> Result<SimTarget, QuestionError> {
        let mut refused = QuestionError::NoSize;
        for size in SIZES {
            let mount = format!("{},size={size}GiB{}", self.mount(&profile.filesystem), self.age());
            let spec = MountSpec::parse(Kind::Sim, &mount)?;
            let text = format!("{}:{}+{mount}", Kind::Sim, profile.name);
            match SimTarget::on(profile.clone(), &text, Some(&spec)) {
                Ok(target) => return Ok(target),
                Err(error) => refused = error.into(),
            }
        }
        Err(refused)
    }

    /// The chosen filesystem: with all of the profile's options if it is the profile's, else with its layers.
    fn mount(&self, own: &str) -> String {
        let is_own = filesystem_of(own) == self.filesystem;
        let kept = own.split(',').skip(1).filter(|word| {
            let barrier = ["barrier", "nobarrier"].contains(word);
            !barrier && (is_own || LAYERS.contains(word))
        });
        let barrier = (!self.barriers).then_some("nobarrier");
        let words: Vec<&str> =
            std::iter::once(self.filesystem.as_str()).chain(barrier).chain(kept).collect();
        words.join(",")
    }

    fn age(&self) -> String {
        match self.months {
            0 => String::new(),
            months => format!(",state=aged:{months}mo"),
        }
    }
}

/// How much is free if that part of the room is in use.
fn left(room: Bytes, full: u32) -> Bytes {
    let used = u128::from(room.0) * u128::from(full) / 100;
    room.saturating_minus(Bytes(u64::try_from(used).unwrap_or(u64::MAX)))
}
