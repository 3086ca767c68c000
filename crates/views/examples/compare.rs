//! Prints what is said of runs side by side: `cargo run -p flashlag-views --example compare
//! RUN RUN...`; of three synthetic devices where none is given.
#![allow(clippy::print_stdout, reason = "an example that prints")]

use flashlag_schema::Run;
use flashlag_testing::sample::{SampleDevice, lifecycle_on};
use flashlag_views::{CompareOptions, compare, format};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut runs: Vec<Run> = Vec::new();
    for path in std::env::args().skip(1) {
        runs.push(Run::from_json(&std::fs::read_to_string(&path)?)?);
    }
    if runs.is_empty() {
        let devices = [SampleDevice::Phone, SampleDevice::Tablet, SampleDevice::Board];
        runs.extend(devices.iter().flat_map(|d| (0..3).map(|repeat| lifecycle_on(*d, repeat))));
    }
    let found = compare(&runs, &CompareOptions { force: true, ..CompareOptions::default() })?;
    println!("{}\n{}\n{}", found.sentence, found.more, found.believe);
    for subject in &found.subjects {
        println!("{} ({}), {} runs", subject.name, subject.about, subject.runs.len());
    }
    for row in &found.rows {
        println!("-- {} [{}]", row.title, row.label);
        for side in row.sides.iter().flatten() {
            let f = &side.figures;
            let (p50, p99) = (format::ms_of(f.p50, f.n), format::ms_of(f.p99, f.n));
            println!("   {p50} {p99} {}", side.judgement.word());
        }
        for ratio in &row.ratios {
            println!("   {:?} {}", ratio.kind, ratio.words);
        }
    }
    for difference in &found.differs {
        println!("{}: {}", difference.field, difference.values.join(" | "));
    }
    println!("{:#?}\n{:?}", found.checks, found.warnings);
    Ok(())
}
