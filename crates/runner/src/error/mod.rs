#[cfg(not(target_family = "wasm"))]
mod faults;

use std::path::PathBuf;

#[cfg(not(target_family = "wasm"))]
use flashlag_android::PhoneError;
use flashlag_device::DeviceError;
use flashlag_flash::{FlashError, SizeError};
#[cfg(all(feature = "lab", not(target_family = "wasm")))]
use flashlag_lab::LabError;
use flashlag_spec::profile::ProfileError;
use flashlag_spec::scenario::ScenarioError;
use flashlag_spec::target::TargetError;
use flashlag_units::Bytes;
use thiserror::Error;

#[cfg(not(target_family = "wasm"))]
pub use faults::{DirectoryFault, OutputFault, OutputKind, ResumeFault};

/// Why a run could not be made. Phases that were measured before are in the run file.
#[derive(Debug, Error)]
pub enum RunError {
    #[cfg(not(target_family = "wasm"))]
    #[error("cannot measure {}: {fault} ({})", path.display(), fault.advice())]
    Directory { path: PathBuf, fault: DirectoryFault },
    #[cfg(not(target_family = "wasm"))]
    #[error("cannot write {}: {fault} ({})", path.display(), fault.advice())]
    Output { path: PathBuf, fault: OutputFault },
    /// There is not enough room for the test itself.
    #[error(
        "not enough free space in {} for the test's own files: they need {needed}, {free} is free \
         and {leave} is to be left untouched",
        path.display()
    )]
    Room { path: PathBuf, needed: Bytes, free: Bytes, leave: Bytes, fits: Option<Fits> },
    /// A budget below the size of the files under test.
    #[error(
        "the files under test take {needed}, more than --budget {budget} (raise it, or make them \
         smaller: --set span=20MB)"
    )]
    Budget { needed: Bytes, budget: Bytes },
    /// The scenario replays a trace, and none is given.
    #[error(
        "{test} of scenario {scenario} replays a trace: give one, with --set trace=FILE (what \
         `flashlag trace` recorded, or any file that `flashlag trace --from` reads)"
    )]
    NoTrace { scenario: String, test: String },
    #[error("cannot replay {}: {reason}", path.display())]
    Trace { path: PathBuf, reason: String },
    #[error("target `{text}`: {source}")]
    Target { text: String, source: TargetError },
    #[error("target `{text}`: a forecast simulates: give sim:PROFILE")]
    NotSimulated { text: String },
    #[error("{option} is for real storage; leave it out for {target}")]
    Option { option: String, target: String },
    /// `--resume` of another scenario, target or seed.
    #[cfg(not(target_family = "wasm"))]
    #[error("cannot resume: {0}")]
    Resume(#[from] ResumeFault),
    #[cfg(not(target_family = "wasm"))]
    #[error(transparent)]
    Guard(#[from] flashlag_engine::GuardError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error("profile {name}: {source}")]
    Profile { name: String, source: ProfileError },
    #[error("cannot simulate {target}: {source}")]
    Simulation { target: String, source: Box<VirtualError> },
    #[cfg(not(target_family = "wasm"))]
    #[error("cannot run on {}: {source}", target.trim_end_matches(':'))]
    Phone {
        /// The target as the user named it, or with the phone's serial number.
        target: String,
        source: PhoneError,
    },
    #[cfg(not(target_family = "wasm"))]
    #[error("{0}")]
    OnPhone(String),
    #[error("cannot run on {target}: {source}")]
    Lab { target: String, source: Box<VirtualError> },
    /// The lab, in a program that was built without it.
    #[cfg(not(any(feature = "lab", target_family = "wasm")))]
    #[error(
        "cannot run on {target}: this program was built without kernels over a virtual device: a release \
         has them, and so has what `make build` builds"
    )]
    WithoutLab { target: String },
}

#[cfg(not(target_family = "wasm"))]
impl RunError {
    /// An error of the phone's end.
    pub(crate) fn on_phone(error: PhoneError) -> RunError {
        RunError::OnPhone(error.to_string())
    }
}

/// Why a virtual device can't be made, mounted or used.
#[derive(Debug, Error)]
pub enum VirtualError {
    /// An unknown filesystem or option, or one that does not apply to this kind of target.
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Profile(#[from] ProfileError),
    #[error(transparent)]
    Size(#[from] SizeError),
    #[error(transparent)]
    Flash(#[from] FlashError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Atomic writes, which this build of SQLite can't make.
    #[error(
        "atomic: this build's SQLite has no atomic writes: build flashlag in its own folder, whose \
         .cargo/config.toml asks for them, or leave the option out"
    )]
    NoAtomicWrites,
    /// A scenario that asks what a card holds.
    #[error("{}", crate::work::NO_CARD)]
    NoCard,
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The lab: a program or a kernel that is absent, a guest, the served device.
    #[cfg(all(feature = "lab", not(target_family = "wasm")))]
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
