//! Events that took far longer than is normal for their kind.

use std::collections::BTreeMap;

use flashlag_schema::trace::{
    BlockOperation, FailedCall, Trace, TraceAction, TraceEvent, TraceStall, TraceStalled,
    TraceStalls,
};
use flashlag_stats::Stalls;
use flashlag_units::{InOrder, IntoOrder, Nanos};

use super::what::{file_name, task_name};
use crate::stored::named_by;

/// Stalls that are listed.
const LISTED: usize = 1000;

/// The stalls of a trace: over 100 ms and over ten times the median of the events of their kind.
pub(super) fn stalls(trace: &Trace) -> TraceStalls {
    let mut kinds: BTreeMap<TraceStalled, Lengths> = BTreeMap::new();
    for event in &trace.events {
        if let (Some(kind), Some(took)) = (kind_of(&event), event.took_ns) {
            kinds.entry(kind).or_default().add(took);
        }
    }
    let limits: BTreeMap<TraceStalled, Nanos> =
        kinds.into_iter().map(|(kind, lengths)| (kind, lengths.limit())).into_map();
    let mut listed = Vec::new();
    for (event, number) in trace.events.iter().zip(0_u64..) {
        let (Some(what), Some(took_ns)) = (kind_of(&event), event.took_ns) else { continue };
        if limits.get(&what).is_none_or(|limit| took_ns <= *limit) {
            continue;
        }
        let file = named_by(&event.action).0[0].map(|file| file_name(trace, file));
        let task = event.task.and_then(|task| task_name(trace, task));
        listed.push(TraceStall { t_ns: event.t_ns, took_ns, event: number, what, task, file });
    }
    let count = listed.len() as u64;
    listed.order_by_key(|stall| std::cmp::Reverse(stall.took_ns));
    listed.truncate(LISTED);
    listed.order_by_key(|stall| (stall.t_ns, stall.event));
    TraceStalls { count, listed }
}

/// The durations of the events of one kind, as far as a stall's limit depends on them. Below a
/// median of 10 ms the limit is always 100 ms, and a trace has millions of short events: these are
/// only counted.
#[derive(Debug, Default)]
struct Lengths {
    short: usize,
    long: Vec<Nanos>,
}

impl Lengths {
    /// The longest median that does not raise the limit.
    const SHORT: Nanos = Nanos(Stalls::LEAST.0 / Stalls::TIMES);

    fn add(&mut self, took: Nanos) {
        if took <= Lengths::SHORT { self.short += 1 } else { self.long.push(took) }
    }

    /// A stall takes longer than this.
    fn limit(mut self) -> Nanos {
        let middle = (self.short + self.long.len()).saturating_sub(1) / 2;
        let Some(at) = middle.checked_sub(self.short) else { return Stalls::LEAST };
        self.long.sort_unstable();
        let median = self.long.get(at).copied().unwrap_or_default();
        Stalls::LEAST.max(Nanos(median.0.saturating_mul(Stalls::TIMES)))
    }
}

pub(super) fn kind_of(event: &TraceEvent) -> Option<TraceStalled> {
    Some(match &event.action {
        TraceAction::Sync { .. } | TraceAction::SyncAll => TraceStalled::Sync,
        TraceAction::Failed { call, .. } => match call {
            FailedCall::Sync => TraceStalled::Sync,
            FailedCall::Write => TraceStalled::Write,
            FailedCall::Read => TraceStalled::Read,
            _ => return None,
        },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_ten_times_the_lower_median_of_all_lengths_and_100_ms_at_least() {
        let limit_of = |lengths: &[u64]| {
            let mut kept = Lengths::default();
            lengths.iter().for_each(|length| kept.add(Nanos(*length)));
            kept.limit()
        };
        let mut random = 3_u64;
        for round in 1..300_usize {
            let mut lengths: Vec<u64> = (0..round % 12 + 1)
                .map(|_| {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    9_000_000 + (random >> 33) % 2_500_000
                })
                .collect();
            lengths.extend((0..round % 5).map(|_| 10_000_000));
            let limit = limit_of(&lengths);
            lengths.sort_unstable();
            let median = lengths[(lengths.len() - 1) / 2];
            assert_eq!(limit.0, (median * 10).max(100_000_000), "{lengths:?}");
        }
        assert_eq!(limit_of(&[]), Nanos::from_millis(100));
    }
}
