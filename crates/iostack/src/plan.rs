//! What a call comes to at the device.

#[cfg(test)]
use flashlag_units::Bytes;
use flashlag_units::Nanos;

/// One request to the device, as the block layer sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockRequest {
    Read(Run),
    Write(Run),
    Flush,
    Discard(Run),
    /// Nothing at the device: time on a CPU.
    Compute(Nanos),
}

/// A range of the device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

impl Run {
    pub(crate) const fn end(self) -> u64 {
        self.offset + self.length
    }
}

/// Groups of requests, done one group after the other; the requests of a group go out together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    groups: Vec<Vec<BlockRequest>>,
    /// Whether it is a commit or a checkpoint: of those, one is under way at a time.
    pub(crate) commits: bool,
}

impl Plan {
    pub(crate) fn new() -> Plan {
        Plan::default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// After everything so far.
    pub(crate) fn then(&mut self, group: Vec<BlockRequest>) {
        if !group.is_empty() {
            self.groups.push(group);
        }
    }

    /// After everything so far, these writes at once.
    pub(crate) fn then_writes(&mut self, runs: Vec<Run>) {
        self.then(runs.into_iter().map(BlockRequest::Write).collect());
    }

    /// After everything so far, a flush, where flushes are sent at all.
    pub(crate) fn then_flush(&mut self, barrier: bool) {
        if barrier {
            self.then(vec![BlockRequest::Flush]);
        }
    }

    /// After everything so far, time on a CPU.
    pub(crate) fn then_compute(&mut self, time: Nanos) {
        if time > Nanos::ZERO {
            self.then(vec![BlockRequest::Compute(time)]);
        }
    }

    /// After everything so far, the whole of another plan.
    pub(crate) fn then_plan(&mut self, other: Plan) {
        self.groups.extend(other.groups);
        self.commits |= other.commits;
    }

    /// What it discards.
    pub(crate) fn discards(&self) -> impl Iterator<Item = Run> {
        self.groups.iter().flatten().filter_map(|request| match request {
            BlockRequest::Discard(run) => Some(*run),
            _ => None,
        })
    }

    pub(crate) fn into_groups(self) -> impl Iterator<Item = Vec<BlockRequest>> {
        self.groups.into_iter()
    }

    /// Bytes that it writes.
    #[cfg(test)]
    pub(crate) fn written(&self) -> Bytes {
        let runs = self.groups.iter().flatten().filter_map(|request| match request {
            BlockRequest::Write(run) => Some(run.length),
            _ => None,
        });
        Bytes(runs.sum())
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
