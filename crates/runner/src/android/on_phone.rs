//! The phone's end: checks, starts, makes and follows a run; begins and ends a watch.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use flashlag_android::protocol::{
    Answer, Ask, FORMAT, Line, Outcome, PhoneOrder, Prepared, RunState, Watched,
};
use flashlag_android::{AskError, Folder, SystemError, end};
use flashlag_inspect::{Root, android};
use flashlag_schema::Run;
use flashlag_schema::remote::Progress;
use flashlag_spec::scenario::Scenario;
use flashlag_stats::live::Live;

use super::order::this_program;
use crate::error::RunError;
use crate::events::{Event, Observer};
use crate::output::RunFile;
use crate::real::{self, DirectoryRequest};
use crate::remote::{Forward, reading};
use crate::replays::{received, take_facts};
use crate::request::Request;
use crate::target::Target;
use crate::work::Work;

/// Interval between two readings of a phase's progress.
const TICK: Duration = Duration::from_secs(1);

/// Answers one question of the machine that the phone is connected to, makes the run, or becomes the watch. `say` prints a
/// line.
pub fn be_on_the_phone(
    question: &str,
    folder: &str,
    after: u64,
    stop: &Arc<AtomicBool>,
    say: &mut dyn FnMut(&str) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let folder = &Folder::at(folder);
    let answer = match question {
        "run" => return run(folder, stop),
        "follow" => return follow(folder, after, say),
        "watching" => return Err(std::io::Error::other(end::become_watch(folder))),
        "hello" => Ok(Answer::Hello { program: this_program(), format: FORMAT }),
        "state" => end::state(folder).map(Answer::State).map_err(RunError::on_phone),
        "prepare" => prepared(folder, stop).map(|one| Answer::Prepared(Box::new(one))),
        "start" => start(folder),
        "stop" => ask_to_stop(folder),
        "watch" => end::start_watch(folder).map(watched).map_err(RunError::on_phone),
        "watched" => Ok(watched(end::watched(folder))),
        "unwatch" => end::end_watch(folder).map(watched).map_err(RunError::on_phone),
        "sleep" => {
            end::let_sleep(folder, &ask).map(|()| Answer::Sleeps).map_err(RunError::on_phone)
        }
        other => Ok(Answer::Failed { error: format!("there is no request {other}") }),
    };
    let answer = answer.unwrap_or_else(|error| Answer::Failed { error: error.to_string() });
    say(&serde_json::to_string(&answer)?)
}

fn watched(watched: Watched) -> Answer {
    Answer::Watched(Box::new(watched))
}

fn start(folder: &Folder) -> Result<Answer, RunError> {
    // The answer of an earlier process would otherwise be taken for that of the new one.
    let _ = std::fs::remove_file(folder.outcome());
    settle(folder).map_err(|error| {
        RunError::OnPhone(format!("cannot sync the files copied to {}: {error}", folder.path()))
    })?;
    end::start_apart(folder).map(|()| Answer::Started).map_err(RunError::on_phone)
}

/// Syncs what was copied to the phone. Otherwise the kernel writes it back 30 s later, in the
/// middle of a test: 7 MB of program besides 12 MB of durable writes.
fn settle(folder: &Folder) -> std::io::Result<()> {
    let directory = std::fs::File::open(folder.path())?;
    Ok(rustix::fs::syncfs(&directory)?)
}

fn ask_to_stop(folder: &Folder) -> Result<Answer, RunError> {
    let order = end::order(folder).map_err(RunError::on_phone)?;
    // A run that has ended does not have to be stopped.
    let _ = end::ask(&order.token, Ask::Stop, &mut |_| Ok(()));
    Ok(Answer::Stopping)
}

/// Prints the steps of the run, or how it ended if its process is gone.
fn follow(
    folder: &Folder,
    after: u64,
    say: &mut dyn FnMut(&str) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut unread = None;
    if let Ok(order) = end::order(folder) {
        // Without a process nothing is printed.
        let _ = end::ask(&order.token, Ask::Follow { after }, &mut |line| {
            say(line).inspect_err(|error| unread = Some(std::io::Error::from(error.kind())))
        });
    }
    if let Some(error) = unread {
        // The cable is gone.
        return Err(error);
    }
    if let Ok(RunState::Ended(outcome)) = end::state(folder) {
        return say(&serde_json::to_string(&Line::Ended(outcome))?);
    }
    Ok(())
}

/// The request of an order, and the directory to measure.
fn request(
    order: &PhoneOrder,
    output: Option<Arc<RunFile>>,
    resume: Option<Box<Run>>,
    stop: &Arc<AtomicBool>,
) -> Result<(Request, DirectoryRequest<'static>), RunError> {
    let PhoneOrder { run, label, .. } = order;
    let scenario = Scenario::parse(&run.scenario, &run.settings);
    let mut scenario = scenario.map_err(|error| RunError::OnPhone(error.to_string()))?;
    let replays = received(&run.replays);
    take_facts(&mut scenario, &replays);
    let path = PathBuf::from(&run.at);
    let request = Request {
        scenario,
        replays,
        target: Target::Directory(path.clone()),
        seed: run.seed,
        leave: run.leave,
        budget: run.budget,
        verify: run.verify,
        limits: run.limits,
        label: label.clone(),
        command: run.command.clone(),
        output,
        resume,
        waits: true,
        stop: Arc::clone(stop),
    };
    let directory = DirectoryRequest {
        name: run.target.clone(),
        path,
        witness: None,
        watches_stops: true,
        rootdir: run.rootdir,
    };
    Ok((request, directory))
}

