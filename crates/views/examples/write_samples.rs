//! Writes the synthetic samples as run files: `cargo run -p flashlag-views --example
//! write_samples [DIRECTORY]`. The directory defaults to `fixtures/runs` of the repository.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let given = std::env::args().nth(1).map(PathBuf::from);
    let directory = given.unwrap_or_else(|| {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/runs"))
    });
    std::fs::create_dir_all(&directory)?;
    for (kind, run) in flashlag_testing::sample::all() {
        std::fs::write(directory.join(format!("{}.json", kind.name())), run.to_json())?;
    }
    Ok(())
}
