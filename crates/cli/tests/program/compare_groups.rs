//! Runs before a change against runs after it, through the command line.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use flashlag_testing::sample::{SampleDevice, lifecycle_on};
use tempfile::TempDir;

/// Stores a run on one machine that waited as `waits_of` does.
fn store(path: &Path, waits_of: SampleDevice, repeat: u32) {
    let tablet = lifecycle_on(SampleDevice::Tablet, 0);
    let mut run = lifecycle_on(waits_of, repeat);
    (run.environment, run.target) = (tablet.environment, tablet.target);
    run.phases.retain(|phase| phase.label() == "new: rand_write_4k");
    fs::write(path, run.to_json()).unwrap();
}

fn scene() -> TempDir {
    let home = TempDir::new().unwrap();
    for number in 1..=3 {
        let path = |side: &str| home.path().join(format!("{side}-{number}.json"));
        store(&path("slow"), SampleDevice::Tablet, number);
        store(&path("fast"), SampleDevice::Phone, number + 3);
    }
    home
}

fn compare(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    command.arg("compare").args(arguments).current_dir(home).output().unwrap()
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn runs_after_a_change_are_put_against_those_before_it() {
    let home = scene();
    let fast = ["fast-1.json", "fast-2.json", "fast-3.json"];
    let against = ["--against", "slow-1.json", "slow-2.json", "slow-3.json"];
    let page = ["--report", "both.html"];
    let output = compare(home.path(), &[&fast[..], &against, &page].concat());
    let said = words(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output.stderr));
    assert!(
        said.contains("fast's durable writes are") && said.contains(" as fast as slow's ("),
        "{said}"
    );
    assert!(!said.contains("One run each") && !said.contains("--against"), "{said}");
    // The page names each file with its own side, which is not the order in which they are given.
    let page = fs::read_to_string(home.path().join("both.html")).unwrap();
    let at = |name: &str| page.find(name).unwrap_or_else(|| panic!("{name} is not in the page"));
    assert!(at("slow-1.json") < at("fast-1.json"));
}

#[test]
fn without_sides_each_run_of_one_machine_stands_alone_and_the_way_is_named() {
    let home = scene();
    let output = compare(home.path(), &["slow-1.json", "slow-2.json", "fast-1.json"]);
    let said = words(&output.stdout);
    assert!(said.contains("Tablet T (fast-1)") && said.contains("--against BEFORE"), "{said}");
}

#[test]
fn a_run_on_both_sides_is_refused() {
    let home = scene();
    let twice = ["fast-1.json", "./slow-1.json", "--against", "slow-1.json", "slow-2.json"];
    let output = compare(home.path(), &twice);
    let said = words(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("./slow-1.json is given twice, as slow-1.json too"), "{said}");
    let without_sides = compare(home.path(), &["slow-1.json", "slow-1.json"]);
    assert_eq!(without_sides.status.code(), Some(2));
    // A copy is no other run either.
    fs::copy(home.path().join("slow-1.json"), home.path().join("copy.json")).unwrap();
    let copy = compare(home.path(), &["slow-1.json", "slow-2.json", "copy.json"]);
    let said = words(&copy.stderr);
    assert_eq!(copy.status.code(), Some(2), "{said}");
    assert!(said.contains("run 1 (slow-1) and run 3 (copy) are the same run"), "{said}");
}
