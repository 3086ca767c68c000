//! Simulated runs for forecasts, fits and checks.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_predict::Simulator;
use flashlag_predict::check::Published;
use flashlag_runner::{Event, Observer, builtin, sim};
use flashlag_schema::profile::Profile;
use flashlag_schema::scenario::Scenario;
use flashlag_schema::{Run, RunStatus};
use flashlag_units::Bytes;

struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: Event<'_>) {}
}

/// Simulates, and counts aloud how far it is.
pub struct Simulations {
    stop: Arc<AtomicBool>,
    /// Hears of each run that is done: how many there were.
    tell: Box<dyn FnMut(usize)>,
    done: usize,
}

impl Simulations {
    pub fn new(stop: Arc<AtomicBool>, tell: impl FnMut(usize) + 'static) -> Simulations {
        Simulations { stop, tell: Box::new(tell), done: 0 }
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
        let target = sim::SimTarget {
            text: format!("sim:{}+{filesystem}", profile.name),
            profile: profile.clone(),
            filesystem: filesystem.to_owned(),
        };
        let request = sim::SimRequest {
            scenario: scenario.clone(),
            target,
            seed,
            leave,
            command: Vec::new(),
            output: None,
            stop: Arc::clone(&self.stop),
        };
        let run = sim::simulate(&request, &mut Silent).map_err(|error| error.to_string())?;
        self.done += 1;
        (self.tell)(self.done);
        match &run.status {
            RunStatus::Failed { error, .. } => Err(error.clone()),
            RunStatus::Interrupted { .. } => Err("stopped".to_owned()),
            _ => Ok(run),
        }
    }
}

/// The text of a scenario that a profile's check names: a reviewers' protocol, or a built-in one.
pub fn scenario_text(name: &str) -> Option<String> {
    let builtin = || builtin(name).map(|builtin| builtin.text);
    sim::builtin_protocol(name).or_else(builtin).map(ToOwned::to_owned)
}

/// What was published of the profiles' devices.
pub fn published() -> Vec<Published> {
    let rows = flashlag_explain::published_of_profiles().iter();
    rows.map(|row| Published {
        device: row.device.clone(),
        condition: row.condition.clone(),
        workload: row.workload.clone(),
        metric: row.metric.clone(),
        value: row.value,
        unit: row.unit.clone(),
        source: row.source.clone(),
    })
    .collect()
}
