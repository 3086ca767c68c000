//! Simulated runs for forecasts, fits and checks.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_predict::{Life, Simulator};
use flashlag_runner::{Event, Observer, Request, SimTarget, Target, builtin, sim};
use flashlag_schema::profile::Profile;
use flashlag_schema::scenario::Scenario;
use flashlag_schema::{Run, RunStatus};
use flashlag_units::Bytes;

use crate::waiting::Waiting;

/// Simulates, and tells how far it is.
pub struct Simulations {
    stop: Arc<AtomicBool>,
    waiting: Waiting,
}

impl Simulations {
    /// `what` is simulated, so many times where that is known.
    pub fn new(stop: Arc<AtomicBool>, waiting: Waiting) -> Simulations {
        Simulations { stop, waiting }
    }

    /// Wipes what stands on the terminal, before something else is printed there.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    fn request(
        &self,
        profile: &Profile,
        filesystem: &str,
        scenario: &Scenario,
        seed: u64,
        leave: Option<Bytes>,
    ) -> Request {
        let target = Target::Simulated(SimTarget {
            text: format!("sim:{}+{filesystem}", profile.name),
            profile: profile.clone(),
            filesystem: filesystem.to_owned(),
        });
        Request {
            scenario: scenario.clone(),
            target,
            seed,
            leave,
            budget: None,
            verify: false,
            resume: None,
            label: None,
            command: Vec::new(),
            output: None,
            stop: Arc::clone(&self.stop),
        }
    }
}

/// The run, where it came to its end.
fn ended(run: Run) -> Result<Run, String> {
    match &run.status {
        RunStatus::Failed { error, .. } => Err(error.clone()),
        RunStatus::Interrupted { .. } => Err("stopped".to_owned()),
        _ => Ok(run),
    }
}

impl Simulator for Simulations {
    fn simulate(
        &mut self,
        profile: &Profile,
        filesystem: &str,
        scenario: &Scenario,
        seed: u64,
        leave: Option<Bytes>,
    ) -> Result<Run, String> {
        let request = self.request(profile, filesystem, scenario, seed, leave);
        let run = flashlag_runner::run(request, &mut self.waiting);
        let run = run.map_err(|error| error.to_string())?;
        self.waiting.simulated();
        ended(run)
    }

    fn simulate_days(
        &mut self,
        profile: &Profile,
        filesystem: &str,
        life: &Life<'_>,
        seed: u64,
        leave: Option<Bytes>,
        enough: &mut dyn FnMut(&Run, usize) -> bool,
    ) -> Result<(Run, usize), String> {
        let request = self.request(profile, filesystem, life.scenario, seed, leave);
        let days = sim::Days { begin: life.begin.to_vec(), end: life.end, cycles: life.cycles };
        let of = life.begin.len();
        // The observer and the days share the terminal.
        let waiting = RefCell::new(&mut self.waiting);
        waiting.borrow_mut().day(1, of);
        let mut told = |run: &Run, lived: usize| {
            waiting.borrow_mut().day(lived + 1, of);
            enough(run, lived)
        };
        let done = sim::simulate_days(&request, &days, &mut Shared(&waiting), &mut told);
        self.waiting.simulated();
        let (run, lived) = done.map_err(|error| error.to_string())?;
        Ok((ended(run)?, lived))
    }
}

struct Shared<'a, 'b>(&'a RefCell<&'b mut Waiting>);

impl Observer for Shared<'_, '_> {
    fn event(&mut self, event: Event<'_>) {
        self.0.borrow_mut().event(event);
    }
}

/// The text of a scenario that a profile's check names: a reviewers' protocol, or a built-in one.
pub fn scenario_text(name: &str) -> Option<String> {
    let builtin = || builtin(name).map(|builtin| builtin.text);
    sim::builtin_protocol(name).or_else(builtin).map(ToOwned::to_owned)
}
