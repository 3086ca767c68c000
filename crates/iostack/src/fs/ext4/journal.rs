//! The journal (jbd2, `data=ordered`): changed metadata blocks are made durable in the journal
//! first, and written to their own places later.

use std::collections::{BTreeMap, BTreeSet};

use flashlag_stats::Wait;
use flashlag_units::Nanos;

use crate::fs::BLOCK;
use crate::fs::map::{Block, BlockRun};
use crate::plan::{Plan, Run, push_run};

/// Age at which a transaction is committed (`commit=5`).
const COMMIT_AFTER: Nanos = Nanos::from_secs(5);
/// Age at which committed metadata is written back to its place (`dirty_expire_centisecs`); earlier
/// if the journal is full.
const EXPIRES_AFTER: Nanos = Nanos::from_secs(30);
/// Blocks of the area for fast commits (`JBD2_DEFAULT_FAST_COMMIT_BLOCKS`).
const FAST_BLOCKS: u64 = 256;
/// Blocks covered by one descriptor block, with tags of 8 bytes.
const TAGS: u64 = (BLOCK - 16) / 8;

#[derive(Debug)]
pub(super) struct Journal {
    ring: BlockRun,
    /// Position in the ring at which the next block is logged.
    head: u64,
    /// Blocks logged since all metadata was last written back.
    since_checkpoint: u64,
    barrier: bool,
    /// The blocks of fast commits, behind the ring.
    fast: Option<BlockRun>,
    /// Blocks of that area used since the last transaction commit.
    fast_used: u64,
    /// Number of the running transaction.
    pub(super) running: u64,
    changed: BTreeSet<Block>,
    began: Option<Nanos>,
    /// Committed blocks that are not yet written back, and when they were first committed.
    dirty: BTreeMap<Block, Nanos>,
    /// Commit time of the oldest dirty block, or an earlier time.
    oldest: Option<Nanos>,
}

impl Journal {
    pub(super) fn new(ring: BlockRun, barrier: bool) -> Journal {
        Journal {
            ring,
            head: 0,
            since_checkpoint: 0,
            barrier,
            fast: None,
            fast_used: 0,
            running: 1,
            changed: BTreeSet::new(),
            began: None,
            dirty: BTreeMap::new(),
            oldest: None,
        }
    }

    /// The same journal with an area for fast commits at its end.
    pub(super) fn with_fast_commits(mut self) -> Journal {
        let count = FAST_BLOCKS.min(self.ring.count / 2);
        self.ring.count -= count;
        self.fast = Some(BlockRun { first: self.ring.end(), count });
        self
    }

    /// Adds a metadata block to the running transaction.
    pub(super) fn change(&mut self, now: Nanos, block: Block) {
        self.began.get_or_insert(now);
        self.changed.insert(block);
    }

    /// Drops a freed block from the transaction and from writeback.
    pub(super) fn forget(&mut self, block: Block) {
        self.changed.remove(&block);
        self.dirty.remove(&block);
    }

