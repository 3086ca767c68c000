//! Every test target is run once, by name: by `scripts/run-tests`, or by `scripts/checks`.

use std::collections::BTreeMap;

use crate::{crate_names, none, root};

/// The names after `--test` in a script, without its comments.
fn named(script: &str) -> Vec<&str> {
    let code = script.lines().filter(|line| !line.trim_start().starts_with('#'));
    code.flat_map(|line| line.split("--test ").skip(1))
        .filter_map(|rest| rest.split(' ').next())
        .collect()
}

#[test]
fn every_test_target_is_named_once_in_the_scripts_that_run_them() {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for script in ["scripts/run-tests", "scripts/checks"] {
        let script = std::fs::read_to_string(root().join(script)).unwrap();
        for name in named(&script) {
            *times.entry(name.to_owned()).or_default() += 1;
        }
    }
    let mut wrong = Vec::new();
    let mut of_crate = BTreeMap::new();
    for name in crate_names() {
        let folder = root().join("crates").join(&name).join("tests");
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            let is_target =
                path.extension().is_some_and(|end| end == "rs") || path.join("main.rs").exists();
            let target = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if is_target && times.get(&target) != Some(&1) {
                wrong.push(format!(
                    "crates/{name}/tests/{target}: named {:?} times",
                    times.get(&target)
                ));
            }
            *of_crate.entry(name.clone()).or_insert(0) += usize::from(is_target);
        }
    }
    none("each test target runs once", wrong);
    // Each target links the whole of what it tests: a crate has one, but for what its reason is given of.
    let many: Vec<_> = of_crate.iter().filter(|(_, count)| **count > 1).collect();
    let allowed = [("cli", 3), ("inspect", 2), ("runner", 2), ("seccomp", 3)];
    for (name, count) in many {
        assert!(allowed.contains(&(name.as_str(), *count)), "{name} has {count} test programs");
    }
}

#[test]
fn names_are_read_from_commands_and_not_from_comments() {
    assert_eq!(named("# --test a\ntests --lib --test it --test tidy >x\n"), ["it", "tidy"]);
}
