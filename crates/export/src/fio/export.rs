//! A run as fio's `json+`.

use flashlag_schema::{Phase, Run, StoredHistogram};
use flashlag_spec::Operation;
use flashlag_stats::Histogram;
use serde_json::{Map, Value, json};

use super::bins::{latency_of, summary_of};
use super::error::FioExportError;
use super::extension::Extension;
use super::options::Options;

/// Writes a run in the shape of `fio --output-format=json+`: one job for each phase, whose
/// `clat_ns` bins are the latency (including the flush that makes a write durable) and whose
/// `sync.lat_ns` bins are the flush's part. Fields that fio lacks are under `flashlag`, which
/// fio's tools ignore and [`super::import`] reads back.
///
/// # Errors
/// A run without phases or with replays only, or with an invalid histogram. Replays beside other tests are
/// left out: no option of fio describes a trace's operations.
pub fn export(run: &Run) -> Result<String, FioExportError> {
    if run.phases.is_empty() {
        return Err(FioExportError::NoPhases);
    }
    let mut phases = run.phases.iter().filter(|phase| phase.replay.is_none()).peekable();
    if phases.peek().is_none() {
        return Err(FioExportError::OnlyReplays);
    }
    let jobs: Result<Vec<Value>, FioExportError> =
        phases.map(|phase| job_of(phase, run.scenario.seed)).collect();
    let stamp = run.started.as_deref().and_then(|text| text.parse::<jiff::Timestamp>().ok());
    let file = json!({
        "fio version": format!("flashlag-{}", run.flashlag.version),
        "timestamp": stamp.map_or(0, jiff::Timestamp::as_second),
        "timestamp_ms": stamp.map_or(0, jiff::Timestamp::as_millisecond),
        "time": run.started.clone().unwrap_or_default(),
        "jobs": jobs?,
        "disk_util": run.environment.device.name.value().map_or(json!([]), |name| json!([{ "name": name }])),
    });
    Ok(flashlag_schema::to_json_pretty(&file)? + "\n")
}

fn job_of(phase: &Phase, seed: u64) -> Result<Value, FioExportError> {
    let restored = |stored: &StoredHistogram| {
        let broken = |source| FioExportError::Histogram { phase: phase.label(), source };
        stored.restore().map_err(broken)
    };
    let optional = |stored: &Option<StoredHistogram>| stored.as_ref().map(restored).transpose();
    let latency = restored(&phase.histogram)?;
    let is_read = matches!(phase.operation, Operation::SequentialRead | Operation::RandomRead);
    let empty = Histogram::new();
    let (read, write) = if is_read { (&latency, &empty) } else { (&empty, &latency) };
    let options = Options::of_phase(phase, seed).into_iter();
    let options: Map<String, Value> =
        options.map(|(name, value)| (name.to_owned(), json!(value))).collect();
    let (user, system) = cpu_shares(phase);
    let mut job = json!({
        "jobname": phase.name,
        "groupid": 0,
        "error": 0,
        "elapsed": phase.elapsed_ns.0.div_ceil(1_000_000_000),
        "job options": options,
        "read": side_of(phase, read),
        "write": side_of(phase, write),
        "trim": side_of(phase, &empty),
        "job_runtime": millis_of(phase),
        "usr_cpu": user,
        "sys_cpu": system,
        "flashlag": extension_of(phase, optional(&phase.response_histogram)?.as_ref())?,
    });
    if let (Some(flush), Some(job)) = (optional(&phase.flush_histogram)?, job.as_object_mut()) {
        let sync = json!({ "total_ios": flush.count(), "lat_ns": latency_of(&flush) });
        job.insert("sync".to_owned(), sync);
    }
    Ok(job)
}

fn extension_of(phase: &Phase, response: Option<&Histogram>) -> Result<Value, FioExportError> {
    let mut extension = serde_json::to_value(Extension {
        name: Some(phase.name.clone()),
        state: Some(phase.state),
        run: Some(phase.run),
        operation: Some(phase.operation),
        durable: Some(phase.durable),
        engine: Some(phase.engine),
        elapsed_ns: Some(phase.elapsed_ns),
        began_ns: Some(phase.began_ns),
        stall_over_ns: Some(phase.stall_over_ns),
        stalls_seen: Some(phase.stalls_seen),
        missed_slots: phase.missed_slots,
        think: phase.think,
        notes: phase.notes.clone(),
    })?;
    if let (Some(response), Some(fields)) = (response, extension.as_object_mut()) {
        fields.insert("response_ns".to_owned(), latency_of(response));
    }
    Ok(extension)
}

/// The phase's time in fio's milliseconds, at least one: fio's tools divide by the time.
fn millis_of(phase: &Phase) -> u64 {
    (phase.elapsed_ns.0.saturating_add(500_000) / 1_000_000).max(1)
}

/// One direction of a job; all zero for an empty histogram.
fn side_of(phase: &Phase, latency: &Histogram) -> Value {
    let count = latency.count();
    let moved = if count > 0 { phase.bytes.0 } else { 0 };
    let rate = |count: u64| flashlag_units::per_second(count, phase.elapsed_ns).unwrap_or_default();
    json!({
        "io_bytes": moved,
        "io_kbytes": moved >> 10,
        "bw_bytes": rate(moved) as u64,
        "bw": rate(moved) as u64 >> 10,
        "iops": rate(count),
        "runtime": if count > 0 { millis_of(phase) } else { 0 },
        "total_ios": count,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": summary_of(&Histogram::new()),
        "clat_ns": if count > 0 { latency_of(latency) } else { summary_of(latency) },
        "lat_ns": summary_of(latency),
    })
}

/// CPU time as percent of the elapsed time. A run does not split it into user and system: all of it
/// is given as system time, where a thread that does I/O spends most.
fn cpu_shares(phase: &Phase) -> (f64, f64) {
    let on_cpu = phase.time.value().map_or(0, |time| time.on_cpu_ns.0);
    let share = flashlag_units::ratio(on_cpu, phase.elapsed_ns.0).unwrap_or_default();
    (0.0, share * 100.0)
}
