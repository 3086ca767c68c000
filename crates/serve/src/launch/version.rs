//! Versions of nbdkit that clients must not connect to directly.

use std::path::Path;
use std::process::{Command, Stdio};

/// Whether this version of nbdkit ends when a client dies: see `relay`. If the version is unknown,
/// the relay is used, which never does harm.
pub(super) fn needs_relay(nbdkit: &Path) -> bool {
    let asked = Command::new(nbdkit).arg("--version").stdin(Stdio::null()).output();
    let said = asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    said.ok().as_deref().and_then(version).is_none_or(is_ended_by_clients)
}

/// `nbdkit 1.32.5`, possibly followed by another word.
fn version(said: &str) -> Option<(u32, u32, u32)> {
    let mut numbers = said.split_whitespace().nth(1)?.split('.');
    let mut number = || {
        let digits = numbers.next()?;
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits.get(..end)?.parse().ok()
    };
    Some((number()?, number()?, number()?))
}

/// Affected are the versions between the commits "server: Give client EOF when we are done writing"
/// and "server: Don't assert on send if client hangs up early", on the stable branch and on the
/// development branch.
fn is_ended_by_clients(version: (u32, u32, u32)) -> bool {
    match version {
        (1, 32, patch) => patch >= 4,
        (1, 33, patch) => (3..10).contains(&patch),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_between_the_fault_and_its_mending_need_a_relay() {
        let needs = |said: &str| version(said).map(is_ended_by_clients);
        for (said, expected) in [
            ("nbdkit 1.32.5\n", Some(true)),
            ("nbdkit 1.32.4", Some(true)),
            ("nbdkit 1.32.3", Some(false)),
            ("nbdkit 1.33.3", Some(true)),
            ("nbdkit 1.33.10", Some(false)),
            ("nbdkit 1.24.1", Some(false)),
            ("nbdkit 1.42.2 (Debian 1.42.2-1)", Some(false)),
            ("nbdkit 1.32.5-3", Some(true)),
            ("nbdkit", None),
            ("something else", None),
            ("", None),
        ] {
            assert_eq!(needs(said), expected, "{said}");
        }
    }
}
