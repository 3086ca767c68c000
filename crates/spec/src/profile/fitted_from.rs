use serde::{Deserialize, Serialize};

use crate::words::Verdict;

/// The run that a profile was fitted to, and the doubts about that run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FittedFrom {
    /// The run's file.
    pub run: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Reasons against fitting to this run; empty if there were none. With a reason the fit had
    /// to be forced.
    #[serde(default)]
    pub doubts: Vec<String>,
    /// Whether the fit was forced despite doubts.
    #[serde(default)]
    pub forced: bool,
    /// The typical error of the fitted figures, in percent, after the fit.
    pub misfit_percent: f64,
}

/// A fit with a larger typical error is no model of the device.
const BAD_FIT_PERCENT: f64 = 50.0;

impl FittedFrom {
    /// What a reader of any result from the profile must know; none if there were no doubts about
    /// the run and the fit is good.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.forced {
            let doubts = self.doubts.join("; ");
            let run = &self.run;
            warnings
                .push(format!("The profile was fitted by --force to {run}, although {doubts}."));
        }
        warnings.extend(bad_fit(self.misfit_percent));
        warnings
    }
}

/// The sentence about a bad fit; `None` for a good one.
pub fn bad_fit(misfit_percent: f64) -> Option<String> {
    if misfit_percent.is_finite() && misfit_percent <= BAD_FIT_PERCENT {
        return None;
    }
    let off = match misfit_percent {
        off if off.is_finite() && off <= 100.0 => format!("by {off:.0}%"),
        _ => "by more than 100%".to_owned(),
    };
    Some(format!(
        "The profile is no model of what was measured: its figures are off {off} typically. \
         Forecasts made with it mean nothing."
    ))
}
