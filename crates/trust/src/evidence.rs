use flashlag_schema::counters::{CounterDelta, Counters};
use flashlag_schema::{Conditions, Environment, Phase};
use flashlag_spec::scenario::Durability;
use flashlag_spec::{Operation, Reading};
use flashlag_units::{Bytes, Nanos};

use crate::earlier::Earlier;

/// Everything that the checks look at. Unknown values are as [`Evidence::new`] sets them; checks
/// that need them are then unknown.
#[derive(Clone, Debug)]
pub struct Evidence<'a> {
    /// The machine and the storage that the run ran on, including the calibration.
    pub environment: &'a Environment,
    /// The measured phases.
    pub phases: &'a [Phase],
    /// Charge, power and temperature before each test and at the end, for a device with a battery.
    pub conditions: &'a [Conditions],
    /// Counters right before and right after each phase, in the same order; `None`, or a shorter
    /// list, if they were not read (a phase of an earlier process).
    pub counters: &'a [Option<(Counters, Counters)>],
    /// Counters around a moment before the run in which flashlag did nothing.
    pub baseline: Option<&'a (Counters, Counters)>,
    /// Counters at the end of the run.
    pub ended: Option<&'a Counters>,
    /// The number of whole disks below the directory; `None` if no disk was found.
    pub disks: Option<usize>,
    /// A few hundred kilobytes of the run's payload, generated again from its seed; absent if
    /// another program generated it.
    pub payload: Reading<Vec<u8>>,
    /// The fills that were done.
    pub fills: Vec<Fill>,
    /// Free space that must remain, according to `--leave`.
    pub leave: Bytes,
    /// Free bytes after the run, before it cleaned up.
    pub free_after: Reading<Bytes>,
    /// The size of the run's own files at that time.
    pub own_bytes: Reading<Bytes>,
    /// The result of reading back, with `--verify`.
    pub verification: Option<Verification>,
    /// What was found before the run was resumed, if it was.
    pub earlier: Option<&'a Earlier>,
}

/// A fill, as it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Its test's name.
    pub name: String,
    /// Free space that it was to leave.
    pub leave: Bytes,
    /// Free space at its end.
    pub free: Bytes,
    /// Whether it ended because nothing more could be written (no space, a quota).
    pub no_space: bool,
    /// Whether a quota stopped it, although the storage had room.
    pub quota: bool,
}

/// The result of reading back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// Bytes read back.
    pub bytes: Bytes,
    /// Blocks whose content was not what had been written.
    pub wrong_blocks: u64,
    /// What the first of them contained, and where it was.
    pub first_wrong: Option<String>,
}

