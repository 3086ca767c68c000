use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::hub;
use super::state::{order, outcome};
use crate::error::PhoneError;
use crate::folder::Folder;
use crate::protocol::SUBCOMMAND;

/// The time in which the process of a run must answer.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);
/// The longest end of a log that is part of an error.
const TAIL: usize = 400;
/// Control groups that a process may move itself to. The group of adbd is killed as a whole when
/// adbd ends, which changing the USB mode or switching USB debugging off does. Shizuku, whose service
/// outlives the cable as well, moves to these (its `starter.cpp`, `cgroup.cpp`).
const GROUPS: [&str; 4] = ["/acct", "/dev/cg2_bpf", "/sys/fs/cgroup", "/dev/memcg/apps"];

/// Starts this program again as the process of a run, apart from the shell and the cable, and waits
/// until it answers.
pub fn start_apart(folder: &Folder) -> Result<(), PhoneError> {
    let log = File::create(folder.log()).map_err(PhoneError::file("make", folder.log()))?;
    let errors = log.try_clone().map_err(PhoneError::file("open", folder.log()))?;
    let program = std::env::current_exe().map_err(PhoneError::file("find", "/proc/self/exe"))?;
    let mut command = Command::new(&program);
    command.args([SUBCOMMAND, "run", folder.path()]);
    // Its directory is not one that someone wants to unmount or remove.
    command.current_dir("/").stdin(Stdio::null()).stdout(log).stderr(errors);
    let mut child = command.spawn().map_err(PhoneError::file("start", &program))?;
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

/// The end of the log.
fn tail(folder: &Folder) -> String {
    let text = std::fs::read_to_string(folder.log()).unwrap_or_default();
    let skipped = text.chars().count().saturating_sub(TAIL);
    match text.trim() {
        "" => "it printed nothing".to_owned(),
        _ => text.chars().skip(skipped).collect::<String>().trim().to_owned(),
    }
}

/// Takes this process out of the session and, where that is allowed, out of the control group of the
/// shell that started it.
pub fn begin_apart() {
    // Fails only for a process that leads a group already, which is then apart as well.
    let _ = rustix::process::setsid();
    let own = std::process::id().to_string();
    for group in GROUPS {
        let list = format!("{group}/cgroup.procs");
        // Only where there is such a group and this user may: the others are no loss.
        if std::path::Path::new(&list).exists() && std::fs::write(&list, &own).is_ok() {
            break;
        }
    }
}
