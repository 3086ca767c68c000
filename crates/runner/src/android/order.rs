//! The order of a run on a phone.

use flashlag_android::PhoneError;
use flashlag_android::protocol::{Outcome, PhoneOrder, RunState};
use flashlag_schema::Program;
use flashlag_schema::remote::RunOrder;
use flashlag_spec::Reading;
use sha2::{Digest, Sha256};

use crate::record::program;
use crate::replays::sent;
use crate::request::Request;

/// Version and commit of this program.
pub(super) fn this_program() -> String {
    let Program { version, commit } = program();
    match commit {
        Reading::Value(commit) => format!("flashlag {version} ({commit})"),
        Reading::Unavailable { .. } => format!("flashlag {version}"),
    }
}

/// The order for a request. `target` names the phone with its serial number.
pub(super) fn order(request: &Request, target: &str, at: &str) -> PhoneOrder {
    let settings = &request.scenario.settings;
    let mut order = PhoneOrder {
        program: this_program(),
        name: request.scenario.name.clone(),
        hash: request.scenario.hash(),
        token: String::new(),
        resume: false,
        label: request.label.clone(),
        run: RunOrder {
            scenario: request.scenario.text.clone(),
            settings: settings.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
            seed: request.seed,
            leave: request.leave,
            budget: request.budget,
            verify: request.verify,
            limits: request.limits,
            at: at.to_owned(),
            rootdir: false,
            target: target.to_owned(),
            command: request.command.clone(),
            floor: false,
            replays: sent(&request.replays),
        },
    };
    order.token = token(&order);
    order
}

/// A name for the run's socket that differs from one run to the next.
fn token(order: &PhoneOrder) -> String {
    let now = jiff::Timestamp::now().as_nanosecond();
    let seen = format!("{now} {} {} {}", std::process::id(), order.hash, order.run.target);
    let digest = Sha256::digest(seen.as_bytes());
    let hex: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("flashlag-{hex}")
}

/// What to do about a run that is already on the phone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A new run.
    Begin,
    /// The phone's run, which was killed, is continued.
    Continue,
    /// The phone's run is followed, and its result is taken.
    Follow,
    /// The run in this machine's file is brought to the phone and continued.
    Bring,
}

/// Decides what to do about a run that is already on the phone. Fails if another run is in
/// progress, the phone has measurements that were not fetched, or another run is to be resumed.
pub(super) fn next(
    resumes: bool,
    wanted: &PhoneOrder,
    found: Option<(&PhoneOrder, &RunState)>,
    has_run_file: bool,
) -> Result<Next, PhoneError> {
    let target = || wanted.run.target.clone();
    let keeps = |state: &RunState| {
        has_run_file && !matches!(state, RunState::Ended(Outcome { error: Some(_) }))
    };
    match found {
        None if resumes => Ok(Next::Bring),
        None => Ok(Next::Begin),
        Some((there, RunState::UnderWay)) if !resumes => {
            Err(PhoneError::Busy { scenario: there.name.clone(), target: target() })
        }
        Some((there, state)) if !resumes && keeps(state) => {
            Err(PhoneError::Kept { scenario: there.name.clone(), target: target() })
        }
        // A run that measured nothing is replaced by a new one.
        Some(_) if !resumes => Ok(Next::Begin),
        Some((there, _)) if !there.is_of_the_run_of(wanted) => Err(PhoneError::OtherRun {
            found: there.name.clone(),
            seed: there.run.seed,
            target: target(),
        }),
        Some((there, _)) if there.program != wanted.program => Err(PhoneError::OtherVersion {
            there: there.program.clone(),
            here: wanted.program.clone(),
            target: target(),
        }),
        Some((_, RunState::Dead)) => Ok(Next::Continue),
        Some(_) => Ok(Next::Follow),
    }
}

#[cfg(test)]
mod tests {
    use flashlag_spec::scenario::Scenario;

    use super::*;
    use crate::target::Target;

    fn wanted(seed: u64) -> PhoneOrder {
        let scenario = Scenario::parse("name = \"idle\"\n[[step]]\nidle = \"1ms\"\n", &[]).unwrap();
        let target = Target::parse("adb:A").unwrap();
        order(&Request::new(scenario, target, seed), "adb:A", "/data/local/tmp")
    }

    fn ended(error: Option<&str>) -> RunState {
        RunState::Ended(Outcome { error: error.map(str::to_owned) })
    }

    /// The decision about a run of seed 1, or the error message.
    fn decided(
        resumes: bool,
        seed: u64,
        state: &RunState,
        has_run_file: bool,
    ) -> Result<Next, String> {
        let (there, wanted) = (wanted(1), wanted(seed));
        next(resumes, &wanted, Some((&there, state)), has_run_file)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_new_run_replaces_only_what_holds_no_measurements() {
        let new = |state: &RunState, has_run_file| decided(false, 1, state, has_run_file);
        assert!(
            new(&RunState::UnderWay, true).unwrap_err().contains("measuring that phone already")
        );
        assert!(new(&ended(None), true).unwrap_err().contains("not fetched"));
        assert!(new(&RunState::Dead, true).unwrap_err().contains("clean adb:A"));
        assert_eq!(new(&RunState::Dead, false), Ok(Next::Begin));
        assert_eq!(new(&ended(Some("no room")), true), Ok(Next::Begin));
        assert_eq!(next(false, &wanted(1), None, false).unwrap(), Next::Begin);
    }

    #[test]
    fn a_resumed_run_follows_continues_or_is_brought_and_another_one_is_refused() {
        let resumed = |state: &RunState| decided(true, 1, state, true);
        assert_eq!(resumed(&RunState::UnderWay), Ok(Next::Follow));
        assert_eq!(resumed(&ended(None)), Ok(Next::Follow));
        assert_eq!(resumed(&RunState::Dead), Ok(Next::Continue));
        assert_eq!(next(true, &wanted(1), None, false).unwrap(), Next::Bring);
        assert!(decided(true, 2, &RunState::UnderWay, true).unwrap_err().contains("another run"));
        let (mut there, wanted) = (wanted(1), wanted(1));
        "flashlag 0.0.1".clone_into(&mut there.program);
        let other = next(true, &wanted, Some((&there, &RunState::Dead)), true).unwrap_err();
        assert!(other.to_string().contains("by flashlag 0.0.1, and this is"), "{other}");
    }

    #[test]
    fn each_run_has_a_socket_of_its_own() {
        assert_ne!(wanted(1).token, wanted(1).token);
        assert!(wanted(1).is_of_the_run_of(&wanted(1)) && !wanted(1).is_of_the_run_of(&wanted(2)));
    }
}
