//! Sums a trace up: who writes what, who waits for it, and how many bytes each layer writes for it.

mod databases;
mod frames;
mod layers;
mod saves;
mod stack;
mod stalls;
mod what;
mod writers;

use flashlag_schema::trace::{Trace, TraceLedger};

use stack::Stack;
use what::Seen;

/// Sums a trace up. The kinds of files are those of [`crate::recognize`].
pub fn add_up(trace: &Trace) -> TraceLedger {
    let seen = Seen::of(trace);
    let databases = crate::sqlite::databases(trace);
    let stack = Stack::of(trace);
    TraceLedger {
        source: trace.source.clone(),
        events: trace.events.len() as u64,
        writers: writers::writers(trace, seen),
        layers: layers::layers(trace, &databases, seen, &stack),
        databases: databases::databases(trace, &databases, seen, &stack),
        saves: saves::saves(trace),
        stalls: stalls::stalls(trace),
        frames: frames::frames(trace),
        devices: stack.uses(),
    }
}
