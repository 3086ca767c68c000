//! fio's latency objects and histograms.

use std::collections::BTreeMap;

use flashlag_stats::{Histogram, HistogramError, Percentile};
use flashlag_units::{IntoOrder, Nanos};
use serde_json::{Map, Value, json};

use super::error::FioFileError;

/// fio's last bucket (29 groups of 64): it contains its own values and every larger one.
pub(super) const LAST_BUCKET: usize = 29 * 64 - 1;

/// The percentiles that fio lists by default, in parts per ten thousand.
const LISTED: [u16; 17] = [
    100, 500, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 9500, 9900, 9950, 9990, 9995,
    9999,
];

/// The histogram of one of fio's latency objects (`{"min", "max", "mean", "N", "bins"}`).
/// `None` without bins.
///
/// The smallest and largest value are fio's own, exact; the sum is its mean times the count,
/// exact to the digits of the mean. If a value lies above fio's last bucket, the values of that
/// bucket stay in it, except the largest.
///
/// # Errors
/// A bin is not a number, or there are too many values. `job` is for the message.
pub fn histogram_of(job: &str, latency: &Value) -> Result<Option<Histogram>, FioFileError> {
    let Some(bins) = latency.get("bins").and_then(Value::as_object) else { return Ok(None) };
    let counts = counts_of(job, bins, latency)?;
    let broken = |source| FioFileError::Histogram { job: job.to_owned(), source };
    let (indices, counts): (Vec<u32>, Vec<u64>) = counts.into_iter().unzip();
    let rough = Histogram::from_parts(&indices, &counts, None).map_err(broken)?;
    let exact = exact_figures(&rough, latency);
    Histogram::from_parts(&indices, &counts, exact).map(Some).map_err(broken)
}

fn counts_of(
    job: &str,
    bins: &Map<String, Value>,
    latency: &Value,
) -> Result<BTreeMap<u32, u64>, FioFileError> {
    let mut counts = BTreeMap::new();
    let overflow =
        || FioFileError::Histogram { job: job.to_owned(), source: HistogramError::Overflow };
    for (key, count) in bins {
        let bad = || FioFileError::Bin { job: job.to_owned(), key: key.clone() };
        let value: u64 = key.parse().map_err(|_| bad())?;
        let count = count.as_u64().ok_or_else(bad)?;
        if count > 0 {
            let held: &mut u64 =
                counts.entry(Histogram::index_of(Nanos(value)) as u32).or_default();
            *held = held.checked_add(count).ok_or_else(overflow)?;
        }
    }
    spread_last_bucket(&mut counts, latency);
    Ok(counts)
}

/// Moves the largest value from fio's last bucket to its own, if it was above.
fn spread_last_bucket(counts: &mut BTreeMap<u32, u64>, latency: &Value) {
    let last = LAST_BUCKET as u32;
    let largest = latency.get("max").and_then(Value::as_u64).unwrap_or(0);
    let largest = Histogram::index_of(Nanos(largest)) as u32;
    if largest <= last || counts.last_key_value().is_none_or(|(index, _)| *index != last) {
        return;
    }
    if let Some(held) = counts.remove(&last) {
        if held > 1 {
            counts.insert(last, held - 1);
        }
        counts.insert(largest, 1);
    }
}

/// fio's smallest, largest and summed value, each limited to what the buckets allow.
fn exact_figures(rough: &Histogram, latency: &Value) -> Option<(Nanos, Nanos, Nanos)> {
    let (first, last) = (rough.min()?, rough.max()?);
    let drawn = |name: &str, bucket: Nanos| {
        let (start, end) = Histogram::bounds_of(Histogram::index_of(bucket));
        let stored = latency.get(name).and_then(Value::as_u64).map_or(bucket, Nanos);
        stored.clamp(start, end)
    };
    let (min, max) = (drawn("min", first), drawn("max", last));
    let (mut low, mut high) = (0u128, 0u128);
    for (index, count) in rough.occupied() {
        let (start, end) = Histogram::bounds_of(index as usize);
        low = low.saturating_add(u128::from(start.0) * u128::from(count));
        high = high.saturating_add(u128::from(end.0) * u128::from(count));
    }
    let most = u128::from(u64::MAX);
    let mean = latency.get("mean").and_then(Value::as_f64);
    // Values out of range saturate; a mean that is not a number becomes 0 and is then limited.
    let stored = mean
        .map_or(u128::from(rough.sum().0), |mean| (mean * rough.count() as f64).round() as u128);
    let sum = stored.clamp(low.min(most), high.min(most)) as u64;
    Some((min.min(max), max, Nanos(sum)))
}

/// A histogram as fio's latency object, with bins. Percentiles are listed as far as the count
/// supports them.
pub(super) fn latency_of(histogram: &Histogram) -> Value {
    let mut bins: BTreeMap<usize, u64> = BTreeMap::new();
    for (index, count) in histogram.occupied() {
        *bins.entry((index as usize).min(LAST_BUCKET)).or_default() += count;
    }
    let middle = |index: usize| Histogram::middle_of(index).0.to_string();
    let bins = bins.into_iter().map(|(index, count)| (middle(index), json!(count)));
    let bins: Map<String, Value> = bins.into_filled();
    let supported = LISTED.into_iter().filter_map(|listed| {
        let value = histogram.percentile(Percentile(listed))?;
        Some((format!("{:.6}", f64::from(listed) / 100.0), json!(value.0)))
    });
    let percentiles: Map<String, Value> = supported.into_filled();
    let mut latency = summary_of(histogram);
    if let Some(latency) = latency.as_object_mut() {
        latency.insert("percentile".to_owned(), Value::Object(percentiles));
        latency.insert("bins".to_owned(), Value::Object(bins));
    }
    latency
}

/// The same without percentiles and bins.
pub(super) fn summary_of(histogram: &Histogram) -> Value {
    let count = histogram.count();
    let mean = if count > 0 { histogram.sum().0 as f64 / count as f64 } else { 0.0 };
    let squares = histogram.occupied().map(|(index, count)| {
        count as f64 * (Histogram::middle_of(index as usize).0 as f64 - mean).powi(2)
    });
    let variance = squares.sum::<f64>() / (count.max(2) - 1) as f64;
    json!({
        "min": histogram.min().unwrap_or_default().0,
        "max": histogram.max().unwrap_or_default().0,
        "mean": mean,
        "stddev": variance.sqrt(),
        "N": count,
    })
}
