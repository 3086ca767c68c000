//! Traces as operations to replay: which files must exist beforehand, where each operation goes,
//! and how many requests were in flight.
//!
//! A trace comes from another machine and may contain anything: no path in it is used, and every
//! address is mapped into the space that the scenario gives.

mod blocks;
mod calls;
mod saves;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use flashlag_schema::trace::{Trace, TraceAction, TraceEvent, TraceEvents};
use flashlag_spec::replay::{ReplayLevel, ReplayStream};
use flashlag_spec::scenario::Replay;
use flashlag_units::Nanos;
use thiserror::Error;

/// Most operations of a replay: they are kept in memory, and sent to a guest or a phone.
pub const MOST_OPERATIONS: usize = 2_000_000;
/// Most threads of a replay: further threads of the trace share the last one.
pub const MOST_THREADS: u32 = 64;

/// A trace that can't be replayed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReplayError {
    #[error("the trace has no {0}: there is nothing to replay")]
    Nothing(&'static str),
    /// Too much to do.
    #[error(
        "the trace has more than {MOST_OPERATIONS} operations: replay a part of it, with `ops` or `time`"
    )]
    TooMany,
}

/// The operations of a trace, as a scenario's `[[replay]]` selects them. `sha256` is that of the
/// trace's file.
pub fn replay_stream(
    trace: &Trace,
    sha256: &str,
    asked: &Replay,
) -> Result<ReplayStream, ReplayError> {
    let level = asked.level.level().unwrap_or_else(|| level_of(trace));
    let events = Events::of(trace, level, asked);
    let mut stream = match level {
        ReplayLevel::Calls => calls::stream(trace, &events, asked),
        ReplayLevel::Blocks => blocks::stream(&events, asked),
    };
    if stream.ops.is_empty() {
        return Err(ReplayError::Nothing(match level {
            ReplayLevel::Calls => "system call on a file",
            ReplayLevel::Blocks => "block request",
        }));
    }
    if stream.ops.len() > MOST_OPERATIONS {
        return Err(ReplayError::TooMany);
    }
    stream.sha256 = sha256.to_owned();
    stream.source = trace.source.kind;
    stream.level = level;
    Ok(stream)
}

/// System calls if the trace has any, otherwise block requests.
fn level_of(trace: &Trace) -> ReplayLevel {
    if trace.events.iter().any(|event| is_call(&event.action)) {
        ReplayLevel::Calls
    } else {
        ReplayLevel::Blocks
    }
}

/// Whether a replay repeats it: a failed call changed nothing.
fn is_call(action: &TraceAction) -> bool {
    !matches!(
        action,
        TraceAction::Block { .. }
            | TraceAction::Failed { .. }
            | TraceAction::Commit { .. }
            | TraceAction::Checkpoint { .. }
            | TraceAction::Clean { .. }
    )
}

/// The events of a layer by time, from the first one on, limited as the scenario says.
struct Events<'a> {
    all: Cow<'a, TraceEvents>,
    level: ReplayLevel,
    most: usize,
    limit: Option<Nanos>,
}

impl<'a> Events<'a> {
    fn of(trace: &'a Trace, level: ReplayLevel, asked: &Replay) -> Events<'a> {
        let mut all = Cow::Borrowed(&trace.events);
        // An imported trace may be in any order; events at equal times keep the source's order.
        if !all.is_sorted() {
            all.to_mut().sort();
        }
        let most = asked.ops.map_or(usize::MAX, |ops| usize::try_from(ops).unwrap_or(usize::MAX));
        // Takes one event more than allowed, to notice that there are too many.
        let most = most.min(MOST_OPERATIONS + 1);
        Events { all, level, most, limit: asked.time.map(|limit| limit.0) }
    }

    fn iter(&self) -> impl Iterator<Item = (Nanos, TraceEvent)> {
        let of_level = |event: &TraceEvent| match self.level {
            ReplayLevel::Calls => is_call(&event.action),
            ReplayLevel::Blocks => matches!(event.action, TraceAction::Block { .. }),
        };
        let mut begin = None;
        let timed = self.all.iter().filter(of_level).map(move |event| {
            (event.t_ns.saturating_since(*begin.get_or_insert(event.t_ns)), event)
        });
        let within = |time: Nanos| self.limit.is_none_or(|limit| time < limit);
        timed.take_while(move |(time, _)| within(*time)).take(self.most)
    }
}

/// Adds `4,012 writes to pipes were left out`, if there were any.
fn note(notes: &mut Vec<String>, count: u64, what: &str) {
    if count > 0 {
        notes.push(format!("{count} {what}"));
    }
}
