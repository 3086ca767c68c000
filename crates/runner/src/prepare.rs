//! Everything that can be known, refused or cleaned up before the first byte is written.

use std::path::Path;
use std::sync::Arc;

use flashlag_device::{Budget, Clock, MonotonicClock};
use flashlag_engine::calibrate::calibrate;
use flashlag_engine::fill::{FreeSpace, free_space, leave_default};
use flashlag_engine::guard::{self, Cleaned};
use flashlag_engine::heartbeat::Heartbeat;
use flashlag_inspect::{Counters, Probe, Root};
use flashlag_schema::scenario::{EngineKind, Io, Scenario, Test};
use flashlag_schema::{Environment, Reading, Run, RunStatus};
use flashlag_stats::Stop;
use flashlag_stats::live::Live;
use flashlag_units::{Bytes, Nanos};

use crate::error::RunError;
use crate::estimate::{Estimate, estimate};
use crate::files::Files;
use crate::fits::fits;
use crate::record::new_run;
use crate::request::Request;
use crate::task::{Task, tasks};

/// A run that is ready to begin: nothing has been written but an empty directory of ours.
#[derive(Debug)]
pub struct Prepared {
    pub(crate) request: Request,
    pub(crate) run: Run,
    pub(crate) probe: Probe,
    pub(crate) files: Files,
    pub(crate) live: Arc<Live>,
    pub(crate) began: Nanos,
    /// How long the processes before this one had measured, where it resumes their run.
    pub(crate) earlier: Nanos,
    pub(crate) leave: Bytes,
    pub(crate) first_task: usize,
    pub(crate) trimmed: bool,
    pub(crate) evidence: Evidence,
    /// Tells whether this process could run; absent where that can't be known.
    pub(crate) heartbeat: Option<Heartbeat>,
    /// What may still be written; everything takes from it before it writes.
    pub(crate) budget: Option<Budget>,
    /// What it will cost.
    pub estimate: Estimate,
    /// What dead runs had left here, now removed.
    pub cleaned: Vec<Cleaned>,
    /// Room before the run.
    pub free: FreeSpace,
}

/// Counters that the trust checks need, phase by phase.
#[derive(Debug)]
pub(crate) struct Evidence {
    /// On a quiet machine, before anything of ours ran: what others do to the device.
    pub(crate) baseline: (Counters, Counters),
    /// Around each phase, in the order of `run.phases`; `None` for phases of an earlier process.
    pub(crate) phases: Vec<Option<(Counters, Counters)>>,
    /// The fills that were done.
    pub(crate) fills: Vec<flashlag_trust::Fill>,
    /// What was read back.
    pub(crate) verified: Option<flashlag_trust::Verification>,
}

/// Looks at the target, removes what dead runs left there, and adds up what the run will cost.
///
/// # Errors
/// Where the directory can't be measured, has no room, or the run would exceed its budget.
pub fn prepare(request: Request) -> Result<Prepared, RunError> {
    check_directory(&request.directory)?;
    let mut cleaned = guard::clean(&request.directory)?;
    let fill_directories = fill_directories(&request);
    for directory in &fill_directories {
        check_directory(Path::new(directory))?;
        cleaned.extend(guard::clean(Path::new(directory))?);
    }
    let root = Root::system();
    let probe = Probe::open(&root, &request.directory);
    let warm = probe.clone();
    let temperature = Box::new(move || warm.storage_temperature().value().copied());
    // Before the ruler is measured, so that whatever this costs is in its figures.
    let heartbeat = Heartbeat::start(temperature).ok();
    let mut environment = flashlag_inspect::environment(&root, &request.directory);
    environment.calibration = Reading::Value(calibrate());
    let free = free_space(&request.directory)?;
    if free.total == Bytes::ZERO {
        return Err(RunError::Directory {
            path: request.directory.clone(),
            reason: "it is on no storage: its filesystem is made up by the kernel".to_owned(),
            advice: "give a directory on the storage that is to be measured, with --on DIR",
        });
    }
    let (leave, reason) = match request.leave {
        Some(leave) => (leave, "given by --leave".to_owned()),
        None => leave_default(free.total),
    };
    let estimate = cost(&request, &fill_directories, leave, &free)?;
    let baseline = baseline(&probe);
    let (run, first_task) = frame(&request, environment, (leave, reason))?;
    let files = Files::create(&request.directory, &request.output.temporary())?;
    let phases = run.phases.iter().map(|_| None).collect();
    Ok(Prepared {
        heartbeat,
        budget: request.budget.map(|budget| Budget::of(budget.minus(run.wear.written_bytes))),
        began: MonotonicClock.now(),
        earlier: run
            .phases
            .last()
            .map(|last| last.began_ns.plus(last.elapsed_ns))
            .unwrap_or_default(),
        live: Arc::new(Live::default()),
        evidence: Evidence { baseline, phases, fills: Vec::new(), verified: None },
        trimmed: run.phases.iter().any(|phase| phase.state == flashlag_schema::State::Trimmed),
        request,
        run,
        probe,
        files,
        leave,
        first_task,
        estimate,
        cleaned,
        free,
    })
}

impl Prepared {
    /// Time since the run began.
    pub(crate) fn now(&self) -> Nanos {
        MonotonicClock.now().since(self.began).plus(self.earlier)
    }

    /// In which moments this process stood still, up to now; `None` where that can't be known.
    pub(crate) fn stops(&self) -> Option<Vec<Stop>> {
        self.heartbeat.as_ref().and_then(Heartbeat::stops)
    }

