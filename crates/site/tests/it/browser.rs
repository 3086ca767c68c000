//! Sites as headless Chromium uses them, from a `file://` address. What is done is in
//! `scripts/site_check.py`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

use flashlag_site::{Options, write_site};
use flashlag_store::{Entry, Standing, find_copies, read_folder};
use flashlag_testing::sample;

const CHECK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/site_check.py");

fn check(site: &Path, options: &[&str]) {
    flashlag_need::passes(Command::new("python3").arg(CHECK).arg(site).args(options));
}

/// Entries of the sample runs, one of them hostile, one of another version.
fn entries() -> Vec<Entry> {
    let folder = tempfile::tempdir().unwrap();
    let mark = "<script>alert(1)</script><img src=x onerror=alert(2)>\u{202e}";
    for (at, (kind, mut run)) in sample::all().into_iter().enumerate() {
        if at == 0 {
            run.label = Some(mark.to_owned());
            flashlag_explain::attach(&mut run);
            run.seal();
        }
        std::fs::write(folder.path().join(format!("{}.json", kind.name())), run.to_json()).unwrap();
    }
    std::fs::write(folder.path().join("old.json"), "{\"schema\": \"flashlag.run/0\"}").unwrap();
    read_folder(folder.path()).unwrap()
}

#[test]
fn a_site_reads_well_and_is_searched_sorted_filtered_and_compared_in_a_browser() {
    let to = tempfile::tempdir().unwrap();
    write_site(to.path(), &entries(), &Options { title: Some("Samples".to_owned()) }).unwrap();
    check(to.path(), &[]);
}

#[test]
fn the_table_of_ten_thousand_devices_loads_in_a_second() {
    let good: Vec<Entry> = entries().into_iter().filter(Entry::is_good).collect();
    let first = &good[0];
    let mut many: Vec<Entry> = (0..10_000u64)
        .map(|at| {
            let mut entry = first.clone();
            entry.run.file = format!("{at}.json");
            entry.run.run = Some(at.to_string());
            entry.run.measurement_sha256 = Some(at.to_string());
            let facts = entry.run.facts.as_mut().unwrap();
            facts.device = format!("Device {at}");
            facts.filesystem = Some(["ext4", "f2fs", "btrfs"][(at % 3) as usize].to_owned());
            entry
        })
        .collect();
    find_copies(&mut many);
    assert!(many.iter().all(|entry| entry.run.standing == Standing::Good));
    let to = tempfile::tempdir().unwrap();
    write_site(to.path(), &many, &Options::default()).unwrap();
    let states =
        first.phases.iter().map(|it| it.row.state).collect::<std::collections::BTreeSet<_>>();
    let rows = (10_000 * states.len()).to_string();
    check(to.path(), &["--loads-within", "1", "--rows", &rows]);
}
