//! Why a job has no readable distribution.

use serde_json::Value;

use super::options::Options;

/// The error that ended a job: `error 28 (No space left on device)`.
pub(super) fn error_of(job: &Value) -> Option<String> {
    let number = job.get("error").and_then(Value::as_i64).filter(|number| *number != 0)?;
    let number = i32::try_from(number.unsigned_abs()).unwrap_or(i32::MAX);
    let text = std::io::Error::from_raw_os_error(number).to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    Some(format!("error {number} ({text})"))
}

/// Why a direction that moved something has no bins, and what to run fio with.
pub(super) fn why_no_bins(options: &Options, side: &Value, job: &Value) -> String {
    if let Some(error) = error_of(job) {
        return format!("fio ended the job with {error}");
    }
    for (option, what) in [
        ("gtod_reduce", "turns the clock readings for latencies off"),
        ("disable_clat", "turns completion latencies off"),
        ("disable_lat", "turns latencies off"),
    ] {
        // disable_lat alone leaves completion latencies.
        if options.is_on(option) && (option != "disable_lat" || !has_values(side, "clat_ns")) {
            return format!("{option}=1 {what}: run fio without it");
        }
    }
    if has_values(side, "clat_ns") || has_values(side, "lat_ns") || has_values(side, "clat") {
        return "it was written with --output-format=json, which has percentiles only: run fio with \
                --output-format=json+"
            .to_owned();
    }
    "fio kept no latency of any: run fio with --output-format=json+ and without --disable_clat"
        .to_owned()
}

/// Whether fio summed up values in a latency object, with or without their number (which only 3.x writes).
fn has_values(side: &Value, field: &str) -> bool {
    let Some(latency) = side.get(field) else { return false };
    let positive =
        |name: &str| latency.get(name).and_then(Value::as_f64).is_some_and(|value| value > 0.0);
    positive("N") || positive("mean") || positive("max")
}
