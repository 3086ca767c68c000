//! fio's `json+` as a phase.

use flashlag_device::advice_for_errno;
use flashlag_schema::fio::{FioFileError, histogram_of, json_of};
use flashlag_schema::scenario::IoOperation;
use flashlag_stats::Histogram;
use flashlag_units::{Bytes, Nanos};
use rustix::io::Errno;
use serde_json::Value;

use super::arguments::Plan;
use super::process::Output;
use super::{Fio, FioError, FioPhase};
use crate::files::FileSet;

pub(super) fn phase_of(
    fio: &Fio,
    plan: &Plan,
    files: &FileSet,
    output: &Output,
) -> Result<FioPhase, FioError> {
    let json = json_of(&output.stdout);
    let job = json.as_ref().ok().and_then(|json| json.pointer("/jobs/0"));
    let errno = job.and_then(|job| job.get("error")).and_then(Value::as_i64).unwrap_or(0);
    if errno != 0 || (!output.status.success() && !output.stopped) {
        return Err(failed(files, output, errno));
    }
    let json = json?;
    let job = json.pointer("/jobs/0").ok_or(FioFileError::Nothing)?;
    let direction = match plan.operation {
        IoOperation::Read => "read",
        IoOperation::Write => "write",
    };
    let side = job.get(direction).unwrap_or(&Value::Null);
    let number = |of: &Value, field: &str| of.get(field).and_then(Value::as_u64).unwrap_or(0);
    let latency = match side.get("lat_ns").map(|lat| histogram_of("flashlag", lat)).transpose()? {
        Some(Some(latency)) => latency,
        // It was stopped before the first operation ended.
        _ if number(side, "total_ios") == 0 => Histogram::new(),
        _ => return Err(FioFileError::NoBins { job: "flashlag".to_owned(), direction }.into()),
    };
    let bytes = Bytes(number(side, "io_bytes"));
    let elapsed = Nanos::from_millis(number(side, "runtime"));
    let whole = Nanos::from_millis(number(job, "job_runtime"));
    let cpu = |field: &str| {
        let percent = job.get(field).and_then(Value::as_f64).unwrap_or(0.0);
        Nanos((whole.0 as f64 * percent / 100.0) as u64)
    };
    let command = std::iter::once(fio.path.display().to_string()).chain(plan.arguments());
    Ok(FioPhase {
        ops: latency.count(),
        bytes,
        elapsed,
        cpu_user: cpu("usr_cpu"),
        cpu_system: cpu("sys_cpu"),
        moved: moved(plan, bytes, elapsed),
        durable: plan.durable,
        direct: plan.direct,
        queue_depth: plan.queue_depth,
        downgrades: plan.downgrades.clone(),
        command: command.collect(),
        stopped: output.stopped,
        latency,
    })
}

/// fio forgets what it moved in its warm-up: taken to be as fast as the rest.
fn moved(plan: &Plan, bytes: Bytes, elapsed: Nanos) -> Bytes {
    let warmup = plan.warmup.unwrap_or_default();
    let rate = flashlag_units::per_second(bytes.0, elapsed).unwrap_or(0.0);
    bytes.plus(Bytes((rate * warmup.as_secs_f64()).ceil() as u64))
}

fn failed(files: &FileSet, output: &Output, errno: i64) -> FioError {
    let said = [&output.stderr, &output.stdout].into_iter().flat_map(|text| text.lines());
    let line = said.map(str::trim).find(|line| line.starts_with("fio:") && line.len() > 4);
    let errno = i32::try_from(errno).ok().filter(|errno| *errno != 0);
    let reason = match (errno, line) {
        (Some(errno), _) => {
            let text = std::io::Error::from_raw_os_error(errno).to_string();
            text.split(" (os error").next().unwrap_or_default().to_owned()
        }
        (None, Some(line)) => line.trim_start_matches("fio:").trim().to_owned(),
        (None, None) => format!("it ended with {}", output.status),
    };
    FioError::Failed {
        subject: files.directory().display().to_string(),
        reason,
        errno,
        advice: errno.map_or("see `fio --version`; try without --engine fio", |errno| {
            advice_for_errno(Errno::from_raw_os_error(errno))
        }),
    }
}
