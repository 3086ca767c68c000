//! What the README shows of the program is what the program prints.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable that renews the block instead of comparing it.
const UPDATE: &str = "FLASHLAG_UPDATE_DOCS";

fn readme() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")
}

/// The first table that the program prints: from its head to the line before the notes.
fn first_table(text: &str) -> String {
    let from = text.lines().skip_while(|line| !line.starts_with("durable 4 KiB writes"));
    from.take_while(|line| !line.is_empty() && !line.starts_with("share:"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_forecast_in_the_readme_is_what_its_command_prints() {
    let text = std::fs::read_to_string(readme()).unwrap();
    let command = text.lines().find(|line| line.starts_with("flashlag predict moto-z")).unwrap();
    let words = command.split_whitespace().skip(1);
    let output = Command::new(env!("CARGO_BIN_EXE_flashlag")).args(words).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = first_table(&String::from_utf8(output.stdout).unwrap());
    assert!(table.lines().count() > 3, "{table}");
    let (begin, end) = ("<!-- predict: begin -->", "<!-- predict: end -->");
    let (before, rest) = text.split_once(begin).unwrap();
    let (shown, after) = rest.split_once(end).unwrap();
    let made = format!("\n```\n{table}\n```\n");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(readme(), format!("{before}{begin}{made}{end}{after}")).unwrap();
    } else {
        assert_eq!(shown, made, "{UPDATE}=1 renews it");
    }
}
