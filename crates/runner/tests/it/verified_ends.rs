//! Whatever ends a run, and whenever: `flashlag verify` accepts its file.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::sim_support::{LIFE, SHORT, Silent, request, small, valid};
use flashlag_runner::{Event, Observer, Request, RunFile, Target, prepare, run};
use flashlag_schema::{Run, RunStatus};
use flashlag_spec::Verdict;
use flashlag_spec::scenario::Scenario;
use flashlag_units::Bytes;

/// Nothing is measured: a wait, and a test whose state can't be reached.
const IDLE: &str = r#"
name = "idle"
about = "A wait."

[[step]]
idle = "1ms"
"#;

const SKIPPED: &str = r#"
name = "skipped"
about = "Durable writes after a trim that was not done."

[[io]]
name = "rand_write_4k"
operation = "write"
pattern = "random"
block = "4KiB"
span = "1MiB"
time = "10ms"
durable = "fdatasync"

[[step]]
measure = ["rand_write_4k"]
state = "trimmed"
"#;

/// Each kind of phase, as short as it can be.
const KINDS: &str = r#"
name = "kinds"
about = "Each kind of phase."

[[io]]
name = "writer"
operation = "write"
pattern = "sequential"
block = "64KiB"
span = "1MiB"
time = "10ms"
arrivals = { per_second = 100.0 }

[[io]]
name = "seq_read"
operation = "read"
pattern = "sequential"
block = "64KiB"
span = "1MiB"
bytes = "512KiB"

[[io]]
name = "seq_write"
operation = "write"
pattern = "sequential"
block = "64KiB"
span = "1MiB"
bytes = "512KiB"

[[io]]
name = "rand_write"
operation = "write"
pattern = "random"
block = "4KiB"
span = "1MiB"
bytes = "128KiB"
warmup = "1ms"
durable = "fdatasync"

[[save]]
name = "save_wal"
statement = "insert"
journal = "wal"
rows = 20
saves = 20

[[save]]
name = "save_delete"
statement = "delete"
journal = "delete"
rows = 20
saves = 30
background = "writer"

[[step]]
measure = ["seq_write", "seq_read", "rand_write", "save_wal", "save_delete"]
state = "new"

[[step]]
fill = "seq_write"

[[step]]
measure = ["rand_write"]
state = "filled"

[[step]]
delete = true
"#;

/// Does something at the event of that number, from 0.
struct At<F> {
    left: usize,
    then: Option<F>,
}

impl<F: FnOnce()> At<F> {
    fn new(number: usize, then: F) -> At<F> {
        At { left: number, then: Some(then) }
    }

    fn came(&self) -> bool {
        self.then.is_none()
    }
}

impl<F: FnOnce()> Observer for At<F> {
    fn event(&mut self, _: Event<'_>) {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => {
                if let Some(then) = self.then.take() {
                    then();
                }
            }
        }
    }
}

/// A run file that may be there already.
fn file_at(path: &Path) -> Arc<RunFile> {
    Arc::new(RunFile::new(path, true).unwrap())
}

fn on_directory(scenario: &str, directory: &Path, output: &Path) -> Request {
    Request {
        leave: Some(Bytes::from_mib(1)),
        budget: Some(Bytes::from_mb(64)),
        output: Some(file_at(output)),
        ..Request::new(
            Scenario::parse(scenario, &[]).unwrap(),
            Target::Directory(directory.to_owned()),
            1,
        )
    }
}

fn read(output: &Path, name: &str) -> Run {
    valid(&std::fs::read_to_string(output).unwrap(), name)
}

#[test]
fn a_run_that_measures_nothing_verifies_and_is_not_trusted() {
    let directory = tempfile::tempdir().unwrap();
    for (name, scenario) in [("idle", IDLE), ("skipped", SKIPPED)] {
        let output = directory.path().join(format!("{name}.json"));
        let target = tempfile::tempdir().unwrap();
        let run = prepare(on_directory(scenario, target.path(), &output)).unwrap();
        run.run(&mut Silent).unwrap();
        let run = read(&output, name);
        assert_eq!((run.phases.len(), run.status), (0, RunStatus::Complete), "{name}");
        assert_eq!(run.trust.verdict, Verdict::Untrusted, "{name}");
        let run = valid(&crate::sim_support::run_file(scenario, small("ext4", "512MiB"), 1), name);
        assert_eq!((run.phases.len(), run.trust.verdict), (0, Verdict::Untrusted), "{name}");
    }
}

#[test]
fn a_simulated_run_verifies_whenever_it_is_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("run.json");
    for (scenario, filesystem) in [(LIFE, "ext4"), (KINDS, "f2fs"), (SHORT, "raw")] {
        for number in (0..).step_by(if scenario == LIFE { 3 } else { 1 }) {
            let stop = Arc::new(AtomicBool::new(false));
            let asked = Request {
                output: Some(file_at(&output)),
                stop: Arc::clone(&stop),
                ..request(scenario, small(filesystem, "512MiB"), 1)
            };
            let mut observer = At::new(number, || stop.store(true, Ordering::Relaxed));
            run(asked.clone(), &mut observer).unwrap();
            let run = read(&output, &format!("{filesystem}, stopped at event {number}"));
            if !observer.came() {
                assert_eq!(run.status, RunStatus::Complete);
                break;
            }
        }
    }
}

#[test]
fn a_run_on_a_directory_verifies_whenever_it_is_stopped() {
    let directory = tempfile::tempdir().unwrap();
    for number in 0.. {
        let output = directory.path().join(format!("{number}.json"));
        let target = tempfile::tempdir().unwrap();
        let request = on_directory(KINDS, target.path(), &output);
        let stop = Arc::clone(&request.stop);
        let prepared = prepare(request).unwrap();
        let mut observer = At::new(number, || stop.store(true, Ordering::Relaxed));
        prepared.run(&mut observer).unwrap();
        let run = read(&output, &format!("stopped at event {number}"));
        assert!(run.wear.written_bytes <= Bytes::from_mb(64));
        if !observer.came() {
            assert_eq!(run.status, RunStatus::Complete);
            assert_eq!(run.phases.len(), 7, "five tests, a fill, and one when filled");
            break;
        }
    }
}

#[test]
fn a_run_whose_directory_vanishes_verifies_whenever_that_is() {
    let directory = tempfile::tempdir().unwrap();
    for number in 0.. {
        let output = directory.path().join(format!("{number}.json"));
        let target = tempfile::tempdir().unwrap();
        let prepared = prepare(on_directory(KINDS, target.path(), &output)).unwrap();
        let path = target.path().to_owned();
        let mut observer = At::new(number, || {
            for entry in std::fs::read_dir(&path).unwrap() {
                std::fs::remove_dir_all(entry.unwrap().path()).unwrap();
            }
        });
        // Where even our own directory can't be made again, the run ends with an error of its own.
        if prepared.run(&mut observer).is_ok() || output.exists() {
            read(&output, &format!("vanished at event {number}"));
        }
        if !observer.came() {
            break;
        }
    }
}

#[test]
fn a_simulated_run_without_room_verifies() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("run.json");
    let asked = Request {
        output: Some(file_at(&output)),
        leave: Some(Bytes::ZERO),
        ..request(LIFE, small("ext4", "64MiB"), 1)
    };
    if run(asked.clone(), &mut Silent).is_ok() {
        read(&output, "64 MiB");
    }
}
