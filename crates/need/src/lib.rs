//! What a test needs of the machine, for tests only: a test that lacks it skips by [`skip`], and no
//! other way.
//!
//! A skip prints one line to standard error, past the test harness's capture, so that it is seen
//! among tests that pass: `SKIPPED name_of_the_test: reason`. With `FLASHLAG_NO_SKIP=1` it fails the
//! test instead, for a machine that is meant to have everything.
#![forbid(unsafe_code)]

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Set to `1`, it turns each skip into a failure.
pub const NO_SKIP: &str = "FLASHLAG_NO_SKIP";

/// Says that the calling test skips, and why. The caller returns at once.
///
/// # Panics
/// With `FLASHLAG_NO_SKIP=1`.
pub fn skip(reason: impl Display) {
    let line = line(&reason.to_string());
    // A closed standard error is no reason to fail.
    let _ = std::io::stderr().write_all(line.as_bytes());
    let forbidden = std::env::var_os(NO_SKIP).is_some_and(|value| value == "1");
    assert!(!forbidden, "{NO_SKIP}=1 forbids a skip: {reason}");
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

/// The path of a program, looked for in `PATH` and where system programs are; skips without it.
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

    #[test]
    fn a_program_is_found_by_its_name_alone() {
        assert!(find("sh").is_some_and(|path| path.ends_with("sh") && path.is_absolute()));
        assert_eq!(find("flashlag-has-no-such-program"), None);
    }
}
