//! Checks in tests what they need of the machine: a test without it must skip by [`skip`].
//!  A skip prints one line to standard error, past the test harness's capture, so that it is
//! visible among passing tests: `SKIPPED name_of_the_test: reason`. With `FLASHLAG_NO_SKIP=1` a
//! skip fails the test, for a machine that is meant to have everything.
#![forbid(unsafe_code)]

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set to `1`, it turns each skip into a failure.
pub const NO_SKIP: &str = "FLASHLAG_NO_SKIP";

/// The path of a file to which each skip is appended, for a list at the end.
pub const SKIPS: &str = "FLASHLAG_SKIPS";

/// The folder with public traces of phones, which must not be copied into the project.
pub const TRACES: &str = "FLASHLAG_TRACES";

/// A public trace by its name in the folder that `FLASHLAG_TRACES` names; `None` without the
/// variable. Then a line is printed as for a skip, but the test never fails: the caller has already
/// checked a small trace of the same form.
///
/// # Panics If the variable is set and the folder does not have the file.
pub fn public_trace(name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os(TRACES) else {
        say(&line(&format!("only the small trace, {TRACES} names no folder with {name}")));
        return None;
    };
    let path = Path::new(&folder).join(name);
    assert!(path.is_file(), "{TRACES} names a folder without {name}: {}", path.display());
    Some(path)
}

/// Reports that the calling test skips, and why. The caller must return at once.
///
/// # Panics With `FLASHLAG_NO_SKIP=1`.
pub fn skip(reason: impl Display) {
    say(&line(&reason.to_string()));
    assert!(!is_set(NO_SKIP), "{NO_SKIP}=1 forbids a skip: {reason}");
}

/// Runs a check that is a separate program. If it exits with 77, or does not start, the calling
/// test skips with the check's standard error as the reason.
///
/// # Panics With the program's output, at any other status except 0.
pub fn passes(check: &mut Command) {
    /// The exit status of a check that could not be made.
    const SKIPPED: i32 = 77;
    let output = match check.output() {
        Ok(output) => output,
        Err(error) => {
            return skip(format!("{} does not start: {error}", check.get_program().display()));
        }
    };
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    match output.status.code() {
        Some(0) => {}
        Some(SKIPPED) => skip(err.trim()),
        _ => panic!("{out}{err}"),
    }
}

/// Copies a program that a test then starts.
///
/// Another process does it. A test program that had the copy open for writing itself would pass
/// that on to whatever another of its threads starts at this moment, and until that program has
/// begun, a start of the copy fails with "Text file busy".
///
/// # Errors
/// `cp` can't be started or fails.
pub fn copy_program(from: &Path, into: &Path) -> io::Result<()> {
    succeeds(Command::new("cp").arg("--").args([from, into]))
}

/// Writes a shell script that a test then starts, by another process as in [`copy_program`].
///
/// # Errors
/// The shell can't be started or fails.
pub fn write_script(path: &Path, text: &str) -> io::Result<()> {
    let write = r#"printf %s "$1" > "$0" && chmod 755 "$0""#;
    succeeds(Command::new("sh").args(["-c", write]).arg(path).arg(text))
}

fn succeeds(command: &mut Command) -> io::Result<()> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{}: {said}", command.get_program().display())))
}

/// Writes the line of a skip to standard error and to the list.
fn say(line: &str) {
    // A closed standard error, or a list that can't be written, must not fail the test.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(list) = std::env::var_os(SKIPS) {
        let list = OpenOptions::new().append(true).create(true).open(list);
        let _ = list.and_then(|mut list| list.write_all(line.as_bytes()));
    }
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == "1")
}

/// `SKIPPED name_of_the_test: reason`, on one line.
fn line(reason: &str) -> String {
    // The test harness names each test's thread.
    let thread = std::thread::current();
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("SKIPPED {}: {reason}\n", thread.name().unwrap_or("a test"))
}

/// Whether the test runs as root; skips if not.
pub fn root(what: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        skip(format_args!("{what} needs root"));
    }
    is_root
}

/// The path of a program in `PATH` or the directories of system programs; skips without it.
pub fn program(name: &str, package: &str) -> Option<PathBuf> {
    let found = find(name);
    if found.is_none() {
        skip(format_args!("there is no {name} (install the package {package})"));
    }
    found
}

/// [`program`] without the skip, for a caller that needs several.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    let folders = std::env::split_paths(&path).chain(system);
    folders.map(|folder| folder.join(name)).find(|path| Path::is_file(path))
}

/// The value of a `Result`, or a [`skip`] of the calling test with the error as its reason.
#[macro_export]
macro_rules! or_skip {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(reason) => return $crate::skip(reason),
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_is_one_line_with_the_tests_name() {
        let expected = "SKIPPED tests::a_skip_is_one_line_with_the_tests_name: no disk, no fio\n";
        assert_eq!(line("no disk,\n  no fio"), expected);
    }

    /// Set for the child that [`a_skip_is_listed_and_a_failure_where_none_may_be`] starts.
    const CHILD: &str = "FLASHLAG_TEST_NEED_CHILD";

    #[test]
    fn child_that_skips() {
        if std::env::var_os(CHILD).is_some() {
            skip("no disk");
        }
    }

    #[test]
    fn a_skip_is_listed_and_a_failure_where_none_may_be() {
        let list = std::env::temp_dir().join(format!("flashlag-need-{}", std::process::id()));
        let child = |no_skip: &str| {
            let mut child = std::process::Command::new(std::env::current_exe().expect("this test"));
            child.args(["--exact", "tests::child_that_skips"]).env(CHILD, "1").env(SKIPS, &list);
            child.env(NO_SKIP, no_skip).output().expect("a child").status
        };
        assert!(child("0").success(), "a skip is no failure");
        assert!(!child("1").success(), "a skip is a failure where none may be");
        let listed = std::fs::read_to_string(&list).expect("a list");
        let _ = std::fs::remove_file(&list);
        let line = "SKIPPED tests::child_that_skips: no disk\n";
        assert_eq!(listed, line.repeat(2));
    }

    #[test]
    fn a_program_is_found_by_its_name_alone() {
        assert!(find("sh").is_some_and(|path| path.ends_with("sh") && path.is_absolute()));
        assert_eq!(find("flashlag-has-no-such-program"), None);
    }
}
