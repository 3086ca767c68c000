//! Sentences about a replayed trace.

use flashlag_explain::Figures;
use flashlag_schema::{Phase, Replayed, Run};
use flashlag_spec::replay::{ReplayLevel, ReplayPace};
use flashlag_spec::{Operation, TraceSourceKind};

use crate::format;

/// A trace that a run replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayedTrace {
    /// What was replayed, when its operations began, and how long it took.
    pub sentence: String,
    /// How long the same operations took where the trace was recorded, beside how long they take
    /// here; empty if the trace does not say.
    pub traced: String,
    /// SHA-256 of the trace's file.
    pub sha256: String,
    /// What was left out or changed, and how the replay ended.
    pub notes: Vec<String>,
}

/// How the figures of a replay are to be read.
pub const REPLAY_RULE: &str = "At the trace's own times, a wait counts from the operation's start \
     in the trace, so a slow operation delays those after it in its thread. Flat out, a wait \
     counts from the operation's own start, which is not what the user felt.";

/// The traces that a run replayed, with an entry for each stage.
pub fn replayed_traces(run: &Run) -> Vec<ReplayedTrace> {
    let mut traces: Vec<ReplayedTrace> = Vec::new();
    let mut rest = run.phases.as_slice();
    while let Some((first, after)) = rest.split_first() {
        let Some(replay) = &first.replay else {
            rest = after;
            continue;
        };
        let begin = (first.state, first.run, first.began_ns);
        let same = |phase: &&Phase| {
            phase.replay.is_some() && (phase.state, phase.run, phase.began_ns) == begin
        };
        let parts: Vec<&Phase> = rest.iter().take_while(same).collect();
        rest = rest.get(parts.len()..).unwrap_or_default();
        let notes = parts.iter().flat_map(|phase| phase.notes.iter().cloned()).collect();
        let (sentence, traced) = (sentence(replay, &parts), traced(&parts));
        let sha256 = replay.trace_sha256.clone();
        traces.push(ReplayedTrace { sentence, traced, sha256, notes });
    }
    traces
}

fn sentence(replay: &Replayed, parts: &[&Phase]) -> String {
    let saves = |phase: &&&Phase| phase.operation == Operation::Save;
    let operations: u64 = parts.iter().filter(|phase| !saves(phase)).map(|phase| phase.ops).sum();
    let what = match replay.level {
        ReplayLevel::Calls => "system calls",
        ReplayLevel::Blocks => "block requests",
    };
    let threads = match parts.first().map_or(1, |phase| phase.threads) {
        1 => String::new(),
        threads => format!(" of {threads} threads"),
    };
    let took = parts.iter().map(|phase| phase.elapsed_ns).max().unwrap_or_default();
    let pace = match (replay.pace, replay.scheduled_ns) {
        (ReplayPace::Own, Some(due)) => {
            format!("at their own times, within {}", format::time(due))
        }
        _ => "flat out".to_owned(),
    };
    format!(
        "{} {what}{threads} of {} were replayed {pace}; they took {}",
        format::count(operations),
        source(replay.source),
        format::time(took)
    )
}

/// `Medians, where the trace was made and here: reads 113 µs there, 83 µs here`.
fn traced(parts: &[&Phase]) -> String {
    let compared = parts.iter().filter_map(|phase| {
        let replay = phase.replay.as_ref()?;
        let (there, here) = (replay.traced_ns.as_ref()?.p50?, Figures::of_phase(phase).p50?);
        let what = operations(phase.operation)?;
        Some(format!("{what} {} there, {} here", format::time(there), format::time(here)))
    });
    let compared: Vec<String> = compared.collect();
    if compared.is_empty() {
        String::new()
    } else {
        format!("Medians, where the trace was made and here: {}", compared.join("; "))
    }
}

fn operations(operation: Operation) -> Option<&'static str> {
    Some(match operation {
        Operation::ReplayRead => "reads",
        Operation::ReplayWrite => "writes",
        Operation::ReplaySync => "syncs",
        Operation::ReplayNames => "opens and names",
        Operation::ReplayDiscard => "discards",
        Operation::Save => "transactions",
        _ => return None,
    })
}

/// Where a trace comes from.
fn source(kind: TraceSourceKind) -> &'static str {
    match kind {
        TraceSourceKind::Ebpf => "a trace by eBPF",
        TraceSourceKind::Tracefs => "a trace by tracefs",
        TraceSourceKind::Fanotify => "a trace by fanotify",
        TraceSourceKind::Atrace => "a trace by atrace",
        TraceSourceKind::Blkparse => "a blktrace",
        TraceSourceKind::Ftrace => "an ftrace",
        TraceSourceKind::Perfetto => "a Perfetto trace",
        TraceSourceKind::Strace => "an strace",
        TraceSourceKind::SystemCalls => "a list of system calls",
        TraceSourceKind::BlockTable => "a table of block requests",
        TraceSourceKind::Unknown => "a trace",
    }
}
