//! A simulated run follows from its scenario, its target and its seed, to the last byte; and it is a
//! run file like any other.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::sim_support::{LIFE, SHORT, Silent, request, run_file, small, target, valid};
use flashlag_runner::sim::profile_names;
use flashlag_runner::{Request, builtin, run};
use flashlag_schema::{Run, RunStatus};

const FILESYSTEMS: [&str; 10] = [
    "raw",
    "raw,discard,encrypt",
    "ext4",
    "ext4,discard,fuse",
    "ext4,nobarrier,encrypt",
    "f2fs",
    "f2fs,noipu,nodiscard",
    "f2fs,nobarrier,esdfs",
    "btrfs",
    "btrfs,nodatacow,discard,encrypt",
];

#[test]
fn a_run_made_again_is_the_same_file() {
    for filesystem in FILESYSTEMS {
        let made = || run_file(LIFE, small(filesystem, "512MiB"), 1);
        assert!(made() == made(), "{filesystem}: the same seed, another file");
    }
    for device in ["nexus7-2012", "moto-z-2016"] {
        let made = || run_file(SHORT, target(&format!("sim:{device}")), 1);
        assert!(made() == made(), "{device}: the same seed, another file");
    }
}

#[test]
fn a_run_without_an_account_of_its_waits_takes_the_same_times() {
    let places =
        ["nexus7-2012+f2fs,size=2GiB", "ufs31-phone+f2fs,size=3GiB", "emmc51-phone+ext4,size=4GiB"];
    let places = places.map(|place| target(&format!("sim:{place}")));
    let filesystems = FILESYSTEMS.map(|filesystem| small(filesystem, "512MiB"));
    for place in places.into_iter().chain(filesystems) {
        let measured = |waits| {
            let asked = Request { waits, ..request(LIFE, place.clone(), 1) };
            let mut run = run(asked, &mut Silent).unwrap();
            for phase in &mut run.phases {
                // Only these say what was waited for.
                phase.intervals.iter_mut().for_each(|interval| interval.waited.clear());
                phase.stalls.clear();
            }
            (run.phases, run.wear, run.simulated_ns)
        };
        assert!(measured(true) == measured(false), "{}", place.text);
    }
}

#[test]
fn another_seed_is_another_run() {
    // On a new device one random write is like the other: the seed shows in when they come.
    let arrivals = "time = \"2s\"\narrivals = { per_second = 50.0, schedule = \"poisson\" }";
    let scenario = SHORT.replace("time = \"200ms\"", arrivals);
    for device in profile_names() {
        // Compare the measurements: the recorded seed differs anyway.
        let measured = |seed| {
            let text = run_file(&scenario, target(&format!("sim:{device}")), seed);
            Run::from_json(&text).unwrap().phases
        };
        assert!(measured(1) == measured(1), "{device}");
        assert!(measured(1) != measured(2), "{device}: two seeds, one run");
    }
}

#[test]
fn a_life_is_lived_to_its_end_on_every_filesystem() {
    for filesystem in FILESYSTEMS {
        let run = Run::from_json(&run_file(LIFE, small(filesystem, "512MiB"), 3)).unwrap();
        assert_eq!(run.status, RunStatus::Complete, "{filesystem}");
        assert_eq!(run.skipped, [], "{filesystem}");
        // Five when new, the fill, four when filled, one, two.
        assert_eq!(run.phases.len(), 13, "{filesystem}");
        assert!(run.phases.iter().all(|phase| phase.ops > 0 && !phase.cut_short), "{filesystem}");
    }
}

/// `quick`, with an eighth of its time; with far less on the device that takes none, which does
/// tens of millions of operations a second.
fn quick(name: &str) -> String {
    let mut text = builtin("quick").unwrap().text().to_owned();
    let time = if name == "zero" { "time = \"20ms\"" } else { "time = \"1s\"" };
    let shorter = [
        ("time = \"8s\"", time),
        ("time = \"5s\"", time),
        ("time = \"6s\"", time),
        ("time = \"12s\"", time),
        ("min_ops = 1000", "min_ops = 100"),
        ("min_saves = 1000", "min_saves = 100"),
        ("\"200MB\"", "\"50MB\""),
        ("\"300MB\"", "\"50MB\""),
        ("\"4GB\"", "\"500MB\""),
    ];
    for (from, to) in shorter {
        assert!(text.contains(from), "quick has no {from} any more");
        text = text.replace(from, to);
    }
    text
}

fn quick_on(name: &str) -> String {
    run_file(&quick(name), target(&format!("sim:{name}")), 1)
}

#[test]
fn quick_completes_on_every_profile() {
    let mut names = 0;
    for name in profile_names() {
        let run = Run::from_json(&quick_on(name)).unwrap();
        assert_eq!(run.status, RunStatus::Complete, "{name}");
        assert_eq!(run.skipped, [], "{name}");
        assert_eq!(run.phases.len(), 7, "{name}");
        names += 1;
    }
    assert!(names >= 13, "{names}");
}

#[test]
fn run_files_of_every_profile_validate() {
    for filesystem in FILESYSTEMS {
        valid(&run_file(LIFE, small(filesystem, "512MiB"), 1), filesystem);
    }
    for name in profile_names() {
        valid(&quick_on(name), name);
    }
}
