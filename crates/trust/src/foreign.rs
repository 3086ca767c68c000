//! Did anything else use the device?
//!
//! What the disks moved during a phase, less what this process moved (`/proc/self/io`), is foreign.
//! Excluded is what the kernel does for this process under another name:
//! - Pages that this process wrote earlier and the kernel writes now: bytes written since the run
//!   began that the disks had not yet received are subtracted.
//! - The filesystem's own writes. ext4 and XFS overwrite in place and add almost nothing to direct
//!   writes of an existing file. But saves make their journals commit, log-structured and
//!   copy-on-write filesystems (f2fs, btrfs, …) write and clean elsewhere, and a loop device writes
//!   from a kernel thread: in such phases foreign *writes* can't be recognised, only foreign reads.
//! - The inode's new modification time, which changes with the kernel's tick (4 ms at 250 Hz). ext4
//!   without a journal writes that block at each sync after a change (3 % of a phase of 100 µs
//!   writes when nothing else ran), so one block per tick is subtracted from durable writes. With a
//!   journal an fsync commits that block: a descriptor, the block, the commit block, and later the
//!   block in place; so four blocks per tick are subtracted if each write is followed by an fsync.
//! - Phases with a background writer, whose I/O is accounted to this process late.
//!
//! Below 2 % of this process's bytes, or 256 KiB per phase (the trickle of a log file): pass. Above
//! 5 %, and at least 1 MiB: fail. At depth 1 every foreign request delays one of ours, so 5 % of
//! the bytes can make up the p95. In between: unknown. In a phase with rests (`think`) only what
//! falls beside an operation can delay one: it is estimated by the share of time that is no rest.
//! What falls into the rests may keep the storage awake, and leaves the phase unknown. If no phase
//! could be judged for writes: unknown. The moment before the run, in which flashlag did nothing,
//! is reported as well.

use flashlag_schema::counters::{CounterDelta, Counters};
use flashlag_schema::{Check, CheckId, Phase};
use flashlag_spec::scenario::Durability;
use flashlag_units::{Bytes, Nanos, per_second};

use crate::evidence::{Evidence, durable, reads};
use crate::finding::{Finding, combine, percent, share};

const CLAIM: &str = "Nothing else used the device";
const SMALL: f64 = 0.02;
const LARGE: f64 = 0.05;
const TRICKLE: Bytes = Bytes::from_kib(256);
const NOTABLE: Bytes = Bytes::from_mib(1);
const ADVICE: &str = "Stop what else uses the disk (see iotop or /proc/*/io), then run again.";

pub(super) fn check(evidence: &Evidence<'_>) -> Option<Check> {
    if evidence.phases.is_empty() || evidence.in_memory().is_some() {
        return None;
    }
    let before = baseline(evidence);
    let mut findings = Vec::new();
    let mut writes_judged = false;
    for (index, (phase, counted)) in evidence.counted().enumerate() {
        let Some(counted) = counted else { continue };
        let around = evidence.counters.get(index).and_then(Option::as_ref);
        let owed = around.map(|(start, _)| owed(evidence, start)).unwrap_or_default();
        let judged = judge_phase(evidence, phase, &counted, owed, &before);
        writes_judged |= judged.is_some() && judges_writes(evidence, phase);
        findings.extend(judged);
    }
    if findings.is_empty() {
        let reason =
            evidence.environment.device.name.reason().unwrap_or("its counters were not read");
        let detail = format!("What else the disk did is not known: {reason}.");
        let advice = "Measure in a directory on a local disk.";
        findings.push(Finding::unknown(None, detail, advice));
    } else if !writes_judged {
        let detail = "Foreign writes can't be separated from the filesystem's own in these phases.";
        let advice = "Add a read phase, or see the same scenario on another filesystem.";
        findings.push(Finding::unknown(None, detail, advice).weighing(-1.0));
    }
    combine(CheckId::ForeignIo, CLAIM, findings)
}

