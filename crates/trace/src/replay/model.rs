//! The events of a trace that a replay repeats.

use std::borrow::Cow;

use flashlag_schema::trace::{Trace, TraceAction, TraceEvent, TraceEvents};
use flashlag_spec::replay::ReplayLevel;
use flashlag_spec::scenario::Replay;
use flashlag_units::Nanos;

/// Most operations of a replay: they are kept in memory, and sent to a guest or a phone.
pub const MOST_OPERATIONS: usize = 2_000_000;

/// Most threads of a replay: further threads of the trace share the last one.
pub const MOST_THREADS: u32 = 64;

/// The events of a layer by time, from the first one on, limited as the scenario says.
pub(super) struct Events<'a> {
    pub(super) all: Cow<'a, TraceEvents>,
    pub(super) level: ReplayLevel,
    pub(super) most: usize,
    pub(super) limit: Option<Nanos>,
}

impl<'a> Events<'a> {
    pub(super) fn of(trace: &'a Trace, level: ReplayLevel, asked: &Replay) -> Events<'a> {
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

    pub(super) fn iter(&self) -> impl Iterator<Item = (Nanos, TraceEvent)> {
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
pub(super) fn note(notes: &mut Vec<String>, count: u64, what: &str) {
    if count > 0 {
        notes.push(format!("{count} {what}"));
    }
}

/// Whether a replay repeats it: a failed call changed nothing.
pub(super) fn is_call(action: &TraceAction) -> bool {
    !matches!(
        action,
        TraceAction::Block { .. }
            | TraceAction::Failed { .. }
            | TraceAction::Commit { .. }
            | TraceAction::Checkpoint { .. }
            | TraceAction::Clean { .. }
    )
}
