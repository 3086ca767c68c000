//! Tests as apps behave: fsync, think times, several statements in one transaction. In a simulation and
//! in a directory, with run files that `flashlag verify` accepts.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use crate::sim_support::{Silent, run_file, target, valid};
use flashlag_runner::{Request, RunFile, Target, run};
use flashlag_schema::{CheckId, CheckStatus, Phase, Run};
use flashlag_spec::scenario::{Durability, Scenario};
use flashlag_units::{Bytes, Nanos};

const APP: &str = r#"
name = "app"
about = "Saves and durable writes with rests between."

[[io]]
name = "rand_write_4k"
operation = "write"
pattern = "random"
block = "4KiB"
span = "1MiB"
bytes = "160KiB"
durable = "fsync"
think = "5ms"

[[io]]
name = "rand_read_4k"
operation = "read"
pattern = "random"
block = "4KiB"
span = "1MiB"
bytes = "160KiB"
queue_depth = 4
think = "5ms"

[[save]]
name = "save_{sync_call}"
journal = "wal"
sync_call = ["fdatasync", "fsync"]
statements = 10
saves = 40
rows = 100
think = "5ms"

[[step]]
measure = ["*"]
state = "new"
"#;

fn phase<'a>(run: &'a Run, name: &str) -> &'a Phase {
    run.phases.iter().find(|phase| phase.name == name).unwrap()
}

fn check(run: &Run, on: &str) {
    let rests = |count: u64| Nanos(Nanos::from_millis(5).0 * count);
    for (name, durable, thought) in [
        ("rand_write_4k", Durability::Fsync, rests(39)),
        ("rand_read_4k", Durability::None, rests(36)),
        ("save_fdatasync", Durability::Fdatasync, rests(39)),
        ("save_fsync", Durability::Fsync, rests(39)),
    ] {
        let phase = phase(run, name);
        assert_eq!((phase.ops, phase.durable), (40, durable), "{on} {name}");
        // On a real clock a rest may end late, and with several in flight beside another's call.
        assert!(phase.thought() >= thought, "{on} {name}");
        let exact = on.starts_with("sim:") && phase.in_flight() == 1;
        assert!(phase.thought() == thought || !exact, "{on} {name}: {}", phase.thought());
        let slots = u64::from(phase.in_flight());
        assert!(phase.elapsed_ns.0 * slots >= thought.0, "{on} {name}");
        assert!(phase.latency_ns.p50.unwrap() < phase.elapsed_ns, "{on} {name}");
    }
    assert_eq!(phase(run, "save_fsync").bytes, Bytes(40 * 10 * 100));
    let accounting = run.trust.checks.iter().find(|check| check.id == CheckId::Accounting).unwrap();
    assert_eq!(accounting.status, CheckStatus::Pass, "{on}: {}", accounting.detail);
}

#[test]
fn in_a_simulation() {
    for on in ["sim:nexus5-2013+ext4", "sim:nexus5-2013+f2fs", "sim:zero"] {
        check(&valid(&run_file(APP, target(on), 1), on), on);
    }
}

#[test]
fn in_a_directory() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("run.json");
    let scenario = Scenario::parse(APP, &[]).unwrap();
    let target = Target::Directory(folder.path().to_owned());
    let leave = Some(Bytes::from_mib(64));
    let file = Some(Arc::new(RunFile::new(&output, false).unwrap()));
    let request = Request { leave, output: file, ..Request::new(scenario, target, 1) };
    run(request, &mut Silent).unwrap();
    check(&valid(&std::fs::read_to_string(&output).unwrap(), "a directory"), "a directory");
}

/// The median of 4 KiB reads of a Pixel 4 with this rest between each two.
fn median_of_reads(think: &str) -> Nanos {
    let scenario = format!(
        "name = \"x\"\nabout = \"x\"\n[[io]]\nname = \"r\"\noperation = \"read\"\n\
         pattern = \"random\"\nblock = \"4KiB\"\nspan = \"1MiB\"\nbytes = \"400KiB\"\n\
         think = \"{think}\"\n[[step]]\nmeasure = [\"r\"]\nstate = \"new\"\n"
    );
    let run = valid(&run_file(&scenario, target("sim:pixel4-2019+f2fs"), 1), think);
    phase(&run, "r").latency_ns.p50.unwrap()
}

#[test]
fn a_device_falls_asleep_while_the_app_thinks() {
    let [at_once, asleep, gated] = ["0ms", "5ms", "200ms"].map(median_of_reads);
    let said = format!("{at_once}, {asleep}, {gated}");
    // The profile's levels: after 1 ms the link takes 0.455 ms to wake, after 50 ms the clocks 12.9 ms. A
    // CPU that was idle adds its own part to both.
    let within = |time: Nanos, from: u64, to: u64| (from..=to).contains(&(time.0 / 1_000));
    assert!(within(asleep.since(at_once), 455, 1_000), "{said}");
    assert!(within(gated.since(asleep), 12_445 - 100, 12_445 + 100), "{said}");
}

/// The Pixel 4's link sleeps after 1 ms and its clocks stop after 50 ms: what waking costs is in its profile.
#[test]
fn a_write_after_a_rest_takes_what_waking_the_device_takes_besides() {
    let wake = flashlag_runner::builtin("wake").unwrap().text();
    let target = target("pixel4-2019");
    let rests = target.profile.model().unwrap().host.rests;
    let run: Run = serde_json::from_str(&run_file(wake, target, 1)).unwrap();
    let median = |name: &str| {
        let phase = run.phases.iter().find(|phase| phase.name == name);
        phase.unwrap().latency_ns.p50.unwrap().0 as f64
    };
    let awake = median("rand_write_4k");
    for (name, rest) in [("1ms", 1), ("10ms", 10), ("100ms", 100), ("1s", 1000)] {
        let rested = Nanos::from_millis(rest);
        let sleeps = rests.iter().filter(|sleep| sleep.after.0 <= rested);
        let waking = sleeps.map(|sleep| sleep.wake.0.0).max().unwrap() as f64;
        let found = median(&format!("rand_write_4k_after_{name}")) - awake;
        assert!((found / waking - 1.0).abs() < 0.05, "after {name}: {found} for {waking} ns");
    }
}
