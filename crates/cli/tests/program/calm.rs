//! "Nothing to change" is said of a run only where its own buckets show that saves and durable writes are in
//! time: worked out here from the JSON of the file, without the crates that judge.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use flashlag_schema::{Run, RunStatus};
use serde_json::Value;
use tempfile::TempDir;

const DEVICES: [&str; 3] = ["sim:nexus7-2012", "sim:pixel4-2019+f2fs", "sim:ufs40-phone+ext4"];

/// A test of each kind that a person waits for or not.
const TESTS: [(&str, &str); 4] = [
    ("save_wal", "[[save]]\nname = \"save_wal\"\njournal = \"wal\"\nrows = 100\nsaves = 300\n"),
    (
        "save_delete",
        "[[save]]\nname = \"save_delete\"\njournal = \"delete\"\nrows = 100\nsaves = 300\n",
    ),
    (
        "writes",
        "[[io]]\nname = \"writes\"\noperation = \"write\"\npattern = \"random\"\nblock = \"4KiB\"\nspan = \"8MiB\"\nbytes = \"2MiB\"\ndurable = \"fdatasync\"\n",
    ),
    (
        "reads",
        "[[io]]\nname = \"reads\"\noperation = \"read\"\npattern = \"random\"\nblock = \"4KiB\"\nspan = \"8MiB\"\nbytes = \"2MiB\"\n",
    ),
];

fn flashlag(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_flashlag")).args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// A trace of transactions through a rollback journal, a tenth of a second apart.
fn trace() -> String {
    let mut text = String::new();
    let mut at = 1_700_000_000_000_000_u64;
    let mut line = |call: &str| {
        at += 5_000;
        writeln!(text, "7 {}.{:06} {call} <0.000100>", at / 1_000_000, at % 1_000_000).unwrap();
    };
    line("openat(AT_FDCWD, \"/data/a.db\", O_RDWR|O_CREAT, 0600) = 3");
    for _ in 0..40 {
        line("openat(AT_FDCWD, \"/data/a.db-journal\", O_RDWR|O_CREAT, 0600) = 4");
        line("pwrite64(4, \"\"..., 512, 0) = 512");
        line("fdatasync(4) = 0");
        line("pwrite64(3, \"\"..., 4096, 0) = 4096");
        line("fdatasync(3) = 0");
        line("close(4) = 0");
        line("unlink(\"/data/a.db-journal\") = 0");
    }
    text
}

/// The longest wait of a bucket: below 128 ns the bucket's number, then 64 for each power of two.
fn end_of(bucket: u64) -> f64 {
    match bucket {
        0..128 => bucket as f64,
        _ => ((64 + bucket % 64 + 1) as f64) * 2f64.powi((bucket / 64) as i32 - 1),
    }
}

/// Whether fewer than 1 % take longer than a frame, and the 99.9th of a hundred is below a tenth of a second.
fn in_time(phase: &Value) -> bool {
    let stored = phase.get("response_histogram").unwrap_or(&phase["histogram"]);
    let list = |key: &str| stored[key].as_array().unwrap().iter().map(|n| n.as_u64().unwrap());
    let waits: Vec<(f64, u64)> = list("index").map(end_of).zip(list("count")).collect();
    let over = |limit: f64| -> u64 { waits.iter().filter(|w| w.0 > limit).map(|w| w.1).sum() };
    let all = over(-1.0);
    over(1e9 / 60.0) * 100 < all && over(0.1e9) * 1000 < all.max(1000)
}

/// Whether a run file says that nothing lags.
fn is_calm(run: &Value) -> bool {
    let phases = run["phases"].as_array().unwrap();
    let felt: Vec<&Value> = phases
        .iter()
        .filter(|phase| {
            let durable = phase["durable"] != "none" && phase["operation"] == "random_write";
            phase["operation"] == "save" || durable
        })
        .collect();
    let checks = run["trust"]["checks"].as_array().unwrap();
    let doubted = checks.iter().any(|check| check["status"] == "fail");
    let complete = run["status"]["kind"] == "complete";
    complete && !doubted && !felt.is_empty() && felt.iter().all(|phase| in_time(phase))
}

/// Whether the page says that there is nothing to change, which it must where the run is calm and nothing was
/// found; and whether the run is calm.
fn judged(file: &Path) -> (bool, bool) {
    let name = file.to_str().unwrap();
    let page = flashlag(&["explain", name, "--no-forecast"]);
    let said = page.lines().any(|line| line.starts_with("Nothing to change"));
    let run: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let json: Value =
        serde_json::from_str(&flashlag(&["explain", name, "--no-forecast", "--json"])).unwrap();
    let found = json["findings"].as_array().unwrap();
    let changes =
        found.iter().any(|one| one["severity"] == "danger" || one["severity"] == "costly");
    let calm = is_calm(&run);
    assert_eq!(said, calm && !changes, "{name}: calm {calm}, changes {changes}:\n{page}");
    (said, calm)
}

#[test]
fn nothing_to_change_is_said_of_calm_runs_alone() {
    let home = TempDir::new().unwrap();
    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("trace.strace"), trace()).unwrap();
    let mut all = Vec::new();
    for (n, device) in DEVICES.into_iter().enumerate() {
        for (name, test) in TESTS {
            let scenario = path(&format!("{name}.toml"));
            let text = format!(
                "name = \"calm\"\nabout = \"One test.\"\n\n{test}\n[[step]]\nmeasure = [\"{name}\"]\nstate = \"new\"\n"
            );
            std::fs::write(&scenario, text).unwrap();
            let file = path(&format!("{name}{n}.json"));
            flashlag(&["-q", "run", &scenario, "--on", device, "-o", &file]);
            all.push((name, judged(Path::new(&file))));
        }
        let (set, file) =
            (format!("trace={}", path("trace.strace")), path(&format!("replay{n}.json")));
        flashlag(&["-q", "run", "app", "--set", &set, "--on", device, "-o", &file]);
        all.push(("replay", judged(Path::new(&file))));
    }
    assert!(all.iter().any(|(_, (said, _))| *said), "no calm run: {all:?}");
    assert!(all.iter().any(|(_, (_, calm))| !calm), "no run that lags: {all:?}");
    assert!(all.iter().all(|(name, (said, _))| *name != "reads" || !said), "{all:?}");
}

#[test]
fn nothing_to_change_is_not_said_of_a_run_that_ended_early() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("run.json");
    let name = file.to_str().unwrap();
    let scenario = home.path().join("one.toml");
    let text = format!(
        "name = \"calm\"\nabout = \"One test.\"\n\n{}\n[[step]]\nmeasure = [\"save_wal\"]\nstate = \"new\"\n",
        TESTS[0].1
    );
    std::fs::write(&scenario, text).unwrap();
    flashlag(&["-q", "run", scenario.to_str().unwrap(), "--on", DEVICES[2], "-o", name]);
    assert_eq!(judged(&file), (true, true), "a premise");
    let mut run = Run::from_json(&std::fs::read_to_string(&file).unwrap()).unwrap();
    run.status = RunStatus::Interrupted { next_step: 1 };
    run.seal();
    std::fs::write(&file, run.to_json()).unwrap();
    assert_eq!(judged(&file), (false, false));
}
