//! Writes the report of every synthetic sample run, and comparisons of two, into a directory; and
//! the report of each run file that is named.
//!
//! `cargo run -p flashlag-report --example samples -- DIR [RUN.json]...`

use std::fs;
use std::io;
use std::path::PathBuf;

use flashlag_report::{Options, comparison_html, html};
use flashlag_schema::{Run, StoredHistogram};
use flashlag_spec::Reading;
use flashlag_spec::scenario::Durability;
use flashlag_stats::Histogram;
use flashlag_testing::sample;
use flashlag_units::Nanos;
use flashlag_views::{CompareOptions, compare};

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
    for file in std::env::args().skip(2) {
        let text = fs::read_to_string(&file)?;
        let run = Run::from_json(&text).map_err(io::Error::other)?;
        let name = PathBuf::from(&file).with_extension("html");
        let name = name.file_name().map(PathBuf::from).unwrap_or_default();
        let options = Options { run_files: vec![file], banner: None };
        fs::write(directory.join(name), html(&run, &options))?;
    }
    let pairs = [
        ("comparison", vec![sample::quick(), slower(sample::quick(), 240)]),
        ("comparison-memory", vec![sample::quick(), sample::memory()]),
    ];
    for (name, runs) in pairs {
        let force = CompareOptions { force: true, ..CompareOptions::default() };
        let comparison = compare(&runs, &force).map_err(io::Error::other)?;
        let page = comparison_html(&comparison, &runs, &options(&["a.json", "b.json"]));
        fs::write(directory.join(format!("{name}.html")), page)?;
    }
    Ok(())
}

/// Another device: durable writes and saves take `percent` of the time.
fn slower(mut run: Run, percent: u64) -> Run {
    run.environment.software.machine = Reading::Value("Sample Phone P".to_owned());
    for phase in run.phases.iter_mut().filter(|phase| phase.durable != Durability::None) {
        let Ok(measured) = phase.histogram.restore() else { continue };
        let mut slowed = Histogram::new();
        for (index, count) in measured.occupied() {
            let time = Histogram::middle_of(index as usize);
            (0..count).for_each(|_| slowed.record(Nanos(time.0 * percent / 100)));
        }
        phase.histogram = StoredHistogram::from(&slowed);
    }
    run
}
