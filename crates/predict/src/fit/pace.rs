//! Runs whose virtual device ran faster than in real time: their times are not those of the device.

use flashlag_schema::{Phase, Run};
use flashlag_spec::scenario::{Step, Test};

use crate::nearest::scenario_of;

/// The pace that a recorded option of a virtual device sets, if it is not the device's own.
fn pace(run: &Run, word: &str) -> Option<f64> {
    let options = &run.target.profile.as_ref()?.device_options;
    let value = options.iter().rev().find_map(|option| option.strip_prefix(word))?;
    value.strip_prefix('=')?.parse().ok().filter(|pace: &f64| (pace - 1.0).abs() > 1e-9)
}

/// Why a run's times, or the state that its fills left, are not those of the device.
pub(crate) fn doubt(run: &Run) -> Option<String> {
    let usual = pace(run, "time-scale");
    if let Some(pace) = usual {
        return Some(format!(
            "its device's clock ran {pace} times as fast as real time (time-scale)"
        ));
    }
    pace(run, "fill-time-scale").map(|pace| {
        format!(
            "its device's clock ran {pace} times as fast as real time during fills \
             (fill-time-scale), which also changes the state that they left"
        )
    })
}

/// The run without the phases that did not run at the device's pace, and a note on what was left
/// out.
pub(super) fn measured(run: &Run) -> (Run, Option<String>) {
    let mut left = run.clone();
    let Some(pace) = pace(run, "fill-time-scale") else { return (left, None) };
    let Ok(scenario) = scenario_of(run) else { return (left, None) };
    let fills = |phase: &Phase| {
        let filled = scenario
            .steps
            .iter()
            .any(|step| matches!(step, Step::Fill { test, .. } if *test == phase.name));
        let prepares = scenario.tests.get(&phase.name);
        filled || matches!(prepares, Some(Test::Io(io)) if io.prepares)
    };
    left.phases.retain(|phase| !fills(phase));
    let note = (left.phases.len() < run.phases.len()).then(|| {
        format!(
            "The fills are left out: during them the device's clock ran {pace} times as fast \
             as real time."
        )
    });
    (left, note)
}
