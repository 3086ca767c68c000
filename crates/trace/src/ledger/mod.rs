//! Sums a trace up: who writes what, who waits for it, and how many bytes each layer writes for it.

mod databases;
mod frames;
mod layers;
mod run;
mod saves;
mod stack;
mod stalls;
mod what;
mod writers;

use flashlag_schema::Run;
use flashlag_schema::trace::{Trace, TraceLedger};

use crate::beside::{BesideError, tests_within};
use frames::Janks;
use run::Tests;
use stack::Stack;
use what::Seen;

/// Sums a trace up. The kinds of files are those of [`crate::recognize`].
pub fn add_up(trace: &Trace) -> TraceLedger {
    sums(trace, None)
}

/// The same, with what happened while a run of the same machine measured.
///
/// # Errors
/// The trace has no frames, there is no clock that both have read, or no time that both show.
pub fn add_up_beside(trace: &Trace, run: &Run) -> Result<TraceLedger, BesideError> {
    if trace.source.frames.is_none() {
        return Err(BesideError::NoFrames);
    }
    let within = tests_within(trace, run)?;
    Ok(sums(trace, Some(&Tests::of(run, &within))))
}

fn sums(trace: &Trace, tests: Option<&Tests<'_>>) -> TraceLedger {
    let seen = Seen::of(trace);
    let databases = crate::sqlite::databases(trace);
    let stack = Stack::of(trace);
    let late = frames::late_by_storage(trace);
    let janks = Janks::of(trace, &late);
    TraceLedger {
        source: trace.source.clone(),
        events: trace.events.len() as u64,
        writers: writers::writers(trace, seen),
        layers: layers::layers(trace, &databases, seen, &stack),
        databases: databases::databases(trace, &databases, seen, &stack, janks.as_ref()),
        saves: saves::saves(trace, janks.as_ref()),
        stalls: stalls::stalls(trace),
        frames: frames::frames(trace, &late, |frame| tests?.during(frame)),
        devices: stack.uses(),
        run: tests.map(|tests| tests.sums(trace, &late)),
    }
}
