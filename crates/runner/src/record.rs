//! The run file's frame: what is known before anything is measured.

use std::collections::BTreeMap;

use flashlag_schema::{
    Environment, Integrity, Lag, Options, Program, Reading, Run, RunStatus, SCHEMA, ScenarioRecord,
    Target, TargetKind, Trust, Wear,
};
use flashlag_units::Bytes;

use crate::request::Request;

/// A run in which nothing has been measured yet.
pub fn new_run(
    request: &Request,
    environment: Environment,
    leave: (Bytes, String),
    engine: String,
) -> Run {
    Run {
        schema: SCHEMA.to_owned(),
        flashlag: program(),
        scenario: ScenarioRecord {
            name: request.scenario.name.clone(),
            hash: request.scenario.hash(),
            text: request.scenario.text.clone(),
            settings: request.scenario.settings.clone().into_iter().collect::<BTreeMap<_, _>>(),
            seed: request.seed,
            assumptions: request.scenario.assumptions.clone(),
        },
        target: Target {
            kind: TargetKind::Path,
            name: request.target.clone(),
            directory: Some(request.directory.display().to_string()),
            profile: None,
        },
        command: request.command.clone(),
        started: Some(jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        status: RunStatus::Running { next_step: 0 },
        options: Options {
            leave_bytes: leave.0,
            leave_reason: leave.1,
            budget_bytes: request.budget,
            verify: request.verify,
            engine,
        },
        environment,
        phases: Vec::new(),
        skipped: Vec::new(),
        downgrades: Vec::new(),
        trust: Trust::default(),
        lag: Lag::default(),
        wear: Wear::default(),
        integrity: Integrity::default(),
    }
}

/// This program. The commit is known where the build knew it.
pub fn program() -> Program {
    Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: match option_env!("FLASHLAG_COMMIT") {
            Some(commit) => Reading::Value(commit.to_owned()),
            None => Reading::unavailable("not known when this was built"),
        },
    }
}

/// The time in UTC as it is put into file names: `20261121-043000`.
pub fn stamp() -> String {
    jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string()
}
