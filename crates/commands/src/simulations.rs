//! Simulated runs for forecasts, fits and checks.

use std::cell::RefCell;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flashlag_predict::{Simulation, SimulationError, Simulator};
use flashlag_runner::{Event, Observer, Request, SimTarget, Target, builtin, sim};
use flashlag_schema::{Run, RunStatus};
use flashlag_spec::profile::Profile;
use flashlag_spec::scenario::{After, Stretch};
use flashlag_spec::target::MountSpec;
use flashlag_units::Bytes;
use flashlag_views::test_title;

/// A progress line.
pub trait Counting: Send {
    /// Shows a line in place of the one before, or nothing if that was shown a moment ago.
    fn show(&mut self, line: &dyn Fn() -> String);

    /// Clears the line.
    fn clear(&mut self);
}

/// No progress line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Counting for Silent {
    fn show(&mut self, _: &dyn Fn() -> String) {}

    fn clear(&mut self) {}
}

/// The simulator of forecasts, fits and checks, with a progress line. Several threads use it at once.
pub struct Simulations {
    stop: Arc<AtomicBool>,
    count: Mutex<Count>,
}

impl Simulations {
    /// Simulations for `what`; `of`: their number, if it is known.
    pub fn new(
        stop: Arc<AtomicBool>,
        counter: Box<dyn Counting>,
        what: &str,
        of: Option<usize>,
    ) -> Simulations {
        let what = what.to_owned();
        Simulations { stop, count: Mutex::new(Count { counter, what, of, done: 0 }) }
    }

    /// Clears the progress line.
    pub fn clear(&self) {
        self.without_progress(|| ());
    }

    /// Prints something else while no progress is shown.
    pub fn without_progress<T>(&self, print: impl FnOnce() -> T) -> T {
        let mut count = self.count();
        count.counter.clear();
        print()
    }

    /// A panic elsewhere leaves the counts valid.
    fn count(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request(&self, simulation: &Simulation<'_>) -> Request {
        let Simulation { profile, mount, scenario, seed, leave } = *simulation;
        let target = Target::Simulated(SimTarget::new(profile, mount));
        let stop = Arc::clone(&self.stop);
        Request { leave, stop, waits: false, ..Request::new(scenario.clone(), target, seed) }
    }

    fn ended(&self) {
        let mut count = self.count();
        count.done += 1;
        count.show("", None);
    }
}

/// The number of finished simulations.
struct Count {
    counter: Box<dyn Counting>,
    what: String,
    of: Option<usize>,
    done: usize,
}

impl Count {
    fn show(&mut self, phase: &str, part: Option<(usize, usize)>) {
        let Count { counter, what, of, done } = self;
        counter.show(&|| {
            let of = of.map(|of| format!(" of {of}")).unwrap_or_default();
            let part = part.map(|(part, most)| format!(", part {part} of at most {most}"));
            let part = part.unwrap_or_default();
            let at = if phase.is_empty() { part } else { format!(", {phase}{part}") };
            format!("{what}: simulation {}{of}{at}", *done + 1)
        });
    }
}

/// The progress of one of the simulations in progress.
struct Progress<'a> {
    simulations: &'a Simulations,
    phase: String,
    part: Option<(usize, usize)>,
}

impl Progress<'_> {
    fn of(simulations: &Simulations) -> Progress<'_> {
        Progress { simulations, phase: String::new(), part: None }
    }

    /// Shows that a part of a stretch, of at most `most`, begins.
    fn part(&mut self, part: usize, most: Option<usize>) {
        let most = most.unwrap_or(part);
        self.part = Some((part.min(most), most));
        self.show();
    }

    fn show(&self) {
        self.simulations.count().show(&self.phase, self.part);
    }
}

impl Observer for Progress<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::PhaseStarted { label, .. } => self.phase = titled(label),
            Event::Preparing(what) => what.clone_into(&mut self.phase),
            _ => {}
        }
        self.show();
    }
}

/// A phase's label as people would call it: `256K seq write` for `new: seq_write_256k`, `filled 1: 4K rand
/// write`.
fn titled(label: &str) -> String {
    match label.split_once(": ") {
        Some(("new" | "fill", test)) => test_title(test),
        Some((stage, test)) => format!("{stage}: {}", test_title(test)),
        None => test_title(label),
    }
}

/// The run if it is complete.
fn ended(run: Run) -> Result<Run, SimulationError> {
    match &run.status {
        RunStatus::Failed { error, .. } => Err(SimulationError::refused(error)),
        RunStatus::Interrupted { .. } => Err(SimulationError::Stopped),
        _ => Ok(run),
    }
}

impl Simulator for Simulations {
    fn simulate(&self, simulation: &Simulation<'_>) -> Result<Run, SimulationError> {
        let run = sim::measure(self.request(simulation), &mut Progress::of(self));
        let run = run.map_err(SimulationError::refused)?;
        self.ended();
        ended(run)
    }

    fn room(&self, profile: &Profile, mount: &MountSpec) -> Result<Bytes, SimulationError> {
        sim::room(profile, mount).map_err(SimulationError::refused)
    }

    fn of_size(&self, profile: &Profile, size: Bytes) -> Option<Profile> {
        sim::of_size(profile, size).ok()
    }

    fn simulate_repeats(
        &self,
        simulation: &Simulation<'_>,
        stretches: &[Stretch],
        follow: &mut dyn FnMut(&Run, usize, usize) -> After,
    ) -> Result<(Run, Vec<usize>), SimulationError> {
        let request = self.request(simulation);
        let most: Vec<usize> = stretches.iter().map(|stretch| stretch.begin.len()).collect();
        // Both the observer and `after_part` write the progress line.
        let progress = RefCell::new(Progress::of(self));
        let mut after_part = |run: &Run, stretch: usize, done: usize| {
            progress.borrow_mut().part(done + 1, most.get(stretch).copied());
            follow(run, stretch, done)
        };
        let done =
            sim::simulate_repeats(&request, stretches, &mut Shared(&progress), &mut after_part);
        self.ended();
        let (run, counts) = done.map_err(SimulationError::refused)?;
        Ok((ended(run)?, counts))
    }
}

struct Shared<'a, 'b>(&'a RefCell<Progress<'b>>);

impl Observer for Shared<'_, '_> {
    fn event(&mut self, event: Event<'_>) {
        self.0.borrow_mut().event(event);
    }
}

/// The text of the scenario of a profile's check: a reviewers' protocol or a built-in scenario.
pub fn scenario_of_check(name: &str) -> Option<String> {
    let builtin = || builtin(name).map(|builtin| builtin.text());
    sim::builtin_protocol(name).or_else(builtin).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_names_a_test_as_people_do() {
        for (label, said) in [
            ("new: seq_write_256k", "256K seq write"),
            ("fill: fill_seq_1m", "1M seq fill"),
            ("filled 1: rand_write_4k", "filled 1: 4K rand write"),
            ("settle", "settle"),
        ] {
            assert_eq!(titled(label), said);
        }
    }
}
