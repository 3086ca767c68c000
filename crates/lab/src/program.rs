//! flashlag as the guest's first and only program, with the host's libraries if it is not static.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::error::LabError;
use crate::initramfs::Initramfs;

/// The program that binds another to its parent's life.
pub(crate) const BINDER: &str = "setpriv";
/// The options that bind it.
const BINDING: [&str; 2] = ["--pdeathsig", "KILL"];

/// Puts the running program into the archive as `/init`.
pub fn guest_program(program: &Path, archive: &mut Initramfs) -> Result<(), LabError> {
    add_program(program, Path::new("/init"), archive)
}

/// Puts a program of the host into the archive as `/bin/NAME`, with its libraries.
///
/// # Errors
/// The program is not installed; `package` has it.
pub fn add_tool(name: &str, package: &str, archive: &mut Initramfs) -> Result<PathBuf, LabError> {
    let program = find_program(name, package)?;
    let at = Path::new("/bin").join(name);
    add_program(&program, &at, archive)?;
    Ok(at)
}

/// A shell script that ends if the parent died before the binding took effect; otherwise it
/// executes the program.
const STILL_OURS: &str = r#"[ "$PPID" = "$1" ] || exit 1; shift; exec "$@""#;

/// A command that the kernel kills when the starting thread ends, so that nothing outlives a lab.
pub(crate) fn bound_to_us(program: &Path) -> Command {
    let mut command = Command::new(BINDER);
    command.args(BINDING).args(["/bin/sh", "-c", STILL_OURS, "sh"]);
    command.arg(std::process::id().to_string()).arg(program);
    command
}

/// The same with a limit in seconds: a filesystem's tool may search an image for ever.
pub(crate) fn bounded(program: &Path, seconds: &str) -> Command {
    let mut command = bound_to_us(Path::new("timeout"));
    command.args(["-s", "KILL", seconds, BINDER]).args(BINDING).arg(program);
    command
}

/// The path of a program of the host.
///
/// # Errors
/// The program is not installed; `package` has it.
pub(crate) fn find_program(name: &str, package: &str) -> Result<PathBuf, LabError> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    // A user's PATH may lack the administrator's folders.
    let beyond = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let mut found = std::env::split_paths(&paths).chain(beyond).map(|folder| folder.join(name));
    found
        .find(|path| path.is_file())
        .ok_or_else(|| LabError::Missing { program: name.to_owned(), package: package.to_owned() })
}

/// Runs a program of the guest to its end.
pub(crate) fn run(program: &Path, words: &[impl AsRef<OsStr>]) -> Result<(), LabError> {
    let mut command = Command::new(program);
    // There is no udev to create nodes and respond.
    command.env("DM_DISABLE_UDEV", "1").args(words).stdin(Stdio::null());
    let output = command.output().map_err(LabError::file("start", program))?;
    if output.status.success() {
        return Ok(());
    }
    let reason = reason(&output);
    Err(LabError::Program { program: program.display().to_string(), reason })
}

/// Why a program failed: what it printed as errors, or how it ended. `mkfs.f2fs` has them among everything else that
/// it prints, first the one that says why.
pub(crate) fn reason(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if !errors.is_empty() {
        return errors;
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    let first = printed.lines().find_map(|line| line.trim().strip_prefix("Error: "));
    first.map_or_else(|| output.status.to_string(), |error| error.trim().to_owned())
}

/// Puts a program and the libraries that it needs into the archive.
pub(crate) fn add_program(
    program: &Path,
    at: &Path,
    archive: &mut Initramfs,
) -> Result<(), LabError> {
    archive.add_file(at, program)?;
    for library in libraries(program)? {
        archive.add_file(&library, &library)?;
    }
    Ok(())
}

/// The libraries of a program, as its own loader finds them; empty for a static one.
fn libraries(program: &Path) -> Result<Vec<PathBuf>, LabError> {
    let output = Command::new("ldd").arg(program).output().map_err(|_| LabError::Missing {
        program: "ldd".to_owned(),
        package: "libc-bin".to_owned(),
    })?;
    Ok(paths_in(&String::from_utf8_lossy(&output.stdout)))
}

/// The paths in `ldd`'s lines: `libm.so.6 => /lib/x/libm.so.6 (0x7f00)` or
/// `/lib64/ld-linux-x86-64.so.2 (0x7f00)`.
fn paths_in(text: &str) -> Vec<PathBuf> {
    let words = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.into_iter().find(|word| word.starts_with('/'))
    });
    words.map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_failed_says_why_wherever_it_printed_it() {
        let reason_of =
            |script: &str| reason(&Command::new("sh").args(["-c", script]).output().unwrap());
        assert_eq!(reason_of("echo Info: made; echo bad disk >&2; exit 1"), "bad disk");
        let printed = "printf 'F2FS-tools\\n\\tError: too small\\n\\tError: not made\\n'; exit 255";
        assert_eq!(reason_of(printed), "too small");
        assert_eq!(reason_of("echo Info: made; exit 3"), "exit status: 3");
    }

    #[test]
    fn libraries_are_the_paths_that_the_loader_names() {
        let text = "\tlinux-vdso.so.1 (0x7ffd)\n\tlibm.so.6 => /lib/x86/libm.so.6 (0x7f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x7f)\n";
        let expected = ["/lib/x86/libm.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from);
        assert_eq!(paths_in(text), expected);
        assert_eq!(paths_in("\tstatically linked\n"), Vec::<PathBuf>::new());
    }
}
