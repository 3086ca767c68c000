//! The commits of each database.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use flashlag_schema::trace::{
    BlockOperation, Trace, TraceAction, TraceDatabase, TraceWrites, TraceWrittenKind,
};
use flashlag_spec::scenario::JournalMode;
use flashlag_units::{Bytes, Nanos, per_second};

use super::frames::Janks;
use super::stack::Stack;
use super::what::{Seen, file_name, kind_of_blocks};
use super::writers::summary;
use crate::sqlite::{Commit, Database};

/// Each database with the totals of its commits.
pub(super) fn databases(
    trace: &Trace,
    databases: &[Database],
    seen: Seen,
    stack: &Stack,
    janks: Option<&Janks>,
) -> Vec<TraceDatabase> {
    let blocks = seen.block.then(|| Blocks::of(trace, databases));
    let of = |database: &Database| {
        let seen = |janks: &Janks| {
            let any = |commit: &&Commit| {
                commit.timed && janks.any(trace, commit.task, commit.begun, commit.ended)
            };
            database.commits.iter().filter(any).count() as u64
        };
        TraceDatabase { janks: janks.map(seen), ..one(trace, database, blocks.as_ref(), stack) }
    };
    databases.iter().map(of).collect()
}

fn one(
    trace: &Trace,
    database: &Database,
    blocks: Option<&Blocks>,
    stack: &Stack,
) -> TraceDatabase {
    let commits = &database.commits;
    let sum = |of: fn(&Commit) -> u64| commits.iter().map(of).fold(0, u64::saturating_add);
    let timed =
        !commits.is_empty() && commits.iter().all(|commit| commit.timed && commit.syncs > 0);
    let length = |commit: &Commit| commit.ended.saturating_since(commit.begun);
    let lengths: Vec<Nanos> = if timed { commits.iter().map(length).collect() } else { Vec::new() };
    let (latency_ns, histogram) = summary(&lengths);
    // Exclude the journal of another filesystem, for example of the one that holds a loop device's
    // file.
    let device = trace.files.get(database.file as usize).and_then(|file| file.device);
    let own = device.and_then(|device| stack.first_at(device));
    let during = |blocks: &Blocks| {
        let during = |commit| blocks.during(commit, own.as_ref());
        commits.iter().map(during).fold(TraceWrites::default(), plus)
    };
    TraceDatabase {
        file: file_name(trace, database.file),
        journal_mode: mode(commits),
        mode_inferred: database.mode_inferred,
        commits: commits.len() as u64,
        commits_per_sec: per_second(commits.len() as u64, trace.source.lasted_ns),
        rolled_back: database.rolled_back,
        unsynced_bytes: Bytes(database.unsynced_bytes),
        syncs: sum(|commit| commit.syncs),
        bytes: Bytes(sum(|commit| commit.bytes)),
        page_bytes: Bytes(sum(|commit| commit.page_bytes)),
        block: blocks.filter(|_| timed).map(during),
        latency_ns,
        histogram,
        janks: None,
    }
}

/// The most frequent journal mode of the commits.
fn mode(commits: &[Commit]) -> Option<JournalMode> {
    let mut counts: BTreeMap<JournalMode, u64> = BTreeMap::new();
    for mode in commits.iter().filter_map(|commit| commit.mode) {
        *counts.entry(mode).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(mode, _)| mode)
}

fn plus(one: TraceWrites, other: TraceWrites) -> TraceWrites {
    TraceWrites { count: one.count + other.count, bytes: one.bytes.plus(other.bytes) }
}

/// Cumulative block writes to each device, of each thread with commits and of the filesystem's
/// journal.
struct Blocks {
    threads: HashMap<u32, BTreeMap<u32, Sums>>,
    journal: BTreeMap<u32, Sums>,
}

#[derive(Default)]
struct Sums(Vec<(Nanos, TraceWrites)>);

impl Blocks {
    fn of(trace: &Trace, databases: &[Database]) -> Blocks {
        let mut blocks = Blocks { threads: HashMap::new(), journal: BTreeMap::new() };
        if databases.iter().all(|database| database.commits.is_empty()) {
            return blocks;
        }
        let commits = databases.iter().flat_map(|database| &database.commits);
        let tasks = commits.filter_map(|commit| commit.task);
        blocks.threads.extend(tasks.map(|task| (task, BTreeMap::new())));
        for event in &trace.events {
            let TraceAction::Block { device, operation, bytes, flags, file, .. } = event.action
            else {
                continue;
            };
            if operation != BlockOperation::Write {
                continue;
            }
            let devices = match kind_of_blocks(trace, operation, flags, event.task, file) {
                TraceWrittenKind::FilesystemJournal => &mut blocks.journal,
                _ => match event.task.and_then(|task| blocks.threads.get_mut(&task)) {
                    Some(devices) => devices,
                    None => continue,
                },
            };
            devices.entry(device).or_default().add(event.t_ns, bytes);
        }
        blocks
    }

    /// What the commit's thread and the journal wrote to some devices, or to all, between the
    /// commit's first write and its end.
    fn during(&self, commit: &Commit, devices: Option<&BTreeSet<u32>>) -> TraceWrites {
        let threads = commit.task.and_then(|task| self.threads.get(&task));
        let sums = threads.into_iter().chain([&self.journal]).flatten();
        let sums = sums.filter(|(device, _)| devices.is_none_or(|own| own.contains(device)));
        sums.map(|(_, sums)| sums.between(commit)).fold(TraceWrites::default(), plus)
    }
}

impl Sums {
    fn add(&mut self, t: Nanos, bytes: Bytes) {
        let so_far = self.0.last().map_or_else(TraceWrites::default, |(_, sum)| *sum);
        self.0.push((t, plus(so_far, TraceWrites { count: 1, bytes })));
    }

    fn between(&self, commit: &Commit) -> TraceWrites {
        let until =
            |end: usize| end.checked_sub(1).map_or_else(TraceWrites::default, |at| self.0[at].1);
        let from = until(self.0.partition_point(|(t, _)| *t < commit.begun));
        let to = until(self.0.partition_point(|(t, _)| *t <= commit.ended));
        TraceWrites {
            count: to.count.saturating_sub(from.count),
            bytes: to.bytes.saturating_minus(from.bytes),
        }
    }
}
