//! Plans: the requests that a call makes of the device.

use flashlag_stats::Wait;
#[cfg(test)]
use flashlag_units::Bytes;
use flashlag_units::Nanos;

/// One request to the device, as the block layer sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockRequest {
    Read(Run),
    Write(Run),
    /// A write with FUA. On a device without FUA a flush follows the write.
    WriteDurable(Run),
    Flush,
    Discard(Run),
    /// Time on a CPU, without the device.
    Compute(Nanos),
}

impl BlockRequest {
    /// The range that it writes.
    pub(crate) fn written(&self) -> Option<Run> {
        match self {
            BlockRequest::Write(run) | BlockRequest::WriteDurable(run) => Some(*run),
            _ => None,
        }
    }
}

/// A range of the device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Run {
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

impl Run {
    pub(crate) const fn end(self) -> u64 {
        self.offset + self.length
    }
}

/// Groups of requests. The requests of a group are sent together; each group is sent after the
/// previous one has completed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    groups: Vec<Vec<BlockRequest>>,
    /// The cause that each group's own work is counted under.
    steps: Vec<Wait>,
    /// The cause for groups that are added from here on: [`Wait::Storage`] for the data of a call.
    pub(crate) step: Wait,
    /// Whether the plan is a commit or a checkpoint; only one of them is in flight at a time.
    pub(crate) commits: bool,
    /// Whether the flush before a durable write is a request of its own. If it is a part of the
    /// write (`REQ_PREFLUSH`), device-mapper turns it into two flushes.
    pub(crate) flushes_apart: bool,
}

impl Plan {
    pub(crate) fn new() -> Plan {
        Plan::default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Appends a group.
    pub(crate) fn then(&mut self, group: Vec<BlockRequest>) {
        if group.is_empty() {
            return;
        }
        let all = |kind: fn(&BlockRequest) -> bool| group.iter().all(kind);
        self.steps.push(if all(|one| matches!(one, BlockRequest::Discard(_))) {
            Wait::Discard
        } else if all(|one| matches!(one, BlockRequest::Compute(_))) {
            Wait::Executing
        } else {
            self.step
        });
        self.groups.push(group);
    }

    /// Adds a group of writes.
    pub(crate) fn then_writes(&mut self, runs: Vec<Run>) {
        self.then(runs.into_iter().map(BlockRequest::Write).collect());
    }

    /// Appends a flush, unless the filesystem is mounted without barriers.
    pub(crate) fn then_flush(&mut self, barrier: bool) {
        if barrier {
            self.then(vec![BlockRequest::Flush]);
        }
    }

    /// Appends the writes that make the previous ones valid: a flush, then writes with FUA. Without
    /// barriers, only the writes.
    pub(crate) fn then_seal(&mut self, runs: Vec<Run>, barrier: bool) {
        if barrier {
            self.then_flush(barrier);
            self.then(runs.into_iter().map(BlockRequest::WriteDurable).collect());
        } else {
            self.then_writes(runs);
        }
    }

    /// The plan for a device without FUA: durable writes become plain writes, and a flush follows
    /// each group with such writes. Below device-mapper (`mapped`) one more flush precedes them, as
    /// counted on Linux 6.12, unless the flush before them is a request of its own.
    #[must_use]
    pub(crate) fn without_fua(self, mapped: bool) -> Plan {
        let (step, flushes_apart) = (self.step, self.flushes_apart);
        let mut plain = Plan { commits: self.commits, flushes_apart, ..Plan::new() };
        for (step, mut group) in self.steps.into_iter().zip(self.groups) {
            plain.step = step;
            let mut seals = false;
            for request in &mut group {
                if let BlockRequest::WriteDurable(run) = *request {
                    *request = BlockRequest::Write(run);
                    seals = true;
                }
            }
            plain.then_flush(seals && mapped && !flushes_apart);
            plain.then(group);
            plain.then_flush(seals);
        }
        plain.step = step;
        plain
    }

    /// Adds time on a CPU.
    pub(crate) fn then_compute(&mut self, time: Nanos) {
        if time > Nanos::ZERO {
            self.then(vec![BlockRequest::Compute(time)]);
        }
    }

    /// Appends another plan.
    pub(crate) fn then_plan(&mut self, other: Plan) {
        self.groups.extend(other.groups);
        self.steps.extend(other.steps);
        self.commits |= other.commits;
        self.flushes_apart |= other.flushes_apart;
    }

    /// Ranges that the plan discards.
    pub(crate) fn discards(&self) -> impl Iterator<Item = Run> {
        self.groups.iter().flatten().filter_map(|request| match request {
            BlockRequest::Discard(run) => Some(*run),
            _ => None,
        })
    }

    /// The groups, each with the cause that its work is counted under.
    pub(crate) fn into_steps(self) -> impl Iterator<Item = (Wait, Vec<BlockRequest>)> {
        self.steps.into_iter().zip(self.groups)
    }

    #[cfg(test)]
    pub(crate) fn into_groups(self) -> impl Iterator<Item = Vec<BlockRequest>> {
        self.groups.into_iter()
    }

    /// Bytes that the plan writes.
    #[cfg(test)]
    pub(crate) fn written(&self) -> Bytes {
        let runs = self.groups.iter().flatten().filter_map(BlockRequest::written);
        Bytes(runs.map(|run| run.length).sum())
    }
}

/// Appends a range, joined to the last one if they touch: the block layer merges requests that
/// arrive in order.
pub(crate) fn push_run(runs: &mut Vec<Run>, run: Run) {
    match runs.last_mut() {
        Some(last) if last.end() == run.offset => last.length += run.length,
        _ => runs.push(run),
    }
}
