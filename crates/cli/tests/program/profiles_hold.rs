//! The simulated devices beside what reviewers published of the real ones: model against reality,
//! by the command that a reader would use.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;
use std::sync::LazyLock;

use flashlag_spec::profile::Profile;

/// What `flashlag profiles check` prints, and how it exits.
fn check(arguments: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    let output = command.args(["profiles", "check"]).args(arguments).output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

/// Profiles whose rows take a minute and a half together: `FLASHLAG_ALL_PROFILES=1` checks them too.
const LONG: [&str; 2] = ["emmc51-phone", "pixel6-2021"];

fn all_profiles() -> bool {
    std::env::var_os("FLASHLAG_ALL_PROFILES").is_some()
}

/// What it prints of each profile that has published rows: they are simulated once for all tests.
static ALL: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let names = flashlag_spec::profile::names();
    let has_rows = |name: &&str| !Profile::find(name).unwrap().checks.is_empty();
    let short: Vec<&str> = names.filter(has_rows).filter(|name| !LONG.contains(name)).collect();
    let (said, _) = check(if all_profiles() { &[] } else { &short });
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    let mut name = String::new();
    let names: Vec<&str> = flashlag_spec::profile::names().collect();
    for line in said.lines() {
        if let Some((first, _)) = line.split_once(": ")
            && names.contains(&first)
        {
            name = first.to_owned();
        }
        let _ = writeln!(all.entry(name.clone()).or_default(), "{line}");
    }
    all
});

/// Rows, rows within 20 %, rows within their bars: `21 of 22 rows within their bars, …; 19 within 20%; …`.
fn counts(said: &str) -> [u32; 3] {
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let (before, after) = line.split_once(" rows within their bars").unwrap();
    let mut words = before.rsplit(' ');
    let rows = words.next().unwrap().parse().unwrap();
    let within_bars = words.nth(1).unwrap().parse().unwrap();
    let near = after.split_once(" within 20%").unwrap().0.rsplit(' ').next().unwrap();
    [rows, near.parse().unwrap(), within_bars]
}

/// `FLASHLAG_UPDATE_STANDING=1` writes the file anew.
#[test]
fn what_simulated_runs_say_of_their_profiles_is_what_the_checks_find() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/standing.csv");
    let mut found = "profile,rows,within_20_percent,within_bars\n".to_owned();
    let standing = std::fs::read_to_string(path).unwrap();
    for name in flashlag_spec::profile::names() {
        let known = standing.lines().find(|line| line.split(',').next() == Some(name));
        if let Some(known) = known.filter(|_| LONG.contains(&name) && !all_profiles()) {
            let _ = writeln!(found, "{known}");
        } else if let Some(said) = ALL.get(name) {
            let [rows, near, within_bars] = counts(said);
            let _ = writeln!(found, "{name},{rows},{near},{within_bars}");
        }
    }
    if std::env::var_os("FLASHLAG_UPDATE_STANDING").is_some() {
        std::fs::write(path, &found).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), found);
    // A row is within 20 % where its own error says so.
    let nexus = &ALL["nexus7-2012"];
    let errors = nexus.lines().filter_map(|line| {
        let sign = |word: &&str| word.starts_with(['+', '-']) && word.len() > 1;
        let error = line.split_whitespace().find(sign)?.trim_end_matches('%');
        line.ends_with(" ok")
            .then_some(())
            .or(line.contains("ok ±").then_some(()))
            .or(line.ends_with("MISS").then_some(()))?;
        error.parse::<f64>().ok()
    });
    assert_eq!(errors.filter(|error| error.abs() <= 20.0).count(), counts(nexus)[1] as usize);
}

#[test]
fn every_published_row_of_the_moto_x_is_within_its_bar() {
    let said = &ALL["moto-x-2013"];
    assert!(said.contains("36 of 36 rows within their bars, 0 missed, 0 missing"), "{said}");
    // Runs of one state come out in another order than published by a percent or two; the states
    // themselves do not.
    let states = said.lines().filter(|line| {
        line.contains(": new was above filled") || line.contains(": new was below after-delete")
    });
    assert_eq!(states.count(), 0, "{said}");
}

#[test]
fn every_row_of_the_nexus_7_but_one_after_a_day_of_torture_is_within_its_bar() {
    let said = &ALL["nexus7-2012"];
    let missed: Vec<&str> = said.lines().filter(|line| line.ends_with("MISS")).collect();
    let torture = |line: &&str| line.starts_with("after-one-day") && line.contains("rand_write");
    assert!(missed.iter().all(torture), "{said}");
    assert!(said.contains(" 0 missing"), "{said}");
}

#[test]
fn the_nexus_6_the_pixel_and_the_moto_z_are_as_was_published() {
    for name in ["nexus6-2014", "pixel-2016", "moto-z-2016"] {
        let said = &ALL[name];
        assert!(said.contains(" 0 missed, 0 missing"), "{said}");
        assert!(said.contains(" 0 pairs"), "{said}");
    }
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
