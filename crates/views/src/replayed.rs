//! What is said of a replayed trace.

use flashlag_schema::replay::{ReplayLevel, ReplayPace, Replayed};
use flashlag_schema::trace::TraceSourceKind;
use flashlag_schema::{Phase, Run};

use crate::format;

/// A trace that a run replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayedTrace {
    /// What was replayed, when its operations began, and how long it took.
    pub sentence: String,
    /// SHA-256 of the trace's file.
    pub sha256: String,
    /// What was left out or changed, and how the replay ended.
    pub notes: Vec<String>,
}

/// How the figures of a replay are to be read.
pub const REPLAY_RULE: &str = "At the trace's own times a wait counts from the moment at which the trace \
    had the operation begin, so a slow operation delays those after it in its thread. Flat out a wait \
    counts from the operation's own start: nothing is as it was for the user.";

/// The traces that a run replayed, each stage of it for itself.
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
        let sentence = sentence(replay, &parts);
        traces.push(ReplayedTrace { sentence, sha256: replay.trace_sha256.clone(), notes });
    }
    traces
}

fn sentence(replay: &Replayed, parts: &[&Phase]) -> String {
    let saves = |phase: &&&Phase| phase.operation == flashlag_schema::Operation::Save;
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
