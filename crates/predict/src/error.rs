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
    /// A state that years of random writes leave, on a device whose filesystem has the map.
    #[error(
        "{profile} is zoned: its state is its filesystem's, and no shortcut to full, aged or worn storage is modelled; \
         measure it with `flashlag run lifecycle --on sim:{profile}`"
    )]
    Zoned { profile: String },
    #[error("{profile} has no parameter `{key}`; `flashlag profiles --keys` lists all")]
    UnknownParameter { profile: String, key: String },
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

/// An error of a simulation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SimulationError {
    #[error("stopped")]
    Stopped,
    /// An error of the [`crate::Simulator`].
    #[error("{reason}")]
    Refused { reason: String },
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("{capacity} are too little to measure anything on: choose a device of 20 MiB or more")]
    TooSmall { capacity: Bytes },
    #[error("the forecast's scenario: {0}")]
    Scenario(#[from] ScenarioError),
    #[error("{filesystem} has no room left for writes over what is stored: take a lower full=")]
    Full { filesystem: String },
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
    #[error("no state stands for `{condition}`")]
    NoState { condition: String },
    #[error("{label} was skipped: {reason}")]
    Skipped { label: String, reason: String },
    #[error("the run failed: {error}")]
    RunFailed { error: String },
    #[error("the run has no {label}")]
    NoTest { label: String },
    /// The percentile rests on too few values.
    #[error("{label} has too few operations for a {percentile}")]
    TooFew { label: String, percentile: &'static str },
    #[error("`{metric}` is not a metric of a run")]
    UnknownMetric { metric: String },
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
    Scenario { name: String, source: Box<ScenarioError> },
    /// The capacity of the storage differs much from that of the profile's device.
    #[error(
        "its storage of {measured} is no size that {profile} can stand for; give another profile \
         with --from"
    )]
    Capacity { measured: Bytes, profile: String },
    /// A zoned starting profile: zones leave a search the blocks' times alone, and no run of zoned
    /// storage is published that one could be checked by.
    #[error("{profile} is zoned, and zoned profiles are not fitted; name another with --from")]
    Zoned { profile: String },
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
    Measured { run: String },
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
    #[error("no KEY=VALUE; allowed are {ALLOWED}")]
    NoValue,
    #[error("no such change; allowed are {ALLOWED}{near}")]
    UnknownKey { near: String },
    /// A value of a switch that is neither `on` nor `off`.
    #[error("{key} is on or off")]
    NotOnOrOff { key: String },
    #[error("{key} is one of {allowed}{near}")]
    UnknownValue { key: &'static str, allowed: String, near: String },
    #[error("the used share of the rated cycles is from 0% to 100%: worn=90%")]
    NoWear,
    #[error("from 0% to {most}%: the filesystem needs the rest for itself")]
    LevelOutOfRange {
        /// The highest level, in percent.
        most: u32,
    },
    /// A fill level without a percent sign.
    #[error("a level is a percentage such as 90%")]
    NoLevel,
    #[error("at most ten years (120mo)")]
    TooOld,
    #[error(transparent)]
    Unit(#[from] ParseUnitError),
    #[error("a sweep is written full=10%..95%")]
    NoSweep,
    #[error("a sweep goes from a lower level to a higher one")]
    NotRising,
    #[error("{profile} has no parameter of that name with a range")]
    NoRange { profile: String },
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// The reason why a check's protocol cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProtocolError {
    #[error("no scenario `{name}`: it must be a built-in one or lie in profiles/protocols")]
    UnknownScenario { name: String },
    #[error("scenario {name}: {reason}")]
    Scenario { name: String, reason: Box<ScenarioError> },
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
    NoCheck { profile: String },
    #[error("{profile}, check of {device}: {reason}")]
    Protocol { profile: String, device: String, reason: ProtocolError },
    #[error("simulating {what}: {reason}")]
    Simulation { what: String, reason: SimulationError },
    #[error("{run} is not to be relied on: {}; --force uses it nevertheless, and every result says so", doubts.join("; "))]
    Untrusted { run: String, doubts: Vec<String> },
    #[error("{run}: {reason}")]
    Run { run: String, reason: RunInputError },
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("`{change}`: {reason}")]
    Change { change: String, reason: ChangeError },
}
