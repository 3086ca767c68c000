//! What the tests of stores share.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::path::{Path, PathBuf};

use flashlag_schema::Run;
#[cfg(feature = "parquet")]
use flashlag_store::{ColumnError, Columns};
use flashlag_testing::sample;

/// Writes a run into a folder.
pub fn put(folder: &Path, name: &str, run: &Run) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, run.to_json()).unwrap();
    path
}

/// A sealed change of a sample.
pub fn changed(run: Run, change: impl FnOnce(&mut Run)) -> Run {
    let mut run = run;
    change(&mut run);
    flashlag_explain::attach(&mut run);
    run.seal();
    run
}

/// Three runs of different devices, all good.
pub fn three() -> [(&'static str, Run); 3] {
    [("a.json", sample::quick()), ("b.json", sample::lifecycle()), ("c.json", sample::sqlite())]
}

/// The columns of a table that a thread reads, where `flashlag` has a process.
#[cfg(feature = "parquet")]
pub fn columns(table: &Path) -> Result<Columns, ColumnError> {
    let (requests, asks) = std::io::pipe().unwrap();
    let (answers, mut answered) = std::io::pipe().unwrap();
    let path = table.to_owned();
    std::thread::spawn(move || {
        // An error says that the test has ended before it.
        let _ =
            flashlag_store::answer(&path, &mut std::io::BufReader::new(requests), &mut answered);
    });
    Columns::over(table, Box::new(asks), Box::new(std::io::BufReader::new(answers)))
}
