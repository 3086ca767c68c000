//! Mounts that nobody else sees, and that end with this process however it ends.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Says that the namespace of mounts is ours already.
const VARIABLE: &str = "FLASHLAG_OWN_MOUNTS";
const WORDS: [&str; 3] = ["--mount", "--propagation", "private"];

/// Starts this program anew in a namespace of mounts of its own, unless it is in one.
pub fn enter() -> Result<()> {
    if std::env::var_os(VARIABLE).as_deref() == Some(OsStr::new("1")) {
        return Ok(());
    }
    // Tried with a program that does nothing: once this one is replaced, nobody is left to say why.
    let tried = Command::new("unshare").args(WORDS).arg("true").output();
    let tried = tried.context("cannot start unshare (on Debian: apt install util-linux)")?;
    if !tried.status.success() {
        bail!(
            "this machine lets nobody mount here ({}): leave out `host` for a guest, which mounts \
             in a kernel of its own",
            String::from_utf8_lossy(&tried.stderr).trim()
        );
    }
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new("unshare");
    command.args(WORDS).arg("--").arg(program).args(std::env::args_os().skip(1));
    Err(command.env(VARIABLE, "1").exec()).context("cannot start unshare")
}
