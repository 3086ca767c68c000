//! No filesystem: a file is a set of ranges of the device, and a sync is a flush.

use std::collections::BTreeMap;

use flashlag_units::{Bytes, Nanos};

use super::model::{BLOCK, FileId, Filesystem, NoSpace, Reason, grown};
use crate::plan::{BlockRequest, Plan, Run, push_run};
use crate::spec::StackSpec;

/// Files grow by at least this much if there is room, so that two files that grow together have few
/// pieces.
const PIECE: u64 = 1 << 20;

#[derive(Debug)]
pub(crate) struct Raw {
    capacity: u64,
    barrier: bool,
    discard: bool,
    /// Free ranges: start and end.
    free: BTreeMap<u64, u64>,
    files: BTreeMap<FileId, RawFile>,
    freed: Vec<Run>,
}

#[derive(Debug, Default)]
struct RawFile {
    size: u64,
    /// Ranges of the device, in the order of the file; all but the last are full.
    pieces: Vec<Run>,
    allocated: u64,
}

impl Raw {
    pub(crate) fn new(capacity: Bytes, spec: &StackSpec) -> Raw {
        let capacity = capacity.0 / BLOCK * BLOCK;
        Raw {
            capacity,
            barrier: spec.barrier,
            discard: spec.discard,
            free: BTreeMap::from([(0, capacity)]),
            files: BTreeMap::new(),
            freed: Vec::new(),
        }
    }

    fn grow(&mut self, file: FileId, to: u64) -> Result<(), NoSpace> {
        let to = to.div_ceil(BLOCK) * BLOCK;
        loop {
            let allocated = self.files.get(&file).ok_or(NoSpace)?.allocated;
            if allocated >= to {
                return Ok(());
            }
            let wanted = (to - allocated).max(PIECE);
            let (&begin, &end) = self.free.first_key_value().ok_or(NoSpace)?;
            let length = wanted.min(end - begin);
            self.free.remove(&begin);
            if begin + length < end {
                self.free.insert(begin + length, end);
            }
            let Some(raw) = self.files.get_mut(&file) else { return Err(NoSpace) };
            push_run(&mut raw.pieces, Run { offset: begin, length });
            raw.allocated += length;
        }
    }

    /// Free parts of a range.
    fn free_parts(&self, run: Run) -> Vec<Run> {
        let ranges = self.free.range(..run.end());
        let parts = ranges.map(|(&begin, &end)| (begin.max(run.offset), end.min(run.end())));
        let parts = parts.filter(|(begin, end)| begin < end);
        parts.map(|(begin, end)| Run { offset: begin, length: end - begin }).collect()
    }

    fn give_back(&mut self, run: Run) {
        let (mut begin, mut end) = (run.offset, run.end());
        if let Some((&before, &its_end)) = self.free.range(..begin).next_back()
            && its_end == begin
        {
            self.free.remove(&before);
            begin = before;
        }
        if let Some(&next_end) = self.free.get(&end) {
            self.free.remove(&end);
            end = next_end;
        }
        self.free.insert(begin, end);
        if self.discard {
            self.freed.push(run);
        }
    }
}

impl Filesystem for Raw {
    fn total(&self) -> Bytes {
        Bytes(self.capacity)
    }

    fn free(&self) -> Bytes {
        Bytes(self.free.iter().map(|(begin, end)| end - begin).sum())
    }

    fn create(&mut self, _: Nanos, file: FileId) -> Result<(), NoSpace> {
        self.files.insert(file, RawFile::default());
        Ok(())
    }

    fn delete(&mut self, _: Nanos, file: FileId) {
        let pieces = self.files.remove(&file).map(|raw| raw.pieces).unwrap_or_default();
        for run in pieces {
            self.give_back(run);
        }
    }

    fn resize(&mut self, _: Nanos, file: FileId, size: u64) {
        if let Some(raw) = self.files.get_mut(&file) {
            raw.size = size;
        }
    }

    fn size(&self, file: FileId) -> u64 {
        self.files.get(&file).map_or(0, |raw| raw.size)
    }

    fn locate(&self, file: FileId, offset: u64, length: u64) -> Vec<Run> {
        let mut runs = Vec::new();
        let Some(raw) = self.files.get(&file) else { return runs };
        let (mut at, end) = (0, offset + length);
        for piece in &raw.pieces {
            let (from, to) = (offset.max(at), end.min(at + piece.length));
            if from < to {
                push_run(&mut runs, Run { offset: piece.offset + (from - at), length: to - from });
            }
            at += piece.length;
        }
        runs
    }

    fn is_mapped(&self, file: FileId, page: u64) -> bool {
        self.files.get(&file).is_some_and(|raw| page * BLOCK < raw.allocated)
    }

    fn write(
        &mut self,
        _: Nanos,
        file: FileId,
        ranges: &[(u64, u64)],
        reason: Reason,
    ) -> Result<Plan, NoSpace> {
        let mut runs = Vec::new();
        for &(offset, length) in ranges {
            self.grow(file, offset + length)?;
            runs.extend(self.locate(file, offset, length));
        }
        if let Some(raw) = self.files.get_mut(&file) {
            raw.size = grown(raw.size, ranges, reason);
        }
        let mut plan = Plan::new();
        plan.then_writes(runs);
        Ok(plan)
    }

    fn touch(&mut self, _: Nanos, _: FileId) {}

    fn sync(&mut self, _: Nanos, _: Option<FileId>, _: bool) -> Plan {
        let mut plan = Plan::new();
        let freed = std::mem::take(&mut self.freed);
        let free = freed.into_iter().flat_map(|run| self.free_parts(run));
        plan.then(free.map(BlockRequest::Discard).collect());
        plan.then_flush(self.barrier);
        plan
    }

    fn next_tick(&self) -> Nanos {
        Nanos::MAX
    }

    fn tick(&mut self, _: Nanos) -> Plan {
        Plan::new()
    }

    fn trim(&mut self) -> (Plan, Bytes) {
        let mut plan = Plan::new();
        for (&begin, &end) in &self.free {
            plan.then(vec![BlockRequest::Discard(Run { offset: begin, length: end - begin })]);
        }
        (plan, self.free())
    }

    #[cfg(test)]
    fn held(&self) -> Vec<Run> {
        self.files.values().flat_map(|raw| raw.pieces.iter().copied()).collect()
    }
}
