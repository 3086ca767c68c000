//! Results of fio 2.x in fields of 3.x. In 2.x, latencies are whole microseconds, bins are
//! numbered, and `io_bytes` are KiB (fio's `stat.c`, `add_ddir_status_json`, of 2.14 to 2.21).

use serde_json::{Map, Value, json};

/// The fields that numbered bins have beside them.
const PARAMETERS: [&str; 3] = ["FIO_IO_U_PLAT_BITS", "FIO_IO_U_PLAT_VAL", "FIO_IO_U_PLAT_NR"];

/// Whether the version counts latencies in microseconds.
pub(super) fn is_old(version: &str) -> bool {
    version.starts_with("fio-2.")
}

/// A job of 2.x as 3.x writes one. A latency that already has the name of 3.x is left as it is.
pub(super) fn modern(job: &Value) -> Value {
    let mut job = job.clone();
    for direction in ["read", "write", "trim"] {
        let Some(side) = job.get_mut(direction).and_then(Value::as_object_mut) else { continue };
        for (old, new) in [("slat", "slat_ns"), ("clat", "clat_ns"), ("lat", "lat_ns")] {
            if let Some(latency) = side.remove(old) {
                side.entry(new).or_insert_with(|| in_nanoseconds(&latency));
            }
        }
        if !side.contains_key("io_kbytes")
            && let Some(kib) = side.get("io_bytes").and_then(Value::as_u64)
        {
            side.insert("io_bytes".to_owned(), json!(kib.saturating_mul(1024)));
        }
    }
    job
}

fn in_nanoseconds(latency: &Value) -> Value {
    let mut modern = Map::new();
    for name in ["min", "max", "mean", "stddev"] {
        if let Some(value) = latency.get(name).and_then(Value::as_f64) {
            let nanoseconds = value * 1000.0;
            let whole = nanoseconds.fract() == 0.0 && nanoseconds.abs() < 9e15;
            let value = if whole && name != "mean" {
                json!(nanoseconds as u64)
            } else {
                json!(nanoseconds)
            };
            modern.insert(name.to_owned(), value);
        }
    }
    if let Some(bins) = latency.get("bins").and_then(Value::as_object) {
        let mut counts: Map<String, Value> = Map::new();
        for (key, count) in bins.iter().filter(|(key, _)| !PARAMETERS.contains(&key.as_str())) {
            // A key that is no number stays, so that the reader names it.
            let key =
                key.parse().ok().and_then(middle).map_or_else(|| key.clone(), |at| at.to_string());
            counts.insert(key, count.clone());
        }
        modern.insert("bins".to_owned(), Value::Object(counts));
    }
    Value::Object(modern)
}

/// The middle of a numbered bin, in nanoseconds: 64 bins for each power of two, in microseconds
/// (`plat_idx_to_val`).
fn middle(index: u64) -> Option<u64> {
    if index < 128 {
        return index.checked_mul(1000);
    }
    let group = u32::try_from(index / 64 - 1).ok().filter(|group| *group < 50)?;
    let width = 1_u64 << group;
    let lower = (64 + index % 64).checked_mul(width)?;
    lower.checked_mul(1000)?.checked_add(width * 500)
}
