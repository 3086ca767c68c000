//! The published rows of the Pixel 4 at two depths, recomputed from fio's own outputs.

use flashlag_spec::published::{Published, checked};

/// fio's outputs, cut to the lines that the rows rest on; each begins with `== TEST`.
const OUTPUTS: &str = include_str!("fixtures/fio-pixel4.txt");

/// The number after `key` in a line: `avg=` in `slat (usec): min=1, avg=112.96`.
fn after(line: &str, key: &str) -> f64 {
    let (_, rest) = line.split_once(key).unwrap_or_else(|| panic!("no {key} in {line}"));
    let number: String =
        rest.trim_start().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    number.parse().unwrap_or_else(|_| panic!("no number after {key} in {line}"))
}

/// Value of a row by its metric, from one test's output: MB/s, or ms from the call's beginning.
fn value(output: &str, metric: &str) -> f64 {
    let line = |of: &str| output.lines().find(|line| line.contains(of)).unwrap();
    let Some(percentile) = metric.strip_prefix("latency p") else {
        return after(line("BW="), "MiB/s (");
    };
    assert!(line("slat").contains("(usec)"), "{output}");
    let unit = if line("clat percentiles").contains("(msec)") { 1.0 } else { 1e-3 };
    let digits = if percentile.contains('.') { "0" } else { ".00" };
    let key = format!("{percentile}{digits}th=[");
    after(line(&key), &key) * unit + after(line("slat"), "avg=") * 1e-3
}

#[test]
fn the_pixel_4s_rows_are_what_fio_printed() {
    let is_fio =
        |row: &&Published| row.device == "pixel4-2019" && row.condition.starts_with("2021");
    let rows: Vec<&Published> = checked().iter().filter(is_fio).collect();
    assert_eq!(rows.len(), 58);
    for row in rows {
        let head = format!("== {}\n", row.workload);
        let (_, rest) = OUTPUTS.split_once(&head).unwrap_or_else(|| panic!("no {head}"));
        let output = rest.split("== ").next().unwrap();
        let printed = value(output, &row.metric);
        let error = (row.value / printed - 1.0).abs();
        assert!(error < 0.001, "{} {}: {} {printed}", row.workload, row.metric, row.value);
    }
}
