//! Gives this process a mount namespace of its own: the mounts in it end with the process, however
//! it ends.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Environment variable that is set once the process has its own mount namespace.
const VARIABLE: &str = "FLASHLAG_OWN_MOUNTS";
/// Mount propagation: what others unmount is unmounted here too, so that a disk can be removed; mounts
/// made here stay private.
const WORDS: [&str; 3] = ["--mount", "--propagation", "slave"];

/// Starts this program anew in a mount namespace of its own, unless it has one.
pub fn enter() -> Result<()> {
    if std::env::var_os(VARIABLE).as_deref() == Some(OsStr::new("1")) {
        return Ok(());
    }
    // Tried with a program that does nothing: once this one is replaced, it can't report an error.
    let tried = Command::new("unshare").args(WORDS).arg("true").output();
    let tried = tried.context("cannot start unshare (on Debian: apt install util-linux)")?;
    if !tried.status.success() {
        bail!(
            "this machine does not allow mounts of one's own ({}): leave out `host` for a guest, which mounts \
             in a kernel of its own",
            String::from_utf8_lossy(&tried.stderr).trim()
        );
    }
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new("unshare");
    command.args(WORDS).arg("--").arg(program).args(std::env::args_os().skip(1));
    Err(command.env(VARIABLE, "1").exec()).context("cannot start unshare")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mounts a filesystem with shared propagation, as systems do, and unmounts it while a
    /// namespace of this program exists; prints how often it is still mounted there.
    const SCRIPT: &str = r#"
        base=$1; place=$1/stick; shift
        mount -t tmpfs none "$base" && mount --make-shared "$base" || exit 77
        mkdir "$place" && mount -t tmpfs none "$place" || exit 77
        mkfifo "$place.there" "$place.go"
        unshare "$@" sh -c 'echo > "$1.there"; read -r _ < "$1.go"; grep -c " $1 " /proc/self/mountinfo' \
            sh "$place" &
        read -r _ < "$place.there"
        umount "$place"
        echo > "$place.go"
        wait"#;

    #[test]
    fn what_others_unmount_is_unmounted_here_too() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("unshare");
        if !rustix::process::geteuid().is_root() {
            command.args(["--user", "--map-root-user"]);
        }
        command.args(["--mount", "sh", "-c", SCRIPT, "sh"]).arg(folder.path()).args(WORDS);
        let output = match command.output() {
            Ok(output) => output,
            Err(error) => return flashlag_need::skip(format!("no unshare: {error}")),
        };
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.code() == Some(77) || said.contains("unshare:") {
            return flashlag_need::skip(format!("no right to mount: {said}"));
        }
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "0", "still mounted: {said}");
    }
}
