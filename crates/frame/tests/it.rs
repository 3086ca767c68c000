//! Tables hold what the run files hold.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use flashlag_frame::{HistogramOf, RecordBatch, comparison, histograms, intervals, phases};
use flashlag_schema::Run;
use flashlag_testing::sample::{self, SampleDevice};
use flashlag_views::CompareOptions;

fn runs() -> Vec<Run> {
    vec![sample::quick(), sample::lifecycle(), sample::overloaded(), sample::sqlite()]
}

fn whole(table: &RecordBatch, column: &str) -> Vec<Option<i64>> {
    table.column_by_name(column).unwrap().as_primitive::<Int64Type>().iter().collect()
}

fn text(table: &RecordBatch, column: &str) -> Vec<String> {
    let column = table.column_by_name(column).unwrap().as_string::<i32>();
    column.iter().map(|text| text.unwrap().to_owned()).collect()
}

#[test]
fn each_phase_of_each_run_is_a_row_with_its_figures() {
    let runs = runs();
    let table = phases(&runs.iter().collect::<Vec<_>>()).unwrap();
    let all: Vec<_> = runs.iter().flat_map(|run| &run.phases).collect();
    assert_eq!(table.num_rows(), all.len());
    assert!(all.len() > 20);
    let ops: Vec<_> = all.iter().map(|phase| Some(phase.ops as i64)).collect();
    assert_eq!(whole(&table, "ops"), ops);
    let p99 = |p99: Option<flashlag_units::Nanos>| p99.map(|time| time.0 as i64);
    let latency: Vec<_> = all.iter().map(|phase| p99(phase.latency_ns.p99)).collect();
    assert_eq!(whole(&table, "latency_p99_ns"), latency);
    assert!(latency.contains(&None) && latency.iter().any(Option::is_some));
    let names: Vec<_> = all.iter().map(|phase| phase.label()).collect();
    assert_eq!(text(&table, "phase"), names);
}

#[test]
fn buckets_of_a_phase_count_its_operations_and_hold_their_extremes() {
    for run in runs() {
        let table = histograms(&run, HistogramOf::Latency).unwrap();
        let (names, counts) = (text(&table, "phase"), whole(&table, "count"));
        let (from, to) = (whole(&table, "from_ns"), whole(&table, "to_ns"));
        for phase in &run.phases {
            let rows: Vec<usize> =
                (0..names.len()).filter(|row| names[*row] == phase.label()).collect();
            let sum: i64 = rows.iter().filter_map(|row| counts[*row]).sum();
            assert_eq!(sum as u64, phase.ops);
            let (Some(first), Some(last)) = (rows.first(), rows.last()) else { continue };
            let (least, most) = (phase.histogram.min_ns.0, phase.histogram.max_ns.0);
            assert!(from[*first].unwrap() as u64 <= least && most <= to[*last].unwrap() as u64);
        }
    }
}

#[test]
fn a_histogram_that_a_phase_lacks_has_no_rows() {
    let run = sample::quick();
    let table = histograms(&run, HistogramOf::Response).unwrap();
    let paced: BTreeSet<String> = run
        .phases
        .iter()
        .filter(|phase| phase.response_histogram.is_some())
        .map(|phase| phase.label())
        .collect();
    assert_eq!(text(&table, "phase").into_iter().collect::<BTreeSet<_>>(), paced);
}

#[test]
fn columns_have_names_and_meanings_of_their_own() {
    let run = sample::lifecycle();
    let pair = [SampleDevice::Tablet, SampleDevice::Phone].map(|it| sample::lifecycle_on(it, 0));
    let compared = flashlag_views::compare(&pair, &CompareOptions::default()).unwrap();
    let tables = [
        phases(&[&run]).unwrap(),
        histograms(&run, HistogramOf::Flush).unwrap(),
        intervals(&run).unwrap(),
        comparison(&compared).unwrap(),
    ];
    for table in tables {
        let schema = table.schema();
        let names: BTreeSet<&str> = schema.fields().iter().map(|it| it.name().as_str()).collect();
        assert_eq!(names.len(), schema.fields().len());
        assert!(schema.fields().iter().all(|field| !field.metadata()["about"].is_empty()));
    }
}
