//! Mixed tests and tests in several threads, from the scenario to the run file: on this machine and on
//! simulated devices.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::sim_support::{Silent, StopsAfter, run_file, small, target, valid};
use flashlag_runner::{Observer, Request, Target, builtin, prepare, run};
use flashlag_schema::verify::{verify, verify_text};
use flashlag_schema::{CheckId, CheckStatus, Phase, Run, RunStatus};
use flashlag_spec::Operation;
use flashlag_spec::scenario::{Durability, Scenario};
use flashlag_units::Bytes;

/// Each of the two in both engines, with and without a schedule.
const SCENARIO: &str = r#"
name = "mixtures"

[[io]]
name = "one"
operation = "mixed"
read_percent = 70
pattern = "random"
block = "4KiB"
span = "8MiB"
bytes = "4MiB"
time = "20s"
durable = "fdatasync"

[[io]]
name = "deep"
operation = "mixed"
read_percent = 50
pattern = "random"
block = "4KiB"
span = "8MiB"
bytes = "8MiB"
time = "20s"
queue_depth = 8
threads = 3

[[io]]
name = "paced"
operation = "mixed"
read_percent = 30
pattern = "sequential"
block = "4KiB"
span = "8MiB"
time = "400ms"
threads = 2
arrivals = { per_second = 500.0, schedule = "poisson" }

[[io]]
name = "writers"
operation = "write"
pattern = "random"
block = "4KiB"
span = "8MiB"
bytes = "4MiB"
time = "20s"
threads = 4

[[io]]
name = "readers"
operation = "read"
pattern = "sequential"
block = "64KiB"
span = "8MiB"
bytes = "16MiB"
time = "20s"
queue_depth = 4
threads = 2
thread_spans = "shared"

[[step]]
measure = ["*"]
state = "new"
"#;

fn request(scenario: &str, directory: &Path, output: &Path) -> Request {
    Request {
        leave: Some(Bytes::from_mib(1)),
        verify: true,
        output: Some(Arc::new(flashlag_runner::RunFile::new(output, true).unwrap())),
        ..Request::new(
            Scenario::parse(scenario, &[]).unwrap(),
            Target::Directory(directory.to_owned()),
            1,
        )
    }
}

fn measured(scenario: &str, change: impl FnOnce(&mut Request), observer: &mut dyn Observer) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("run.json");
    let mut request = request(scenario, directory.path(), &output);
    change(&mut request);
    let run = run(request, observer).unwrap();
    assert_eq!(verify_text(&std::fs::read_to_string(&output).unwrap()).unwrap(), []);
    run
}

fn phase<'a>(run: &'a Run, name: &str) -> &'a Phase {
    run.phases.iter().find(|phase| phase.name == name).unwrap_or_else(|| panic!("no {name}"))
}

const NAMES: [&str; 8] = [
    "one_read",
    "one_write",
    "deep_read",
    "deep_write",
    "paced_read",
    "paced_write",
    "writers",
    "readers",
];

/// What holds of the run wherever it was made.
fn check(run: &Run) {
    assert_eq!(run.status, RunStatus::Complete, "{:?}", run.status);
    let names: Vec<&str> = run.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, NAMES);
    let ops = |name: &str| phase(run, name).ops;
    assert_eq!(ops("one_read") + ops("one_write"), 1024);
    assert_eq!(ops("deep_read") + ops("deep_write"), 2048);
    // Five standard deviations.
    assert!(ops("one_read").abs_diff(717) < 75, "{}", ops("one_read"));
    assert!(ops("deep_read").abs_diff(1024) < 115, "{}", ops("deep_read"));
    assert_eq!((ops("writers"), ops("readers")), (1024, 256));
    let one = phase(run, "one_write");
    assert_eq!((one.durable, one.operation), (Durability::Fdatasync, Operation::RandomWrite));
    assert_eq!(phase(run, "one_read").durable, Durability::None);
    assert_eq!(one.background.as_deref(), Some("one_read"));
    assert!(!one.is_durable_write(), "half of a mixed test is not the headline test");
    assert_eq!((phase(run, "deep_read").in_flight(), phase(run, "writers").threads), (24, 4));
    for half in ["paced_read", "paced_write"] {
        let half = phase(run, half);
        assert!(half.response_ns.is_some() && half.missed_slots.is_some());
        assert_eq!(half.operation == Operation::SequentialRead, half.name == "paced_read");
    }
    let accounting = run.trust.checks.iter().find(|check| check.id == CheckId::Accounting);
    assert_eq!(accounting.unwrap().status, CheckStatus::Pass, "{:?}", run.trust);
}

