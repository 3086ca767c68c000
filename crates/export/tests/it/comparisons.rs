//! Overloaded rows of comparisons in every format that holds comparisons.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use flashlag_export::{ExportError, Format};
use flashlag_schema::{CheckStatus, Run};
use flashlag_spec::Reading;
use flashlag_testing::sample;
use flashlag_views::{CompareOptions, Comparison, compare};

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

fn busy_ops(run: &Run) -> u64 {
    run.phases.iter().find(|phase| phase.background.is_some()).unwrap().ops
}

fn compared(format: Format, comparison: &Comparison) -> String {
    format.write_comparison(comparison, None).unwrap()
}

#[test]
fn an_overloaded_row_has_its_count_and_its_verdict_and_no_times_in_any_form() {
    let (runs, found) = sides();
    let n = busy_ops(&runs[1]);
    let csv = compared(Format::Csv, &found);
    let line = csv.lines().find(|line| line.contains(",overloaded,")).unwrap();
    // n, five times, the share of late ones.
    assert!(line.contains(&format!(",1,{n},,,,,,,")), "{line}");
    let json: serde_json::Value = serde_json::from_str(&compared(Format::Json, &found)).unwrap();
    let tests = json["tests"].as_array().unwrap();
    let sides = tests.iter().map(|test| &test["sides"][1]);
    let side = sides.into_iter().find(|side| side["verdict"] == "overloaded").unwrap();
    assert_eq!((&side["n"], &side["overload"]["runs"]), (&n.into(), &1.into()));
    for key in ["p50_ns", "p99_ns", "max_ns", "late"] {
        assert!(side.get(key).is_none(), "{key}: {side}");
    }
    let checks = json["checks"].as_array().unwrap();
    assert_eq!(checks[0]["claim"], found.checks[0].claim.as_str());
    let statuses: Vec<&str> = checks[0]["sides"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["status"].as_str().unwrap())
        .collect();
    assert!(statuses.contains(&"unknown"), "{statuses:?}");
    let markdown = compared(Format::Markdown, &found);
    let row = markdown.lines().find(|line| line.contains("the queue grows")).unwrap();
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    assert!(cells.contains(&"overloaded") && cells.contains(&n.to_string().as_str()), "{row}");
    // Four percentiles, the longest and the share of late ones.
    assert_eq!(cells.iter().filter(|cell| **cell == "-").count(), 6, "{row}");
}

#[test]
fn every_line_of_a_comparison_has_a_field_for_each_name() {
    let (_, found) = sides();
    let csv = compared(Format::Csv, &found);
    // A comma between quotation marks is no separator.
    let outside = |line: &str| -> String { line.split('"').step_by(2).collect() };
    let fields = |line: &str| outside(line).matches(',').count() + 1;
    let names = fields(csv.lines().next().unwrap());
    let measured = found.rows.iter().flat_map(|row| row.sides.iter().flatten()).count();
    assert_eq!(csv.lines().count(), measured + 1);
    for line in csv.lines() {
        assert_eq!(fields(line), names, "{line}");
    }
    assert!(csv.lines().any(|line| line.contains('"')), "a name with a comma is quoted");
}

#[test]
fn a_format_for_single_runs_refuses_a_comparison_and_names_those_that_hold_one() {
    let (_, found) = sides();
    for format in Format::ALL {
        match format.write_comparison(&found, None) {
            Ok(text) => assert!(format.holds_comparisons() && !text.is_empty(), "{format:?}"),
            Err(ExportError::SingleRunsOnly { format: refused }) => {
                assert!(!format.holds_comparisons() && refused == format);
                let message = ExportError::SingleRunsOnly { format }.to_string();
                assert!(message.ends_with("use markdown, csv or json"), "{message}");
            }
            Err(other) => panic!("{format:?}: {other}"),
        }
    }
}
