//! `make test` runs every test target: `scripts/run-tests` selects targets by the first letter of their
//! names, and runs what is neither a library nor a program by these patterns alone.

use crate::{crate_names, none, root};

/// The patterns `[a-l]*` and `[m-z]*` of the script, as ranges of letters.
fn lanes(script: &str) -> Vec<(char, char)> {
    let patterns = script.split("--test '[").skip(1);
    let range = |pattern: &str| {
        let mut letters = pattern.split("]*'").next().unwrap().chars();
        let first = letters.next().unwrap();
        assert_eq!(letters.next(), Some('-'), "{pattern}");
        (first, letters.next().unwrap())
    };
    patterns.map(range).collect()
}

#[test]
fn every_test_target_is_in_one_lane_of_the_script_that_runs_them() {
    let script = std::fs::read_to_string(root().join("scripts/run-tests")).unwrap();
    let lanes = lanes(&script);
    let mut wrong = Vec::new();
    let mut each = vec![0; lanes.len()];
    for name in crate_names() {
        let folder = root().join("crates").join(&name).join("tests");
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            let is_target =
                path.extension().is_some_and(|end| end == "rs") || path.join("main.rs").exists();
            let target = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let letter = target.chars().next().unwrap();
            let of: Vec<usize> = (0..lanes.len())
                .filter(|at| (lanes[*at].0..=lanes[*at].1).contains(&letter))
                .collect();
            of.iter().for_each(|at| each[*at] += 1);
            if is_target && of.len() != 1 {
                wrong.push(format!("crates/{name}/tests/{target}: in {} lanes", of.len()));
            }
        }
    }
    none("each test target runs once", wrong);
    assert!(lanes.len() == 2 && each.iter().all(|count| *count > 20), "{lanes:?} {each:?}");
}
