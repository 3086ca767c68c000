//! What tests of simulated runs share.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flashlag_runner::sim::builtin_profile;
use flashlag_runner::{Event, Observer, Request, RunError, RunFile, SimTarget, Target, run};
use flashlag_schema::Run;
use flashlag_schema::verify::verify_text;
use flashlag_spec::profile::Profile;
use flashlag_spec::scenario::Scenario;
use flashlag_spec::target::{Kind, MountSpec};
use flashlag_units::Bytes;

pub struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: Event<'_>) {}
}

/// Raises the stop flag after a number of phases.
pub struct StopsAfter {
    pub phases: usize,
    pub stop: Arc<AtomicBool>,
}

impl Observer for StopsAfter {
    fn event(&mut self, event: Event<'_>) {
        if let Event::PhaseFinished(_) = event {
            self.phases = self.phases.saturating_sub(1);
            self.stop.store(self.phases == 0, Ordering::Relaxed);
        }
    }
}

pub fn request(scenario: &str, target: SimTarget, seed: u64) -> Request {
    let scenario = Scenario::parse(scenario, &[]).unwrap();
    let leave = Some(Bytes::from_mib(64));
    Request { leave, ..Request::new(scenario, Target::Simulated(target), seed) }
}

pub fn target(on: &str) -> SimTarget {
    SimTarget::parse(on).unwrap_or_else(|error| panic!("{on}: {error}"))
}

/// The device that takes no time, with this capacity.
pub fn small(filesystem: &str, capacity: &str) -> SimTarget {
    let text = builtin_profile("zero").unwrap();
    let large = "capacity = { value = \"16GiB\"";
    assert!(text.contains(large));
    let text = text.replace(large, &format!("capacity = {{ value = \"{capacity}\""));
    let mount = MountSpec::parse(Kind::Sim, filesystem).unwrap();
    let profile = Profile::parse(&text).unwrap();
    SimTarget { text: format!("sim:small+{mount}"), ..SimTarget::new(&profile, &mount) }
}

/// Runs it, and gives the run file's text.
pub fn run_file(scenario: &str, target: SimTarget, seed: u64) -> String {
    let directory = tempfile::tempdir().unwrap();
    let output: PathBuf = directory.path().join("run.json");
    let file = Arc::new(RunFile::new(&output, false).unwrap());
    let asked = Request { output: Some(file), ..request(scenario, target, seed) };
    let name = asked.target.name();
    let run = run(asked.clone(), &mut Silent).unwrap_or_else(|error| panic!("{name}: {error}"));
    let text = std::fs::read_to_string(&output).unwrap();
    assert_eq!(text, run.to_json(), "{name}: what is stored is what is returned");
    text
}

/// A run file that `flashlag verify` would accept.
pub fn valid(text: &str, name: &str) -> Run {
    let found = verify_text(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let problems: Vec<String> = found
        .iter()
        .map(|one| format!("{}: {} should be {}", one.path, one.stored, one.recomputed))
        .collect();
    assert_eq!(problems, Vec::<String>::new(), "{name}");
    Run::from_json(text).unwrap()
}

pub fn refused(on: &str) -> String {
    SimTarget::parse(on).and_then(simulated).unwrap_err().to_string()
}

fn simulated(target: SimTarget) -> Result<Run, RunError> {
    run(request(SHORT, target, 1), &mut Silent)
}

/// A few durable writes.
pub const SHORT: &str = r#"
name = "short"
about = "A few durable writes."

[[io]]
name = "rand_write_4k"
operation = "write"
pattern = "random"
block = "4KiB"
span = "8MiB"
time = "200ms"
durable = "fdatasync"

[[step]]
measure = ["rand_write_4k"]
state = "new"
"#;

/// A life in short: new, full, deleted, trimmed; each kind of test.
pub const LIFE: &str = r#"
name = "life"
about = "Each kind of test, in each state."

[[io]]
name = "seq_read"
operation = "read"
pattern = "sequential"
block = "256KiB"
span = "32MiB"
bytes = "32MiB"

[[io]]
name = "rand_write_4k"
operation = "write"
pattern = "random"
block = "4KiB"
span = "32MiB"
bytes = "2MiB"
durable = "fsync"
queue_depth = 4

[[io]]
name = "buffered"
operation = "write"
pattern = "random"
block = "4KiB"
span = "32MiB"
bytes = "2MiB"
direct = false
durable = "fdatasync"

[[save]]
name = "save_{journal}"
journal = ["wal", "delete"]
rows = 100
saves = 100
background = "beside"

[[io]]
name = "beside"
operation = "write"
pattern = "random"
block = "64KiB"
span = "16MiB"
time = "10s"
durable = "fdatasync"

[[io]]
name = "fill"
operation = "write"
pattern = "sequential"
block = "1MiB"

[[step]]
measure = ["seq_read", "rand_write_4k", "buffered", "save_wal", "save_delete"]
state = "new"

[[step]]
fill = "fill"

[[step]]
measure = ["rand_write_4k", "save_wal"]
state = "filled"
repeat = 2

[[step]]
delete = true

[[step]]
measure = ["rand_write_4k"]
state = "deleted"

[[step]]
trim = true

[[step]]
idle = "30s"

[[step]]
measure = ["rand_write_4k", "save_delete"]
state = "trimmed"
"#;
