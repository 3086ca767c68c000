//! The speed of the virtual device's clock in each phase.

use flashlag_schema::Run;
use flashlag_serve::TimeScale;
use flashlag_spec::scenario::{Scenario, Test};

use crate::task::{Task, tasks};

/// The labels of fills, and of tests that only prepare.
pub(super) fn fills(scenario: &Scenario) -> Vec<String> {
    let prepares = |task: &&Task<'_>| match task {
        Task::Fill { .. } => true,
        Task::Measure { test: Test::Io(io), .. } => io.prepares,
        _ => false,
    };
    tasks(scenario).iter().filter(prepares).map(Task::label).collect()
}

/// The note on a phase whose pace is not real time: its times are not those of a phone.
pub(super) fn pace_note(pace: TimeScale) -> Option<String> {
    (pace != TimeScale::default()).then(|| {
        format!(
            "the device's clock ran {pace} times as fast as real time: its part of these times is \
             too short by that factor"
        )
    })
}

/// Adds to each phase the note on its pace.
pub(super) fn note_paces(run: &mut Run, paces: &[TimeScale]) {
    for (phase, pace) in run.phases.iter_mut().zip(paces) {
        phase.notes.extend(pace_note(*pace));
    }
}
