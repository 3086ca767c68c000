//! Which host may run on a phone: one at a time, from creating the folder until its removal.
//!
//! The folder is the lock, since only one `mkdir` succeeds. A host marks the folder by a file named
//! after the process of a shell on the phone. That process lives as long as the host's adb
//! connection. If the host was killed or its cable pulled, the process is gone, and the next host
//! takes the folder over by removing the mark; again, only one `rm` succeeds. A host that was killed
//! between `mkdir` and its mark leaves a folder that several may mark: the lowest number has it,
//! unless one was done before.

use std::time::Duration;

use crate::error::PhoneError;
use crate::folder::{Folder, MARK, host_of};
use crate::quote::ShellCommand;
use crate::transport::{Held, Transport};

/// The word by which a host's shell is recognised among the phone's processes.
const WAITS: &str = "flashlag_host";
/// Printed by the shell once the folder belongs to its host.
const CLAIMED: &str = "flashlag-claimed";
/// Timeout of listing the folder.
const LOOK: Duration = Duration::from_secs(20);

/// The names in the folder; `None` if there is no folder.
pub(crate) fn names(
    transport: &dyn Transport,
    folder: &Folder,
) -> Result<Option<Vec<String>>, PhoneError> {
    let path = folder.path();
    // Use only what every shell of Android has had: on some, `ls` prints columns.
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

/// Whether the host that owns a folder with these names is still connected.
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

/// Claims the folder after `first` and waits for the end of the host. Every shell of Android can do this.
fn script(path: &str, first: &str) -> String {
    let mark = format!("{path}/{MARK}$$");
    // Whether a living process with a number like that (-lt or -gt this one) has marked the folder too.
    let other = format!(
        "other() {{ for f in {path}/{MARK}*; do n=${{f##*-}}; if [ $n $1 $$ ] && [ -e /proc/$n ]; \
         then return 0; fi; done; return 1; }}"
    );
    // One that comes later sees this mark and gives way; a higher one that is still there after two seconds was
    // before this one.
    format!(
        "{other}; {first}echo host >{mark} && \
         if other -lt || {{ other -gt && sleep 2 && other -gt; }}; then rm {mark}; \
         else echo {CLAIMED} && read {WAITS}; fi"
    )
}

/// Takes over the folder, which has these names, or creates it; `None` if another host was faster.
pub(crate) fn take(
    transport: &dyn Transport,
    folder: &Folder,
    found: Option<&[String]>,
) -> Result<Option<Box<dyn Held>>, PhoneError> {
    let path = folder.path();
    let marks = || found.into_iter().flatten().filter(|name| host_of(name).is_some());
    let first = match found {
        None => format!("mkdir {path} && "),
        // No -f: only one host succeeds in removing the mark of a host that is gone.
        Some(_) => marks().map(|mark| format!("rm {path}/{mark} && ")).collect(),
    };
    let script = script(path, &first);
    let mut held = transport.hold(&ShellCommand::script(script))?;
    // Any other output of the shell is the reason why it failed.
    let mut said = String::new();
    while let Some(line) = held.next_line() {
        if line.trim() == CLAIMED {
            return Ok(Some(held));
        }
        said = line;
    }
    // A pulled cable shows with the next command; another host's mark shows in the folder.
    let full = ["No space", "Read-only", "Permission"].iter().any(|why| said.contains(why));
    if full {
        let what = format!("making the folder {path}");
        Err(PhoneError::Command { what, reason: crate::identity::printable(&said) })
    } else {
        Ok(None)
    }
}
