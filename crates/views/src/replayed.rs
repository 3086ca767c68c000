//! Sentences about a replayed trace.

use flashlag_explain::{Figures, LagVerdict, is_overloaded, restored, verdict};
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
    /// here, both from their own start; empty if the trace does not say. Of a paced replay also how
    /// long they take from their times in the trace.
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

/// Whether its operations began at the times of the trace, from which their waits then count.
pub(crate) fn is_paced(phase: &Phase) -> bool {
    phase.replay.as_ref().is_some_and(|replay| replay.scheduled_ns.is_some())
}

/// From when a wait counts at the times of a trace.
pub(crate) const FROM_THE_RECORDING: &str = "counted from when your app made them in the recording";

/// Of a paced replay whose operations are better by themselves: `Counted from their own start, none of 1,000 SQLite
/// saves misses a 60 Hz frame (median 6.3 ms); the rest is the wait for the operations before them.` `many` names
/// them.
pub(crate) fn from_own_start(run: &Run, phase: &Phase, many: &str) -> Option<String> {
    let own = restored(&phase.histogram).filter(|_| is_paced(phase))?;
    if LagVerdict::of(&own)? >= verdict(run, phase)? {
        return None;
    }
    let figures = Figures::of(&own);
    let late = match figures.late_share()? {
        0.0 => format!("none of {} {many} misses a 60 Hz frame", format::count(figures.n)),
        share => format!("{} of {many} miss a 60 Hz frame", format::share(share)),
    };
    let time = match (figures.p50, figures.max) {
        (Some(median), _) => format!(" (median {})", format::time(median)),
        (None, Some(longest)) => format!(" (the longest {})", format::time(longest)),
        (None, None) => String::new(),
    };
    Some(format!(
        "Counted from their own start, {late}{time}; the rest is the wait for the operations \
         before them."
    ))
}

/// `Medians from their own start, where the trace was made and here: reads 113 µs there, 83 µs here. From their
/// times in the trace: reads 2.1 ms`.
fn traced(parts: &[&Phase]) -> String {
    let compared = parts.iter().filter_map(|phase| {
        let replay = phase.replay.as_ref()?;
        let (there, here) = (replay.traced_ns.as_ref()?.p50?, phase.latency_ns.p50?);
        let what = operations(phase.operation)?;
        Some(format!("{what} {} there, {} here", format::time(there), format::time(here)))
    });
    let compared: Vec<String> = compared.collect();
    if compared.is_empty() {
        return String::new();
    }
    let medians = format!(
        "Medians from their own start, where the trace was made and here: {}",
        compared.join("; ")
    );
    // Flat out, nothing has a time; and where the times could not be kept, the waits grow.
    let behind = parts.iter().filter(|phase| is_paced(phase) && !is_overloaded(phase));
    let behind = behind.filter_map(|phase| {
        let (what, from_trace) = (operations(phase.operation)?, Figures::of_phase(phase).p50?);
        let own = phase.latency_ns.p50?;
        let waits = from_trace.saturating_since(own).0 * 10 >= own.0;
        waits.then(|| format!("{what} {}", format::time(from_trace)))
    });
    let behind: Vec<String> = behind.collect();
    if behind.is_empty() {
        medians
    } else {
        format!(
            "{medians}. From their times in the trace, with the wait for the operations before them: {}",
            behind.join("; ")
        )
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
