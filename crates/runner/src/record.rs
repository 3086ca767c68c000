//! The run file's frame: what is known before anything is measured.

use flashlag_schema::scenario::Scenario;
use flashlag_schema::{
    Environment, Integrity, Lag, Options, ProfileRecord, Program, Reading, Run, RunStatus, SCHEMA,
    ScenarioRecord, Target, TargetKind, Trust, Wear,
};
use flashlag_units::Bytes;

use crate::request::Request;
use crate::sim::SimRequest;

/// A run in which nothing has been measured yet.
pub fn new_run(request: &Request, environment: Environment, leave: (Bytes, String)) -> Run {
    let scenario = scenario_record(&request.scenario, request.seed);
    let target = Target {
        kind: TargetKind::Path,
        name: request.target.clone(),
        directory: Some(request.directory.display().to_string()),
        profile: None,
    };
    let options = Options {
        leave_bytes: leave.0,
        leave_reason: leave.1,
        budget_bytes: request.budget,
        verify: request.verify,
        engine: "flashlag".to_owned(),
    };
    let started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let command = request.command.clone();
    Run {
        label: request.label.clone(),
        started: Some(started),
        ..blank(scenario, target, command, options, environment)
    }
}

/// A run on a simulated device in which nothing has happened yet. Nothing in it depends on the
/// machine or the hour, so that a run made again is the same file.
pub(crate) fn simulated_run(request: &SimRequest, environment: Environment, leave: Bytes) -> Run {
    let on = &request.target;
    let scenario = scenario_record(&request.scenario, request.seed);
    let target = Target {
        kind: TargetKind::Simulated,
        name: on.text.clone(),
        directory: None,
        profile: Some(ProfileRecord {
            name: on.profile.name.clone(),
            about: on.profile.about.clone(),
            filesystem: on.filesystem.clone(),
            text: on.profile.to_toml(),
            device_options: Vec::new(),
        }),
    };
    let options = Options {
        leave_bytes: leave,
        leave_reason: match request.leave {
            Some(_) => "given by --leave".to_owned(),
            None => "what the reviewers' fills left".to_owned(),
        },
        budget_bytes: None,
        verify: false,
        engine: "flashlag".to_owned(),
    };
    let command = request.command.clone();
    Run { label: request.label.clone(), ..blank(scenario, target, command, options, environment) }
}

/// A run in which nothing has happened.
fn blank(
    scenario: ScenarioRecord,
    target: Target,
    command: Vec<String>,
    options: Options,
    environment: Environment,
) -> Run {
    Run {
        schema: SCHEMA.to_owned(),
        flashlag: program(),
        scenario,
        target,
        label: None,
        command,
        started: None,
        status: RunStatus::Running { next_step: 0 },
        options,
        environment,
        phases: Vec::new(),
        skipped: Vec::new(),
        downgrades: Vec::new(),
        simulated_ns: None,
        trust: Trust::default(),
        lag: Lag::default(),
        wear: Wear::default(),
        integrity: Integrity::default(),
    }
}

fn scenario_record(scenario: &Scenario, seed: u64) -> ScenarioRecord {
    ScenarioRecord {
        name: scenario.name.clone(),
        hash: scenario.hash(),
        text: scenario.text.clone(),
        settings: scenario.settings.clone(),
        seed,
        assumptions: scenario.assumptions.clone(),
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
