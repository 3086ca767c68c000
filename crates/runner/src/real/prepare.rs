//! Checks, clean-up and cost of a run on a directory, before the first byte is written.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use flashlag_device::{Clock, MonotonicClock};
use flashlag_engine::calibrate::calibrate;
use flashlag_engine::fill::{FreeSpace, free_space, leave_default, leave_default_unfilled};
use flashlag_engine::guard::{self, Cleanup};
use flashlag_engine::heartbeat::Heartbeat;
use flashlag_inspect::android::OtherApps;
use flashlag_inspect::{Probe, Root};
use flashlag_schema::counters::Counters;
use flashlag_schema::{CardCheck, CardVerdict, Environment, Run, RunStatus, Target, TargetKind};
use flashlag_spec::Reading;
use flashlag_spec::scenario::EngineKind;
use flashlag_units::{Bytes, Nanos};

use super::files::Files;
use super::looks::LooksThread;
use super::{Directory, Witness};
use crate::error::{DirectoryFault, ResumeFault, RunError};
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
    pub path: PathBuf,
    /// The device below, if it has counters of its own.
    pub witness: Option<Box<dyn Witness + 'a>>,
    /// Whether to look for moments in which this process stood still; not on an emulated machine,
    /// which a busy host delays anyway.
    pub watches_stops: bool,
    /// Whether files lie in the directory itself, which is thrown away after the run.
    pub rootdir: bool,
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
    let temporary = request.output.as_ref().map(|output| output.temporary());
    // Before the clean-up, which would remove what an earlier process wrote.
    let earlier = earlier_files(&request, &on.path, temporary.as_deref())?;
    let mut cleaned = guard::clean(&on.path)?;
    let fill_directories = fill_directories(&request);
    for directory in &fill_directories {
        check_directory(Path::new(directory))?;
        cleaned.extend(guard::clean(Path::new(directory))?);
    }
    let root = Root::system();
    let probe = Probe::open(&root, &on.path);
    // The threads start before the clock is calibrated, so that those figures include the cost of
    // both.
    let heartbeat = heartbeat(&probe);
    let looks = LooksThread::start(&probe).ok();
    let mut environment = flashlag_inspect::environment(&root, &on.path);
    environment.calibration = Reading::Value(calibrate());
    let free = storage_of(&on.path)?;
    let leave = match request.leave {
        Some(leave) => (leave, GIVEN_LEAVE.to_owned()),
        None if is_card(&request, &on.path) => leave_of_card(free.total),
        None if request.scenario.fills() => leave_default(free.total),
        None => leave_default_unfilled(free.total),
    };
    let estimate = cost(&request, &on.path, &fill_directories, leave.0, &free)?;
    let baseline = baseline(&probe);
    let (run, first_task) = frame(&request, &on, environment, leave.clone())?;
    let files = match earlier {
        Some(files) => files,
        None if request.scenario.asks_a_card() => {
            Files::create_for(&on.path, &run_name(&run), temporary.as_deref())?
        }
        None => Files::create(&on.path, temporary.as_deref())?,
    };
    let world = Directory {
        total: run.environment.filesystem.total_bytes.value().copied(),
        mount_point: run.environment.filesystem.mount_point.value().cloned(),
        is_android: flashlag_inspect::android::is_android(&root),
        has_battery: flashlag_inspect::conditions(&root, Nanos::ZERO).is_some(),
        other_apps: other_apps(&run.environment),
        discards_at_once: discards_at_once(&run.environment),
        probe,
        files: if on.rootdir { files.in_root(&on.path)? } else { files },
        path: on.path,
        began: MonotonicClock.now(),
        earlier: run
            .phases
            .last()
            .map(|last| last.began_ns.plus(last.elapsed_ns))
            .unwrap_or_default(),
        heartbeat: heartbeat.filter(|_| on.watches_stops),
        looks,
        baseline,
        witness: on.witness.map(RefCell::new),
    };
    let work = Work::new(request, run, world, estimate, leave.0);
    Ok((work, first_task, Cost { estimate, cleaned, free, leave }))
}

