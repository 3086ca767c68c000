//! The project's own profiles: each row that a check names is one that its protocol measures.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::ClosedForm;
use flashlag_predict::check::{CheckOptions, check};
use flashlag_spec::profile::Profile;
use flashlag_spec::published::Published;
use flashlag_term::{Style, predict as draw};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn scenario(name: &str) -> Option<String> {
    ["profiles/protocols", "scenarios"].iter().find_map(|folder| {
        fs::read_to_string(root().join(folder).join(name.to_owned() + ".toml")).ok()
    })
}

fn published() -> Vec<Published> {
    flashlag_spec::published::checked().to_vec()
}

#[test]
fn every_row_of_every_profile_is_measured_by_its_protocol() {
    let published = published();
    let options = CheckOptions { seeds: vec![1, 2, 3], sensitivity: false };
    let mut used = Vec::new();
    let mut checked = 0;
    for entry in fs::read_dir(root().join("profiles")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|kind| kind != "toml") {
            continue;
        }
        let profile = Profile::parse(&fs::read_to_string(&path).unwrap()).unwrap();
        if profile.checks.is_empty() {
            continue;
        }
        // As many operations as a p99.9 needs.
        let simulator = ClosedForm { scatter: 0.05, ops: 12_000, ..ClosedForm::default() };
        let report = check(&profile, &published, &scenario, &simulator, &options).unwrap();
        assert!(!report.cells.is_empty(), "{}", profile.name);
        for cell in &report.cells {
            let row = &cell.published;
            let label = format!("{}: {} {}", profile.name, row.condition, row.workload);
            assert!(cell.simulated.is_ok(), "{label}: {:?}", cell.simulated);
            used.push(row.clone());
        }
        let text = draw::check(&report, Style::PLAIN);
        for line in text.lines() {
            assert!(line.chars().count() <= 80 && !line.ends_with('…'), "{line}");
        }
        let to_none: Vec<&str> = report
            .fitted
            .iter()
            .filter(|one| !report.cells.iter().any(|cell| cell.fitted.contains(&one.key)))
            .map(|one| one.key.as_str())
            .collect();
        assert!(
            to_none.is_empty(),
            "{}: fitted to rows that are no check's: {to_none:?}",
            profile.name
        );
        checked += 1;
    }
    assert!(checked >= 10, "{checked} profiles");
    for row in &published {
        assert!(
            used.contains(row),
            "no check has {} {} {}",
            row.device,
            row.condition,
            row.workload
        );
    }
}
