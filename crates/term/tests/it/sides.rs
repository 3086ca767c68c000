//! Overloaded rows of comparisons on a terminal, and the table of repeats at each width.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use flashlag_schema::{CheckStatus, Run};
use flashlag_spec::Reading;
use flashlag_term::Style;
use flashlag_testing::sample;
use flashlag_views::{CompareOptions, Comparison, compare, repeats};

/// One that keeps its schedule beside one that does not.
fn sides() -> (Vec<Run>, Comparison) {
    let (mut kept, mut overloaded) = (sample::quick(), sample::overloaded());
    overloaded.scenario = kept.scenario.clone();
    kept.environment.software.machine = Reading::Value("Kept".to_owned());
    overloaded.environment.software.machine = Reading::Value("Overloaded, 2".to_owned());
    overloaded.trust.checks[0].status = CheckStatus::Unknown;
    let runs = vec![kept, overloaded];
    let found = compare(&runs, &CompareOptions::default()).unwrap();
    (runs, found)
}

#[test]
fn the_legend_of_intervals_is_there_where_an_interval_is() {
    let (mut runs, found) = sides();
    let legend = "In parentheses: the 95% interval";
    assert!(flashlag_term::comparison(&found, Style::PLAIN).contains(legend));
    runs[0].phases.retain(|phase| phase.name == "save_wal");
    runs[1].phases.retain(|phase| phase.name == "save_delete");
    let apart = compare(&runs, &CompareOptions::default()).unwrap();
    let text = flashlag_term::comparison(&apart, Style::PLAIN);
    assert!(text.contains("save") || text.contains("SQLite"), "{text}");
    assert!(!text.contains(legend), "{text}");
}

#[test]
fn the_verdicts_of_repeats_are_there_at_every_width_and_rows_are_told_apart() {
    let mut sqlite = sample::sqlite();
    let busy = sample::overloaded().phases.into_iter().find(|phase| phase.background.is_some());
    sqlite.phases.push(busy.unwrap());
    for (run, width) in
        [sample::overloaded(), sqlite].iter().flat_map(|run| [60, 80, 120].map(|w| (run, w)))
    {
        let together = repeats(&[run.clone(), run.clone()], 2);
        let text = flashlag_term::repeats(&together, Style::PLAIN.with_width(width));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|line| line.chars().count() <= width), "{text}");
        assert!(text.contains("saves due each second are done"), "{text}");
        let verdicts = ["smooth", "hitches", "lags", "freezes", "overloaded"];
        let judged = lines.iter().filter(|line| verdicts.iter().any(|v| line.ends_with(v)));
        let wanted = together.rows.iter().filter(|row| row.judgement.is_some()).count();
        let judged: Vec<&&str> = judged.collect();
        assert_eq!(judged.len(), wanted, "{text}");
        let label = |line: &str| line.split("  ").next().unwrap().to_owned();
        let mut labels: Vec<String> = judged.iter().map(|line| label(line)).collect();
        labels.sort();
        labels.dedup();
        assert_eq!(labels.len(), wanted, "{text}");
        // A column is in the table's head, or named below the table.
        let head = lines.iter().find(|line| line.ends_with("verdict")).unwrap();
        assert!(head.contains("p99 ms") || width < 80, "{text}");
        let below = text.split_once("Left out for the width:").map_or("", |(_, below)| below);
        assert_ne!(below.contains("p99 ms"), head.contains("p99 ms"), "{text}");
    }
}

#[test]
fn one_finished_run_has_no_deviation_and_no_word_of_it() {
    let text = flashlag_term::repeats(&repeats(&[sample::quick()], 3), Style::PLAIN);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("in 1 of 3 runs") && !text.contains('±'), "{text}");
}
