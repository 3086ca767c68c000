//! The built-in protocols: the scenarios by which the profiles' devices were measured; the format
//! is that of a user's own files.

use super::document::ProfileCheck;
use crate::packed::{PackedFolder, packed};
use crate::scenario::{Scenario, ScenarioError};
use crate::words::State;

static FILES: PackedFolder = PackedFolder(packed!("profiles/protocols"));

static PROTOCOLS: [&str; 21] = [
    "andebench",
    "androbench",
    "androbench-5",
    "androbench-5-fsync",
    "fio-4k-20x20",
    "fio-4k-d1",
    "fio-4k-deep",
    "fio-4k-jobs",
    "fio-durable-4k",
    "fio-remote-swap-d1",
    "fio-remote-swap-d16",
    "iozone-100mb",
    "moto-x-2013",
    "nexus7-2012",
    "nexus7-2012-torture",
    "raspberry-pi-4",
    "read-sizes-d1",
    "saves",
    "service-times",
    "ufs-rests",
    "write-1m-d32",
];

/// The names of all protocols.
pub fn protocol_names() -> impl Iterator<Item = &'static str> {
    PROTOCOLS.into_iter()
}

/// The scenario by which a profile's device was measured.
pub fn builtin_protocol(name: &str) -> Option<&'static str> {
    FILES.text(name)
}

impl ProfileCheck {
    /// The scenario of this check, parsed from its text, with the check's settings.
    pub fn scenario_of(&self, text: &str) -> Result<Scenario, ScenarioError> {
        let settings = self.settings.iter().map(|(key, value)| (key.clone(), value.clone()));
        Scenario::parse(text, &settings.collect::<Vec<_>>())
    }

    /// The state, and the run in it, that correspond to a published condition.
    pub fn place_of(&self, condition: &str) -> Option<(State, u32)> {
        match self.conditions.get(condition) {
            Some(text) => {
                let (state, run) = text.split_once('/').unwrap_or((text, "1"));
                Some((state_named(state)?, run.parse().ok()?))
            }
            None if self.conditions.is_empty() => usual_place(condition),
            None => None,
        }
    }
}

/// Default meanings of published conditions.
fn usual_place(condition: &str) -> Option<(State, u32)> {
    let numbered = |state: State, text: &str| Some((state, text.parse().ok()?));
    if let Some(run) = condition.strip_prefix("filled-run-") {
        return numbered(State::Filled, run);
    }
    if let Some(run) = condition.strip_prefix("after-delete-run-") {
        return numbered(State::Deleted, run);
    }
    match condition {
        "new" => Some((State::New, 1)),
        "trimmed" => Some((State::Trimmed, 1)),
        "idle" | "after-24h-idle-with-fstrim" => Some((State::Idle, 1)),
        _ => None,
    }
}

fn state_named(name: &str) -> Option<State> {
    let all = [State::New, State::Filled, State::Deleted, State::Trimmed, State::Idle];
    all.into_iter().find(|state| state.name() == name)
}
