//! A scenario's steps, unrolled: a task is the smallest thing that a run does and can resume at.

use flashlag_spec::State;
use flashlag_spec::scenario::{Scenario, Step, Test};
use flashlag_units::Nanos;

/// One task of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Task<'a> {
    /// Run a test.
    Measure {
        /// The test's name.
        test: &'a Test,
        /// The state of the device.
        state: State,
        /// The repetition, from 1.
        run: u32,
    },
    /// Fill the storage.
    Fill {
        /// The test that fills.
        test: &'a Test,
        /// Another directory than the one under test.
        directory: Option<&'a str>,
    },
    /// Delete the files of fills.
    Delete,
    /// Trim the free space.
    Trim,
    /// Wait.
    Idle(Nanos),
}

impl Task<'_> {
    /// The label in progress reports and in `skipped`.
    pub fn label(&self) -> String {
        match self {
            Task::Measure { test, state, run } => state.label(*run, test.name()),
            Task::Fill { test, .. } => format!("fill: {}", test.name()),
            Task::Delete => "delete".to_owned(),
            Task::Trim => "trim".to_owned(),
            Task::Idle(time) => format!("idle {time}"),
        }
    }
}

/// The tasks of a scenario, in order.
pub fn tasks(scenario: &Scenario) -> Vec<Task<'_>> {
    scenario.steps.iter().flat_map(|step| tasks_of(scenario, step)).collect()
}

/// State, repetition and test of each phase that a run of a scenario measures. A step whose state is
/// never reached (after an idle wait of no time) gives none.
pub fn measured(scenario: &Scenario) -> Vec<(State, u32, String)> {
    let tasks = tasks(scenario);
    let phases = tasks.iter().enumerate().filter_map(|(index, task)| match task {
        Task::Measure { test, state, run } => {
            reached(&tasks, index, true).ok()?;
            Some((*state, *run, test.phase_names()))
        }
        Task::Fill { test, .. } => Some((State::Filled, 1, test.phase_names())),
        Task::Delete | Task::Trim | Task::Idle(_) => None,
    });
    let named = |(state, run, names): (State, u32, Vec<String>)| {
        names.into_iter().map(move |name| (state, run, name))
    };
    phases.flat_map(named).collect()
}

/// Adds the tasks of one step. The parser has already refused steps with unknown tests.
pub fn tasks_of<'a>(scenario: &'a Scenario, step: &'a Step) -> Vec<Task<'a>> {
    let mut tasks = Vec::new();
    match step {
        Step::Measure { tests, state, repeat } => {
            for run in 1..=*repeat {
                let known = tests.iter().filter_map(|name| scenario.tests.get(name));
                tasks.extend(known.map(|test| Task::Measure { test, state: *state, run }));
            }
        }
        Step::Fill { test, directory } => {
            if let Some(test) = scenario.tests.get(test) {
                tasks.push(Task::Fill { test, directory: directory.as_deref() });
            }
        }
        Step::Delete => tasks.push(Task::Delete),
        Step::Trim => tasks.push(Task::Trim),
        Step::Idle { time } => tasks.push(Task::Idle(time.0)),
    }
    tasks
}

/// Checks that `tasks[index]` finds the state that it claims; this fails for an idle row without an
/// idle wait and for a trimmed row after a failed trim.
pub fn reached(tasks: &[Task<'_>], index: usize, trimmed: bool) -> Result<(), &'static str> {
    let Some(Task::Measure { state, .. }) = tasks.get(index) else { return Ok(()) };
    let waited = tasks[..index].iter().any(|task| matches!(task, Task::Idle(_)));
    match state {
        State::Idle if !waited => Err("no idle wait was requested: try --set idle=24h"),
        State::Trimmed if !trimmed => Err("the trim before it was not done"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_has_both_results_of_a_mixed_test_and_no_state_that_is_not_reached() {
        let text = "name = \"x\"\n[[io]]\nname = \"t\"\noperation = \"mixed\"\nread_percent = 70\n\
                    pattern = \"random\"\nblock = \"4KiB\"\nspan = \"1MB\"\ntime = \"1s\"\n\
                    [[step]]\nmeasure = [\"t\"]\nrepeat = 2\n\
                    [[step]]\nmeasure = [\"t\"]\nstate = \"idle\"\n";
        let measured = measured(&Scenario::parse(text, &[]).unwrap());
        let expected = [(1, "t_read"), (1, "t_write"), (2, "t_read"), (2, "t_write")];
        let expected = expected.map(|(run, name)| (State::New, run, name.to_owned()));
        assert_eq!(measured, expected);
    }

    const STEPS: &str = "name = \"x\"\n[[io]]\nname = \"t\"\noperation = \"write\"\n\
                         pattern = \"sequential\"\nblock = \"4KiB\"\nspan = \"1MB\"\ntime = \"1s\"\n\
                         [[step]]\nfill = \"t\"\n[[step]]\ndelete = true\n[[step]]\ntrim = true\n\
                         [[step]]\nmeasure = [\"t\"]\nstate = \"trimmed\"\n\
                         [[step]]\nidle = \"90s\"\n\
                         [[step]]\nmeasure = [\"t\"]\nstate = \"idle\"\nrepeat = 2\n";

    #[test]
    fn each_task_has_the_label_that_progress_and_skipped_tasks_show() {
        let scenario = Scenario::parse(STEPS, &[]).unwrap();
        let labels: Vec<_> = tasks(&scenario).iter().map(Task::label).collect();
        let expected = [
            "fill: t",
            "delete",
            "trim",
            "trimmed 1: t",
            "idle 1 min 30 s",
            "idle 1: t",
            "idle 2: t",
        ];
        assert_eq!(labels, expected);
    }

    #[test]
    fn a_trimmed_state_needs_a_trim_that_was_done_and_an_idle_one_a_wait_before_it() {
        let scenario = Scenario::parse(STEPS, &[]).unwrap();
        let tasks = tasks(&scenario);
        let reached = |index, trimmed| super::reached(&tasks, index, trimmed).is_ok();
        assert!(reached(3, true) && !reached(3, false));
        assert!(reached(5, false), "the idle wait was the step before");
        assert!(super::reached(&tasks[3..4], 0, true).is_ok());
        assert!(super::reached(&tasks[5..], 0, true).is_err(), "no wait at all");
        // A task that measures nothing claims no state.
        assert!((0..3).all(|index| reached(index, false)));
    }

    #[test]
    fn a_fill_is_a_measured_phase_and_what_measures_nothing_is_none() {
        let scenario = Scenario::parse(STEPS, &[]).unwrap();
        let expected =
            [(State::Filled, 1), (State::Trimmed, 1), (State::Idle, 1), (State::Idle, 2)];
        let measured = measured(&scenario);
        assert_eq!(measured, expected.map(|(state, run)| (state, run, "t".to_owned())));
    }
}
