//! A run on a virtual device that soon collects garbage: what its stalls name, and how that is known.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::program::flashlag;

/// A small device that erases slowly, and durable writes on it once it is full.
const PROFILE: &str = include_str!("collects.toml");
const SCENARIO: &str = include_str!("full.toml");

/// Arguments of such a run in `folder`, where its profile and its scenario are written.
pub fn arguments(folder: &Path, options: &str) -> Vec<String> {
    let (profile, scenario) = (folder.join("collects.toml"), folder.join("full.toml"));
    std::fs::write(&profile, PROFILE).unwrap();
    std::fs::write(&scenario, SCENARIO).unwrap();
    let target = format!("lab:{}+ext4,{options}state=full,fill-time-scale=50", profile.display());
    let scenario = scenario.display().to_string();
    let more = ["--set", "time=15s", "--leave", "4MB"].map(str::to_owned);
    [scenario, "--on".to_owned(), target].into_iter().chain(more).collect()
}

/// Asserts that the device reported what most stalls of the test waited for: collection.
#[track_caller]
pub fn assert_reported(file: &Path, said: &str) {
    let run: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(run["status"]["kind"], "complete", "{said}");
    let phases = run["phases"].as_array().unwrap();
    let durable = phases.iter().find(|phase| phase["name"] == "durable").unwrap();
    let none = Vec::new();
    let stalls = durable["stalls"].as_array().unwrap_or(&none);
    let reported = |stall: &&Value| stall["cause_basis"] == "reported";
    let collected = |stall: &&Value| stall["cause"] == "garbage_collection";
    let named: Vec<&Value> = stalls.iter().filter(reported).collect();
    assert!(!named.is_empty(), "no stall is explained: {} of {stalls:?}", durable["stalls_seen"]);
    // A busy machine has stalls of its own.
    let collections = named.iter().copied().filter(collected).count();
    assert!(collections * 2 > named.len(), "{named:?}");
    for stall in &named {
        let parts = stall["waited"].as_array().unwrap();
        let sum: u64 = parts.iter().map(|part| part["ns"].as_u64().unwrap()).sum();
        assert_eq!(sum, stall["ns"].as_u64().unwrap(), "{stall}");
    }
    let verified = Command::new(flashlag()).arg("verify").arg(file).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
    // The views say how that is known.
    let text = ["report", "--format", "text", "-v"];
    let shown = Command::new(flashlag()).args(text).arg(file).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("reported by the device"), "{shown}");
}
