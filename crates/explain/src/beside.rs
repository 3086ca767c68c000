//! What reviewers measured on the very device that a run simulates, cell by cell.

use flashlag_schema::profile::{Profile, ProfileCheck};
use flashlag_schema::{Phase, Run, State};

use crate::published::{Published, published};

/// The published throughputs of the devices that a simulated run's profile is checked against;
/// none for any other run.
pub(crate) struct Beside {
    name: String,
    checks: Vec<ProfileCheck>,
}

impl Beside {
    pub fn of(run: &Run) -> Beside {
        let text = run.target.profile.as_ref().map(|profile| profile.text.as_str());
        match text.and_then(|text| Profile::parse(text).ok()) {
            Some(profile) => Beside { name: profile.name, checks: profile.checks },
            None => Beside { name: String::new(), checks: Vec::new() },
        }
    }

    /// The figure for this phase's state, run and test.
    pub fn row(&self, phase: &Phase) -> Option<&'static Published> {
        let condition = condition(phase.state, phase.run)?;
        self.rows().find(|row| row.workload == phase.name && row.condition == condition)
    }

    /// Whose figures they are, and that the reviewers' own protocol is another scenario than the
    /// run's where it is: they wait for other calls, on files laid out otherwise.
    pub fn note(&self, run: &Run) -> Option<String> {
        let mut sources: Vec<&str> = Vec::new();
        for row in self.rows() {
            if !sources.contains(&row.source.as_str()) {
                sources.push(&row.source);
            }
        }
        let mut note = format!("Published: {}.", sources.join("; "));
        let repeated = self.checks.iter().any(|check| check.scenario == run.scenario.name);
        if !repeated && !self.name.is_empty() {
            note += &format!(
                " Their protocol differs from this scenario (files, fill, calls to make writes \
                 durable); `flashlag profiles check {}` repeats it.",
                self.name
            );
        }
        (!sources.is_empty()).then_some(note)
    }

    fn rows(&self) -> impl Iterator<Item = &'static Published> {
        published().iter().filter(|row| {
            row.metric == "throughput" && self.checks.iter().any(|check| check.device == row.device)
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