fn earlier(folder: &Folder, order: &PhoneOrder) -> Result<Option<Box<Run>>, RunError> {
    if !order.resume {
        return Ok(None);
    }
    let unreadable = |error: &dyn std::fmt::Display| {
        RunError::OnPhone(format!("cannot read {}: {error}", folder.run()))
    };
    let text = std::fs::read_to_string(folder.run()).map_err(|error| unreadable(&error))?;
    Run::from_json(&text).map(|run| Some(Box::new(run))).map_err(|error| unreadable(&error))
}

/// Checks a run and computes its cost. Changes nothing, except that it removes files of dead runs.
fn prepared(folder: &Folder, stop: &Arc<AtomicBool>) -> Result<Prepared, RunError> {
    let order = end::order(folder).map_err(RunError::on_phone)?;
    let (request, directory) = request(&order, None, earlier(folder, &order)?, stop)?;
    let (work, _, cost) = real::prepare(request, directory)?;
    let run = Box::new(work.run.clone());
    work.world.abandon();
    let free = cost.free;
    let notes = cost.cleaned.iter().map(|cleaned| {
        let path = cleaned.directory.display();
        format!("removed {path}, which an earlier run left ({})", cleaned.removed.bytes)
    });
    Ok(Prepared {
        written: cost.estimate.written,
        time_ns: cost.estimate.time,
        storage: [free.total, free.free, free.available],
        block: free.block,
        leave: cost.leave.0,
        leave_reason: cost.leave.1,
        notes: notes.collect(),
        run,
    })
}

/// Makes the run, detached from the shell that started this process.
fn run(folder: &Folder, stop: &Arc<AtomicBool>) -> std::io::Result<()> {
    end::begin_apart();
    let Ok(Some(_lock)) = end::Lock::take(folder) else {
        return Err(std::io::Error::other("another process makes the run"));
    };
    let order = end::order(folder).map_err(std::io::Error::other)?;
    let hub = end::Hub::open(&order.token, Arc::clone(stop)).map_err(std::io::Error::other)?;
    let hub = Arc::new(hub);
    let measured = measured(folder, &order, stop, &hub);
    let error = measured.err().map(|unstored| {
        unstored.run.into_iter().for_each(|run| hub.hand_over(run));
        unstored.error.to_string()
    });
    let outcome = Outcome { error };
    // Without this file the run counts as killed, and is continued.
    let stored = end::store_outcome(folder, &outcome);
    hub.end(outcome);
    stored.map_err(std::io::Error::other)
}

fn measured(
    folder: &Folder,
    order: &PhoneOrder,
    stop: &Arc<AtomicBool>,
    hub: &Arc<end::Hub>,
) -> Result<Run, Box<real::Unstored>> {
    let (work, first_task) = ready(folder, order, stop)
        .map_err(|error| Box::new(real::Unstored { error, run: None }))?;
    let mut shown = Shown::new(hub);
    if let Err(reason) = keep_awake(folder) {
        shown.event(Event::Note(&format!("the phone may fall asleep during the run: {reason}")));
    }
    let run = real::finish_or_hand_over(work, first_task, &mut shown);
    if let Err(error) = end::let_sleep(folder, &ask) {
        shown.event(Event::Note(&error.to_string()));
    }
    run
}

/// The run of an order, and its first task.
fn ready(
    folder: &Folder,
    order: &PhoneOrder,
    stop: &Arc<AtomicBool>,
) -> Result<(Work<real::Directory<'static>>, usize), RunError> {
    let earlier = earlier(folder, order)?;
    let path = folder.run();
    let path = Path::new(&path);
    let output = match earlier {
        Some(_) => RunFile::resumed(path)?,
        None => RunFile::new(path, true)?,
    };
    let (request, directory) = request(order, Some(Arc::new(output)), earlier, stop)?;
    let (work, first_task, _) = real::prepare(request, directory)?;
    Ok((work, first_task))
}

/// Runs a program of Android.
fn ask(program: &str, words: &[&str]) -> Result<String, AskError> {
    android::program(&Root::system(), program, words).map_err(AskError::from)
}

/// Keeps a phone awake; does nothing on other machines.
fn keep_awake(folder: &Folder) -> Result<(), SystemError> {
    let root = Root::system();
    if !android::is_android(&root) {
        return Ok(());
    }
    let screen_on = android::screen_on(&root).map_err(AskError::from)?;
    end::keep_awake(folder, screen_on, &ask)
}

/// The events of the run, for those who follow.
struct Shown {
    hub: Arc<end::Hub>,
    live: Arc<Mutex<Option<Arc<Live>>>>,
    ended: Arc<AtomicBool>,
}

impl Shown {
    fn new(hub: &Arc<end::Hub>) -> Shown {
        let shown = Shown { hub: Arc::clone(hub), live: Arc::default(), ended: Arc::default() };
        let (hub, live, ended) =
            (Arc::clone(hub), Arc::clone(&shown.live), Arc::clone(&shown.ended));
        // Without the thread a phase shows no progress of its own.
        let _ = std::thread::Builder::new().name("ticks".to_owned()).spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                std::thread::sleep(TICK);
                let live = live.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let Some(reading) = live.filter(|_| hub.is_followed()).and_then(|l| reading(&l))
                {
                    hub.tick(Progress::Live(reading));
                }
            }
        });
        shown
    }
}

impl Observer for Shown {
    fn event(&mut self, event: Event<'_>) {
        let live = match &event {
            Event::PhaseStarted { live, .. } => Some(Some(Arc::clone(live))),
            Event::PhaseFinished(_) => Some(None),
            _ => None,
        };
        if let Some(live) = live {
            *self.live.lock().unwrap_or_else(PoisonError::into_inner) = live;
        }
        let hub = &self.hub;
        Forward(|progress| hub.step(progress)).event(event);
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}
