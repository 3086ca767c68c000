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
    /// A write that is durable when it ends (FUA); on a device without FUA, a flush follows it.
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

/// Groups of requests. The requests of a group are sent together, each group after the one before
/// has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    groups: Vec<Vec<BlockRequest>>,
    /// What each group's own work counts as.
    steps: Vec<Wait>,
    /// What groups that are added count as: [`Wait::Storage`] for the data of a call.
    pub(crate) step: Wait,
    /// Whether the plan is a commit or a checkpoint, of which one is under way at a time.
    pub(crate) commits: bool,
    /// Whether the flush before a durable write is a request of its own, and not a part of the write
    /// (`REQ_PREFLUSH`), which device-mapper makes two flushes of.
    pub(crate) flushes_apart: bool,
}

impl Plan {
    pub(crate) fn new() -> Plan {
        Plan::default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Adds a group behind all others.
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

    /// Adds a flush, unless the filesystem is mounted without barriers.
    pub(crate) fn then_flush(&mut self, barrier: bool) {
        if barrier {
            self.then(vec![BlockRequest::Flush]);
        }
    }

    /// Adds writes that make valid what was written before: a flush, then writes that are durable
    /// themselves. Without barriers, only the writes.
    pub(crate) fn then_seal(&mut self, runs: Vec<Run>, barrier: bool) {
        if barrier {
            self.then_flush(barrier);
            self.then(runs.into_iter().map(BlockRequest::WriteDurable).collect());
        } else {
            self.then_writes(runs);
        }
    }

    /// The plan for a device without FUA: a flush after each group with durable writes, which are
    /// plain writes. Below device-mapper (`mapped`), one flush more before them, as counted on Linux
    /// 6.12, unless the flush before them is a request of its own.
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

    /// Adds the whole of another plan.
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

    /// The groups, and what the work of each counts as.
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

/// Adds a range behind the others, joined to the last one where they touch: what the block layer's
/// merging makes of requests that come in order.
pub(crate) fn push_run(runs: &mut Vec<Run>, run: Run) {
    match runs.last_mut() {
        Some(last) if last.end() == run.offset => last.length += run.length,
        _ => runs.push(run),
    }
}
