//! Checks, clean-up and cost of a run on a directory, before the first byte is written.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use flashlag_device::{Clock, MonotonicClock};
use flashlag_engine::calibrate::calibrate;
use flashlag_engine::fill::{FreeSpace, free_space, leave_default};
use flashlag_engine::guard::{self, Cleanup};
use flashlag_engine::heartbeat::Heartbeat;
use flashlag_inspect::{Probe, Root};
use flashlag_schema::counters::Counters;
use flashlag_schema::scenario::EngineKind;
use flashlag_schema::{Environment, Reading, Run, RunStatus, Target, TargetKind};
use flashlag_units::Bytes;

use super::files::Files;
use super::{Directory, Witness};
use crate::error::RunError;
use crate::estimate::{Estimate, estimate};
use crate::fits::fits;
use crate::record::{GIVEN_LEAVE, new_run, started};
use crate::request::Request;
use crate::task::{Task, tasks};
use crate::work::Work;

/// A directory to be measured.
#[derive(Debug)]
pub(crate) struct DirectoryRequest<'a> {
    /// The target as the user named it.
    pub name: String,
    /// The directory.
    pub path: PathBuf,
    /// The device below, if it has counters of its own.
    pub witness: Option<Box<dyn Witness + 'a>>,
    /// Whether moments in which this process stood still are looked for: an emulated machine on a
    /// busy host is late by itself.
    pub watches_stops: bool,
}

/// The cost of a run on a directory, known before anything is written.
#[derive(Clone, Debug)]
pub struct Cost {
    /// Bytes and duration, at most.
    pub estimate: Estimate,
    /// Files of killed runs, now removed.
    pub cleaned: Vec<Cleanup>,
    /// Free space before the run.
    pub free: FreeSpace,
    /// Free space that a fill leaves, and why this much.
    pub leave: (Bytes, String),
}

/// Checks a directory, removes the files of killed runs there, and adds up the cost of the run. The
/// returned index is that of the task to begin with.
///
/// # Errors
/// The directory can't be measured or has no room, or the run would exceed its budget.
pub(crate) fn prepare<'a>(
    request: Request,
    on: DirectoryRequest<'a>,
) -> Result<(Work<Directory<'a>>, usize, Cost), RunError> {
    check_directory(&on.path)?;
    let mut cleaned = guard::clean(&on.path)?;
    let fill_directories = fill_directories(&request);
    for directory in &fill_directories {
        check_directory(Path::new(directory))?;
        cleaned.extend(guard::clean(Path::new(directory))?);
    }
    let root = Root::system();
    let probe = Probe::open(&root, &on.path);
    // Before the clock is calibrated, so that the heartbeat's cost is in those figures.
    let heartbeat = heartbeat(&probe);
    let mut environment = flashlag_inspect::environment(&root, &on.path);
    environment.calibration = Reading::Value(calibrate());
    let free = storage_of(&on.path)?;
    let leave = match request.leave {
        Some(leave) => (leave, GIVEN_LEAVE.to_owned()),
        None => leave_default(free.total),
    };
    let estimate = cost(&request, &on.path, &fill_directories, leave.0, &free)?;
    let baseline = baseline(&probe);
    let (run, first_task) = frame(&request, &on, environment, leave.clone())?;
    let temporary = request.output.as_ref().map(|output| output.temporary());
    let world = Directory {
        total: run.environment.filesystem.total_bytes.value().copied(),
        discards_at_once: discards_at_once(&run.environment),
        probe,
        files: Files::create(&on.path, temporary.as_deref())?,
        path: on.path,
        began: MonotonicClock.now(),
        earlier: run
            .phases
            .last()
            .map(|last| last.began_ns.plus(last.elapsed_ns))
            .unwrap_or_default(),
        heartbeat: heartbeat.filter(|_| on.watches_stops),
        baseline,
        background: None,
        databases: None,
        witness: on.witness.map(RefCell::new),
    };
    let work = Work::new(request, run, world, estimate, leave.0);
    Ok((work, first_task, Cost { estimate, cleaned, free, leave }))
}

fn heartbeat(probe: &Probe) -> Option<Heartbeat> {
    let warm = probe.clone();
    let temperature = Box::new(move || warm.storage_temperature().value().copied());
    Heartbeat::start(temperature).ok()
}

/// Whether the filesystem tells the device of free space as soon as there is any.
fn discards_at_once(environment: &Environment) -> bool {
    let options = &environment.filesystem.options;
    options.value().is_some_and(|options| options.iter().any(|option| option == "discard"))
}

/// Room on the storage below a directory.
fn storage_of(path: &Path) -> Result<FreeSpace, RunError> {
    let free = free_space(path)?;
    if free.total == Bytes::ZERO {
        return Err(RunError::Directory {
            path: path.to_owned(),
            reason: "it is on no storage: its filesystem is made up by the kernel".to_owned(),
            advice: "give a directory on the storage that is to be measured, with --on DIR",
        });
    }
    Ok(free)
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
    path: &Path,
    fill_directories: &[String],
    leave: Bytes,
    free: &FreeSpace,
) -> Result<Estimate, RunError> {
    let fillable = match fill_directories.first() {
        Some(directory) => free_space(Path::new(directory))?.available.saturating_minus(leave),
        None => free.available.saturating_minus(leave),
    };
    let estimate = estimate(&request.scenario, fillable);
    if estimate.files().plus(leave) > free.available && estimate.files() > Bytes::ZERO {
        return Err(RunError::Room {
            path: path.to_owned(),
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

/// The device's traffic by other programs in a third of a second.
fn baseline(probe: &Probe) -> (Counters, Counters) {
    let before = probe.counters();
    std::thread::sleep(std::time::Duration::from_millis(300));
    (before, probe.counters())
}

/// A new run, or the earlier one to go on with and its next task.
fn frame(
    request: &Request,
    on: &DirectoryRequest<'_>,
    environment: Environment,
    leave: (Bytes, String),
) -> Result<(Run, usize), RunError> {
    let target = Target {
        kind: TargetKind::Path,
        name: on.name.clone(),
        directory: Some(on.path.display().to_string()),
        profile: None,
    };
    let fresh = Run { started: Some(started()), ..new_run(request, target, leave, environment) };
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
    // A phase that did not end is measured again.
    run.phases.retain(|phase| !phase.cut_short);
    (run.environment, run.options) = (fresh.environment, fresh.options);
    run.command = fresh.command;
    run.label = fresh.label.or(run.label);
    Ok((run, next))
}
