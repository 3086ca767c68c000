//! The simulated devices beside what reviewers published of the real ones: model against reality,
//! by the command that a reader would use.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

/// What `flashlag profiles check` prints, and how it exits.
fn check(arguments: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    let output = command.args(["profiles", "check"]).args(arguments).output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

#[test]
fn every_published_row_of_the_moto_x_is_within_its_bar() {
    let (said, code) = check(&["moto-x-2013"]);
    assert!(said.contains("36 of 36 rows within their bars, 0 missed, 0 missing"), "{said}");
    // Runs of one state come out in another order than published by a percent or two; the states
    // themselves do not.
    let states = said.lines().filter(|line| {
        line.contains(": new was above filled") || line.contains(": new was below after-delete")
    });
    assert_eq!(states.count(), 0, "{said}");
    assert!(matches!(code, Some(0 | 1)), "{said}");
}

#[test]
fn every_row_of_the_nexus_7_but_one_after_a_day_of_torture_is_within_its_bar() {
    let (said, _) = check(&["nexus7-2012"]);
    let missed: Vec<&str> = said.lines().filter(|line| line.ends_with("MISS")).collect();
    let torture = |line: &&str| line.starts_with("after-one-day") && line.contains("rand_write");
    assert!(missed.iter().all(torture), "{said}");
    assert!(said.contains(" 0 missing"), "{said}");
}

#[test]
fn encryption_costs_the_nexus_6_what_was_published() {
    let (said, code) = check(&["nexus6-2014"]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn the_pixel_and_the_moto_z_write_as_slowly_as_was_published() {
    let (said, code) = check(&["pixel-2016", "moto-z-2016"]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_parameter_that_changes_moves_the_rows_as_physics_says() {
    let home = tempfile::TempDir::new().unwrap();
    let mut show = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    let shown = show.args(["profiles", "show", "pixel-2016"]).output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    let slower = home.path().join("slower.toml");
    // Half again as long to program both pages of a word line.
    let changed = text
        .replace(
            "program = { value = \"650us\", range = [\"300us\", \"800us\"]",
            "program = { value = \"975us\"",
        )
        .replace(
            "program_upper = { value = \"1900us\", range = [\"1000us\", \"2300us\"]",
            "program_upper = { value = \"2850us\"",
        );
    assert_ne!(changed, text);
    std::fs::write(&slower, changed).unwrap();
    let simulated = |said: &str| -> f64 {
        let row = said.lines().find(|line| line.starts_with("in use")).unwrap();
        let after = row.split("p50 ms").nth(1).unwrap();
        after.split_whitespace().next().unwrap().parse().unwrap()
    };
    let before = simulated(&check(&["pixel-2016"]).0);
    let after = simulated(&check(&[slower.to_str().unwrap()]).0);
    assert!((1.1..1.6).contains(&(after / before)), "{before} ms before, {after} ms after");
}