impl<'a> Evidence<'a> {
    /// Evidence of the phases alone.
    pub fn new(environment: &'a Environment, phases: &'a [Phase]) -> Evidence<'a> {
        Evidence {
            environment,
            phases,
            conditions: &[],
            counters: &[],
            baseline: None,
            ended: None,
            disks: None,
            payload: Reading::unavailable("no payload of this run was examined"),
            fills: Vec::new(),
            leave: Bytes::ZERO,
            free_after: Reading::unavailable("free space was not read after the run"),
            own_bytes: Reading::unavailable("this run's own files were not counted"),
            verification: None,
            earlier: None,
        }
    }

    /// Each phase with what was counted during it.
    pub(super) fn counted(&self) -> impl Iterator<Item = (&'a Phase, Option<CounterDelta>)> + '_ {
        self.phases.iter().enumerate().map(|(index, phase)| {
            let around = self.counters.get(index).and_then(Option::as_ref);
            (phase, around.map(|(before, after)| after.since(before)))
        })
    }

    /// The first and the last available counters of the run.
    pub(super) fn ends(&self) -> Option<(&'a Counters, &'a Counters)> {
        let mut known = self.counters.iter().flatten();
        let first = known.next();
        let last = known.next_back().or(first);
        let from = self.baseline.map(|(start, _)| start).or(first.map(|(before, _)| before))?;
        let to = self.ended.or(last.map(|(_, after)| after))?;
        Some((from, to))
    }

    /// The kind of disk, as a fixed word; empty if not known.
    pub(super) fn disk_kind(&self) -> &'a str {
        self.environment.device.kind.value().map_or("", String::as_str)
    }

    /// The kind of filesystem; empty where it is not known.
    pub(super) fn filesystem_kind(&self) -> &'a str {
        self.environment.filesystem.kind.value().map_or("", String::as_str)
    }

    /// Whether what looks like a disk is served by a host, another process or a file, and by which:
    /// what happens below can't be seen then.
    pub(super) fn served_by(&self) -> Option<&'static str> {
        let device = &self.environment.device;
        if device.stack.iter().any(|layer| layer.starts_with("loop")) {
            return Some("a file behind a loop device");
        }
        match self.disk_kind() {
            "virtio" | "hyper-v" | "xen" => Some("the host of a virtual machine"),
            "nbd" | "ublk" => Some("another process"),
            "network" => Some("a network"),
            "loop" => Some("a file behind a loop device"),
            _ if self.environment.software.virtualized.value() == Some(&true) => {
                Some("the host of a virtual machine")
            }
            _ => None,
        }
    }

    /// Whether the files are in memory, judging by the filesystem or the disk; and which it is.
    pub(super) fn in_memory(&self) -> Option<&'a str> {
        let filesystem = self.filesystem_kind();
        if matches!(filesystem, "tmpfs" | "ramfs" | "rootfs" | "devtmpfs" | "hugetlbfs") {
            return Some(filesystem);
        }
        matches!(self.disk_kind(), "ram" | "zram").then(|| self.disk_kind())
    }
}

/// Whether a phase reads.
pub(super) fn reads(phase: &Phase) -> bool {
    matches!(
        phase.operation,
        Operation::SequentialRead | Operation::RandomRead | Operation::ReplayRead
    )
}

/// Whether each operation of a phase ends durable, and has something to flush. A sync of a trace
/// may have nothing to do.
pub(super) fn durable(phase: &Phase) -> bool {
    phase.durable != Durability::None && !reads(phase) && phase.replay.is_none()
}

/// The bytes of a phase that must reach storage, and so must be counted there. A save changes at
/// least a page; one that is not durable may stay in memory.
pub(super) fn payload_bytes(phase: &Phase) -> Bytes {
    match phase.operation {
        // The page cache may keep what a trace writes and never syncs, and may already have what it
        // reads.
        _ if phase.replay.is_some() => Bytes::ZERO,
        Operation::Save if phase.durable == Durability::None => Bytes::ZERO,
        Operation::Save => Bytes(phase.ops.saturating_mul(phase.block_bytes.0)),
        _ => phase.bytes,
    }
}

/// The sum of all latencies of a phase.
pub(super) fn latency_sum(phase: &Phase) -> Nanos {
    phase.histogram.sum_ns
}

#[cfg(test)]
mod tests {
    use flashlag_spec::Reading;

    use super::*;
    use crate::testing::Case;

    #[test]
    fn the_run_lasts_from_the_first_counters_that_there_are_to_the_last() {
        let mut case = Case::quiet();
        let ends = |evidence: &Evidence<'_>| evidence.ends().map(|(from, to)| (from.at, to.at));
        let edges = |case: &Case, index: usize| {
            let (before, after) = case.counters[index].clone().unwrap();
            (before.at, after.at)
        };
        let whole = case.evidence();
        assert_eq!(ends(&whole), Some((case.baseline.0.at, case.ended.clone().unwrap().at)));
        let of_phases = |case: &Case| {
            let evidence = case.evidence();
            ends(&Evidence { baseline: None, ended: None, ..evidence })
        };
        let expected = (edges(&case, 0).0, edges(&case, 3).1);
        assert_eq!(of_phases(&case), Some(expected));
        // With one phase, the ends are its own edges; without counters there are none.
        case.counters = vec![None, case.counters[1].clone(), None];
        assert_eq!(of_phases(&case), Some(edges(&case, 1)));
        case.counters.clear();
        assert_eq!(of_phases(&case), None);
    }