    /// Ends without running: removes the empty directory of ours.
    pub fn abandon(self) {
        drop(self.files);
    }

    /// How many bytes may still be written, where there is a budget.
    pub(crate) fn budget_left(&self) -> Option<Bytes> {
        self.budget.as_ref().map(Budget::left)
    }

    /// Takes the most that something may write from the budget.
    ///
    /// # Errors
    /// Where so much is not left: why what needs it can't be done.
    pub(crate) fn allow(&self, most: Bytes, for_what: &str) -> Result<(), String> {
        let Some(budget) = &self.budget else { return Ok(()) };
        if budget.take(most) {
            return Ok(());
        }
        let (whole, left) = (self.request.budget.unwrap_or_default(), budget.left());
        Err(format!("--budget {whole} is used up: {left} of it are left, {for_what} takes {most}"))
    }

    /// Gives back what was allowed and not written.
    pub(crate) fn settle(&self, allowed: Bytes, written: Bytes) {
        if let Some(budget) = &self.budget {
            budget.settle(allowed, written);
        }
    }

    /// What the reader of a phase must know that the budget ended.
    pub(crate) fn ended_by_budget(&self) -> String {
        let budget = self.request.budget.unwrap_or_default();
        format!("it ended early: --budget {budget} was used up")
    }

    /// What will be done.
    pub fn scenario(&self) -> &Scenario {
        &self.request.scenario
    }

    /// The environment as it was read.
    pub fn environment(&self) -> &Environment {
        &self.run.environment
    }

    /// What a fill will spare, and why this much.
    pub fn leave(&self) -> (Bytes, &str) {
        (self.leave, &self.run.options.leave_reason)
    }

    /// How many tasks there are, and how many are done already.
    pub fn tasks(&self) -> (usize, usize) {
        (tasks(&self.request.scenario).len(), self.first_task)
    }
}

fn check_directory(path: &Path) -> Result<(), RunError> {
    let refuse = |reason: String, advice: &'static str| RunError::Directory {
        path: path.to_owned(),
        reason,
        advice,
    };
    let metadata = std::fs::metadata(path)
        .map_err(|error| refuse(error.to_string(), "give an existing directory with --on DIR"))?;
    if !metadata.is_dir() {
        return Err(refuse(
            "not a directory".to_owned(),
            "give a directory on the storage, never the device itself: flashlag writes files only",
        ));
    }
    Ok(())
}

fn fill_directories(request: &Request) -> Vec<String> {
    let tasks = tasks(&request.scenario);
    let named = tasks.iter().filter_map(|task| match task {
        Task::Fill { directory, .. } => directory.map(str::to_owned),
        _ => None,
    });
    named.collect()
}

fn cost(
    request: &Request,
    fill_directories: &[String],
    leave: Bytes,
    free: &FreeSpace,
) -> Result<Estimate, RunError> {
    let io = |name: &str| -> Option<Io> {
        match request.scenario.tests.get(name) {
            Some(Test::Io(io)) => Some(io.clone()),
            _ => None,
        }
    };
    let fillable = match fill_directories.first() {
        Some(directory) => free_space(Path::new(directory))?.available.minus(leave),
        None => free.available.minus(leave),
    };
    let estimate = estimate(&tasks(&request.scenario), &io, fillable);
    if estimate.files().plus(leave) > free.available && estimate.files() > Bytes::ZERO {
        return Err(RunError::Room {
            path: request.directory.clone(),
            needed: estimate.files(),
            free: free.available,
            leave,
            fits: fits(&request.scenario, free.available, free.total, leave),
        });
    }
    match request.budget {
        Some(budget) if estimate.files() > budget => {
            Err(RunError::Budget { needed: estimate.files(), budget })
        }
        Some(budget) => Ok(Estimate { written: estimate.written.min(budget), ..estimate }),
        None => Ok(estimate),
    }
}

/// What others do to the device while we do nothing, for a third of a second.
fn baseline(probe: &Probe) -> (Counters, Counters) {
    let before = probe.counters();
    std::thread::sleep(std::time::Duration::from_millis(300));
    (before, probe.counters())
}

/// A new run, or the earlier one to go on with and its next task.
fn frame(
    request: &Request,
    environment: Environment,
    leave: (Bytes, String),
) -> Result<(Run, usize), RunError> {
    let fresh = new_run(request, environment, leave);
    let Some(earlier) = &request.resume else { return Ok((fresh, 0)) };
    let refuse = |reason: String| Err(RunError::Resume { reason });
    if earlier.scenario.hash != fresh.scenario.hash || earlier.scenario.seed != fresh.scenario.seed
    {
        return refuse(format!(
            "the file holds scenario {} with seed {}, not this one: give the same SCENARIO, --set \
             and --seed, or another -o",
            earlier.scenario.name, earlier.scenario.seed
        ));
    }
    if earlier.phases.iter().any(|phase| phase.engine == EngineKind::Fio) {
        return refuse(
            "the file holds tests that fio did, which no trust check can judge: begin a new run \
             with another -o"
                .to_owned(),
        );
    }
    let next = match earlier.status {
        RunStatus::Complete => return refuse("that run is complete".to_owned()),
        RunStatus::Running { next_step }
        | RunStatus::Interrupted { next_step }
        | RunStatus::Failed { next_step, .. } => next_step as usize,
    };
    let mut run = (**earlier).clone();
    // A phase that was cut short is done again.
    run.phases.retain(|phase| !phase.cut_short);
    (run.environment, run.options) = (fresh.environment, fresh.options);
    run.command = fresh.command;
    run.label = fresh.label.or(run.label);
    Ok((run, next))
}