#[test]
fn mixed_tests_and_threads_are_measured_on_real_files_and_every_byte_is_proved() {
    let run = measured(SCENARIO, |_| {}, &mut Silent);
    check(&run);
    let proved = run.trust.checks.iter().find(|check| check.id == CheckId::DataVerified).unwrap();
    assert_eq!(proved.status, CheckStatus::Pass, "{proved:?}");
    let time = phase(&run, "writers").time.value().copied();
    if let Some(time) = time {
        // The sum over four threads: about four times the elapsed time.
        let sum = time.on_cpu_ns.plus(time.runnable_ns).plus(time.blocked_ns);
        let share = sum.0 as f64 / phase(&run, "writers").elapsed_ns.0 as f64;
        assert!((2.0..4.1).contains(&share), "{share}");
    }
    // What was written: the files under test, and the writes among the operations.
    let writes = run
        .phases
        .iter()
        .filter(|p| !matches!(p.operation, Operation::RandomRead | Operation::SequentialRead));
    let writes: u64 = writes.map(|phase| phase.bytes.0).sum();
    assert_eq!(run.wear.written_bytes, Bytes((8 << 20) + writes));
}

#[test]
fn mixed_tests_and_threads_are_simulated_and_the_same_seed_is_the_same_file() {
    for filesystem in ["ext4", "f2fs", "btrfs", "raw"] {
        let file = |seed| run_file(SCENARIO, small(filesystem, "256MiB"), seed);
        let text = file(1);
        assert!(text == file(1), "{filesystem}");
        assert!(text != file(2), "{filesystem}");
        check(&valid(&text, filesystem));
    }
    let phones = run_file(SCENARIO, target("sim:nexus5-2013"), 1);
    check(&valid(&phones, "nexus5-2013"));
}

#[test]
fn stopping_in_several_threads_keeps_what_was_done_and_the_run_goes_on_later() {
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    let mut stops = StopsAfter { phases: 3, stop };
    let run = measured(SCENARIO, move |request| request.stop = seen, &mut stops);
    assert_eq!(run.status, RunStatus::Interrupted { next_step: 2 });
    assert_eq!(run.phases.len(), 4, "both halves of the second test are there");
    let run = measured(SCENARIO, |request| request.resume = Some(Box::new(run)), &mut Silent);
    check(&run);
}

#[test]
fn verify_finds_a_mixed_half_that_was_changed() {
    let text = run_file(SCENARIO, small("ext4", "256MiB"), 1);
    let run = Run::from_json(&text).unwrap();
    let found = |change: &dyn Fn(&mut Run)| {
        let mut changed = run.clone();
        change(&mut changed);
        changed.seal();
        verify(&changed).into_iter().map(|one| one.path).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found(&|_| {}), "");
    assert!(found(&|run| drop(run.phases.remove(1))).contains("phases[0].mixed"));
    let other = found(&|run| run.phases[1].mixed.as_mut().unwrap().read_percent = 60);
    assert!(other.contains("phases[0].mixed") && other.contains("phases[1].mixed"), "{other}");
    let share = found(&|run| {
        for phase in &mut run.phases[..2] {
            phase.mixed.as_mut().unwrap().read_percent = 30;
        }
    });
    assert_eq!(share, "phases[0].ops");
    let threads = found(&|run| run.phases[2].threads = 1);
    assert!(threads.contains("phases[2].threads"), "{threads}");
}

#[test]
fn the_scenario_disk_completes_on_a_simulated_card_and_gives_reads_and_writes_of_each_shape() {
    let mut text = builtin("disk").unwrap().text().to_owned();
    for (from, to) in [("\"2GB\"", "\"64MB\""), ("\"10s\"", "\"500ms\""), ("\"30s\"", "\"500ms\"")]
    {
        assert!(text.contains(from), "disk has no {from} any more");
        text = text.replace(from, to);
    }
    for device in ["sim:sd-a1", "sim:ufs31-phone"] {
        let run = valid(&run_file(&text, target(device), 1), device);
        assert_eq!(run.phases.len(), 10, "{device}");
        assert!(run.phases.iter().all(|phase| phase.ops > 0), "{device}");
        assert_eq!(phase(&run, "rand_read_4k_q32").in_flight(), 128);
    }
}

#[test]
fn what_disk_writes_is_what_it_estimates_at_most_and_not_much_less() {
    let mut text = builtin("disk").unwrap().text().to_owned();
    let smaller = [
        ("\"2GB\"", "\"16MB\""),
        ("bytes = \"8GB\"", "bytes = \"8MB\""),
        ("random_bytes = \"4GB\"", "random_bytes = \"2MB\""),
        ("\"10s\"", "\"50ms\""),
    ];
    for (from, to) in smaller {
        assert!(text.contains(from), "disk has no {from} any more");
        text = text.replace(from, to);
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("run.json");
    let mut request = request(&text, directory.path(), &output);
    request.verify = false;
    let prepared = prepare(request).unwrap();
    let estimated = prepared.cost().unwrap().estimate.written;
    let run = prepared.run(&mut Silent).unwrap();
    assert_eq!(run.status, RunStatus::Complete);
    let written = run.wear.written_bytes;
    assert!(written <= estimated, "{written} of {estimated}");
    assert!(written.0 as f64 > 0.95 * estimated.0 as f64, "{written} of {estimated}");
}
