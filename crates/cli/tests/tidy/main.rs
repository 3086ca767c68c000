//! Tidy is a test: what the house asks of every file is checked here and not remembered.
//!
//! A rule that is broken says file, line and what to do. The tables in these modules are the only
//! way around a rule, and each line of them carries its reason.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod calls;
mod circles;
mod docs_site;
mod documented;
mod documents;
mod imports;
mod lanes;
mod lengths;
mod licences;
mod marks;
mod source;
mod strings;
mod unsafety;
mod words;
mod workflows;

use std::path::{Path, PathBuf};

/// The root of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The folders in `crates/`, by name.
fn crate_names() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("crates")).unwrap();
    let names =
        entries.map(|entry| entry.unwrap()).filter(|e| e.path().join("Cargo.toml").exists());
    let mut names: Vec<_> = names.map(|e| e.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Fails with all violations of a rule at once.
fn none(rule: &str, violations: Vec<String>) {
    let count = violations.len();
    assert!(violations.is_empty(), "{rule}: {count} violations\n{}\n", violations.join("\n"));
}
