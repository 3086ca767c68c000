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
    let said = "overloaded: 3.8 of the 100 saves due each second are done; the queue grows";
    assert!(page.contains(said), "{page}");
}

/// A page's sections that are more than pictures.
fn in_words(page: &flashlag_views::page::Page) -> Vec<String> {
    use flashlag_views::page::Block;
    let drawn = |block: &Block| match block {
        Block::Rates(_) | Block::Distributions(_) | Block::Ratios(_) | Block::Folded(..) => false,
        Block::Checks(checks) => !checks.is_empty(),
        Block::Changes(changes) => !changes.is_empty(),
        Block::Stalls(series, _) => series.iter().any(|one| !one.longest.is_empty()),
        _ => true,
    };
    let sections = page.sections.iter().filter(|section| section.blocks.iter().any(drawn));
    sections.map(|section| format!("## {}: ", section.name)).collect()
}

#[test]
fn a_markdown_page_has_every_section_of_the_report_that_is_more_than_a_picture() {
    for (name, run) in samples() {
        let page = flashlag_views::page::run_page(&run, &[]);
        let text = written(Format::Markdown, &run);
        for section in in_words(&page) {
            assert_eq!(text.matches(&section).count(), 1, "{name}: {section}");
        }
        assert!(in_words(&page).len() > 5, "{name}");
        // What leads to another place of a page is left out, what is a part of a sentence is not.
        let counts = flashlag_views::headline(&run).believe.counts;
        assert!(text.contains(&counts) && !text.contains("with what each costs"), "{name}");
    }
}

#[test]
fn a_share_of_saves_in_markdown_has_its_count_and_a_command_is_code() {
    let text = written(Format::Markdown, &sample::lifecycle());
    assert!(text.contains("| All of these saves | "), "{text}");
    let row = text.lines().find(|line| line.starts_with("| All of these saves")).unwrap();
    assert!(row.contains("% (13,"), "{row}");
    let mut run = sample::quick();
    run.environment.filesystem.options =
        flashlag_spec::Reading::Value(vec!["rw".to_owned(), "nobarrier".to_owned()]);
    run.findings = None;
    let text = written(Format::Markdown, &run);
    assert!(!text.contains(":`") && text.contains(" `"), "{text}");
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
