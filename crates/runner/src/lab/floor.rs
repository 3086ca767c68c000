//! The software's own cost: the same tests, shortened, on a device that takes no time.

use flashlag_schema::{Floor, Phase, Run};
use flashlag_spec::State;
use flashlag_spec::scenario::{Scenario, Step, Test};
use flashlag_units::{Nanos, Text};

/// Duration of a test on the floor: enough operations for a median.
const TIME: Nanos = Nanos::from_secs(1);
/// Number of saves of a test on the floor: enough even if they are slow.
const SAVES: u64 = 100;

/// Reduces a scenario to what the floor needs: each measured test, once and shortened.
pub(super) fn lessen(scenario: &mut Scenario) {
    let mut names: Vec<String> = Vec::new();
    for step in &scenario.steps {
        let Step::Measure { tests, .. } = step else { continue };
        names
            .extend(tests.iter().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>());
    }
    names.retain(|name| scenario.tests.get(name).is_some_and(takes_less));
    for test in scenario.tests.values_mut() {
        match test {
            Test::Io(io) => {
                io.time = Some(Text(io.time.map_or(TIME, |time| time.0.min(TIME))));
                (io.min_ops, io.warmup, io.at_least) = (None, None, None);
                io.until = Default::default();
            }
            Test::Save(save) => {
                save.time = Some(Text(save.time.map_or(TIME, |time| time.0.min(TIME))));
                save.saves = Some(save.saves.map_or(SAVES, |saves| saves.min(SAVES)));
                save.min_saves = None;
            }
            Test::FileSave(save) => {
                save.time = Some(Text(save.time.map_or(TIME, |time| time.0.min(TIME))));
                save.saves = Some(save.saves.map_or(SAVES, |saves| saves.min(SAVES)));
                save.min_saves = None;
            }
            Test::Replay(_) | Test::Card(_) => {}
        }
    }
    scenario.steps = vec![Step::Measure { tests: names, state: State::New, repeat: 1 }];
}

/// Whether any test of the scenario can be done on a device that takes no time.
pub(super) fn has_floor(scenario: &Scenario) -> bool {
    let mut tests = scenario.steps.iter().flat_map(|step| match step {
        Step::Measure { tests, .. } => tests.as_slice(),
        _ => &[],
    });
    tests.any(|name| scenario.tests.get(name).is_some_and(takes_less))
}

/// Whether a test can be shortened: a replay and the proof of a card can't.
fn takes_less(test: &Test) -> bool {
    !matches!(test, Test::Replay(_) | Test::Card(_))
}

/// Adds to each phase the floor of the same test.
pub(super) fn put_floor(run: &mut Run, floor: &[Phase]) {
    for phase in &mut run.phases {
        let same = floor.iter().find(|floor| floor.name == phase.name);
        phase.floor = same.map(|floor| Floor {
            ops: floor.ops,
            latency_ns: floor.latency_ns.clone(),
            histogram: floor.histogram.clone(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    #[test]
    fn every_test_that_is_measured_is_left_once_and_takes_a_moment() {
        let text = builtin("lifecycle").unwrap().text();
        let mut scenario = Scenario::parse(text, &[]).unwrap();
        lessen(&mut scenario);
        let [Step::Measure { tests, repeat: 1, .. }] = scenario.steps.as_slice() else {
            panic!("{:?}", scenario.steps)
        };
        assert_eq!(tests.len(), 4, "{tests:?}");
        let times = scenario.tests.values().map(|test| match test {
            Test::Io(io) => io.time,
            Test::Save(save) => save.time,
            Test::FileSave(save) => save.time,
            Test::Replay(_) | Test::Card(_) => None,
        });
        assert!(times.flatten().all(|time| time.0 <= TIME));
    }
}
