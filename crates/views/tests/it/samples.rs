//! The synthetic samples are what real runs are: every figure follows from its histogram.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use flashlag_schema::Run;
use flashlag_testing::sample;

#[test]
fn verify_accepts_every_sample() {
    for (kind, run) in sample::all() {
        let found = flashlag_schema::verify::verify(&run);
        assert!(found.is_empty(), "{}: {found:#?}", kind.name());
    }
}

#[test]
fn the_same_sample_is_drawn_every_time() {
    assert_eq!(sample::quick(), sample::quick());
}

#[test]
fn the_fixtures_are_runs_whose_figures_verify() {
    for kind in sample::SampleKind::ALL {
        let path =
            format!("{}/../../fixtures/runs/{}.json", env!("CARGO_MANIFEST_DIR"), kind.name());
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let hint = "write them anew with `cargo run -p flashlag-views --example write_samples`";
        Run::from_json(&text).unwrap_or_else(|e| panic!("{path}: {e}; {hint}"));
        let found = flashlag_schema::verify::verify_text(&text).unwrap();
        assert!(found.is_empty(), "{path}: {found:#?}; {hint}");
    }
}

#[test]
fn a_sample_says_that_no_device_was_measured() {
    for (_, run) in sample::all() {
        assert!(run.flashlag.commit.reason().unwrap().contains("no device was measured"));
    }
}
