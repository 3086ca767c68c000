//! The storage that a run measures, as the user names it.

mod lab;
mod simulated;

use std::path::PathBuf;

use flashlag_schema::target::{Kind, TargetError, TargetSpec};

pub use lab::LabTarget;
pub(crate) use lab::Pace;
pub use simulated::{SimTarget, profile};

use crate::error::RunError;

/// The storage that a run measures.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A directory on the user's own storage.
    Directory(PathBuf),
    /// A simulated device with a modelled filesystem, in virtual time.
    Simulated(SimTarget),
    /// A virtual device below a real kernel.
    Lab(LabTarget),
}

impl Target {
    /// Reads `DIR`, `sim:PROFILE[+FS[,OPTION]...]` or `lab:PROFILE+FS[,OPTION]...`. A path that exists
    /// is a directory whatever its name.
    ///
    /// # Errors
    /// A kind, profile, filesystem or option that does not exist.
    pub fn parse(text: &str) -> Result<Target, RunError> {
        let refuse = |error: TargetError| refused(text, error);
        match TargetSpec::parse(text).map_err(refuse)? {
            TargetSpec::Directory(path) => Ok(Target::Directory(path)),
            TargetSpec::Device(device) => match device.kind {
                Kind::Sim => SimTarget::of(text, &device).map(Target::Simulated),
                Kind::Lab => LabTarget::of(text, &device).map(Target::Lab),
            },
        }
    }

    /// The target as the user named it.
    pub fn name(&self) -> String {
        match self {
            Target::Directory(path) => path.display().to_string(),
            Target::Simulated(target) => target.text.clone(),
            Target::Lab(target) => target.text.clone(),
        }
    }

    /// Checks that the target has a meaning for options of a run: an earlier run to continue,
    /// reading back, a limit on what is written.
    ///
    /// # Errors
    /// The option that is for other targets.
    pub fn check_options(&self, resume: bool, verify: bool, budget: bool) -> Result<(), RunError> {
        let given = [("--resume", resume), ("--verify", verify), ("--budget", budget)];
        let refused: &[&str] = match self {
            Target::Directory(_) => &[],
            Target::Simulated(_) => &["--resume", "--verify", "--budget"],
            // A guest's device is gone with the guest.
            Target::Lab(_) => &["--resume"],
        };
        let found = given.iter().find(|(option, given)| *given && refused.contains(option));
        found.map_or(Ok(()), |(option, _)| {
            Err(RunError::Option { option: (*option).to_owned(), target: self.name() })
        })
    }

    /// The simulated device.
    ///
    /// # Errors
    /// A target of another kind.
    pub(crate) fn simulated(&self) -> Result<&SimTarget, RunError> {
        match self {
            Target::Simulated(target) => Ok(target),
            _ => Err(RunError::NotSimulated { text: self.name() }),
        }
    }
}

/// A refused target, in the words of its kind.
fn refused(text: &str, source: TargetError) -> RunError {
    let target = text.to_owned();
    match text.split_once(':') {
        Some(("sim", _)) => RunError::Simulation { target, source: Box::new(source.into()) },
        Some(("lab", _)) => RunError::Lab { target, source: Box::new(source.into()) },
        _ => RunError::Target { text: target, source },
    }
}
