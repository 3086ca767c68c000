//! A scenario on a simulated device, in virtual time: the same tests, driven by the same loop, on a
//! modelled filesystem over a modelled flash. The same seed gives the same run file, byte for byte.

mod days;
mod environment;
mod fill;
mod ledger;
mod saves;
mod steps;
mod target;
mod trust;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flashlag_device::Clock;
use flashlag_flash::{Flash, FlashDevice, Order, Past};
use flashlag_iostack::{FileId, Stack, StackSpec};
use flashlag_schema::scenario::Scenario;
use flashlag_schema::{Lag, Reading, Run};
use flashlag_stats::live::Live;
use flashlag_units::{Bytes, Nanos};

pub use days::{Days, simulate_days};
pub use flashlag_schema::profile::{builtin_profile, names as profile_names};
pub use flashlag_schema::profile::{builtin_protocol, protocol_names};
pub(crate) use target::of_size;
pub use target::{SimTarget, profile};
pub(crate) use trust::flushes;

use crate::error::RunError;
use crate::execute::{Outcome, Underway, go_through, task_seed};
use crate::output::RunFile;
use crate::record::simulated_run;
use crate::request::{Event, Observer};
use crate::task::{Task, tasks};

/// What the reviewers' fills spared.
pub const REVIEWERS_LEAVE: Bytes = Bytes::from_mb(300);

/// A run to be simulated.
#[derive(Clone, Debug)]
pub struct SimRequest {
    /// What is done.
    pub scenario: Scenario,
    /// On what.
    pub target: SimTarget,
    /// What every random choice follows from.
    pub seed: u64,
    /// What a fill spares; the reviewers' 300 MB where it is not said.
    pub leave: Option<Bytes>,
    /// What the user calls the device under test.
    pub label: Option<String>,
    /// The command line, without where its results go.
    pub command: Vec<String>,
    /// Where the run file goes; nowhere for a run that only feeds a forecast.
    pub output: Option<Arc<RunFile>>,
    /// Set from outside when the run has to end.
    pub stop: Arc<AtomicBool>,
}

type SimStack = Stack<FlashDevice>;

/// A run under way.
struct Simulation<'a> {
    request: &'a SimRequest,
    run: Run,
    stack: SimStack,
    live: Arc<Live>,
    /// The file under test and its size.
    test: Option<(FileId, Bytes)>,
    /// The file of background writers and its size.
    beside: Option<(FileId, Bytes)>,
    /// What SQLite computes for a save.
    save_cpu: Nanos,
    /// What calls have written so far, with files that were laid out.
    written: Bytes,
    fills: Vec<String>,
    filled: Vec<flashlag_trust::Fill>,
    leave: Bytes,
    trimmed: bool,
}

/// Runs a scenario on a simulated device.
///
/// # Errors
/// Where the profile or the filesystem's options make no device, or the run file can't be written.
pub fn simulate(request: &SimRequest, observer: &mut dyn Observer) -> Result<Run, RunError> {
    let mut simulation = Simulation::new(request, 0)?;
    let tasks = tasks(&request.scenario);
    let status = go_through(&mut simulation, &tasks, 0, observer)?;
    simulation.refresh();
    simulation.run.status = status;
    match &request.output {
        Some(output) => output.store(&mut simulation.run)?,
        None => simulation.run.seal(),
    }
    Ok(simulation.run)
}

impl<'a> Simulation<'a> {
    /// A new device, but for the cycles that its blocks have behind them.
    fn new(request: &'a SimRequest, cycles: u32) -> Result<Simulation<'a>, RunError> {
        let target = &request.target;
        let refuse = |reason: String| RunError::Simulation { target: target.text.clone(), reason };
        let model = target.profile.model().map_err(|error| refuse(error.to_string()))?;
        let mut flash =
            Flash::new(&model, request.seed).map_err(|error| refuse(error.to_string()))?;
        if cycles > 0 {
            let worn = Past { written: Bytes::ZERO, order: Order::Sequential, cycles };
            flash.prepare(&worn).map_err(|error| refuse(error.to_string()))?;
        }
        let spec =
            StackSpec::parse(&target.filesystem).map_err(|error| refuse(error.to_string()))?;
        let stack = Stack::mount(FlashDevice::new(flash), spec, &model.stack)
            .map_err(|error| refuse(error.to_string()))?;
        let environment = environment::environment(
            &target.profile,
            &model,
            &target.filesystem,
            stack.total(),
            stack.free(),
        );
        let leave = request.leave.unwrap_or(REVIEWERS_LEAVE);
        Ok(Simulation {
            run: simulated_run(request, environment, leave),
            request,
            stack,
            live: Arc::new(Live::default()),
            test: None,
            beside: None,
            save_cpu: model.stack.save_cpu.0,
            written: Bytes::ZERO,
            fills: Vec::new(),
            filled: Vec::new(),
            leave,
            trimmed: false,
        })
    }

    fn now(&self) -> Nanos {
        self.stack.clock().now()
    }

    fn wrote(&mut self, bytes: Bytes) {
        self.written = self.written.plus(bytes);
    }

    fn seed_of(&self, label: &str) -> u64 {
        task_seed(self.request.seed, label)
    }

    /// Figures of the phase that begins, for who watches.
    fn fresh_live(&mut self) -> Arc<Live> {
        self.live = Arc::new(Live::default());
        Arc::clone(&self.live)
    }

    fn refresh(&mut self) {
        let lags = self.run.phases.iter().filter_map(|phase| phase.lag);
        self.run.lag = lags.fold(Lag::default(), Lag::plus);
        let stats = self.stack.with_device(|device| device.stats());
        self.run.simulated_ns = Some(self.now());
        self.run.wear.written_bytes = self.written;
        self.run.wear.block_bytes = Reading::Value(stats.host_written);
        self.run.wear.life_percent = match stats.life_used {
            Some(share) => Reading::Value(share * 100.0),
            None => Reading::unavailable("the profile gives no endurance (wear.endurance)"),
        };
        self.run.trust = trust::trust(
            &self.run.environment,
            &self.run.phases,
            &self.filled,
            self.leave,
            self.stack.free(),
        );
    }
}

impl Underway for Simulation<'_> {
    fn run(&mut self) -> &mut Run {
        &mut self.run
    }

    fn stopped(&self) -> bool {
        self.request.stop.load(Ordering::Relaxed)
    }

    fn trimmed(&self) -> bool {
        self.trimmed
    }

    fn written(&self) -> Bytes {
        self.written
    }

    fn perform(
        &mut self,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, RunError> {
        Ok(match task {
            Task::Measure { test, state, run } => self.measure(test, *state, *run, observer),
            Task::Fill { test, .. } => self.fill(test, observer),
            Task::Delete => self.delete_fills(observer),
            Task::Trim => self.trim(observer),
            Task::Idle(time) => {
                observer.event(Event::Preparing(&format!("idle for {time}")));
                self.stack.pass_until(self.now().plus(*time));
                Outcome::Done
            }
        })
    }

    /// Nothing between tasks where only the whole run is wanted, as by forecasts and fits.
    fn save(&mut self) -> Result<(), RunError> {
        let Some(output) = &self.request.output else { return Ok(()) };
        self.refresh();
        output.store(&mut self.run)
    }
}
