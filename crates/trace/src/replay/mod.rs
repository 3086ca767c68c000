//! Traces as operations to replay: which files must exist beforehand, where each operation goes,
//! and how many requests were in flight.
//!
//! A trace comes from another machine and may contain anything: no path in it is used, and every
//! address is mapped into the space that the scenario gives.

mod blocks;
mod calls;
mod model;
mod saves;
#[cfg(test)]
mod tests;

use flashlag_schema::trace::Trace;
use flashlag_spec::replay::{ReplayLevel, ReplayStream};
use flashlag_spec::scenario::Replay;
use model::Events;
use model::is_call;
pub use model::{MOST_OPERATIONS, MOST_THREADS};
use thiserror::Error;

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