/// Whether a card is to be proven on storage other than the system's own.
fn is_card(request: &Request, path: &Path) -> bool {
    request.scenario.asks_a_card() && !is_of_system(path)
}

/// Whether a directory is on the filesystem that the system runs from.
fn is_of_system(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| std::fs::metadata(path).ok().map(|found| found.dev());
    device(path).is_some() && device(path) == device(Path::new("/"))
}

/// What is left of a card: a filesystem needs some room for its own, and whatever is not written is not
/// proven.
fn leave_of_card(total: Bytes) -> (Bytes, String) {
    let (most, share) = (Bytes::from_mib(16), Bytes(total.0 / 50));
    if share < most {
        (share, format!("2% of {total}, so that nearly all of it is proven"))
    } else {
        (most, "so that nearly all of it is proven".to_owned())
    }
}

/// The name by which the files of a run are found.
fn run_name(run: &Run) -> String {
    format!("{} {}", run.scenario.hash, run.started.as_deref().unwrap_or_default())
}

/// The files that an earlier process wrote, if the run goes on with what it wrote.
fn earlier_files(
    request: &Request,
    path: &Path,
    temporary: Option<&Path>,
) -> Result<Option<Files>, RunError> {
    let Some(earlier) = &request.resume else { return Ok(None) };
    let unread = |card: &CardCheck| card.verdict == CardVerdict::Unfinished && card.files > 0;
    if !earlier.cards.iter().any(unread) {
        return Ok(None);
    }
    match Files::resume(path, &run_name(earlier), temporary)? {
        Some(files) => Ok(Some(files)),
        None => Err(ResumeFault::NoFiles { path: path.to_owned() }.into()),
    }
}

fn heartbeat(probe: &Probe) -> Option<Heartbeat> {
    let warm = probe.clone();
    let temperature = Box::new(move || warm.storage_temperature().value().copied());
    Heartbeat::start(temperature).ok()
}

/// Counts other apps, unless one of them does the run's own I/O too.
fn other_apps(environment: &Environment) -> Reading<OtherApps> {
    match environment.filesystem.kind.value().map(String::as_str) {
        Some("fuse") => Reading::unavailable(
            "the directory is served by another app (FUSE): its I/O and the run's own can't be separated",
        ),
        _ => Reading::Value(OtherApps::default()),
    }
}

/// Whether the filesystem discards blocks as soon as they are free.
fn discards_at_once(environment: &Environment) -> bool {
    let options = &environment.filesystem.options;
    options.value().is_some_and(|options| options.iter().any(|option| option == "discard"))
}

/// Whether a directory is on storage: the filesystem of others, as `/proc`, is made up by the kernel.
pub fn is_on_storage(path: &Path) -> bool {
    let made_up = |error: &RunError| {
        matches!(error, RunError::Directory { fault: DirectoryFault::NoStorage, .. })
    };
    !storage_of(path).is_err_and(|error| made_up(&error))
}

/// Room on the storage below a directory.
fn storage_of(path: &Path) -> Result<FreeSpace, RunError> {
    let free = free_space(path)?;
    if free.total == Bytes::ZERO {
        let (path, fault) = (path.to_owned(), DirectoryFault::NoStorage);
        return Err(RunError::Directory { path, fault });
    }
    Ok(free)
}

