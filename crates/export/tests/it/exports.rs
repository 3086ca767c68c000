//! Every file format of the sample runs, as other programs read it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use flashlag_export::Format;
use flashlag_schema::{Run, SCHEMA};
use flashlag_testing::sample;
use flashlag_testing::{changes, disturbed};
use proptest::prelude::*;

fn samples() -> [(&'static str, Run); 4] {
    [
        ("lifecycle", sample::lifecycle()),
        ("quick", sample::quick()),
        ("soak", sample::soak()),
        ("memory", sample::memory()),
    ]
}

fn written(format: Format, run: &Run) -> String {
    format.write_run(run).unwrap()
}

#[test]
fn exports_are_as_documented() {
    let run = sample::quick();
    insta::assert_snapshot!("plain_quick", written(Format::Tsv, &run));
    insta::assert_snapshot!("plain_lifecycle", written(Format::Tsv, &sample::lifecycle()));
    insta::assert_snapshot!("markdown_lifecycle", written(Format::Markdown, &sample::lifecycle()));
    let csv = written(Format::Csv, &sample::soak());
    insta::assert_snapshot!("csv_soak", first_lines(&csv, 12));
    let metrics = written(Format::OpenMetrics, &run);
    insta::assert_snapshot!("openmetrics_quick", first_lines(&metrics, 70));
}

fn first_lines(text: &str, count: usize) -> String {
    text.lines().take(count).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_plain_table_has_a_column_for_each_name_in_every_line() {
    let text = written(Format::Tsv, &sample::lifecycle());
    let columns = text.lines().next().unwrap().split('\t').count();
    assert!(text.is_ascii());
    assert!(text.lines().all(|line| line.split('\t').count() == columns), "{text}");
}

#[test]
fn csv_has_a_record_for_each_interval_of_each_phase() {
    for (name, run) in samples() {
        let csv = written(Format::Csv, &run);
        let intervals: usize = run.phases.iter().map(|phase| phase.intervals.len()).sum();
        assert_eq!(csv.lines().count(), intervals + 1, "{name}");
        assert!(csv.lines().all(|line| line.split(',').count() == 14), "{name}");
    }
}

#[test]
fn a_run_without_anything_in_it_has_every_format_but_fios() {
    let mut run = sample::quick();
    run.phases.clear();
    run.trust.checks.clear();
    run.environment = Default::default();
    run.flashlag.version = "0.0.0".to_owned();
    assert!(written(Format::OpenMetrics, &run).ends_with("# EOF\n"));
    for format in [Format::Markdown, Format::Csv, Format::Tsv, Format::Json] {
        assert!(!written(format, &run).is_empty(), "{format:?}");
    }
    let error = Format::Fio.write_run(&run).unwrap_err().to_string();
    assert!(error.contains("no phases"), "{error}");
}

#[test]
fn an_overloaded_schedule_is_named_in_markdown() {
    let page = written(Format::Markdown, &sample::overloaded());
    assert!(page.contains("overloaded: 3.8 of 100 saves a second done; the queue grows"), "{page}");
}

#[test]
fn no_two_formats_share_a_name_or_an_ending() {
    let names: Vec<&str> = Format::ALL.map(Format::name).to_vec();
    let endings = Format::ALL.iter().flat_map(|format| format.endings()).copied().collect();
    for mut all in [names, endings] {
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count, "{all:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_run_breaks_an_export(which in 0..4usize, changes in changes()) {
        let run = disturbed(which, &changes);
        let table = written(Format::Tsv, &run);
        prop_assert!(table.is_ascii());
        let columns = |line: &str| line.split('\t').count();
        prop_assert!(table.lines().all(|line| columns(line) == 17), "{table}");
        for format in [Format::Markdown, Format::Csv, Format::OpenMetrics] {
            let text = written(format, &run);
            let harmless = |c: char| c == '\n' || c == '\t' || !c.is_control();
            prop_assert!(text.chars().all(harmless), "{text:?}");
        }
        // fio's format refuses a run without phases or with a broken histogram, but never panics.
        let _ = Format::Fio.write_run(&run);
        match Run::from_json(&written(Format::Json, &run)) {
            Ok(read) => prop_assert_eq!(read, run),
            // What was disturbed is the version.
            Err(error) => prop_assert!(run.schema != SCHEMA, "{error}"),
        }
    }
}
