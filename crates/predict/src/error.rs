use flashlag_schema::profile::ProfileError;
use flashlag_schema::scenario::ScenarioError;
use flashlag_units::{Bytes, ParseUnitError};
use thiserror::Error;

/// Why a description of a device makes no device.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ModelError {
    /// A filesystem that is not modelled.
    #[error("`{kind}` is no filesystem; there are {known}")]
    UnknownFilesystem {
        /// The name that was given.
        kind: String,
        /// The names that are known.
        known: String,
    },
    /// A key that the profile does not have.
    #[error("{profile} has no parameter `{key}`; `flashlag profiles --keys` lists all")]
    UnknownParameter {
        /// The profile.
        profile: String,
        /// The key.
        key: String,
    },
    /// A profile that can't be a device, by the name of the parameter.
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

/// Why a simulation gives no figures.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SimulationError {
    /// The user stopped it.
    #[error("stopped")]
    Stopped,
    /// The simulator can't do it; in its own words.
    #[error("{reason}")]
    Refused {
        /// Why.
        reason: String,
    },
    /// A simulator without [`crate::Life::cycles`].
    #[error("this simulator has no devices with cycles behind them")]
    NoCycles,
    /// The device is none.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A device without room for the tests.
    #[error("{capacity} are too little to measure anything on: choose a device of 20 MiB or more")]
    TooSmall {
        /// The size of the device.
        capacity: Bytes,
    },
    /// The scenario of the forecast can't be made.
    #[error("the forecast's scenario: {0}")]
    Scenario(#[from] ScenarioError),
    /// The run has no figure of a forecast's main test.
    #[error("the run has no durable writes")]
    NoDurableWrites,
}

impl SimulationError {
    /// The simulator's own error, in words.
    pub fn refused(error: impl std::fmt::Display) -> SimulationError {
        SimulationError::Refused { reason: error.to_string() }
    }
}

impl From<ProfileError> for SimulationError {
    fn from(error: ProfileError) -> SimulationError {
        SimulationError::Model(error.into())
    }
}

/// Why a published row has no simulated figure.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FigureError {
    /// The check maps the row's condition to no state of a run.
    #[error("no state stands for `{condition}`")]
    NoState {
        /// The condition.
        condition: String,
    },
    /// The run skipped the test.
    #[error("{label} was skipped: {reason}")]
    Skipped {
        /// The test.
        label: String,
        /// The run's reason.
        reason: String,
    },
    /// The run failed before the test.
    #[error("the run failed: {error}")]
    RunFailed {
        /// The run's error.
        error: String,
    },
    /// The run has no such test.
    #[error("the run has no {label}")]
    NoTest {
        /// The test.
        label: String,
    },
    /// The percentile rests on too few values.
    #[error("{label} has too few operations for a {percentile}")]
    TooFew {
        /// The test.
        label: String,
        /// The percentile.
        percentile: &'static str,
    },
    /// A metric that no run has.
    #[error("`{metric}` is no metric of a run")]
    UnknownMetric {
        /// The metric.
        metric: String,
    },
    /// There was no seed to simulate with.
    #[error("no seed was run")]
    NoSeed,
}

/// Why a run can't be fitted to.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum FitInputError {
    /// The scenario in the run file is none.
    #[error(
        "its scenario `{name}` can't be read again ({source}); a run imported from another tool \
         has none, so measure with `flashlag run lifecycle`"
    )]
    Scenario {
        /// The scenario.
        name: String,
        /// Why not.
        source: ScenarioError,
    },
    /// The storage is far from the size of the profile's device.
    #[error(
        "its storage of {measured} is no size that {profile} can stand for; give another profile \
         with --from"
    )]
    Size {
        /// The size of the measured storage.
        measured: Bytes,
        /// The starting profile.
        profile: String,
    },
    /// The profile makes no device of that size.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// Why a value of a change is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum ValueError {
    /// A fill level above what a filesystem leaves free.
    #[error("from 0% to {most}%: the filesystem needs the rest for itself")]
    LevelOutOfRange {
        /// The highest level, in percent.
        most: u32,
    },
    /// A fill level without a percent sign.
    #[error("a level is a percentage such as 90%")]
    NoLevel,
    /// An age above the longest that is simulated.
    #[error("at most ten years (120mo)")]
    TooOld,
    /// Not a duration.
    #[error(transparent)]
    Unit(#[from] ParseUnitError),
}

/// Why nothing can be said. Each says what to try next.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PredictError {
    /// The profile has no `[[check]]`.
    #[error("{profile} has no [[check]]: no published row is held against it")]
    NoCheck {
        /// The profile.
        profile: String,
    },
    /// A check names a scenario that there is not, or that can't be read.
    #[error("{profile}, check of {device}: {reason}")]
    Protocol {
        /// The profile.
        profile: String,
        /// The device whose rows are meant.
        device: String,
        /// What is wrong, and what is allowed.
        reason: String,
    },
    /// A simulation failed.
    #[error("simulating {what}: {reason}")]
    Simulation {
        /// Which.
        what: String,
        /// Why.
        reason: SimulationError,
    },
    /// A run that can't be believed, or that says too little.
    #[error("{run} is not to be relied on: {}; --force goes on all the same, and what comes of it says so", doubts.join("; "))]
    Untrusted {
        /// The run.
        run: String,
        /// Each reason.
        doubts: Vec<String>,
    },
    /// A run has nothing that could be used.
    #[error("{run}: {reason}")]
    Run {
        /// The run.
        run: String,
        /// Why, and what to try.
        reason: String,
    },
    /// A description that makes no device.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A change can't be read.
    #[error("`{change}`: {reason}")]
    Change {
        /// As it was typed.
        change: String,
        /// What is wrong, and what is allowed.
        reason: String,
    },
}
