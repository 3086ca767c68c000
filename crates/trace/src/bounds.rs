//! The bounds of a trace, and the sentences for traces that exceed them.

use flashlag_schema::trace::{TraceEvent, TraceEvents};
use flashlag_units::{Nanos, count};

/// The most events kept of a file or of a running machine, so that memory is bounded. One event
/// takes about 25 bytes.
pub const MOST_EVENTS: usize = 10_000_000;

/// The time from zero to the end of the last event.
pub(crate) fn lasted(events: &TraceEvents) -> Nanos {
    let end = |event: TraceEvent| event.t_ns.plus(event.took_ns.unwrap_or_default());
    events.iter().map(end).max().unwrap_or_default()
}

/// The sentence about events beyond the bound.
pub(crate) fn left_out(events: u64, most: usize) -> String {
    format!(
        "{} events beyond the first {} were left out: cut the file into pieces.",
        count(events),
        count(most as u64)
    )
}
