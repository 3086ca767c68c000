//! Files of each stored format, as an earlier version wrote or accepted them, are read by this one, and every figure in
//! them is what it was: what `docs/stability.md` promises. Nobody renews them; a new format gets a folder of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folders of `fixtures/golden`, each named by the version that wrote it.
fn versions() -> Vec<PathBuf> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden");
    let entries = std::fs::read_dir(golden).unwrap().map(|entry| entry.unwrap().path());
    let folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    assert!(!folders.is_empty());
    folders
}

/// What the program prints of a golden file; it may not fail.
fn read(folder: &Path, words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    let output = command.args(words).current_dir(folder).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {words:?}: {errors}", folder.display());
    String::from_utf8(output.stdout).unwrap()
}

/// The columns of a tab-separated table, by name.
fn columns(table: &str) -> Vec<(&str, Vec<&str>)> {
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
    let column = |at: usize| (rows[0][at], rows[1..].iter().map(|row| row[at]).collect());
    (0..rows[0].len()).map(column).collect()
}

#[test]
fn run_files_of_earlier_versions_verify_and_have_the_figures_that_they_had() {
    for folder in versions() {
        for file in ["run.json", "run-shared.json"] {
            read(&folder, &["verify", file]);
            read(&folder, &["explain", file]);
        }
        let table = read(&folder, &["report", "run.json", "--format", "tsv"]);
        let earlier = std::fs::read_to_string(folder.join("run.tsv")).unwrap();
        let now = columns(&table);
        for column in columns(&earlier) {
            assert!(now.contains(&column), "{}: {column:?}\n{table}", folder.display());
        }
    }
}

#[test]
fn scenarios_profiles_and_grids_of_earlier_versions_are_accepted() {
    for folder in versions() {
        let out = tempfile::tempdir().unwrap();
        let [run, table] = ["run.json", "sweep.parquet"].map(|name| out.path().join(name));
        let [run, table] = [&run, &table].map(|path| path.to_str().unwrap());
        read(&folder, &["run", "scenario.toml", "--on", "sim:profile.toml+ext4", "-o", run]);
        read(&folder, &["verify", run]);
        read(&folder, &["sweep", "grid.toml", "-o", table]);
    }
}

#[test]
fn a_table_has_its_columns_by_name() {
    assert_eq!(columns("x\ty\n1\t2\n3\t4\n"), [("x", vec!["1", "3"]), ("y", vec!["2", "4"])]);
}
