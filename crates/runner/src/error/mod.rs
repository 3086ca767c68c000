mod faults;

use std::path::PathBuf;

use flashlag_android::PhoneError;
use flashlag_device::DeviceError;
use flashlag_flash::{FlashError, SizeError};
use flashlag_lab::LabError;
use flashlag_spec::profile::ProfileError;
use flashlag_spec::scenario::ScenarioError;
use flashlag_spec::target::TargetError;
use flashlag_units::Bytes;
use thiserror::Error;

pub use faults::{DirectoryFault, OutputFault, OutputKind, ResumeFault};

/// Why a run could not be made. Phases that were measured before are in the run file.
#[derive(Debug, Error)]
pub enum RunError {
    /// The directory under test can't be used.
    #[error("cannot measure {}: {fault} ({})", path.display(), fault.advice())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why not, and what to try.
        fault: DirectoryFault,
    },
    /// A run file, report or profile can't be written.
    #[error("cannot write {}: {fault} ({})", path.display(), fault.advice())]
    Output {
        /// The file.
        path: PathBuf,
        /// Why not, and what to try.
        fault: OutputFault,
    },
    /// There is not enough room for the test itself.
    #[error(
        "not enough free space in {} for the test's own files: they need {needed}, {free} is free \
         and {leave} is to be left untouched",
        path.display()
    )]
    Room {
        /// The directory under test.
        path: PathBuf,
        /// Size of the files.
        needed: Bytes,
        /// Free space.
        free: Bytes,
        /// Free space to be left untouched.
        leave: Bytes,
        /// Options with which the run fits, if any.
        fits: Option<Fits>,
    },
    /// A budget below the size of the files under test.
    #[error(
        "the files under test take {needed}, more than --budget {budget} (raise it, or make them \
         smaller: --set span=20MB)"
    )]
    Budget {
        /// Size of the files.
        needed: Bytes,
        /// The budget.
        budget: Bytes,
    },
    /// A scenario that replays a trace, and none is given.
    #[error(
        "{test} of scenario {scenario} replays a trace: give one, with --set trace=FILE (what \
         `flashlag trace` recorded, or any file that `flashlag trace --from` reads)"
    )]
    NoTrace {
        /// The scenario.
        scenario: String,
        /// The test.
        test: String,
    },
    /// A trace that can't be replayed.
    #[error("cannot replay {}: {reason}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// Why not, and what to try.
        reason: String,
    },
    /// A target of no kind that exists.
    #[error("target `{text}`: {source}")]
    Target {
        /// The target as the user named it.
        text: String,
        /// What is wrong, and what there is.
        source: TargetError,
    },
    /// A target that is not simulated, for a forecast.
    #[error("target `{text}`: a forecast simulates: give sim:PROFILE")]
    NotSimulated {
        /// The target as the user named it.
        text: String,
    },
    /// An option that has no meaning on a target.
    #[error("{option} is for real storage; leave it out for {target}")]
    Option {
        /// The option, as it is typed.
        option: String,
        /// The target as the user named it.
        target: String,
    },
    /// `--resume` of another scenario, target or seed.
    #[error("cannot resume: {0}")]
    Resume(#[from] ResumeFault),
    /// flashlag's own files could not be made or removed.
    #[error(transparent)]
    Guard(#[from] flashlag_engine::GuardError),
    /// A device that failed before anything was measured.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// An unknown profile, or one that makes no device.
    #[error("profile {name}: {source}")]
    Profile {
        /// The profile's name, or its file.
        name: String,
        /// What is wrong, by the parameter's name.
        source: ProfileError,
    },
    /// A simulation that can't begin.
    #[error("cannot simulate {target}: {source}")]
    Simulation {
        /// The target as the user named it.
        target: String,
        /// Why not.
        source: Box<VirtualError>,
    },
    /// A phone that can't be reached or measured.
    #[error("cannot run on {target}: {source}")]
    Phone {
        /// The target as the user named it, or with the phone's serial number.
        target: String,
        /// Why not, and what to try.
        source: PhoneError,
    },
    /// An error at the phone's end, in the words of its cause.
    #[error("{0}")]
    OnPhone(String),
    /// A run in the lab that can't begin, or whose lab failed.
    #[error("cannot run on {target}: {source}")]
    Lab {
        /// The target as the user named it.
        target: String,
        /// Why not, and what to try.
        source: Box<VirtualError>,
    },
}

impl RunError {
    /// An error of the phone's end.
    pub(crate) fn on_phone(error: PhoneError) -> RunError {
        RunError::OnPhone(error.to_string())
    }
}

/// Why a virtual device can't be made, mounted or used.
#[derive(Debug, Error)]
pub enum VirtualError {
    /// An unknown filesystem or option, or one without a meaning there.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A profile whose parameters make no model.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A size that the profile's flash can't have.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// Parameters from which no simulated flash can be made.
    #[error(transparent)]
    Flash(#[from] FlashError),
    /// A filesystem that does not fit on the simulated device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Atomic writes, which this build of SQLite can't make.
    #[error(
        "atomic: this build's SQLite has no atomic writes: build flashlag in its own folder, whose \
         .cargo/config.toml asks for them, or leave the option out"
    )]
    NoAtomicWrites,
    /// A scenario that the guest can't use.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The lab: a program or a kernel that is absent, a guest, the served device.
    #[error(transparent)]
    Lab(#[from] LabError),
}

/// Options with which a run fits on a small volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fits {
    /// A smaller `--leave`; `None` if the present one fits.
    pub leave: Option<Bytes>,
    /// A smaller `--set span=…`; `None` if the tests' files fit.
    pub span: Option<Bytes>,
}
