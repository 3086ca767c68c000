use flashlag_spec::profile::ProfileError;
use flashlag_spec::scenario::ScenarioError;
use flashlag_spec::target::TargetError;
use flashlag_units::{Bytes, ParseUnitError};
use thiserror::Error;

/// The allowed changes, for help and errors.
pub(crate) const ALLOWED: &str = "fs=raw|ext4|f2fs|btrfs, journal=wal|delete|truncate|persist|memory|off, \
     sync=extra|full|normal, full=90%, nobarrier=on|off, fuse=on|off, encrypt=on|off, fast_commit=on|off, discard=on|off, \
     spare=512MB, buffer=1MB|none, age=12mo, idle_maintenance=on|off, untrimmed=on|off, worn=90%, \
     or a parameter of the profile: nand.program=1.5ms";

/// An error in the description of a device.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ModelError {
    /// A filesystem that is not modelled, or an option that it does not have.
    #[error(transparent)]
    Mount(#[from] TargetError),
    /// A key that the profile lacks.
    #[error("{profile} has no parameter `{key}`; `flashlag profiles --keys` lists all")]
    UnknownParameter {
        /// The profile's name.
        profile: String,
        /// The key.
        key: String,
    },
    /// A profile with an invalid parameter.
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

/// An error of a simulation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SimulationError {
    /// Stopped by the user.
    #[error("stopped")]
    Stopped,
    /// An error of the [`crate::Simulator`].
    #[error("{reason}")]
    Refused {
        /// The simulator's message.
        reason: String,
    },
    /// An invalid device.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A device without room for the tests.
    #[error("{capacity} are too little to measure anything on: choose a device of 20 MiB or more")]
    TooSmall {
        /// The capacity of the device.
        capacity: Bytes,
    },
    /// An invalid scenario of a forecast.
    #[error("the forecast's scenario: {0}")]
    Scenario(#[from] ScenarioError),
    /// A filesystem that is too full for what a forecast writes.
    #[error("{filesystem} has no room left for writes over what is stored: take a lower full=")]
    Full {
        /// The filesystem and its options.
        filesystem: String,
    },
    /// A run without the main test of a forecast.
    #[error("the run has no durable writes")]
    NoDurableWrites,
}

impl SimulationError {
    /// An error of the simulator itself.
    pub fn refused(error: impl std::fmt::Display) -> SimulationError {
        SimulationError::Refused { reason: error.to_string() }
    }
}

impl From<ProfileError> for SimulationError {
    fn from(error: ProfileError) -> SimulationError {
        SimulationError::Model(error.into())
    }
}

/// The reason why a published row has no simulated figure.
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
    /// The run lacks the test.
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
    #[error("`{metric}` is not a metric of a run")]
    UnknownMetric {
        /// The metric.
        metric: String,
    },
    /// There was no seed to simulate with.
    #[error("no seed was run")]
    NoSeed,
}

/// The reason why a run cannot be fitted to, or forecast from.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RunInputError {
    /// The scenario in the run file cannot be parsed.
    #[error(
        "its scenario `{name}` cannot be read again ({source}); a run imported from another tool \
         has none, so measure with `flashlag run lifecycle`"
    )]
    Scenario {
        /// The scenario's name.
        name: String,
        /// The parser's error.
        source: Box<ScenarioError>,
    },
    /// The capacity of the storage is far from that of the profile's device.
    #[error(
        "its storage of {measured} is no size that {profile} can stand for; give another profile \
         with --from"
    )]
    Capacity {
        /// The capacity of the measured storage.
        measured: Bytes,
        /// The starting profile's name.
        profile: String,
    },
    /// No phase is long enough to be fitted to.
    #[error(
        "it has no finished phase of ten operations or more; make one with `flashlag run lifecycle`"
    )]
    NoPhase,
    /// No figure of new storage, by which a starting profile is chosen.
    #[error(
        "it has no figures of new storage to choose a starting profile by; name one with --from"
    )]
    NoNewStorage,
    /// A measured run: only a simulated one holds a device model.
    #[error(
        "this run was measured, so it has no device model to forecast with. Make one: `flashlag \
         fit {run} -o PROFILE.toml`, then `flashlag predict PROFILE.toml`"
    )]
    Measured {
        /// The run's name.
        run: String,
    },
    /// The run's profile, or the starting one, makes no device of the run's size.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl From<ProfileError> for RunInputError {
    fn from(error: ProfileError) -> RunInputError {
        RunInputError::Model(error.into())
    }
}