fn check_directory(path: &Path) -> Result<(), RunError> {
    let refuse = |fault| RunError::Directory { path: path.to_owned(), fault };
    let metadata = std::fs::metadata(path).map_err(|error| refuse(error.into()))?;
    if !metadata.is_dir() {
        return Err(refuse(DirectoryFault::NoDirectory));
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
    if estimate.room().plus(leave) > free.available && estimate.room() > Bytes::ZERO {
        return Err(RunError::Room {
            path: path.to_owned(),
            needed: estimate.room(),
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
    if earlier.scenario.hash != fresh.scenario.hash || earlier.scenario.seed != fresh.scenario.seed
    {
        let (scenario, seed) = (earlier.scenario.name.clone(), earlier.scenario.seed);
        return Err(ResumeFault::OtherScenario { scenario, seed }.into());
    }
    if earlier.phases.iter().any(|phase| phase.engine == EngineKind::Fio) {
        return Err(ResumeFault::Fio.into());
    }
    let next = match earlier.status {
        RunStatus::Complete => return Err(ResumeFault::Complete.into()),
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

#[cfg(test)]
mod tests {
    use flashlag_spec::scenario::Scenario;

    use super::*;
    use crate::target::Target as On;

    const MIB: Bytes = Bytes::from_mib(1);

    /// Writes within a file of a mebibyte, a mebibyte in all.
    const WRITES: &str = r#"
name = "writes"
[[io]]
name = "w"
operation = "write"
pattern = "random"
block = "4KiB"
span = "1MiB"
bytes = "1MiB"
[[step]]
measure = ["w"]
state = "new"
"#;

    const IDLE: &str = "name = \"idle\"\n[[step]]\nidle = \"1ms\"\n";

    fn request(scenario: &str) -> Request {
        let on = On::Directory(PathBuf::from("/nowhere"));
        Request::new(Scenario::parse(scenario, &[]).unwrap(), on, 1)
    }

    fn space(available: Bytes) -> FreeSpace {
        FreeSpace { total: Bytes::from_mib(100), free: available, available, block: Bytes(4096) }
    }

    fn cost_of(request: &Request, leave: Bytes, available: Bytes) -> Result<Estimate, RunError> {
        cost(request, Path::new("/nowhere"), &[], leave, &space(available))
    }

    #[test]
    fn a_run_needs_room_for_its_files_and_for_what_is_left_to_the_byte() {
        let (asked, leave) = (request(WRITES), Bytes::from_mib(3));
        let files = cost_of(&asked, leave, Bytes::from_mib(50)).unwrap().files();
        assert!(files >= MIB, "{files}");
        let room = files.plus(leave);
        assert!(cost_of(&asked, leave, room).is_ok());
        let short = cost_of(&asked, leave, room.minus(Bytes(1)));
        assert!(matches!(short, Err(RunError::Room { .. })), "{short:?}");
        // A run that writes nothing needs no room.
        assert!(cost_of(&request(IDLE), leave, MIB).is_ok());
    }

    #[test]
    fn a_budget_must_hold_the_files_and_bounds_what_is_said_to_be_written() {
        let whole = cost_of(&request(WRITES), MIB, Bytes::from_mib(50)).unwrap();
        assert!(whole.written > whole.files(), "{whole:?}");
        let within = |budget| {
            let asked = Request { budget: Some(budget), ..request(WRITES) };
            cost_of(&asked, MIB, Bytes::from_mib(50))
        };
        assert_eq!(within(whole.files()).unwrap().written, whole.files());
        assert_eq!(within(Bytes::from_mib(40)).unwrap(), whole);
        let less = within(whole.files().minus(Bytes(1)));
        assert!(matches!(less, Err(RunError::Budget { .. })), "{less:?}");
    }

    #[test]
    fn a_target_is_a_directory_that_exists_on_storage() {
        let home = tempfile::tempdir().unwrap();
        assert!(check_directory(home.path()).is_ok());
        assert!(storage_of(home.path()).is_ok());
        let file = home.path().join("file");
        std::fs::write(&file, "").unwrap();
        let refused = |path: &Path| check_directory(path).unwrap_err().to_string();
        assert!(refused(&file).contains("not a directory"));
        assert!(refused(&home.path().join("none")).contains("No such file"));
        let made_up = storage_of(Path::new("/proc")).unwrap_err().to_string();
        assert!(made_up.contains("on no storage"), "{made_up}");
    }

    #[test]
    fn directories_of_fills_elsewhere_are_those_that_the_steps_name() {
        let named = request(
            r#"
name = "fills"
[[io]]
name = "level"
operation = "write"
pattern = "sequential"
block = "64KiB"
[[step]]
fill = "level"
[[step]]
fill = "level"
directory = "/elsewhere"
"#,
        );
        assert_eq!(fill_directories(&named), ["/elsewhere"]);
        assert_eq!(fill_directories(&request(WRITES)), Vec::<String>::new());
    }

    #[test]
    fn only_the_option_discard_discards_at_once() {
        let of = |options: &[&str]| {
            let mut environment = Environment::default();
            let options = options.iter().map(|option| (*option).to_owned()).collect();
            environment.filesystem.options = Reading::Value(options);
            discards_at_once(&environment)
        };
        assert!(of(&["rw", "discard"]) && !of(&["rw", "nodiscard"]) && !of(&[]));
        assert!(!discards_at_once(&Environment::default()));
    }

    fn framed(request: &Request) -> Result<(Run, usize), RunError> {
        let on = DirectoryRequest {
            name: "/here".to_owned(),
            path: PathBuf::from("/here"),
            witness: None,
            watches_stops: false,
            rootdir: false,
        };
        frame(request, &on, Environment::default(), (MIB, "because".to_owned()))
    }

    /// A run of `request` that was interrupted before its third task.
    fn interrupted(request: &Request) -> Run {
        let (fresh, next) = framed(request).unwrap();
        assert_eq!((next, fresh.started.is_some()), (0, true));
        Run { status: RunStatus::Interrupted { next_step: 2 }, ..fresh }
    }

    fn resumed(request: &Request, earlier: Run) -> Result<(Run, usize), RunError> {
        framed(&Request { resume: Some(Box::new(earlier)), ..request.clone() })
    }

    #[test]
    fn a_run_goes_on_where_it_was_interrupted_without_the_phase_that_did_not_end() {
        let asked = request(WRITES);
        let mut earlier = interrupted(&asked);
        earlier.label = Some("before".to_owned());
        earlier.phases = flashlag_testing::small_run().phases;
        earlier.phases.iter_mut().for_each(|phase| phase.cut_short = false);
        earlier.phases[0].cut_short = true;
        let kept = earlier.phases.len() - 1;
        let (run, next) = resumed(&asked, earlier.clone()).unwrap();
        assert_eq!((next, run.phases.len()), (2, kept));
        assert!(run.phases.iter().all(|phase| !phase.cut_short));
        assert_eq!((run.label.as_deref(), run.started), (Some("before"), earlier.started.clone()));
        let labelled = Request { label: Some("now".to_owned()), ..asked.clone() };
        let (run, _) = resumed(&labelled, earlier).unwrap();
        assert_eq!(run.label.as_deref(), Some("now"));
    }

    #[test]
    fn a_run_of_another_scenario_or_seed_a_complete_one_or_fios_does_not_go_on() {
        let asked = request(WRITES);
        let earlier = interrupted(&asked);
        let refused = |asked: &Request, earlier: Run| resumed(asked, earlier).unwrap_err();
        let other_seed = Request { seed: 2, ..asked.clone() };
        for error in
            [refused(&other_seed, earlier.clone()), refused(&request(IDLE), earlier.clone())]
        {
            assert!(error.to_string().contains("seed 1"), "{error}");
        }
        let complete = Run { status: RunStatus::Complete, ..earlier.clone() };
        assert!(refused(&asked, complete).to_string().contains("complete"));
        let mut fios = earlier;
        fios.phases = flashlag_testing::small_run().phases;
        fios.phases.truncate(1);
        fios.phases[0].engine = EngineKind::Fio;
        assert!(refused(&asked, fios).to_string().contains("fio"));
    }
}
