//! The phone's end of a watch: a process of its own, which the cable does not end.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use flashlag_device::{ProcessStat, boot_id, read_clock};
use flashlag_units::Nanos;
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::ClockId;
use serde::{Deserialize, Serialize};

use super::apart::{begin_apart, spawn, tail};
use super::state::{read, store};
use crate::error::PhoneError;
use crate::folder::Folder;
use crate::protocol::{WatchOrder, Watched, Watcher};

/// How long a watch may take to begin, and to end.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(100);

/// The process that watches, as it notes itself: a number alone may belong to another one by now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    pid: u32,
    /// Ticks from the phone's start to the start of the process.
    started: u64,
    boot: Option<String>,
}

/// Starts the watch that the folder's order names, and waits until it has begun.
///
/// # Errors
/// The phone is watched already, or this watch can't be made there: what it printed.
pub fn start_watch(folder: &Folder) -> Result<Watched, PhoneError> {
    if watched(folder).watcher.is_some() {
        return Err(PhoneError::Reported("it is watched already".to_owned()));
    }
    let mut child = spawn(folder, "watching")?;
    let until = Instant::now() + PATIENCE;
    let mut said = 0;
    loop {
        std::thread::sleep(LOOK);
        // It says what it watches once it does, in several lines.
        let before = std::mem::replace(&mut said, length(&folder.log()));
        let has_begun = match child.try_wait() {
            Ok(Some(status)) if !status.success() => {
                return Err(PhoneError::Reported(tail(folder)));
            }
            Ok(Some(_)) => true,
            _ => said > 0 && said == before,
        };
        if has_begun {
            return Ok(watched(folder));
        }
        if Instant::now() > until {
            return Err(PhoneError::Reported(format!("the watch did not begin: {}", tail(folder))));
        }
    }
}

fn length(path: &str) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}

/// Detaches this process from the shell and the cable, and becomes `flashlag watch`. Returns why it
/// could not.
pub fn become_watch(folder: &Folder) -> PhoneError {
    begin_apart();
    match watch_command(folder) {
        Ok(mut command) => {
            let program = command.get_program().to_owned();
            PhoneError::file("start", program)(command.exec())
        }
        Err(error) => error,
    }
}

fn watch_command(folder: &Folder) -> Result<Command, PhoneError> {
    let order: WatchOrder = read(&folder.order())?;
    let pid = std::process::id();
    let process = ProcessStat::of(pid)
        .ok_or_else(|| PhoneError::Reported(format!("/proc/{pid}/stat can't be read")))?;
    store(&folder.watcher(), &Note { pid, started: process.start_ticks, boot: boot_id() })?;
    let program = std::env::current_exe().map_err(PhoneError::file("find", "/proc/self/exe"))?;
    let mut command = Command::new(program);
    command.arg("watch").arg(order.directory).arg("--history").arg(folder.history());
    command.args(order.options);
    Ok(command)
}

/// The state of the folder's watch.
pub fn watched(folder: &Folder) -> Watched {
    let note = read::<Note>(&folder.watcher()).ok();
    let has_restarted = note.as_ref().is_some_and(|note| note.boot != boot_id());
    let process = note.as_ref().and_then(alive);
    let watcher = process.as_ref().zip(note).map(|(process, note)| cost(process, note.pid));
    Watched { watcher, has_restarted, said: tail(folder) }
}

/// Ends the watch, and waits until it has written what it saw.
///
/// # Errors
/// It does not end.
pub fn end_watch(folder: &Folder) -> Result<Watched, PhoneError> {
    let Ok(note) = read::<Note>(&folder.watcher()) else { return Ok(watched(folder)) };
    let pid = i32::try_from(note.pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid.filter(|_| alive(&note).is_some()) {
        kill_process(pid, Signal::TERM)
            .map_err(|errno| PhoneError::Reported(format!("the watch can't be ended: {errno}")))?;
    }
    let until = Instant::now() + PATIENCE;
    while alive(&note).is_some() {
        if Instant::now() > until {
            return Err(PhoneError::Reported("the watch does not end".to_owned()));
        }
        std::thread::sleep(LOOK);
    }
    Ok(watched(folder))
}

/// The process of a note, if it still runs.
fn alive(note: &Note) -> Option<ProcessStat> {
    ProcessStat::of_noted(note.pid, note.started, note.boot.as_deref())
}

fn cost(process: &ProcessStat, pid: u32) -> Watcher {
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    let time = |count: u64| Nanos(count.saturating_mul(1_000_000_000 / ticks));
    Watcher {
        lasted_ns: read_clock(ClockId::Boottime).saturating_since(time(process.start_ticks)),
        cpu_ns: time(process.cpu_ticks),
        wakeups: wakeups(&Path::new("/proc").join(pid.to_string()).join("task")),
    }
}

/// How often threads gave up the CPU to wait, each of which ends in a wake-up.
fn wakeups(tasks: &Path) -> u64 {
    let of = |status: String| {
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse::<u64>().ok()
    };
    let tasks = std::fs::read_dir(tasks).into_iter().flatten().flatten();
    let all = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok());
    all.filter_map(of).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_start() {
        let own = std::process::id();
        let started = ProcessStat::of(own).unwrap().start_ticks;
        let note = Note { pid: own, started, boot: boot_id() };
        assert!(alive(&note).is_some());
        assert!(alive(&Note { started: started + 1, ..note.clone() }).is_none());
        assert!(alive(&Note { boot: Some("another".to_owned()), ..note }).is_none());
    }

    #[test]
    fn an_empty_folder_has_no_watch_and_a_note_of_another_start_says_restarted() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::at(&home.path().to_string_lossy());
        let none = watched(&folder);
        assert_eq!((none.watcher, none.has_restarted), (None, false));
        assert_eq!(end_watch(&folder).unwrap().watcher, None);
        let note = Note { pid: 1, started: 1, boot: Some("before".to_owned()) };
        store(&folder.watcher(), &note).unwrap();
        std::fs::write(folder.log(), "watching a disk\n").unwrap();
        let seen = watched(&folder);
        assert_eq!((seen.watcher, seen.has_restarted), (None, true));
        assert_eq!(seen.said, "watching a disk");
        assert_eq!(end_watch(&folder).unwrap(), seen);
    }

    #[test]
    fn wake_ups_are_those_of_all_threads_and_a_preempted_thread_has_not_waited() {
        let tasks = tempfile::tempdir().unwrap();
        for (task, waited) in [("7", "40"), ("8", "2"), ("9", "many")] {
            let text = format!(
                "Name:\tprobe\nvoluntary_ctxt_switches:\t{waited}\nnonvoluntary_ctxt_switches:\t900\n"
            );
            std::fs::create_dir(tasks.path().join(task)).unwrap();
            std::fs::write(tasks.path().join(task).join("status"), text).unwrap();
        }
        assert_eq!(wakeups(tasks.path()), 42);
        assert_eq!(wakeups(Path::new("/nowhere")), 0);
        assert!(wakeups(Path::new("/proc/self/task")) > 0);
    }
}