/// The reason why a change, or a sweep, is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChangeError {
    /// An empty text.
    #[error("there is no change in it; allowed are {ALLOWED}")]
    Empty,
    /// No `KEY=VALUE`.
    #[error("no KEY=VALUE; allowed are {ALLOWED}")]
    NoValue,
    /// An unknown key.
    #[error("no such change; allowed are {ALLOWED}{near}")]
    UnknownKey {
        /// The question for a key of similar spelling, or nothing.
        near: String,
    },
    /// A value of a switch that is neither `on` nor `off`.
    #[error("{key} is on or off")]
    NotOnOrOff {
        /// The switch.
        key: String,
    },
    /// A value that is none of the allowed ones.
    #[error("{key} is one of {allowed}{near}")]
    UnknownValue {
        /// The key.
        key: &'static str,
        /// The allowed values.
        allowed: String,
        /// The question for a value of similar spelling, or nothing.
        near: String,
    },
    /// A share of the rated cycles that is none.
    #[error("the used share of the rated cycles is from 0% to 100%: worn=90%")]
    NoWear,
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
    /// An invalid size or duration.
    #[error(transparent)]
    Unit(#[from] ParseUnitError),
    /// A text that is no sweep.
    #[error("a sweep is written full=10%..95%")]
    NoSweep,
    /// A sweep whose first level is not the lowest.
    #[error("a sweep goes from a lower level to a higher one")]
    NotRising,
    /// A parameter without a range, which no fit can move.
    #[error("{profile} has no parameter of that name with a range")]
    NoRange {
        /// The profile's name.
        profile: String,
    },
    /// The changed device is invalid.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// The reason why a check's protocol cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProtocolError {
    /// A scenario of an unknown name.
    #[error("no scenario `{name}`: it must be a built-in one or lie in profiles/protocols")]
    UnknownScenario {
        /// The name.
        name: String,
    },
    /// A scenario that cannot be parsed with the check's settings.
    #[error("scenario {name}: {reason}")]
    Scenario {
        /// The scenario's name.
        name: String,
        /// The parser's error.
        reason: Box<ScenarioError>,
    },
    /// An invalid `leave`.
    #[error("leave: {0}")]
    Leave(ParseUnitError),
    /// A filesystem that is not modelled, or an option that it does not have.
    #[error(transparent)]
    Mount(Box<TargetError>),
}

/// An error of a check, a fit or a forecast. Each message says what to try next.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PredictError {
    /// A profile without a `[[check]]`.
    #[error("{profile} has no [[check]]: no published row is compared with it")]
    NoCheck {
        /// The profile's name.
        profile: String,
    },
    /// A check whose protocol cannot be run.
    #[error("{profile}, check of {device}: {reason}")]
    Protocol {
        /// The profile's name.
        profile: String,
        /// The device of the published rows.
        device: String,
        /// The error.
        reason: ProtocolError,
    },
    /// A simulation that failed.
    #[error("simulating {what}: {reason}")]
    Simulation {
        /// The simulated device, change or scenario.
        what: String,
        /// The error.
        reason: SimulationError,
    },
    /// A run that failed a trust check, or has too few operations.
    #[error("{run} is not to be relied on: {}; --force uses it nevertheless, and every result says so", doubts.join("; "))]
    Untrusted {
        /// The run's name.
        run: String,
        /// Each reason.
        doubts: Vec<String>,
    },
    /// A run that cannot be used.
    #[error("{run}: {reason}")]
    Run {
        /// The run's name.
        run: String,
        /// The reason.
        reason: RunInputError,
    },
    /// An invalid device.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// An invalid change.
    #[error("`{change}`: {reason}")]
    Change {
        /// The text of the change.
        change: String,
        /// The reason.
        reason: ChangeError,
    },
}
