//! Facts about a run that several parts of the page name.

use flashlag_schema::{Run, RunStatus, TargetKind};
use flashlag_spec::Reading;
use flashlag_units::Nanos;
use flashlag_views::{device_name, format, kind_name};

/// The name of the device: its label, or else a short name.
pub(crate) fn subject(run: &Run) -> String {
    device_name(run)
}

/// The line above the headline, most important first.
pub(crate) fn meta(run: &Run) -> Vec<String> {
    let mut parts = vec![subject(run)];
    parts.extend(storage(run));
    parts.extend(run.environment.filesystem.kind.value().cloned());
    parts.extend(run.environment.software.system.value().cloned());
    let day = run.started.as_deref().map(|started| started.split('T').next().unwrap_or(started));
    let day = day.map(|day| format!(", {day}")).unwrap_or_default();
    let took = duration(run).map(|took| format!(", {}", format::time(took))).unwrap_or_default();
    parts.push(format!("{} run{day}{took}", run.scenario.name));
    parts.extend(status(run));
    if run.target.kind == TargetKind::Imported {
        parts.push("imported from another tool’s results".to_owned());
    }
    parts
}

/// `128 GB eMMC`.
pub(crate) fn storage(run: &Run) -> Option<String> {
    let device = &run.environment.device;
    let size = device.size_bytes.value().map(|size| format::size(*size));
    let kind = device.kind.value().map(|kind| kind_name(kind).to_owned());
    let words: Vec<String> = size.into_iter().chain(kind).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Time from the start of the run to the end of its last phase.
pub(crate) fn duration(run: &Run) -> Option<Nanos> {
    run.phases.iter().map(|phase| phase.began_ns.plus(phase.elapsed_ns)).max()
}

/// How an incomplete run ended.
pub(crate) fn status(run: &Run) -> Option<String> {
    let at = |step: &u32| format!("before step {}", u64::from(*step) + 1);
    match &run.status {
        RunStatus::Complete => None,
        RunStatus::Running { next_step } => Some(format!("unfinished, {}", at(next_step))),
        RunStatus::Interrupted { next_step } => Some(format!("stopped {}", at(next_step))),
        RunStatus::Failed { next_step, .. } => Some(format!("failed {}", at(next_step))),
    }
}

/// The last line of the page.
pub(crate) fn footer(run: &Run) -> String {
    format!(
        "flashlag {}, run file format {}. This page loads nothing from the network and runs no script.",
        run.flashlag.version, run.schema
    )
}

/// A value as text, or the reason why it is missing.
pub(crate) fn text_or_reason<T>(
    reading: &Reading<T>,
    text: impl FnOnce(&T) -> String,
) -> Result<String, String> {
    match reading {
        Reading::Value(value) => Ok(text(value)),
        Reading::Unavailable { unavailable } => Err(unavailable.clone()),
    }
}
