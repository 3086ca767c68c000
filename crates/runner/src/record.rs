//! A new run: the fields of a run file that are known before anything is measured.

use std::sync::OnceLock;

use flashlag_schema::{Environment, Options, ProfileRecord, Program, Run, ScenarioRecord, Target};
use flashlag_spec::Reading;
use flashlag_spec::profile::Profile;
use flashlag_units::Bytes;

use crate::request::Request;

/// Free space that the reviewers' fills left.
pub const REVIEWERS_LEAVE: Bytes = Bytes::from_mb(300);

/// A run without phases. Nothing in it depends on the time of day, so that a repeated simulation
/// gives the same file.
pub(crate) fn new_run(
    request: &Request,
    target: Target,
    (leave_bytes, leave_reason): (Bytes, String),
    environment: Environment,
) -> Run {
    let scenario = ScenarioRecord::of(&request.scenario, request.seed);
    Run {
        label: request.label.clone(),
        command: request.command.clone(),
        options: Options {
            leave_bytes,
            leave_reason,
            budget_bytes: request.budget,
            verify: request.verify,
            limits: request.limits,
            engine: "flashlag".to_owned(),
        },
        ..Run::begun(program(), scenario, target, environment)
    }
}

/// Free space that a fill leaves on a simulated or virtual device, and why.
pub(crate) fn reviewers_leave(given: Option<Bytes>) -> (Bytes, String) {
    match given {
        Some(leave) => (leave, GIVEN_LEAVE.to_owned()),
        None => (REVIEWERS_LEAVE, "what the reviewers' fills left".to_owned()),
    }
}

/// The reason for a leave that the user gave.
pub(crate) const GIVEN_LEAVE: &str = "given by --leave";

/// The profile of a device, as a run records it.
pub(crate) fn profile_record(
    profile: &Profile,
    filesystem: String,
    device_options: Vec<String>,
) -> ProfileRecord {
    ProfileRecord {
        name: profile.name.clone(),
        about: profile.about.clone(),
        filesystem,
        text: profile.to_toml(),
        device_options,
    }
}

/// The present time in UTC as a run records it: `2026-11-21T04:30:00Z`.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn started() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

static COMMIT: OnceLock<&str> = OnceLock::new();

/// Sets the commit that this program was built from, for all of its run files. The program does so
/// as it starts, since only its own crate is built again after a commit.
pub fn set_commit(commit: &'static str) {
    COMMIT.get_or_init(|| commit);
}

/// This program: its version, and its commit if [`set_commit`] was called.
pub fn program() -> Program {
    let commit = COMMIT.get().map(|commit| Reading::Value((*commit).to_owned()));
    Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: commit.unwrap_or_else(|| Reading::unavailable("not known when this was built")),
    }
}

/// The time in UTC as it is put into file names: `20261121-043000`.
#[cfg(not(target_family = "wasm"))]
pub fn stamp() -> String {
    jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulated_fill_leaves_what_the_reviewers_left_by_default() {
        let (leave, reason) = reviewers_leave(None);
        assert_eq!(
            (leave, reason.as_str()),
            (Bytes::from_mb(300), "what the reviewers' fills left")
        );
        let (leave, reason) = reviewers_leave(Some(Bytes(7)));
        assert_eq!((leave, reason.as_str()), (Bytes(7), "given by --leave"));
    }

    #[test]
    fn a_run_names_the_version_and_the_commit_that_made_it() {
        let unset = program();
        assert_eq!(unset.version, env!("CARGO_PKG_VERSION"));
        set_commit("0123abc");
        set_commit("later");
        assert_eq!(program().commit.value().map(String::as_str), Some("0123abc"));
    }

    #[test]
    fn times_are_utc_to_the_second_in_a_run_file_and_in_a_name() {
        let shape = |text: &str| -> String {
            text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
        };
        assert_eq!(shape(&started()), "0000-00-00T00:00:00Z");
        assert_eq!(shape(&stamp()), "00000000-000000");
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        let (before, between, after) = (started(), stamp(), started());
        assert!(digits(&before) <= digits(&between) && digits(&between) <= digits(&after));
    }
}
