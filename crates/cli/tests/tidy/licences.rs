//! Every dependency may be shipped under MIT OR Apache-2.0.

use std::process::Command;

use serde_json::Value;

use crate::{none, root};

/// Licences that ask for no more than their notice.
const ALLOWED: [&str; 13] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "Zlib",
    "0BSD",
    "Unicode-3.0",
    "CC0-1.0",
    "Unlicense",
    "blessing",
];

/// What cargo knows of all packages that are built here; `Err` says why it can't be known.
fn metadata() -> Result<Value, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.current_dir(root()).args(["metadata", "--format-version=1", "--offline", "--locked"]);
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    command.args(["--filter-platform", &platform]);
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

#[test]
fn every_dependency_has_a_compatible_licence() {
    let metadata = match metadata() {
        Ok(metadata) => metadata,
        Err(reason) => return flashlag_need::skip(format!("cargo metadata: {reason}")),
    };
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 50, "only {} packages", packages.len());
    let mut violations = Vec::new();
    for package in packages {
        let text = |field: &str| package[field].as_str().unwrap_or_default();
        let (name, licence) = (format!("{} {}", text("name"), text("version")), text("license"));
        if licence.is_empty() {
            violations.push(format!("Cargo.lock: {name} names no licence: replace it"));
        } else if !is_allowed(licence) {
            violations.push(format!(
                "Cargo.lock: {name} is under {licence}: replace it, or allow it in {}",
                file!()
            ));
        }
    }
    none("licences", violations);
}

/// Whether an SPDX expression can be satisfied: any side of an `OR`, every side of an `AND`.
/// `WITH` only ever permits more. A slash is how `OR` was written before.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    any_of(&mut rest) == Some(true) && rest.is_empty()
}

fn any_of(words: &mut &[&str]) -> Option<bool> {
    let mut allowed = all_of(words)?;
    while take(words, "OR") {
        allowed |= all_of(words)?;
    }
    Some(allowed)
}

fn all_of(words: &mut &[&str]) -> Option<bool> {
    let mut allowed = one_of(words)?;
    while take(words, "AND") {
        allowed &= one_of(words)?;
    }
    Some(allowed)
}

fn one_of(words: &mut &[&str]) -> Option<bool> {
    if take(words, "(") {
        let allowed = any_of(words)?;
        return take(words, ")").then_some(allowed);
    }
    let (licence, rest) = words.split_first()?;
    *words = rest;
    if take(words, "WITH") {
        *words = words.get(1..)?;
    }
    Some(ALLOWED.contains(licence))
}

fn take(words: &mut &[&str], wanted: &str) -> bool {
    let found = words.first() == Some(&wanted);
    if found {
        *words = &words[1..];
    }
    found
}

#[test]
fn licence_expressions_are_read_as_they_are_meant() {
    for allowed in [
        "MIT",
        "MIT/Apache-2.0",
        "GPL-3.0-only OR MIT",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
        "Unlicense OR GPL-2.0-only AND GPL-3.0-only",
    ] {
        assert!(is_allowed(allowed), "{allowed}");
    }
    for refused in
        ["", "GPL-3.0-only", "MIT AND GPL-3.0-only", "(MIT", "MIT OR", "MIT MIT", "OR", "WITH MIT"]
    {
        assert!(!is_allowed(refused), "{refused}");
    }
}
