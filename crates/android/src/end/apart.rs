use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::hub;
use super::state::{order, outcome};
use crate::error::PhoneError;
use crate::folder::Folder;
use crate::protocol::SUBCOMMAND;

/// How long the run's process may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);
/// Most characters of a log's end that are quoted: a paragraph.
const TAIL: usize = 1000;
/// Control groups that a process may move itself to. When adbd ends, which happens when the USB
/// mode changes or USB debugging is switched off, its group is killed as a whole. Shizuku, whose
/// service also outlives the cable, moves to these (its `starter.cpp`, `cgroup.cpp`).
const GROUPS: [&str; 4] = ["/acct", "/dev/cg2_bpf", "/sys/fs/cgroup", "/dev/memcg/apps"];

/// Starts this program again as the process of a run, detached from the shell and the cable, and
/// waits until it answers.
pub fn start_apart(folder: &Folder) -> Result<(), PhoneError> {
    let mut child = spawn(folder, "run")?;
    let token = order(folder)?.token;
    let until = Instant::now() + PATIENCE;
    loop {
        if hub::answers(&token) || outcome(folder).is_some() {
            return Ok(());
        }
        let ended = matches!(child.try_wait(), Ok(Some(_)));
        if ended || Instant::now() > until {
            return Err(PhoneError::Reported(format!("the run did not begin: {}", tail(folder))));
        }
        std::thread::sleep(LOOK);
    }
}

/// Starts this program again to carry out a request of a folder; what it prints goes to the log.
pub(super) fn spawn(folder: &Folder, request: &str) -> Result<Child, PhoneError> {
    let log = File::create(folder.log()).map_err(PhoneError::file("make", folder.log()))?;
    let errors = log.try_clone().map_err(PhoneError::file("open", folder.log()))?;
    let program = std::env::current_exe().map_err(PhoneError::file("find", "/proc/self/exe"))?;
    let mut command = Command::new(&program);
    command.args([SUBCOMMAND, request, folder.path()]);
    // Its working directory must not keep a filesystem from being unmounted.
    command.current_dir("/").stdin(Stdio::null()).stdout(log).stderr(errors);
    command.spawn().map_err(PhoneError::file("start", &program))
}

/// The end of the log.
pub(super) fn tail(folder: &Folder) -> String {
    let text = std::fs::read_to_string(folder.log()).unwrap_or_default();
    let skipped = text.chars().count().saturating_sub(TAIL);
    match text.trim() {
        "" => "it printed nothing".to_owned(),
        _ => text.chars().skip(skipped).collect::<String>().trim().to_owned(),
    }
}

/// Detaches this process from the session and, if allowed, from the control group of the shell that
/// started it.
pub fn begin_apart() {
    // Fails only if the process leads a group already, and then it is detached as well.
    let _ = rustix::process::setsid();
    let own = std::process::id().to_string();
    for group in GROUPS {
        let list = format!("{group}/cgroup.procs");
        // Only a group that exists and that this user may join is used; failing to join the others
        // does no harm.
        if std::path::Path::new(&list).exists() && std::fs::write(&list, &own).is_ok() {
            break;
        }
    }
}
