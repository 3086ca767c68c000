//! The storage that a run measures, as the user names it.

#[cfg(all(feature = "lab", not(target_family = "wasm")))]
mod lab;
mod misspelt;
#[cfg(test)]
mod misspelt_tests;
mod simulated;

use std::path::PathBuf;

use flashlag_spec::target::{Kind, PhoneSpec, TargetError, TargetSpec};

#[cfg(all(feature = "lab", not(target_family = "wasm")))]
pub use lab::LabTarget;
#[cfg(all(feature = "lab", not(target_family = "wasm")))]
pub(crate) use lab::Pace;
pub use simulated::{SimTarget, of_size, profile};

use crate::error::RunError;
use simulated::refused_as;

/// The storage that a run measures.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A directory on the user's own storage.
    Directory(PathBuf),
    /// A simulated device with a modelled filesystem, in virtual time.
    Simulated(SimTarget),
    /// A virtual device below a real kernel.
    #[cfg(all(feature = "lab", not(target_family = "wasm")))]
    Lab(LabTarget),
    /// A phone on a cable.
    Phone(PhoneSpec),
}

impl Target {
    /// Parses `DIR`, `sim:PROFILE[+FS[,OPTION]...]`, `lab:PROFILE+FS[,OPTION]...` or
    /// `adb:[SERIAL][:PATH]`. An existing path is a directory whatever its name. Fails if the kind,
    /// profile, filesystem or option does not exist; the error suggests the target that was
    /// probably meant.
    pub fn parse(text: &str) -> Result<Target, RunError> {
        let refuse = |error: TargetError| refused(text, error);
        match TargetSpec::parse(text).map_err(refuse)? {
            TargetSpec::Directory(path) if path.exists() => Ok(Target::Directory(path)),
            TargetSpec::Directory(path) => match misspelt::misspelt(text) {
                Some(source) => Err(RunError::Target { text: text.to_owned(), source }),
                None => Ok(Target::Directory(path)),
            },
            TargetSpec::Device(device) => match device.kind {
                Kind::Sim => SimTarget::of(text, &device).map(Target::Simulated),
                #[cfg(target_family = "wasm")]
                Kind::Lab => Err(RunError::NotSimulated { text: text.to_owned() }),
                #[cfg(not(any(feature = "lab", target_family = "wasm")))]
                Kind::Lab => Err(RunError::WithoutLab { target: text.to_owned() }),
                #[cfg(all(feature = "lab", not(target_family = "wasm")))]
                Kind::Lab => LabTarget::of(text, &device).map(Target::Lab),
            },
            TargetSpec::Phone(phone) => Ok(Target::Phone(phone)),
        }
    }

    /// The same target with parameters of its simulated device's profile changed (`--parameter`).
    ///
    /// # Errors
    /// The target is no simulation, there is no such parameter, or it can't have that value.
    pub fn with_parameters(self, changes: &[(String, String)]) -> Result<Target, RunError> {
        match self {
            Target::Simulated(target) => {
                let changed = changes
                    .iter()
                    .try_fold(target, |target, (key, value)| target.with_parameter(key, value));
                changed.map(Target::Simulated)
            }
            other if changes.is_empty() => Ok(other),
            other => {
                let (option, target) = ("--parameter".to_owned(), other.name());
                Err(RunError::Option { option, target })
            }
        }
    }

    /// The target as the user named it.
    pub fn name(&self) -> String {
        match self {
            Target::Directory(path) => path.display().to_string(),
            Target::Simulated(target) => target.text.clone(),
            #[cfg(all(feature = "lab", not(target_family = "wasm")))]
            Target::Lab(target) => target.text.clone(),
            Target::Phone(phone) => phone.to_string(),
        }
    }

    /// Checks that the options of a run apply to the target: an earlier run to continue, reading
    /// back, a limit on written bytes.
    pub fn check_options(&self, resume: bool, verify: bool, budget: bool) -> Result<(), RunError> {
        let given = [("--resume", resume), ("--verify", verify), ("--budget", budget)];
        let refused: &[&str] = match self {
            Target::Directory(_) | Target::Phone(_) => &[],
            Target::Simulated(_) => &["--resume", "--verify", "--budget"],
            // A guest's device is gone with the guest.
            #[cfg(all(feature = "lab", not(target_family = "wasm")))]
            Target::Lab(_) => &["--resume"],
        };
        let found = given.iter().find(|(option, given)| *given && refused.contains(option));
        found.map_or(Ok(()), |(option, _)| {
            Err(RunError::Option { option: (*option).to_owned(), target: self.name() })
        })
    }