    pub(super) fn has_changes(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Commits the changes of a file to a block of the fast-commit area, with a flush and FUA; the
    /// transaction stays open. `None` if the area is full or does not exist.
    pub(super) fn fast_commit(&mut self) -> Option<Plan> {
        let area = self.fast.filter(|area| self.fast_used < area.count)?;
        let mut plan = Plan::new();
        (plan.commits, plan.step) = (true, Wait::FilesystemCommit);
        let block = BlockRun { first: area.first.plus(self.fast_used), count: 1 };
        plan.then_seal(vec![block.bytes()], self.barrier);
        self.fast_used += 1;
        Some(plan)
    }

    /// Commits the running transaction: descriptor and blocks, a flush, and the commit block with
    /// FUA.
    pub(super) fn commit(&mut self, now: Nanos) -> Plan {
        let mut plan = Plan::new();
        if self.changed.is_empty() {
            // All changed blocks may have been freed in the meantime.
            self.began = None;
            return plan;
        }
        (plan.commits, plan.step) = (true, Wait::FilesystemCommit);
        let changed = std::mem::take(&mut self.changed);
        let blocks = changed.len() as u64;
        let logged = blocks + blocks.div_ceil(TAGS);
        if self.since_checkpoint + logged + 1 > self.ring.count {
            // jbd2 calls this a checkpoint of the journal.
            plan.step = Wait::Checkpoint;
            plan.then_writes(self.write_back(Nanos::MAX));
            plan.then_flush(self.barrier);
            plan.step = Wait::FilesystemCommit;
            self.since_checkpoint = 0;
        }
        self.oldest.get_or_insert(now);
        for block in changed {
            self.dirty.entry(block).or_insert(now);
        }
        plan.then_writes(self.log(logged));
        let last = self.log(1);
        plan.then_seal(last, self.barrier);
        self.running += 1;
        self.fast_used = 0;
        self.began = None;
        plan
    }

    /// Appends `blocks` blocks to the log, a ring buffer.
    fn log(&mut self, blocks: u64) -> Vec<Run> {
        let mut runs = Vec::new();
        self.since_checkpoint += blocks;
        let mut left = blocks.min(self.ring.count);
        while left > 0 {
            let count = left.min(self.ring.count - self.head);
            push_run(&mut runs, BlockRun { first: self.ring.first.plus(self.head), count }.bytes());
            self.head = (self.head + count) % self.ring.count;
            left -= count;
        }
        runs
    }

    /// Writes back metadata that has been dirty since `until` or longer.
    fn write_back(&mut self, until: Nanos) -> Vec<Run> {
        let mut runs = Vec::new();
        self.dirty.retain(|block, since| {
            if *since > until {
                return true;
            }
            push_run(&mut runs, BlockRun { first: *block, count: 1 }.bytes());
            false
        });
        self.oldest = self.dirty.values().min().copied();
        runs
    }

    pub(super) fn next_tick(&self) -> Nanos {
        let commit = self.began.map_or(Nanos::MAX, |began| began.plus(COMMIT_AFTER));
        let expiry = self.oldest.map_or(Nanos::MAX, |since| since.plus(EXPIRES_AFTER));
        commit.min(expiry)
    }

    pub(super) fn tick(&mut self, now: Nanos) -> Plan {
        let mut plan = Plan::new();
        if self.began.is_some_and(|began| began.plus(COMMIT_AFTER) <= now) {
            plan.then_plan(self.commit(now));
        }
        let expired = now.0.checked_sub(EXPIRES_AFTER.0);
        if let Some(until) = expired {
            plan.then_writes(self.write_back(Nanos(until)));
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: u64 = 5000;
    const BLOCKS: u64 = 1024;
    const RING: BlockRun = BlockRun { first: Block::at(FIRST), count: BLOCKS };

    /// Blocks that a plan writes inside the log, and outside it.
    fn written(plan: Plan) -> (Vec<u64>, Vec<u64>) {
        let runs = plan.into_groups().flatten().filter_map(|request| request.written());
        let blocks = runs.flat_map(|run| run.offset / BLOCK..run.end() / BLOCK);
        blocks.partition(|block| (FIRST..FIRST + BLOCKS).contains(block))
    }

    #[test]
    fn the_log_is_a_ring_and_where_it_is_full_blocks_find_their_places_first() {
        let mut journal = Journal::new(RING, true);
        let mut next = FIRST;
        let mut in_log = 0;
        for transaction in 0..2000_u64 {
            let changed: BTreeSet<u64> = (0..=transaction % 7).collect();
            changed.iter().for_each(|block| journal.change(Nanos::ZERO, Block::at(*block)));
            let (log, places) = written(journal.commit(Nanos::ZERO));
            // Descriptor, blocks and commit block are consecutive in the ring.
            assert_eq!(log.len(), changed.len() + 2, "transaction {transaction}");
            for block in log {
                assert_eq!(block, next, "transaction {transaction}");
                next = FIRST + (next + 1 - FIRST) % BLOCKS;
                in_log += 1;
            }
            if places.is_empty() {
                assert!(in_log <= BLOCKS, "transaction {transaction}: the log is written over");
            } else {
                assert!((0..6).all(|block| places.contains(&block)), "{places:?}");
                in_log = changed.len() as u64 + 2;
            }
        }
        assert_eq!(journal.running, 2001);
    }

    #[test]
    fn a_block_that_changes_often_finds_its_place_once_in_thirty_seconds() {
        let mut journal = Journal::new(RING, true);
        let mut placed = 0;
        for second in 0..60 {
            let now = Nanos::from_secs(second);
            journal.change(now, Block(7));
            placed += written(journal.commit(now)).1.len();
            placed += written(journal.tick(now)).1.len();
        }
        assert_eq!(placed, 1);
    }

    #[test]
    fn what_was_freed_is_written_nowhere() {
        let mut journal = Journal::new(RING, true);
        journal.change(Nanos::ZERO, Block(7));
        journal.forget(Block(7));
        assert!(!journal.has_changes());
        let late = Nanos::from_secs(100);
        assert!(journal.tick(late).is_empty());
        assert_eq!(journal.next_tick(), Nanos::MAX, "it waits for nothing");
    }

    #[test]
    fn fast_commits_take_a_block_each_until_their_area_is_full_and_a_commit_empties_it() {
        let mut journal = Journal::new(RING, true).with_fast_commits();
        for round in 0..3 {
            journal.change(Nanos::ZERO, Block(7));
            for block in 0..FAST_BLOCKS {
                let plan = journal.fast_commit().unwrap();
                let expected = FIRST + BLOCKS - FAST_BLOCKS + block;
                assert_eq!(written(plan), (vec![expected], vec![]), "round {round}");
            }
            assert_eq!(journal.fast_commit(), None);
            let (log, _) = written(journal.commit(Nanos::ZERO));
            assert!(log.iter().all(|block| *block < FIRST + BLOCKS - FAST_BLOCKS));
        }
        assert_eq!(Journal::new(RING, true).fast_commit(), None);
    }

    #[test]
    fn a_descriptor_lists_510_blocks() {
        for (blocks, logged) in [(1, 3), (510, 512), (511, 514)] {
            let mut journal = Journal::new(RING, true);
            (0..blocks).for_each(|block| journal.change(Nanos::ZERO, Block(block)));
            assert_eq!(written(journal.commit(Nanos::ZERO)).0.len(), logged);
        }
    }
}
