//! Few test programs for each crate, and the scripts name none that is not there.

use std::collections::BTreeSet;

use crate::source::Source;
use crate::{crate_names, none, root};

/// The names in a list of `scripts/run-tests`: CRATE/TARGET.
fn named<'a>(script: &'a str, list: &str) -> BTreeSet<&'a str> {
    let (_, rest) = script.split_once(&format!("\n{list} = [")).unwrap();
    let (names, _) = rest.split_once(']').unwrap();
    names.split('"').skip(1).step_by(2).collect()
}

/// The test targets of all crates, as CRATE/TARGET; the tests in a crate's sources are its `unit`.
fn targets() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for name in crate_names() {
        all.insert(format!("{name}/unit"));
        let folder = root().join("crates").join(&name).join("tests");
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "rs") || path.join("main.rs").exists() {
                all.insert(format!("{name}/{}", path.file_stem().unwrap().to_str().unwrap()));
            }
        }
    }
    all
}

#[test]
fn every_test_program_that_a_script_names_is_there_and_what_is_left_out_is_run_elsewhere() {
    let read = |name: &str| std::fs::read_to_string(root().join("scripts").join(name)).unwrap();
    let (script, checks) = (read("run-tests"), read("checks"));
    let (targets, elsewhere) = (targets(), named(&script, "ELSEWHERE"));
    let all = named(&script, "LONGEST").union(&elsewhere).copied().collect::<Vec<_>>();
    assert!(all.len() > 3, "{all:?}");
    let gone = all.iter().filter(|name| !targets.contains(**name));
    none("scripts/run-tests names test programs", gone.map(ToString::to_string).collect());
    for name in elsewhere {
        let target = name.split('/').next_back().unwrap();
        assert!(checks.contains(&format!("--test {target}")), "scripts/checks does not run {name}");
    }
}

#[test]
fn every_test_that_a_quick_run_leaves_out_is_there() {
    let table = std::fs::read_to_string(root().join("scripts/slow-tests.txt")).unwrap();
    let rows = table.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>();
    let (targets, mut gone) = (targets(), Vec::new());
    for row in &rows {
        let [program, test, _seconds] = row.split(' ').collect::<Vec<_>>()[..] else {
            panic!("not a program, a test and its seconds: {row}");
        };
        let folder = format!("crates/{}/", program.split('/').next().unwrap());
        // A macro makes a test of its name alone.
        let function = test.rsplit("::").next().unwrap();
        let mut own = Source::all().iter().filter(|source| source.path.starts_with(&folder));
        let is_there = own.any(|source| source.text.contains(function));
        if !targets.contains(program) || !is_there {
            gone.push((*row).to_owned());
        }
    }
    assert!(rows.len() > 50, "{} rows", rows.len());
    none("scripts/slow-tests.txt names tests that are gone: remove the rows", gone);
}

#[test]
fn a_crate_has_one_test_program() {
    // Each links the whole of what it tests: a crate has one, but for what its reason is given of.
    let allowed = [("cli", 3), ("inspect", 2), ("runner", 2), ("seccomp", 3)];
    let targets = targets();
    for name in crate_names() {
        let own = targets.iter().filter(|target| {
            target.split_once('/').is_some_and(|(of, target)| of == name && target != "unit")
        });
        let count = own.count();
        let most = allowed.iter().find(|(of, _)| *of == name).map_or(1, |(_, most)| *most);
        assert!(count <= most, "{name} has {count} test programs");
    }
}

#[test]
fn names_are_those_of_one_list() {
    let script = "\nONE = [\n    \"a/it\", \"b/unit\",\n]\nTWO = [\"c/it\"]\n";
    assert_eq!(named(script, "ONE"), ["a/it", "b/unit"].into());
}
