//! `make test` runs every test target: `scripts/run-tests` selects targets by the first letter of their
//! names, and runs what is neither a library nor a program by these patterns alone.

use crate::{crate_names, none, root};

/// The patterns `[a-l]*`, `[m-y]*` and `[z]*` of the script, as ranges of letters in order.
fn lanes(script: &str) -> Vec<(char, char)> {
    let patterns = script.split("--test '[").skip(1);
    let range = |pattern: &str| {
        let mut letters = pattern.split("]*'").next().unwrap().chars();
        let first = letters.next().unwrap();
        match letters.next() {
            None => (first, first),
            Some('-') => (first, letters.next().unwrap()),
            Some(_) => panic!("{pattern}"),
        }
    };
    let mut lanes: Vec<_> = patterns.map(range).collect();
    lanes.sort_unstable();
    lanes
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
    // The third waits for the ARM programs and has only what needs them.
    assert!(lanes.len() == 3 && each[2] == 1, "{lanes:?} {each:?}");
    assert!(each[..2].iter().all(|count| *count > 20), "{lanes:?} {each:?}");
}
