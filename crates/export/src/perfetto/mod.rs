//! A trace as JSON for Perfetto's viewer (<https://ui.perfetto.dev>) and Chrome's `about:tracing`: the
//! Trace Event Format. System calls are slices of their threads, requests are those of their devices, and
//! stalls are marked.

use std::collections::HashSet;
use std::io::{self, Write};

use flashlag_schema::trace::{
    BlockOperation, Trace, TraceAction, TraceEvent, TraceFile, TraceLedger,
};
use flashlag_units::Nanos;
use serde_json::{Value, json};

/// The number of the process that a device's requests are shown below; above every number of Linux.
const DEVICES: u64 = 1 << 23;
/// Lanes of a device: requests that overlap are shown side by side.
const LANES: usize = 64;

/// Writes a trace as JSON for Perfetto. `ledger` is the same trace added up, which has its stalls.
///
/// # Errors
/// `to` can't be written.
pub fn write(mut to: impl Write, trace: &Trace, ledger: &TraceLedger) -> io::Result<()> {
    let stalls: HashSet<u64> = ledger.stalls.listed.iter().map(|stall| stall.event).collect();
    to.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n")?;
    let mut first = true;
    let mut line = |value: Value| -> io::Result<()> {
        if !std::mem::take(&mut first) {
            to.write_all(b",\n")?;
        }
        serde_json::to_writer(&mut to, &value)?;
        Ok(())
    };
    for name in names(trace) {
        line(name)?;
    }
    let mut lanes = vec![Vec::new(); trace.devices.len()];
    for (event, number) in trace.events.iter().zip(0_u64..) {
        let Some(value) = slice(trace, &event, &mut lanes) else { continue };
        line(value)?;
        if stalls.contains(&number) {
            line(stall(trace, &event))?;
        }
    }
    to.write_all(b"\n]}\n")
}