    #[test]
    fn whoever_answers_for_a_disk_that_is_none_is_named() {
        let served = |kind: &str, stack: &[&str], virtualized: Option<bool>| {
            let mut case = Case::quiet();
            case.environment.device.kind = Reading::Value(kind.to_owned());
            case.environment.device.stack = stack.iter().map(|s| (*s).to_owned()).collect();
            case.environment.software.virtualized =
                virtualized.map_or_else(Reading::default, Reading::Value);
            case.evidence().served_by()
        };
        let host = Some("the host of a virtual machine");
        let file = Some("a file behind a loop device");
        for kind in ["virtio", "hyper-v", "xen"] {
            assert_eq!(served(kind, &[], Some(false)), host, "{kind}");
        }
        for kind in ["nbd", "ublk"] {
            assert_eq!(served(kind, &[], Some(false)), Some("another process"), "{kind}");
        }
        assert_eq!(served("network", &[], Some(false)), Some("a network"));
        assert_eq!(served("loop", &[], Some(false)), file);
        assert_eq!(served("emmc", &["dm-0", "loop3"], Some(false)), file);
        assert_eq!(served("nvme", &["dm-0"], Some(true)), host);
        assert_eq!(served("nvme", &["dm-0"], Some(false)), None);
        assert_eq!(served("nvme", &[], None), None);
    }

    #[test]
    fn filesystems_and_disks_that_are_memory_are_known_by_name() {
        let in_memory = |filesystem: &str, disk: &str| {
            let mut case = Case::quiet();
            case.environment.filesystem.kind = Reading::Value(filesystem.to_owned());
            case.environment.device.kind = Reading::Value(disk.to_owned());
            case.evidence().in_memory().map(str::to_owned)
        };
        for filesystem in ["tmpfs", "ramfs", "rootfs", "devtmpfs", "hugetlbfs"] {
            assert_eq!(in_memory(filesystem, "emmc").as_deref(), Some(filesystem));
        }
        for disk in ["ram", "zram"] {
            assert_eq!(in_memory("ext4", disk).as_deref(), Some(disk));
        }
        assert_eq!(in_memory("ext4", "emmc"), None);
        let case = Case::quiet();
        let unknown = Environment::default();
        assert_eq!(Evidence::new(&unknown, &case.phases).in_memory(), None);
    }

    #[test]
    fn what_must_reach_storage_is_a_page_for_each_durable_save_and_else_every_byte() {
        let mut case = Case::quiet();
        let index = case.index_of("save_wal");
        let phase = &mut case.phases[index];
        (phase.ops, phase.bytes) = (3, Bytes(100));
        assert_eq!(payload_bytes(phase), Bytes(3 * 4096));
        phase.durable = Durability::None;
        assert_eq!(payload_bytes(phase), Bytes::ZERO);
        phase.operation = Operation::RandomWrite;
        assert_eq!(payload_bytes(phase), Bytes(100));
    }

    #[test]
    fn what_writes_and_asks_for_it_is_durable_and_a_read_never_is() {
        let mut case = Case::quiet();
        let phase = &mut case.phases[0];
        for (operation, asked, is_durable) in [
            (Operation::RandomWrite, Durability::Fdatasync, true),
            (Operation::Save, Durability::Fsync, true),
            (Operation::RandomWrite, Durability::None, false),
            (Operation::RandomRead, Durability::Fdatasync, false),
            (Operation::SequentialRead, Durability::Fdatasync, false),
        ] {
            (phase.operation, phase.durable) = (operation, asked);
            assert_eq!(durable(phase), is_durable, "{operation:?} {asked:?}");
        }
    }
}
