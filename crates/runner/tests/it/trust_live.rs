//! The checks on this machine: what they find in a run beside busy loops, and in one in memory.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flashlag_runner::{Event, Observer, Request, RunFile, Target, run};
use flashlag_schema::{Check, CheckId, CheckStatus, Run};
use flashlag_spec::Verdict;
use flashlag_spec::scenario::Scenario;
use flashlag_units::Bytes;

struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: Event<'_>) {}
}

const SCENARIO: &str = r#"
name = "short"
about = "Durable writes for a second and a half."

[[io]]
name = "rand_write_4k"
operation = "write"
pattern = "random"
block = "4KiB"
span = "8MiB"
time = "1500ms"
durable = "fdatasync"

[[step]]
measure = ["rand_write_4k"]
state = "new"
"#;

fn run_in(directory: &Path) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let output = RunFile::new(&folder.path().join("run.json"), false).unwrap();
    let request = Request {
        leave: Some(Bytes::from_mib(1)),
        output: Some(Arc::new(output)),
        ..Request::new(
            Scenario::parse(SCENARIO, &[]).unwrap(),
            Target::Directory(directory.to_owned()),
            1,
        )
    };
    run(request, &mut Silent).unwrap()
}

fn check(run: &Run, id: CheckId) -> &Check {
    run.trust.checks.iter().find(|check| check.id == id).unwrap()
}

/// Three busy loops for each CPU, for as long as it lives.
struct BusyLoops {
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl BusyLoops {
    fn start() -> BusyLoops {
        let stop = Arc::new(AtomicBool::new(false));
        let cpus = std::thread::available_parallelism().map_or(2, usize::from);
        let threads = (0..3 * cpus).map(|_| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::black_box(0u64);
                }
            })
        });
        let threads = threads.collect();
        BusyLoops { stop, threads }
    }
}

impl Drop for BusyLoops {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}

#[test]
fn beside_three_busy_loops_a_cpu_the_cpu_is_named_as_the_cause() {
    let directory = tempfile::tempdir().unwrap();
    let busy = BusyLoops::start();
    let run = run_in(directory.path());
    drop(busy);
    let found = check(&run, CheckId::CpuContention);
    assert_eq!(found.status, CheckStatus::Fail, "{:#?}\n{:#?}", run.trust, run.phases[0].time);
    // By how much of the time it was, or of the slowest operations'.
    let time = run.phases[0].time.value().unwrap();
    let most =
        time.runnable_ns.0 * 2 > time.total().0 || found.detail.contains("slowest operations");
    let words = if most { "The CPU was the cause" } else { "The CPU added to these waits" };
    assert!(found.detail.contains(words), "{}", found.detail);
    assert_eq!(found.phases, ["new: rand_write_4k"]);
    assert_eq!(run.trust.verdict, Verdict::Untrusted);
    eprintln!("{}", found.detail);
}

#[test]
fn memory_is_not_taken_for_storage() {
    let Ok(directory) = tempfile::tempdir_in("/dev/shm") else {
        return flashlag_need::skip("no /dev/shm to write to");
    };
    let run = run_in(directory.path());
    if run.environment.filesystem.kind.value().is_none_or(|kind| kind != "tmpfs") {
        return flashlag_need::skip("/dev/shm is no tmpfs");
    }
    for id in [CheckId::CacheBypass, CheckId::FlushIsReal] {
        let found = check(&run, id);
        assert_eq!(found.status, CheckStatus::Fail, "{found:?}");
        assert!(found.advice.is_some());
    }
}
