use std::path::PathBuf;

use flashlag_units::Bytes;
use thiserror::Error;

/// Why a run could not be made. What was measured before is in the run file.
#[derive(Debug, Error)]
pub enum RunError {
    /// The directory under test can't be used.
    #[error("cannot measure {}: {reason} ({advice})", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
        /// What to try.
        advice: &'static str,
    },
    /// A run file, report or profile can't be written.
    #[error("cannot write {}: {reason} ({advice})", path.display())]
    Output {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
        /// What to try.
        advice: String,
    },
    /// There is not enough room for the test itself.
    #[error(
        "not enough free space in {} for the test's own files: they need {needed}, {free} is free \
         and {leave} is to be left untouched",
        path.display()
    )]
    Room {
        /// Where.
        path: PathBuf,
        /// What the files need.
        needed: Bytes,
        /// What is free.
        free: Bytes,
        /// What is spared.
        leave: Bytes,
        /// What fits, where anything does.
        fits: Option<Fits>,
    },
    /// Not even the files under test may be written.
    #[error(
        "the files under test take {needed}, more than --budget {budget} (raise it, or make them \
         smaller: --set span=20MB)"
    )]
    Budget {
        /// What they take.
        needed: Bytes,
        /// What it may.
        budget: Bytes,
    },
    /// A target that does not exist or has no meaning for an option.
    #[error("target `{text}`: {reason}")]
    Target {
        /// The target as the user named it.
        text: String,
        /// Why not, and what to try.
        reason: String,
    },
    /// An option that has no meaning on a target.
    #[error("{option} is for real storage; leave it out for {target}")]
    Option {
        /// The option, as it is typed.
        option: String,
        /// The target as the user named it.
        target: String,
    },
    /// `--resume` of something else.
    #[error("cannot resume: {reason}")]
    Resume {
        /// Why.
        reason: String,
    },
    /// Our own files could not be made or removed.
    #[error(transparent)]
    Guard(#[from] flashlag_engine::GuardError),
    /// Something else did not work before anything was measured.
    #[error("{0}")]
    Device(#[from] flashlag_device::DeviceError),
    /// A simulated target that there is not, or that makes no device.
    #[error("profile {name}: {reason}")]
    Profile {
        /// Which.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// The simulation itself could not begin.
    #[error("cannot simulate {target}: {reason}")]
    Simulation {
        /// What was to be simulated.
        target: String,
        /// Why not.
        reason: String,
    },
    /// The lab could not run it.
    #[error("cannot run on {target}: {reason}")]
    Lab {
        /// What it was to run on.
        target: String,
        /// Why not, and what to try.
        reason: String,
    },
}

/// Options by which a run fits on a small volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fits {
    /// `--leave`, where the default or what was given is too much.
    pub leave: Option<Bytes>,
    /// `--set span=…`, where the tests' files are too large.
    pub span: Option<Bytes>,
}
