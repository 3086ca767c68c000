//! `--budget`: whatever writes, no more than that is written, and the run says where it ended by it.
//! One test in this file: it looks at what its own process wrote.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;

use flashlag_runner::{Event, Observer, Request, RunFile, Target};
use flashlag_schema::{Run, RunStatus};
use flashlag_spec::scenario::Scenario;
use flashlag_units::Bytes;

struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: Event<'_>) {}
}

const TESTS: &str = r#"
name = "budget"
about = "One kind of phase."

[[io]]
name = "beside"
operation = "write"
pattern = "sequential"
block = "64KiB"
span = "1MiB"
time = "10s"

[[io]]
name = "sequential"
operation = "write"
pattern = "sequential"
block = "64KiB"
span = "1MiB"
bytes = "64MiB"

[[io]]
name = "deep"
operation = "write"
pattern = "random"
block = "4KiB"
span = "1MiB"
queue_depth = 8
bytes = "64MiB"

[[io]]
name = "warm"
operation = "write"
pattern = "random"
block = "4KiB"
span = "1MiB"
warmup = "20s"
bytes = "64MiB"

[[io]]
name = "read"
operation = "read"
pattern = "sequential"
block = "64KiB"
span = "1MiB"
time = "300ms"
background = "beside"

[[save]]
name = "save_wal"
statement = "insert"
journal = "wal"
rows = 200
saves = 100000

[[save]]
name = "save_delete"
statement = "delete"
journal = "delete"
synchronous = "normal"
rows = 200
saves = 100000
databases = 2

[[save]]
name = "save_busy"
statement = "update"
journal = "truncate"
synchronous = "normal"
rows = 200
saves = 100000
background = "beside"

[[step]]
"#;

const KINDS: [&str; 8] = [
    r#"measure = ["sequential"]"#,
    r#"measure = ["deep"]"#,
    r#"measure = ["warm"]"#,
    r#"measure = ["read"]"#,
    r#"measure = ["save_wal"]"#,
    r#"measure = ["save_delete"]"#,
    r#"measure = ["save_busy"]"#,
    r#"fill = "sequential""#,
];

fn run(kind: &str, budget: Bytes, directory: &Path) -> Run {
    let state = if kind.starts_with("measure") { "\nstate = \"new\"\n" } else { "\n" };
    let folder = tempfile::tempdir().unwrap();
    let output = RunFile::new(&folder.path().join("run.json"), false).unwrap();
    let request = Request {
        leave: Some(Bytes::from_mib(1)),
        budget: Some(budget),
        output: Some(Arc::new(output)),
        ..Request::new(
            Scenario::parse(&format!("{TESTS}{kind}{state}"), &[]).unwrap(),
            Target::Directory(directory.to_owned()),
            1,
        )
    };
    flashlag_runner::run(request, &mut Silent).unwrap()
}

/// What this process has handed to write calls.
fn written() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or_default()
}

#[test]
fn no_kind_of_phase_writes_more_than_the_budget_and_each_says_that_it_ended_by_it() {
    // Run files and our own marks, which are no part of the run's writes.
    const BESIDE: u64 = 2_000_000;
    let directory = tempfile::tempdir().unwrap();
    for kind in KINDS {
        for budget in [2_100_000, 6_543_210].map(Bytes) {
            let before = written();
            let run = run(kind, budget, directory.path());
            let wrote = written() - before;
            let case = format!("{kind} within {budget}");
            assert_eq!(flashlag_schema::verify::verify(&run), vec![], "{case}");
            assert!(run.wear.written_bytes <= budget, "{case}: {}", run.wear.written_bytes);
            assert!(wrote <= budget.0 + BESIDE, "{case}: {wrote} B in write calls");
            // What is counted is what was written, but for what SQLite writes by other means.
            assert!(run.wear.written_bytes.0 + BESIDE >= wrote, "{case}: {wrote} B");
            assert_eq!(run.status, RunStatus::Complete, "{case}");
            let notes = run.phases.iter().flat_map(|phase| &phase.notes);
            let skipped = run.skipped.iter().map(|skipped| &skipped.reason);
            let said = notes.chain(skipped).filter(|text| text.contains("--budget")).count();
            // A reader beside a writer may be done before the budget is.
            assert!(said > 0 || kind.contains("read"), "{case}: {:?}", run.skipped);
        }
    }
}
