//! `lab:PROFILE+FS[,OPTION]...`.

use flashlag_lab::{LabError, LabSpec};
use flashlag_schema::profile::Profile;
use flashlag_serve::{Age, Settings, TimeScale, ValueError};
use flashlag_units::Bytes;

use super::simulated::{of_size, profile};
use crate::error::RunError;

/// A device with a real filesystem on it, below a real kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct LabTarget {
    /// As it was typed.
    pub text: String,
    /// The device, of the size that was asked for.
    pub profile: Profile,
    /// What is mounted, and how.
    pub spec: LabSpec,
    /// The size of the device.
    pub size: Bytes,
    /// What the device went through before.
    pub age: Age,
    /// How fast it lives.
    pub pace: Pace,
}

/// How many times faster than real time a device lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// While it is measured, and between.
    pub usual: TimeScale,
    /// While a fill goes on.
    pub fills: TimeScale,
}

impl LabTarget {
    /// Reads what follows `lab:`.
    ///
    /// # Errors
    /// No such profile, filesystem or option, or a value that an option can't have.
    pub fn parse(text: &str) -> Result<LabTarget, RunError> {
        let rest = text.strip_prefix("lab:").unwrap_or(text);
        let refuse = |reason: String| RunError::Lab { target: text.to_owned(), reason };
        let spec = LabSpec::parse(rest).map_err(|error| refuse(error.to_string()))?;
        let mut device = profile(&spec.profile)?;
        if let Some(size) = spec.size {
            device = of_size(&device, size).map_err(refuse)?;
        }
        let model = device.model().map_err(|error| refuse(error.to_string()))?;
        let size = model.map.capacity.0;
        let (age, pace) = lives(&spec).map_err(refuse)?;
        Ok(LabTarget { text: text.to_owned(), profile: device, spec, size, age, pace })
    }

    /// The device as it is served.
    pub(crate) fn settings(&self, seed: u64) -> Settings {
        Settings {
            size: Some(self.size),
            age: Some(self.age),
            seed,
            time_scale: self.pace.usual,
            ..Settings::of(&self.spec.profile)
        }
    }

    /// Whether the host's own kernel can do it, where that is asked for: said before anything starts.
    ///
    /// # Errors
    /// What is missing.
    pub fn check_host(&self) -> Result<(), RunError> {
        match self.spec.host {
            true => flashlag_lab::check_host(&self.spec).map_err(|error| self.failed(error)),
            false => Ok(()),
        }
    }

    /// What went wrong in the lab, with what was asked for.
    pub(crate) fn failed(&self, error: LabError) -> RunError {
        RunError::Lab { target: self.text.clone(), reason: error.to_string() }
    }
}

/// What a device went through, and how fast it lives.
fn lives(spec: &LabSpec) -> Result<(Age, Pace), String> {
    let wrong =
        |option: &str, value: &str, reason: ValueError| format!("\"{option}={value}\": {reason}");
    let age = match &spec.state {
        Some(state) => state.parse().map_err(|reason| wrong("state", state, reason))?,
        None => Age::New,
    };
    let pace = |option: &str, value: &Option<String>| match value {
        Some(times) => times.parse().map(Some).map_err(|reason| wrong(option, times, reason)),
        None => Ok(None),
    };
    let usual = pace("time-scale", &spec.time_scale)?.unwrap_or_default();
    let fills = pace("fill-time-scale", &spec.fill_time_scale)?.unwrap_or(usual);
    Ok((age, Pace { usual, fills }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_as_large_as_old_and_as_fast_as_its_options_say() {
        let text = "lab:nexus5-2013+ext4,size=4GiB,state=full,time-scale=2,fill-time-scale=30";
        let target = LabTarget::parse(text).unwrap();
        assert_eq!((target.size, target.age), (Bytes::from_mib(4096), Age::Full));
        let settings = target.settings(7);
        assert_eq!((settings.size, settings.age), (Some(target.size), Some(Age::Full)));
        assert_eq!((settings.time_scale.factor(), settings.seed), (2.0, 7));
        assert_eq!(target.pace.fills.factor(), 30.0);
        let model = target.profile.model().unwrap();
        assert_eq!(model.map.capacity.0, target.size, "what is recorded is what was served");
    }

    #[test]
    fn fills_are_as_fast_as_the_rest_unless_told() {
        let target = LabTarget::parse("lab:nexus5-2013+ext4,time-scale=3").unwrap();
        assert_eq!(target.pace.fills, target.pace.usual);
        assert_eq!(LabTarget::parse("lab:zero+ext4").unwrap().pace, Pace::default());
    }

    #[test]
    fn values_that_options_can_not_have_are_refused_by_name() {
        for (option, said) in [
            ("state=old", "new, full or aged:12mo"),
            ("time-scale=fast", "a number"),
            ("time-scale=0", "not between"),
            ("fill-time-scale=-1", "not between"),
            ("size=1MiB", "at least"),
        ] {
            let refused = LabTarget::parse(&format!("lab:nexus5-2013+ext4,{option}"));
            let error = refused.unwrap_err().to_string();
            assert!(error.contains(said), "{option}: {error}");
        }
    }
}
