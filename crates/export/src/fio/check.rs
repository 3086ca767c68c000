//! Checks fio's own figures against its bins.

use flashlag_schema::verify::Discrepancy;
use flashlag_units::InOrder;
use serde_json::Value;

use super::error::FioFileError;
use super::results::{jobs_of, results_in};

/// The figures in fio's results (counts and percentiles) that do not follow from the bins beside them. Latencies without
/// bins are passed over, and so are the smallest and largest value, which fio keeps apart.
///
/// # Errors
/// The text has no JSON of fio.
pub fn check(text: &str) -> Result<Vec<Discrepancy>, FioFileError> {
    let mut found = Vec::new();
    for result in &results_in(text)?.results {
        for (index, job) in jobs_of(result).into_iter().enumerate() {
            for place in
                ["read/lat_ns", "read/clat_ns", "write/lat_ns", "write/clat_ns", "sync/lat_ns"]
            {
                if let Some(latency) = job.pointer(&format!("/{place}")) {
                    let path = format!("jobs[{index}].{}", place.replace('/', "."));
                    found.extend(of_latency(&path, latency));
                }
            }
        }
    }
    Ok(found)
}

fn of_latency(path: &str, latency: &Value) -> Vec<Discrepancy> {
    let Some(bins) = latency.get("bins").and_then(Value::as_object) else { return Vec::new() };
    // fio names a bin by its middle.
    let mut counts: Vec<(u64, u64)> = bins
        .iter()
        .filter_map(|(key, count)| Some((key.parse().ok()?, count.as_u64()?)))
        .filter(|(_, count)| *count > 0)
        .collect();
    counts.order();
    let n = counts.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
    let mut found = Vec::new();
    let mut differs = |name: &str, stored: u64, recomputed: u64| {
        found.push(Discrepancy {
            path: format!("{path}.{name}"),
            stored: stored.to_string(),
            recomputed: recomputed.to_string(),
        });
    };
    if let Some(stored) = latency.get("N").and_then(Value::as_u64).filter(|stored| *stored != n) {
        differs("N", stored, n);
    }
    let listed = latency.get("percentile").and_then(Value::as_object).into_iter().flatten();
    for (key, stored) in listed {
        let (Some(stored), Ok(percent)) = (stored.as_u64(), key.parse::<f64>()) else { continue };
        let recomputed = percentile(&counts, n, percent);
        if recomputed.is_some_and(|recomputed| stored.abs_diff(recomputed) > recomputed / 64 + 1) {
            differs(&format!("percentile.{key}"), stored, recomputed.unwrap_or_default());
        }
    }
    found
}

/// The middle of the first bin with which at least that share of the values is counted, as fio lists it.
fn percentile(counts: &[(u64, u64)], n: u64, percent: f64) -> Option<u64> {
    let wanted = percent / 100.0 * n as f64;
    let mut seen = 0_u64;
    let at = counts.iter().find(|(_, count)| {
        seen += count;
        seen as f64 >= wanted
    });
    at.or(counts.last()).map(|(middle, _)| *middle)
}
