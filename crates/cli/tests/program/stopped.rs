//! A run whose process is stopped now and then.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use flashlag_schema::{CheckId, CheckStatus, Run, StallCause};

const SCENARIO: &str = r#"
name = "stopped"
about = "Durable writes for two seconds."

[[io]]
name = "rand_write_4k"
operation = "write"
pattern = "random"
block = "4KiB"
span = "1MiB"
time = "2s"
durable = "fdatasync"

[[step]]
measure = ["rand_write_4k"]
state = "new"
"#;

/// Runs it, stopping it for `stops` every 300 ms where that is anything.
fn run(stops: Option<Duration>) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let (scenario, output) =
        (directory.path().join("stopped.toml"), directory.path().join("run.json"));
    std::fs::write(&scenario, SCENARIO).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_flashlag"))
        .arg("run")
        .arg(&scenario)
        .args(["-q", "--leave", "1MB", "-o"])
        .arg(&output)
        .arg("--on")
        .arg(directory.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let signal = |name: &str| {
        let id = child.id().to_string();
        Command::new("kill").args([name, &id]).stderr(Stdio::null()).status().unwrap();
    };
    if let Some(length) = stops {
        // For longer than it runs; a process that has ended is a zombie until it is waited for.
        for _ in 0..12 {
            std::thread::sleep(Duration::from_millis(200));
            signal("-STOP");
            std::thread::sleep(length);
            signal("-CONT");
        }
    }
    child.wait().unwrap();
    Run::from_json(&std::fs::read_to_string(output).unwrap()).unwrap()
}

/// Ends busy threads, also where a test panics beside them.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

fn never_stopped(run: &Run) -> CheckStatus {
    let check = run.trust.checks.iter().find(|check| check.id == CheckId::NeverStopped);
    check.unwrap().status
}

#[test]
fn a_stopped_process_is_no_slow_storage_and_a_busy_machine_is_no_stopped_process() {
    let stopped = run(Some(Duration::from_millis(150)));
    assert_eq!(flashlag_schema::verify::verify(&stopped), vec![]);
    if never_stopped(&stopped) == CheckStatus::Unknown {
        return flashlag_need::skip("the kernel keeps no scheduler statistics");
    }
    assert_eq!(never_stopped(&stopped), CheckStatus::Fail, "{:#?}", stopped.trust);
    let phase = &stopped.phases[0];
    let long = phase.stalls.iter().filter(|stall| stall.ns.as_millis_f64() >= 140.0);
    let by_stop = phase.stalls.iter().filter(|stall| stall.cause == StallCause::Stopped).count();
    assert!(by_stop >= 1, "{:#?}", phase.stalls);
    // What lasted as long as a stop was one, but for a wait of the storage's own.
    assert!(long.count() <= by_stop + 2, "{:#?}", phase.stalls);
    let time = phase.time.value().unwrap();
    assert!(time.stopped_ns > flashlag_units::Nanos::from_millis(100), "{time:?}");

    // The same with nobody who stops it, on a machine with twice as many busy threads as CPUs.
    let over = AtomicBool::new(false);
    let cpus = std::thread::available_parallelism().map_or(2, usize::from);
    let busy = std::thread::scope(|scope| {
        for _ in 0..2 * cpus {
            scope.spawn(|| {
                while !over.load(Relaxed) {
                    std::hint::spin_loop()
                }
            });
        }
        let _ends = Ends(&over);
        run(None)
    });
    assert_eq!(never_stopped(&busy), CheckStatus::Pass, "{:#?}", busy.trust);
}
