//! The profiles that come with flashlag: each makes a model, each parameter says what it rests on,
//! and each check can be run.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use flashlag_spec::profile::Profile;
use flashlag_spec::published::Published;
use flashlag_spec::scenario::{Scenario, Step, Test};

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// Name and text of each TOML file in a folder, by name.
fn files(name: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = fs::read_dir(folder(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| {
            let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (stem, fs::read_to_string(&path).unwrap())
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{name}");
    files
}

fn profiles() -> Vec<Profile> {
    let read = |(name, text): (String, String)| {
        let profile = Profile::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(profile.name, name, "a profile is found by its file's name");
        profile
    };
    files("profiles").into_iter().map(read).collect()
}

/// Device, condition and workload of each published row that profiles are checked against.
fn published() -> BTreeSet<[String; 3]> {
    let key = |row: &Published| [&row.device, &row.condition, &row.workload].map(Clone::clone);
    flashlag_spec::published::checked().iter().map(key).collect()
}

/// The `state/run` that a published condition stands for by its name.
fn usual(condition: &str) -> Option<String> {
    let run = |prefix: &str, state: &str| {
        condition.strip_prefix(prefix).map(|run| format!("{state}/{run}"))
    };
    match condition {
        "new" => Some("new/1".to_owned()),
        "after-24h-idle-with-fstrim" => Some("idle/1".to_owned()),
        _ => run("filled-run-", "filled").or_else(|| run("after-delete-run-", "deleted")),
    }
}

/// The names that a test has in a run's file: a mixed one has two.
fn names_of(scenario: &Scenario, test: &str) -> Vec<String> {
    let mixed = matches!(scenario.tests.get(test), Some(Test::Io(io)) if io.read_percent.is_some());
    if mixed {
        vec![format!("{test}_read"), format!("{test}_write")]
    } else {
        vec![test.to_owned()]
    }
}

/// `state/run/test` of all that a scenario measures, a state's runs counted on.
fn measured(scenario: &Scenario) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for step in &scenario.steps {
        if let Step::Measure { tests, state, repeat } = step {
            let state = serde_json::to_value(state).unwrap();
            let state = state.as_str().unwrap();
            for test in tests.iter().flat_map(|test| names_of(scenario, test)) {
                let labels = (1..=*repeat).map(|run| format!("{state}/{run}/{test}"));
                all.extend(labels);
            }
        }
    }
    all
}

fn scenario(name: &str) -> String {
    let protocol = folder("profiles/protocols").join(format!("{name}.toml"));
    let builtin = folder("scenarios").join(format!("{name}.toml"));
    fs::read_to_string(protocol)
        .or_else(|_| fs::read_to_string(builtin))
        .unwrap_or_else(|error| panic!("no scenario {name}: {error}"))
}

#[test]
fn every_parameter_says_what_it_rests_on() {
    for profile in profiles() {
        for (key, parameter) in &profile.parameters {
            let name = format!("{}: {key}", profile.name);
            assert!(!parameter.source.trim().is_empty(), "{name} has no source");
            if let Some(range) = &parameter.range {
                let bounds = parameter.bounds();
                let (low, high) = bounds.unwrap_or_else(|| panic!("{name}: {range:?}"));
                let value = parameter.number().unwrap_or_else(|| panic!("{name} is no number"));
                assert!(low < high && (low..=high).contains(&value), "{name} is out of range");
            }
            // A switch has two values and no range.
            if !parameter.fitted.is_empty() && parameter.number().is_some() {
                assert!(parameter.range.is_some(), "{name} is fitted and has no range");
            }
        }
    }
}

/// The words before "(README)" or ", README": short names of sources.
fn abbreviated(source: &str) -> impl Iterator<Item = &str> {
    let ends = source.match_indices("README").map(|(at, _)| at);
    ends.filter_map(|at| {
        let before = source[..at].trim_end_matches(['(', ' ', ',']);
        before.rsplit([' ', '(']).next()
    })
}

#[test]
fn sources_that_are_abbreviated_stand_in_the_readme() {
    let readme = fs::read_to_string(folder("profiles").join("README.md")).unwrap();
    let mut found = 0;
    for profile in profiles() {
        for (key, parameter) in &profile.parameters {
            for short in abbreviated(&parameter.source) {
                let entry = format!("- **{short}**");
                assert!(readme.contains(&entry), "{}: {key}: no {short} in README", profile.name);
                found += 1;
            }
        }
    }
    assert!(found > 0);
}

#[test]
fn every_check_names_rows_that_were_published_and_tests_that_are_run() {
    let published = published();
    for profile in profiles() {
        for check in &profile.checks {
            let name = format!("{}: {}", profile.name, check.scenario);
            let set: Vec<(String, String)> =
                check.settings.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
            let scenario = Scenario::parse(&scenario(&check.scenario), &set)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let measured = measured(&scenario);
            let mut rows = 0;
            for [_, condition, workload] in published.iter().filter(|row| row[0] == check.device) {
                let place = match check.conditions.get(condition) {
                    Some(place) => Some(place.clone()),
                    None if check.conditions.is_empty() => usual(condition),
                    None => None,
                };
                let Some(place) = place else { continue };
                let test = check.workloads.get(workload).unwrap_or(workload);
                let label = format!("{place}/{test}");
                assert!(measured.contains(&label), "{name} does not measure {label}");
                rows += 1;
            }
            assert!(rows > 0, "{name}: no published row of {}", check.device);
            let known = |condition: &String| {
                published.iter().any(|row| row[0] == check.device && row[1] == *condition)
            };
            assert!(check.conditions.keys().all(known), "{name}: a condition is not published");
        }
    }
}

#[test]
fn parameters_are_fitted_to_rows_that_are_checked() {
    for profile in profiles() {
        let mut measurable = BTreeSet::new();
        for check in &profile.checks {
            let scenario = Scenario::parse(&scenario(&check.scenario), &[]).unwrap();
            for label in measured(&scenario) {
                let (state, rest) = label.split_once('/').unwrap();
                let (_, test) = rest.split_once('/').unwrap();
                measurable.insert(format!("{state}/{test}"));
            }
        }
        for (key, parameter) in &profile.parameters {
            for row in &parameter.fitted {
                assert!(measurable.contains(row), "{}: {key}: {row}", profile.name);
            }
        }
    }
}

#[test]
fn every_protocol_lists_what_it_assumes() {
    for (name, text) in files("profiles/protocols") {
        let scenario =
            Scenario::parse(&text, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(scenario.name, name);
        assert!(!scenario.assumptions.is_empty(), "{name} assumes nothing");
    }
}
