//! Pages as headless Chromium sees them: both themes, 360 and 1400 px. What is checked is in
//! `scripts/chromium_check.py`.

use std::fs;
use std::path::Path;
use std::process::Command;

const CHECK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/chromium_check.py");
/// How high pages may be: what is said twice, or says nothing, costs a reader a screen.
const TALLEST: [&str; 6] =
    ["--tallest", "quick=6000", "--tallest", "sqlite=9000", "--tallest", "lifecycle=10000"];

#[test]
fn every_page_reads_well_in_a_browser_and_asks_it_for_nothing() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut files = Vec::new();
    for (name, page) in crate::common::pages() {
        let file = directory.path().join(format!("{name}.html"));
        fs::write(&file, page).expect("a page is written");
        files.push(file);
    }
    assert!(Path::new(CHECK).exists(), "{CHECK} is missing");
    flashlag_need::passes(Command::new("python3").arg(CHECK).args(TALLEST).args(&files));
}
