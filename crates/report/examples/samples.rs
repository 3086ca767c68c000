//! Writes the report of every synthetic sample run, and a comparison of two, into a directory.
//!
//! `cargo run -p flashlag-report --example samples -- DIR`

use std::fs;
use std::io;
use std::path::PathBuf;

use flashlag_explain::{CompareOptions, compare, sample};
use flashlag_report::{Options, comparison_html, html};

fn main() -> io::Result<()> {
    let directory = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    fs::create_dir_all(&directory)?;
    let banner = "Synthetic data. Every number here is drawn at random; no device was measured.";
    let options = |files: &[&str]| Options {
        run_files: files.iter().map(|file| (*file).to_owned()).collect(),
        banner: Some(banner.to_owned()),
    };
    for (kind, run) in sample::all() {
        let page = html(&run, &options(&[&format!("{}.json", kind.name())]));
        fs::write(directory.join(format!("{}.html", kind.name())), page)?;
    }
    let runs = [sample::quick(), sample::memory()];
    let force = CompareOptions { force: true, ..CompareOptions::default() };
    let comparison = compare(&runs, &force).map_err(io::Error::other)?;
    let page = comparison_html(&comparison, &runs, &options(&["quick.json", "memory.json"]));
    fs::write(directory.join("comparison.html"), page)
}