fn judge_phase(
    evidence: &Evidence<'_>,
    phase: &Phase,
    counted: &CounterDelta,
    owed: Bytes,
    before: &str,
) -> Option<Finding> {
    let (disk, own) = (counted.disk.value()?, counted.self_io.value()?);
    let read = disk.read_bytes.saturating_minus(own.read_bytes);
    let wrote = if judges_writes(evidence, phase) {
        disk.write_bytes
            .saturating_minus(own.write_bytes)
            .saturating_minus(owed)
            .saturating_minus(timestamps(phase))
    } else {
        Bytes::ZERO
    };
    let ours = own.read_bytes.plus(own.write_bytes);
    if ours == Bytes::ZERO {
        return None;
    }
    let foreign = read.plus(wrote);
    let part = share(foreign.0, ours.0);
    let detail = format!(
        "Others moved {foreign} ({read} read, {wrote} written), {} our {ours}.{}{before}",
        if part < 2.0 { percent(part) + " of" } else { percent(part) },
        mover(counted, foreign)
    );
    let finding = if part * busy(phase) > LARGE && foreign >= NOTABLE {
        Finding::fail(Some(phase), detail, ADVICE)
    } else if part > LARGE && foreign >= NOTABLE {
        let detail =
            detail + " Nearly all of it fell into the rests, and may have kept the storage awake.";
        Finding::unknown(Some(phase), detail, ADVICE)
    } else if part > SMALL && foreign >= TRICKLE {
        Finding::unknown(Some(phase), detail, ADVICE)
    } else {
        Finding::pass(Some(phase), detail)
    };
    Some(finding.weighing(part))
}

/// The share of a phase's time in which an operation was in flight.
fn busy(phase: &Phase) -> f64 {
    let rested =
        phase.think.map_or(0, |think| think.total_ns.0 / u64::from(phase.in_flight()).max(1));
    1.0 - share(rested, phase.elapsed_ns.0).min(1.0)
}

/// Bytes that updates of an inode's modification time have written during a phase of durable
/// writes.
fn timestamps(phase: &Phase) -> Bytes {
    const TICK: Nanos = Nanos::from_millis(4);
    const BLOCK: u64 = 4096;
    let blocks = match phase.durable {
        Durability::Fsync => 4,
        _ => 1,
    };
    let ticks = if durable(phase) { phase.elapsed_ns.0 / TICK.0 } else { 0 };
    Bytes(ticks.min(phase.ops).saturating_mul(blocks * BLOCK))
}

/// Which process moved most, if that can be seen (other users' only by root). When children end, a
/// parent gets the counts of their whole lives: a process with more than was moved is left out.
fn mover(counted: &CounterDelta, foreign: Bytes) -> String {
    let credible = TRICKLE..=foreign;
    let neighbours = counted.neighbours.value().into_iter().flatten();
    let credible = neighbours.filter(|neighbour| credible.contains(&neighbour.io_bytes));
    match credible.max_by_key(|neighbour| neighbour.io_bytes) {
        Some(most) if most.io_bytes.0 >= foreign.0 / 2 => {
            format!(" `{}` moved the most: {}.", most.name, most.io_bytes)
        }
        // The rest was moved by many processes, or by some that have ended.
        Some(most) => format!(
            " Among the processes that were still running, `{}` moved the most: {}.",
            most.name, most.io_bytes
        ),
        None => String::new(),
    }
}

/// Whether bytes that the disk wrote beyond this process's own show that others wrote.
fn judges_writes(evidence: &Evidence<'_>, phase: &Phase) -> bool {
    let device = &evidence.environment.device;
    let one_disk = evidence.disks == Some(1);
    let looped = device.kind.value().is_some_and(|kind| kind == "loop")
        || device.stack.iter().any(|layer| layer.starts_with("loop"));
    let alone = phase.background.is_none() && phase.operation.is_block_test();
    let in_place =
        matches!(evidence.filesystem_kind(), "ext4" | "ext3" | "ext2" | "xfs" | "vfat" | "exfat");
    alone && one_disk && !looped && (reads(phase) || (in_place && phase.direct))
}

/// Bytes that this process had written by then, but the disks had not.
fn owed(evidence: &Evidence<'_>, now: &Counters) -> Bytes {
    let Some((start, _)) = evidence.ends() else { return Bytes::ZERO };
    let since = now.since(start);
    match (since.self_io.value(), since.disk.value()) {
        (Some(own), Some(disk)) => own.write_bytes.saturating_minus(disk.write_bytes),
        _ => Bytes::ZERO,
    }
}

