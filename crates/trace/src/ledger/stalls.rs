//! Events that took far longer than is normal for their kind.

use std::collections::BTreeMap;

use flashlag_schema::trace::{
    BlockOperation, Trace, TraceAction, TraceEvent, TraceStall, TraceStalled, TraceStalls,
};
use flashlag_stats::Stalls;
use flashlag_units::Nanos;

use super::what::{file_name, task_name};
use crate::stored::named_by;

/// Stalls that are listed.
const LISTED: usize = 1000;

/// The stalls of a trace: over 100 ms and over ten times the median of the events of their kind.
pub(super) fn stalls(trace: &Trace) -> TraceStalls {
    let mut kinds: BTreeMap<TraceStalled, Vec<Nanos>> = BTreeMap::new();
    for event in &trace.events {
        if let (Some(kind), Some(took)) = (kind_of(event), event.took_ns) {
            kinds.entry(kind).or_default().push(took);
        }
    }
    let limits: BTreeMap<TraceStalled, Nanos> =
        kinds.iter_mut().map(|(kind, lengths)| (*kind, limit(lengths))).collect();
    let mut listed = Vec::new();
    for (event, number) in trace.events.iter().zip(0_u64..) {
        let (Some(what), Some(took_ns)) = (kind_of(event), event.took_ns) else { continue };
        if limits.get(&what).is_none_or(|limit| took_ns <= *limit) {
            continue;
        }
        let file = named_by(&event.action).0[0].map(|file| file_name(trace, file));
        let task = event.task.and_then(|task| task_name(trace, task));
        listed.push(TraceStall { t_ns: event.t_ns, took_ns, event: number, what, task, file });
    }
    let count = listed.len() as u64;
    listed.sort_by_key(|stall| std::cmp::Reverse(stall.took_ns));
    listed.truncate(LISTED);
    listed.sort_by_key(|stall| (stall.t_ns, stall.event));
    TraceStalls { count, listed }
}

/// A stall takes longer than this. The lengths are sorted on the way; there is one at least.
fn limit(lengths: &mut [Nanos]) -> Nanos {
    lengths.sort_unstable();
    let median = lengths.get((lengths.len().saturating_sub(1)) / 2).copied().unwrap_or_default();
    Stalls::LEAST.max(Nanos(median.0.saturating_mul(Stalls::TIMES)))
}

fn kind_of(event: &TraceEvent) -> Option<TraceStalled> {
    Some(match &event.action {
        TraceAction::Sync { .. } | TraceAction::SyncAll => TraceStalled::Sync,
        TraceAction::Write { .. } => TraceStalled::Write,
        TraceAction::Read { .. } => TraceStalled::Read,
        TraceAction::Commit { .. } | TraceAction::Checkpoint { .. } => {
            TraceStalled::FilesystemCommit
        }
        TraceAction::Block { operation, .. } => match operation {
            BlockOperation::Read => TraceStalled::BlockRead,
            BlockOperation::Write => TraceStalled::BlockWrite,
            BlockOperation::Flush => TraceStalled::Flush,
            BlockOperation::Discard => TraceStalled::Discard,
        },
        _ => return None,
    })
}
