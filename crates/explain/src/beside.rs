//! What reviewers measured on the very device that a run simulates, cell by cell.

use flashlag_schema::profile::Profile;
use flashlag_schema::{Phase, Run, State};

use crate::published::{Published, published};

/// The published throughputs of the devices that a simulated run's profile is checked against;
/// none for any other run.
pub(crate) struct Beside {
    devices: Vec<String>,
}

impl Beside {
    pub fn of(run: &Run) -> Beside {
        let text = run.target.profile.as_ref().map(|profile| profile.text.as_str());
        let profile = text.and_then(|text| Profile::parse(text).ok());
        let devices = profile.map(|profile| {
            profile.checks.into_iter().map(|check| check.device).collect::<Vec<_>>()
        });
        Beside { devices: devices.unwrap_or_default() }
    }

    /// The figure for this phase's state, run and test.
    pub fn row(&self, phase: &Phase) -> Option<&'static Published> {
        let condition = condition(phase.state, phase.run)?;
        published().iter().find(|row| {
            row.workload == phase.name
                && row.condition == condition
                && row.metric == "throughput"
                && self.devices.contains(&row.device)
        })
    }
}

/// As the published rows call a state.
fn condition(state: State, run: u32) -> Option<String> {
    match state {
        State::New => Some("new".to_owned()),
        State::Filled => Some(format!("filled-run-{run}")),
        State::Deleted => Some(format!("after-delete-run-{run}")),
        State::Idle => Some("after-24h-idle-with-fstrim".to_owned()),
        State::Trimmed => None,
    }
}