/// What the device did while flashlag did nothing.
fn baseline(evidence: &Evidence<'_>) -> String {
    let Some((from, to)) = evidence.baseline else { return String::new() };
    let quiet = to.since(from);
    let (Some(disk), Some(own)) = (quiet.disk.value(), quiet.self_io.value()) else {
        return String::new();
    };
    let moved = disk.read_bytes.plus(disk.write_bytes);
    let moved = moved.saturating_minus(own.read_bytes).saturating_minus(own.write_bytes);
    match per_second(moved.0, quiet.elapsed) {
        Some(rate) if moved > Bytes::ZERO => {
            format!(" Before the run they moved {} a second.", Bytes(rate as u64))
        }
        _ => " Before the run the device was idle.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use flashlag_schema::counters::Neighbour;
    use flashlag_schema::{CheckStatus, Think};
    use flashlag_spec::{Operation, Reading};

    use super::*;
    use crate::testing::Case;

    #[test]
    fn a_disk_that_moved_only_our_bytes_passes() {
        let found = Case::quiet().check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Pass, "{}", found.detail);
    }

    #[test]
    fn another_reader_fails_and_its_phase_is_named() {
        let mut case = Case::quiet();
        let index = case.index_of("rand_read_4k");
        case.disk(index, |disk| disk.read_bytes.0 += disk.read_bytes.0 / 5 + NOTABLE.0);
        let found = case.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Fail);
        assert_eq!(found.phases, ["new: rand_read_4k"]);
    }

    #[test]
    fn three_percent_is_unknown() {
        let mut case = Case::quiet();
        let index = case.index_of("rand_write_4k");
        let own = timestamps(&case.phases[index]);
        case.disk(index, |disk| disk.write_bytes.0 += own.0);
        assert_eq!(case.status(check), Some(CheckStatus::Pass));
        case.disk(index, |disk| disk.write_bytes.0 += disk.write_bytes.0 * 3 / 100);
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
    }

    #[test]
    fn what_an_fsync_commits_is_not_foreign_but_more_is() {
        let mut case = Case::quiet();
        let index = case.index_of("rand_write_4k");
        let phase = &mut case.phases[index];
        phase.durable = Durability::Fsync;
        // At most one write per tick: each commits the inode.
        phase.elapsed_ns = Nanos(10_000_000 * phase.ops);
        let commits = Bytes(phase.ops * 12_288);
        case.disk(index, |disk| disk.write_bytes.0 += commits.0);
        assert_eq!(case.status(check), Some(CheckStatus::Pass));
        case.disk(index, |disk| disk.write_bytes.0 += commits.0);
        assert_eq!(case.status(check), Some(CheckStatus::Fail));
        case.phases[index].durable = Durability::Fdatasync;
        case.disk(index, |disk| disk.write_bytes.0 -= commits.0);
        assert_eq!(case.status(check), Some(CheckStatus::Fail));
    }

    #[test]
    fn writes_to_a_loop_device_are_not_judged() {
        let mut case = Case::quiet();
        case.environment.device.kind = Reading::Value("loop".to_owned());
        let index = case.index_of("rand_write_4k");
        case.disk(index, |disk| disk.write_bytes.0 *= 4);
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
    }

    #[test]
    fn a_journal_beside_saves_is_not_foreign() {
        let mut case = Case::quiet();
        let index = case.index_of("save_wal");
        case.disk(index, |disk| disk.write_bytes.0 *= 4);
        assert_eq!(case.status(check), Some(CheckStatus::Pass));
    }

    #[test]
    fn a_log_structured_filesystem_does_not_accuse_others_of_its_own_writes() {
        let mut case = Case::quiet();
        case.environment.filesystem.kind = Reading::Value("f2fs".to_owned());
        let index = case.index_of("rand_write_4k");
        case.disk(index, |disk| disk.write_bytes.0 *= 2);
        assert_eq!(case.status(check), Some(CheckStatus::Pass), "the read phases are judged");
        case.keep_only("rand_write_4k");
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
    }

    #[test]
    fn our_own_late_writes_are_not_foreign() {
        let mut case = Case::quiet();
        let index = case.index_of("rand_read_4k");
        let late = Bytes::from_mib(50);
        // This process wrote the bytes before the phase began, and the kernel sent them within it.
        case.from(index, |before| {
            if let Reading::Value(io) = &mut before.self_io {
                io.write_bytes.0 += late.0;
            }
        });
        case.after(index, |(before, after)| {
            if let (Reading::Value(a), Reading::Value(b)) = (&before.self_io, &mut after.self_io) {
                b.write_bytes = a.write_bytes;
            }
        });
        case.disk(index, |disk| disk.write_bytes = late);
        assert_eq!(case.status(check), Some(CheckStatus::Pass));
    }

    #[test]
    fn no_counters_is_unknown() {
        let mut case = Case::quiet();
        case.counters.iter_mut().for_each(|around| *around = None);
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
    }

    /// A phase in which this process read `ours` and others `foreign`.
    fn beside(ours: u64, foreign: u64) -> CheckStatus {
        beside_while_resting(ours, foreign, 0)
    }

    /// The same, with rests for that many thousandths of the time.
    fn beside_while_resting(ours: u64, foreign: u64, rests: u64) -> CheckStatus {
        let mut case = Case::quiet();
        case.keep_only("rand_read_4k");
        let elapsed = case.phases[0].elapsed_ns;
        let think = Think { each_ns: Nanos(1), total_ns: Nanos(elapsed.0 / 1000 * rests) };
        case.phases[0].think = (rests > 0).then_some(think);
        case.after(0, |(before, after)| {
            if let (Reading::Value(a), Reading::Value(b)) = (&before.self_io, &mut after.self_io) {
                b.read_bytes = a.read_bytes.plus(Bytes(ours));
            }
        });
        case.disk(0, |disk| disk.read_bytes = Bytes(ours + foreign));
        case.status(check).unwrap()
    }

    #[test]
    fn two_percent_of_our_bytes_pass_and_more_than_five_fail() {
        const OURS: u64 = 100_000_000;
        assert_eq!(beside(OURS, 2_000_000), CheckStatus::Pass);
        assert_eq!(beside(OURS, 2_000_001), CheckStatus::Unknown);
        assert_eq!(beside(OURS, 5_000_000), CheckStatus::Unknown);
        assert_eq!(beside(OURS, 5_000_001), CheckStatus::Fail);
    }

    #[test]
    fn what_falls_into_rests_delays_nothing_and_is_no_pass_either() {
        const OURS: u64 = 10_000_000;
        for (rests, expected) in [
            (0, CheckStatus::Fail),
            (400, CheckStatus::Fail),
            (600, CheckStatus::Unknown),
            (999, CheckStatus::Unknown),
        ] {
            // A tenth of our bytes: if rests take half of the time, less than 5 % fall beside our
            // operations.
            assert_eq!(beside_while_resting(OURS, OURS / 10 + 100_000, rests), expected, "{rests}");
        }
        assert_eq!(beside_while_resting(OURS, 100_000, 999), CheckStatus::Pass);
    }

    #[test]
    fn beside_few_of_our_bytes_256_kib_are_a_trickle_and_a_megabyte_is_notable() {
        const OURS: u64 = 1 << 20;
        assert_eq!(beside(OURS, (256 << 10) - 1), CheckStatus::Pass);
        assert_eq!(beside(OURS, 256 << 10), CheckStatus::Unknown);
        assert_eq!(beside(OURS, (1 << 20) - 1), CheckStatus::Unknown);
        assert_eq!(beside(OURS, 1 << 20), CheckStatus::Fail);
    }

    #[test]
    fn a_phase_in_which_we_moved_nothing_is_not_judged() {
        assert_eq!(beside(0, 1 << 30), CheckStatus::Unknown);
    }

    #[test]
    fn the_inode_costs_a_block_a_tick_and_with_a_journal_four_but_no_more_than_the_writes() {
        let mut case = Case::quiet();
        let index = case.index_of("rand_write_4k");
        let phase = &mut case.phases[index];
        phase.elapsed_ns = Nanos::from_millis(40);
        for (durable, operation, blocks) in [
            (Durability::Fdatasync, Operation::RandomWrite, 10),
            (Durability::Fsync, Operation::RandomWrite, 40),
            (Durability::None, Operation::RandomWrite, 0),
            (Durability::Fdatasync, Operation::RandomRead, 0),
        ] {
            (phase.durable, phase.operation) = (durable, operation);
            assert_eq!(timestamps(phase), Bytes(blocks * 4096), "{durable:?} {operation:?}");
        }
        (phase.durable, phase.operation) = (Durability::Fsync, Operation::RandomWrite);
        phase.elapsed_ns = Nanos(39_999_999);
        assert_eq!(timestamps(phase), Bytes(36 * 4096));
        phase.ops = 3;
        assert_eq!(timestamps(phase), Bytes(12 * 4096));
    }

    #[test]
    fn the_process_that_moved_most_is_named_unless_it_is_a_trickle_or_more_than_was_moved() {
        let counted = |moved: &[(&str, u64)]| {
            let case = Case::quiet();
            let (before, after) = case.counters[0].clone().unwrap();
            let neighbours = moved.iter().map(|(name, bytes)| Neighbour {
                name: (*name).to_owned(),
                io_bytes: Bytes(*bytes),
                ..Neighbour::default()
            });
            let neighbours = Reading::Value(neighbours.collect());
            CounterDelta { neighbours, ..after.since(&before) }
        };
        let foreign = Bytes::from_mib(8);
        let named = |moved: &[(&str, u64)]| mover(&counted(moved), foreign);
        assert_eq!(named(&[("cp", (256 << 10) - 1)]), "");
        let little = " Among the processes that were still running, `cp` moved the most: 262 kB.";
        assert_eq!(named(&[("cp", 256 << 10)]), little);
        assert_eq!(named(&[("cp", 4 << 20)]), " `cp` moved the most: 4.2 MB.");
        let nearly = " Among the processes that were still running, `cp` moved the most: 4.2 MB.";
        assert_eq!(named(&[("cp", (4 << 20) - 1)]), nearly);
        assert_eq!(named(&[("cp", 8 << 20), ("ls", 1 << 20)]), " `cp` moved the most: 8.4 MB.");
        assert_eq!(named(&[("sh", (8 << 20) + 1)]), "");
    }

    #[test]
    fn the_phase_beside_which_most_was_moved_is_quoted() {
        let mut case = Case::twice("rand_read_4k");
        case.disk(0, |disk| disk.read_bytes = Bytes(disk.read_bytes.0 * 13 / 10));
        case.disk(1, |disk| disk.read_bytes = Bytes(disk.read_bytes.0 * 3 / 2));
        assert_eq!(case.quoted(check), "worst");
    }

    #[test]
    fn a_phase_that_others_disturbed_is_quoted_before_writes_that_could_not_be_judged() {
        let mut case = Case::twice("rand_write_4k");
        case.disk(1, |disk| disk.read_bytes = Bytes::from_mib(2));
        case.environment.filesystem.kind = Reading::Value("f2fs".to_owned());
        let found = case.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Unknown);
        assert!(found.detail.starts_with("new: worst: Others moved 2.1 MB"), "{}", found.detail);
        assert!(found.detail.ends_with("own in these phases."), "{}", found.detail);
    }

    #[test]
    fn writes_are_judged_where_one_disk_is_written_in_place_directly_by_us_alone() {
        let judged = |change: fn(&mut Case)| {
            let mut case = Case::quiet();
            case.keep_only("rand_write_4k");
            change(&mut case);
            judges_writes(&case.evidence(), &case.phases[0])
        };
        assert!(judged(|_| {}));
        for kind in ["ext4", "ext3", "ext2", "xfs", "vfat", "exfat", "f2fs", "btrfs"] {
            let mut case = Case::quiet();
            case.environment.filesystem.kind = Reading::Value(kind.to_owned());
            let index = case.index_of("rand_write_4k");
            let in_place = !matches!(kind, "f2fs" | "btrfs");
            assert_eq!(judges_writes(&case.evidence(), &case.phases[index]), in_place, "{kind}");
        }
        assert!(!judged(|case| case.phases[0].direct = false));
        assert!(!judged(|case| case.phases[0].background = Some("stream".to_owned())));
        assert!(!judged(|case| case.phases[0].operation = Operation::Save));
        assert!(!judged(|case| case.environment.device.stack = vec!["loop0".to_owned()]));
        assert!(!judged(|case| {
            case.environment.device.kind = Reading::Value("loop".to_owned());
        }));
        let case = Case::quiet();
        let index = case.index_of("rand_write_4k");
        let two_disks = Evidence { disks: Some(2), ..case.evidence() };
        assert!(!judges_writes(&two_disks, &case.phases[index]));
    }

    #[test]
    fn what_the_device_did_before_the_run_is_reported_by_the_second() {
        let detail = |moved: u64| {
            let mut case = Case::quiet();
            // 300 ms of quiet.
            if let Reading::Value(disk) = &mut case.baseline.1.disk {
                disk.read_bytes.0 += moved / 2;
                disk.write_bytes.0 += moved / 2;
            }
            baseline(&case.evidence())
        };
        assert_eq!(detail(0), " Before the run the device was idle.");
        assert_eq!(detail(300_000), " Before the run they moved 1.0 MB a second.");
        let case = Case::quiet();
        assert_eq!(baseline(&Evidence { baseline: None, ..case.evidence() }), "");
    }
}
