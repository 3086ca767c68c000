//! `lab:PROFILE+FS[,OPTION]...`.

use flashlag_lab::{LabError, LabSpec};
use flashlag_schema::profile::Profile;
use flashlag_units::Bytes;

use crate::error::RunError;
use crate::sim;

/// A device with a real filesystem on it, below a real kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct LabTarget {
    /// As it was typed.
    pub text: String,
    /// The device.
    pub profile: Profile,
    /// What is mounted, and how.
    pub spec: LabSpec,
    /// The size of the device.
    pub size: Bytes,
}

impl LabTarget {
    /// Reads what follows `lab:`.
    ///
    /// # Errors
    /// No such profile, filesystem or option.
    pub fn parse(text: &str) -> Result<LabTarget, RunError> {
        let rest = text.strip_prefix("lab:").unwrap_or(text);
        let refuse = |reason: String| RunError::Lab { target: text.to_owned(), reason };
        let spec = LabSpec::parse(rest).map_err(|error| refuse(error.to_string()))?;
        let profile = sim::profile(&spec.profile)?;
        let model = profile.model().map_err(|error| refuse(error.to_string()))?;
        let size = spec.size.unwrap_or(model.map.capacity.0);
        Ok(LabTarget { text: text.to_owned(), profile, spec, size })
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
    pub(super) fn failed(&self, error: LabError) -> RunError {
        RunError::Lab { target: self.text.clone(), reason: error.to_string() }
    }
}