    /// The simulated device.
    pub(crate) fn simulated(&self) -> Result<&SimTarget, RunError> {
        match self {
            Target::Simulated(target) => Ok(target),
            _ => Err(RunError::NotSimulated { text: self.name() }),
        }
    }
}

/// A refused target, in the words of its kind.
fn refused(text: &str, source: TargetError) -> RunError {
    match Kind::named_by(text) {
        Some(kind) => refused_as(kind, text, source),
        None => {
            let source = misspelt::misspelt(text).unwrap_or(source);
            RunError::Target { text: text.to_owned(), source }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Target {
        Target::parse(text).unwrap()
    }

    #[test]
    fn the_kind_of_a_target_is_what_stands_before_its_colon_unless_that_path_exists() {
        assert!(matches!(parsed("sim:zero+ext4"), Target::Simulated(_)));
        assert!(matches!(parsed("lab:zero+ext4"), Target::Lab(_)));
        for path in [".", "no/such/folder", "none"] {
            assert_eq!(parsed(path), Target::Directory(PathBuf::from(path)));
            assert_eq!(parsed(path).name(), path);
        }
        assert!(matches!(parsed("adb:0A1B2C:/sdcard"), Target::Phone(_)));
        assert!(Target::parse("adb:$(reboot)").unwrap_err().to_string().contains("serial number"));
        assert!(Target::parse("other:thing").unwrap_err().to_string().contains("other"));
        for text in ["sim:zero+ext4", "lab:zero+ext4", "adb:", "adb:0A1B2C:/sdcard"] {
            assert_eq!(parsed(text).name(), text);
        }
        let folder = tempfile::tempdir().unwrap();
        let named = format!("{}/lab:zero+ext4", folder.path().display());
        std::fs::create_dir(&named).unwrap();
        assert_eq!(parsed(&named), Target::Directory(PathBuf::from(&named)));
    }

    #[test]
    fn each_target_refuses_the_options_that_have_no_meaning_on_it_by_name() {
        let refused = |text: &str, given: [bool; 3]| {
            let [resume, verify, budget] = given;
            match parsed(text).check_options(resume, verify, budget) {
                Ok(()) => None,
                Err(RunError::Option { option, target }) => {
                    assert_eq!(target, text);
                    Some(option)
                }
                Err(other) => panic!("{other}"),
            }
        };
        let one = |place: usize| std::array::from_fn(|index| index == place);
        for (place, option) in ["--resume", "--verify", "--budget"].into_iter().enumerate() {
            assert_eq!(refused(".", one(place)), None);
            assert_eq!(refused("sim:zero+ext4", one(place)).as_deref(), Some(option));
            let in_lab = (place == 0).then_some(option);
            assert_eq!(refused("lab:zero+ext4", one(place)).as_deref(), in_lab);
        }
        assert_eq!(refused("adb:", [true; 3]), None);
        for text in [".", "sim:zero+ext4", "lab:zero+ext4"] {
            assert_eq!(refused(text, [false; 3]), None);
        }
    }

    #[test]
    fn only_a_simulated_target_takes_parameters() {
        let change = [("nand.program".to_owned(), "3ms".to_owned())];
        assert_ne!(
            parsed("sim:nexus7-2012").with_parameters(&change).unwrap(),
            parsed("sim:nexus7-2012")
        );
        for text in [".", "lab:zero+ext4", "adb:"] {
            assert_eq!(parsed(text).with_parameters(&[]).unwrap(), parsed(text));
            let error = parsed(text).with_parameters(&change).unwrap_err();
            assert!(matches!(error, RunError::Option { option, .. } if option == "--parameter"));
        }
    }

    #[test]
    fn only_a_simulated_target_can_be_forecast() {
        assert!(parsed("sim:zero+ext4").simulated().is_ok());
        for text in [".", "lab:zero+ext4", "adb:"] {
            let error = parsed(text).simulated().unwrap_err().to_string();
            assert!(error.contains("give sim:PROFILE"), "{error}");
        }
    }
}
