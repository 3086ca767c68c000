//! The order of a run on a phone.

use flashlag_android::PhoneError;
use flashlag_android::protocol::{PhoneOrder, RunState};
use flashlag_schema::remote::RunOrder;
use flashlag_schema::{Program, Reading};
use sha2::{Digest, Sha256};

use crate::record::program;
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

/// What to do about a run that the phone has already.
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

/// Decides about a run that the phone has already.
///
/// # Errors
/// Another run is under way, or another is to be resumed.
pub(super) fn next(
    resumes: bool,
    wanted: &PhoneOrder,
    found: Option<(&PhoneOrder, &RunState)>,
) -> Result<Next, PhoneError> {
    let target = || wanted.run.target.clone();
    match found {
        None if resumes => Ok(Next::Bring),
        None => Ok(Next::Begin),
        Some((there, RunState::UnderWay)) if !resumes => {
            Err(PhoneError::Busy { scenario: there.name.clone(), target: target() })
        }
        // What a dead or an ended run left is replaced by a new one.
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
