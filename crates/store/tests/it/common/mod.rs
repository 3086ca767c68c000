//! What the tests of stores share.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::path::{Path, PathBuf};

use flashlag_schema::Run;
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