/// The names of processes, threads and devices.
fn names(trace: &Trace) -> Vec<Value> {
    let name = |what: &str, pid: u64, tid: u64, name: &str| json!({"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}});
    let mut all = Vec::new();
    for (index, task) in (0_u32..).zip(&trace.tasks) {
        let (pid, tid) = place(trace, Some(index));
        if let Some(process) = &task.process {
            all.push(name("process_name", pid, tid, process));
        }
        if let Some(thread) = task.thread.as_ref().or(task.process.as_ref()) {
            all.push(name("thread_name", pid, tid, thread));
        }
    }
    for (index, device) in (0_u64..).zip(&trace.devices) {
        all.push(name("process_name", DEVICES + index, 0, &format!("device {}", device.name)));
    }
    all
}

/// The numbers of process and thread. A thread without a number gets one beyond those of Linux.
fn place(trace: &Trace, task: Option<u32>) -> (u64, u64) {
    let Some(index) = task else { return (0, 0) };
    let known = trace.tasks.get(index as usize);
    let tid = known.and_then(|task| task.tid).map_or(DEVICES * 2 + u64::from(index), u64::from);
    (known.and_then(|task| task.pid).map_or(tid, u64::from), tid)
}

/// Microseconds, which the format counts in, exact to the nanosecond.
fn micros(t: Nanos) -> Value {
    let text = format!("{}.{:03}", t.0 / 1000, t.0 % 1000);
    text.parse::<serde_json::Number>().map_or(Value::Null, Value::Number)
}

fn slice(trace: &Trace, event: &TraceEvent, lanes: &mut [Vec<Nanos>]) -> Option<Value> {
    let (pid, tid) = match event.action {
        TraceAction::Block { device, .. } => {
            (DEVICES + u64::from(device), lane(lanes.get_mut(device as usize)?, event))
        }
        TraceAction::Commit { device }
        | TraceAction::Checkpoint { device }
        | TraceAction::Clean { device } => (DEVICES + u64::from(device), LANES as u64 + 1),
        _ => place(trace, event.task),
    };
    let (name, category, arguments) = said(trace, event)?;
    let mut value = json!({
        "name": name, "cat": category, "pid": pid, "tid": tid, "ts": micros(event.t_ns),
        "args": arguments,
    });
    match event.took_ns {
        Some(took) => (value["ph"], value["dur"]) = (json!("X"), micros(took)),
        // Without a length: an instant on its thread.
        None => (value["ph"], value["s"]) = (json!("i"), json!("t")),
    }
    Some(value)
}

/// The first lane that is free when the request begins.
fn lane(lanes: &mut Vec<Nanos>, event: &TraceEvent) -> u64 {
    let end = event.t_ns.plus(event.took_ns.unwrap_or_default());
    let free = lanes.iter().position(|busy| *busy <= event.t_ns);
    let at = free.unwrap_or_else(|| lanes.len().min(LANES - 1));
    match lanes.get_mut(at) {
        Some(busy) => *busy = end.max(*busy),
        None => lanes.push(end),
    }
    at as u64
}

/// A mark that is seen over the whole height of the viewer.
fn stall(trace: &Trace, event: &TraceEvent) -> Value {
    let name = said(trace, event)
        .map_or_else(|| "stall".to_owned(), |(name, ..)| format!("stall: {name}"));
    let (pid, tid) = place(trace, event.task);
    json!({
        "name": name, "cat": "stall", "ph": "i", "s": "g", "pid": pid, "tid": tid,
        "ts": micros(event.t_ns), "args": {"took_ms": event.took_ns.map(Nanos::as_millis_f64)},
    })
}

fn said(trace: &Trace, event: &TraceEvent) -> Option<(&'static str, &'static str, Value)> {
    let file = |index: u32| trace.files.get(index as usize).map_or(Value::Null, file_name);
    Some(match &event.action {
        TraceAction::Open { .. } | TraceAction::Close { .. } => return None,
        TraceAction::Read { file: of, offset, bytes } => {
            ("read", "call", json!({"file": file(*of), "offset": offset, "bytes": bytes}))
        }
        TraceAction::Write { file: of, offset, bytes } => {
            ("write", "call", json!({"file": file(*of), "offset": offset, "bytes": bytes}))
        }
        TraceAction::Sync { file: of, data_only: false } => {
            ("fsync", "call", json!({"file": file(*of)}))
        }
        TraceAction::Sync { file: of, data_only: true } => {
            ("fdatasync", "call", json!({"file": file(*of)}))
        }
        TraceAction::Change { file: of } => ("change", "call", json!({"file": file(*of)})),
        TraceAction::Counted { writes, bytes } => {
            ("counted", "call", json!({"writes": writes, "bytes": bytes}))
        }
        TraceAction::SyncAll => ("sync", "call", json!({})),
        TraceAction::Truncate { file: of, bytes } => {
            ("truncate", "call", json!({"file": file(*of), "bytes": bytes}))
        }
        TraceAction::Unlink { file: of } => ("unlink", "call", json!({"file": file(*of)})),
        TraceAction::Rename { file: of, to } => {
            ("rename", "call", json!({"file": file(*of), "to": file(*to)}))
        }
        TraceAction::Failed { call, file: of, error } => {
            let arguments = json!({"call": call, "file": of.map(file), "error": error});
            ("failed call", "call", arguments)
        }
        TraceAction::Commit { .. } => ("commit of the journal", "filesystem", json!({})),
        TraceAction::Checkpoint { .. } => ("checkpoint", "filesystem", json!({})),
        TraceAction::Clean { .. } => ("cleaning", "filesystem", json!({})),
        TraceAction::Block { operation, offset, bytes, flags, queued_ns, .. } => {
            let name = match operation {
                BlockOperation::Read => "read request",
                BlockOperation::Write => "write request",
                BlockOperation::Flush => "flush",
                BlockOperation::Discard => "discard",
            };
            let queued = queued_ns.map(Nanos::as_millis_f64);
            let arguments = json!({
                "offset": offset, "bytes": bytes, "queued_ms": queued, "flags": flags,
            });
            (name, "block", arguments)
        }
    })
}

fn file_name(file: &TraceFile) -> Value {
    match (&file.path, file.inode, file.descriptor) {
        (Some(path), ..) => json!(path),
        (None, Some(inode), _) => json!(format!("inode {inode}")),
        (None, None, Some(descriptor)) => json!(format!("descriptor {descriptor}")),
        (None, None, None) => Value::Null,
    }
}

#[cfg(test)]
mod tests;
