//! Counters of processes and disks in `/proc`, which need no privileges. They contain no events,
//! files or waits, so they make no trace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use flashlag_device::ProcessStat;
use flashlag_units::{Bytes, InOrder, IntoOrder};

use crate::error::LiveError;
use crate::places::{Places, device_name};
use crate::source::Disks;
use crate::source::Scope;
use crate::stack::is_stacked;

/// What one process did since counting began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub name: String,
    /// Calls that write, to whatever.
    pub writes: u64,
    /// Bytes written by write calls, including those to pipes and terminals.
    pub written: Bytes,
    /// Bytes that the process has caused to be sent to disks, less those whose pages were dropped
    /// before.
    pub to_disk: Bytes,
}

/// Most ancestors of a process to follow: reused process numbers must not form a cycle.
const MOST_ANCESTORS: usize = 64;

/// Counts processes and disks.
#[derive(Debug)]
pub struct Counters {
    own: u32,
    command_only: bool,
    disks: Option<BTreeSet<String>>,
    began: Disks,
    /// By process number: the counters when the process was first seen, and now.
    processes: BTreeMap<u32, (Counted, Counted)>,
    is_first: bool,
    /// Processes whose counters may not be read.
    pub refused: BTreeSet<u32>,
}

impl Counters {
    /// Begins to count.
    pub fn start(scope: &Scope) -> Result<Counters, LiveError> {
        let places = Places::of(scope.path.as_deref())?;
        let disks = places.disks().map(|disks| disks.into_iter().map(device_name).into_set());
        let mut counters = Counters {
            own: std::process::id(),
            command_only: scope.command_only,
            disks,
            began: Disks::default(),
            processes: BTreeMap::new(),
            is_first: true,
            refused: BTreeSet::new(),
        };
        counters.began = counters.disks_now()?;
        counters.collect();
        Ok(counters)
    }

    /// Reads the counters of all processes. Misses what a process does between the last reading and
    /// its end.
    pub fn collect(&mut self) {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let all: Vec<u32> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        let watched = if self.command_only { self.family(&all) } else { all };
        for pid in watched.into_iter().filter(|pid| *pid != self.own) {
            let Ok(text) = fs::read_to_string(format!("/proc/{pid}/io")) else {
                self.refused.insert(pid);
                continue;
            };
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            let now = counted(name.trim_end_matches('\n'), &text);
            // A process that began later began at zero.
            let before = if self.is_first { now.clone() } else { Counted::default() };
            let known = self.processes.entry(pid).or_insert((before, now.clone()));
            known.1 = now;
        }
        self.is_first = false;
    }

    /// The descendants of this process.
    fn family(&self, all: &[u32]) -> Vec<u32> {
        let is_ours = |pid: &&u32| {
            // A child whose parent has ended has another parent then, but is already known.
            if self.processes.contains_key(pid) {
                return true;
            }
            let mut at = **pid;
            for _ in 0..MOST_ANCESTORS {
                match ProcessStat::of(at).map(|stat| stat.parent) {
                    Some(parent) if parent == self.own || self.processes.contains_key(&parent) => {
                        return true;
                    }
                    Some(parent) if parent > 1 => at = parent,
                    _ => return false,
                }
            }
            false
        };
        all.iter().filter(is_ours).copied().collect()
    }

    fn disks_now(&self) -> Result<Disks, LiveError> {
        let text = fs::read_to_string("/proc/diskstats").map_err(|error| LiveError::Failed {
            source_name: "/proc/diskstats",
            reason: error.to_string(),
        })?;
        Ok(disks_in(&text, |name| match &self.disks {
            Some(disks) => disks.contains(name),
            // Skip partitions and stacked devices: the disks below have counted everything.
            None => is_lowest(name),
        }))
    }

    /// Whether a process descends from this one, or did at the last reading.
    pub fn descends(&self, pid: u32) -> bool {
        self.processes.contains_key(&pid) || !self.family(&[pid]).is_empty()
    }

    /// What each process did since counting began, by its number.
    pub fn by_process(&self) -> Vec<(u32, Counted)> {
        self.processes.iter().map(|(pid, pair)| (*pid, since(pair))).collect()
    }

    /// What the processes did since counting began, most bytes first, those that wrote nothing left out.
    pub fn processes(&self) -> Vec<Counted> {
        let mut all: Vec<Counted> = self.processes.values().map(since).collect();
        all.retain(|process| process.writes > 0 || process.to_disk.0 > 0);
        all.order_by_key(|process| std::cmp::Reverse((process.to_disk, process.written)));
        all
    }

    /// What the disks did since counting began.
    pub fn disks(&self) -> Result<Disks, LiveError> {
        Ok(self.disks_now()?.since(self.began))
    }
}

/// The difference between two readings of a process's counters.
fn since((before, now): &(Counted, Counted)) -> Counted {
    Counted {
        name: now.name.clone(),
        writes: now.writes.saturating_sub(before.writes),
        written: Bytes(now.written.0.saturating_sub(before.written.0)),
        to_disk: Bytes(now.to_disk.0.saturating_sub(before.to_disk.0)),
    }
}

fn is_lowest(name: &str) -> bool {
    std::path::Path::new("/sys/block").join(name).exists()
        && !is_stacked(name)
        && !["loop", "ram", "zram"].iter().any(|start| name.starts_with(start))
}

/// `/proc/PID/io`: Documentation/filesystems/proc.rst, section 3.3.
fn counted(name: &str, text: &str) -> Counted {
    let value = |field: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(": "));
        line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
    };
    Counted {
        name: name.to_owned(),
        writes: value("syscw"),
        written: Bytes(value("wchar")),
        to_disk: Bytes(value("write_bytes").saturating_sub(value("cancelled_write_bytes"))),
    }
}

/// `/proc/diskstats`: Documentation/admin-guide/iostats.rst.
fn disks_in(text: &str, watched: impl Fn(&str) -> bool) -> Disks {
    let mut sum = Disks::default();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let value = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
        if fields.get(2).is_some_and(|name| watched(name)) {
            sum.writes = sum.writes.saturating_add(value(7).unwrap_or(0));
            let bytes = value(9).unwrap_or(0).saturating_mul(512);
            sum.bytes = Bytes(sum.bytes.0.saturating_add(bytes));
            sum.flushes = sum.flushes.saturating_add(value(18).unwrap_or(0));
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_was_thrown_away_before_it_reached_the_disk_is_not_counted() {
        let text = "rchar: 1\nwchar: 900\nsyscr: 2\nsyscw: 7\nread_bytes: 0\nwrite_bytes: 8192\n\
                    cancelled_write_bytes: 4096\n";
        let found = counted("app", text);
        assert_eq!((found.writes, found.written, found.to_disk), (7, Bytes(900), Bytes(4096)));
    }

    #[test]
    fn only_watched_disks_are_added_up() {
        let text = " 8 0 sda 1 2 3 4 50 6 70 8 9 10 11 12 13 14 15 16 17\n\
                    8 1 sda1 1 2 3 4 50 6 70 8 9 10 11 12 13 14 15 16 17\n";
        let found = disks_in(text, |name| name == "sda");
        assert_eq!(found, Disks { writes: 50, bytes: Bytes(70 * 512), flushes: 16 });
    }

    proptest! {
        #[test]
        fn any_text_is_counted_without_a_panic(text in "[a-z0-9: \n-]{0,300}") {
            let _ = counted("x", &text);
            let _ = disks_in(&text, |_| true);
        }
    }
}
