//! Whose run a phone makes: one host's at a time, from the making of the folder to its removal.
//!
//! The folder is the lock, since `mkdir` succeeds once. A host marks it as its own by a file that is named
//! after the process of a shell on the phone, which lasts as long as the host's adb connection does: a host
//! that was killed, or whose cable was pulled, has no such process, and the next host takes the folder over
//! by removing that mark, which succeeds once, too.

use std::time::Duration;

use crate::error::PhoneError;
use crate::folder::{Folder, MARK, host_of};
use crate::quote::ShellCommand;
use crate::transport::{Held, Transport};

/// The word by which the shell of a host is known among the processes of the phone.
const WAITS: &str = "flashlag_host";
/// What the shell prints once the folder is its host's.
const CLAIMED: &str = "flashlag-claimed";
/// The time for looking at the folder.
const LOOK: Duration = Duration::from_secs(20);

/// The names in the folder; `None` where there is no folder.
pub(crate) fn names(
    transport: &dyn Transport,
    folder: &Folder,
) -> Result<Option<Vec<String>>, PhoneError> {
    let path = folder.path();
    // Only what is part of every shell that Android has had: `ls` prints columns on some.
    let script = format!(
        "if [ -e {path} ]; then for f in {path}/* {path}/.[!.]*; do if [ -e \"$f\" ] || [ -L \"$f\" ]; \
         then echo \"$f\"; fi; done; else echo no; fi"
    );
    let printed = transport.shell(&ShellCommand::script(script), LOOK)?.output;
    if printed.lines().any(|line| line == "no") {
        return Ok(None);
    }
    let inside = format!("{path}/");
    let names = printed.lines().filter_map(|line| line.strip_prefix(&inside).map(str::to_owned));
    Ok(Some(names.collect()))
}

/// Whether the host of a folder with these names is there.
pub(crate) fn host_is_there(
    transport: &dyn Transport,
    names: &[String],
) -> Result<bool, PhoneError> {
    for process in names.iter().filter_map(|name| host_of(name)) {
        let words = ["cat", &format!("/proc/{process}/cmdline")];
        if transport.shell(&ShellCommand::of(&words), LOOK)?.output.contains(WAITS) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Takes the folder, which has these names, or makes it; `None` if another host was faster.
pub(crate) fn take(
    transport: &dyn Transport,
    folder: &Folder,
    found: Option<&[String]>,
) -> Result<Option<Box<dyn Held>>, PhoneError> {
    let path = folder.path();
    let marks = || found.into_iter().flatten().filter(|name| host_of(name).is_some());
    let first = match found {
        None => format!("mkdir {path} && "),
        // Without -f: the mark of a host that is gone can be removed once.
        Some(_) => marks().map(|mark| format!("rm {path}/{mark} && ")).collect(),
    };
    let script = format!("{first}echo host >{path}/{MARK}$$ && echo {CLAIMED} && read {WAITS}");
    let mut held = transport.hold(&ShellCommand::script(script))?;
    // What the shell says otherwise is why it could not.
    let mut said = String::new();
    while let Some(line) = held.next_line() {
        if line.trim() == CLAIMED {
            return Ok(Some(held));
        }
        said = line;
    }
    // A cable that was pulled meanwhile shows with the next question; another host has a mark by then.
    let full = ["No space", "Read-only", "Permission"].iter().any(|why| said.contains(why));
    if full {
        let what = format!("making the folder {path}");
        Err(PhoneError::Command { what, reason: crate::identity::printable(&said) })
    } else {
        Ok(None)
    }
}
