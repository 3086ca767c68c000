//! Did the bytes reach storage, or did the page cache absorb them?
//!
//! There are two witnesses, both counters of the kernel: `/proc/self/io` (bytes that this process
//! caused to be fetched from or sent to storage), and the `stat` of the block devices (bytes of all
//! processes), at the filesystem's device and at the disks below. Each must have counted at least
//! 95 % of the phase's bytes. Blocks can be merged or rewritten in a cache above, but direct or
//! durable I/O of incompressible data loses at most a few blocks at the edges of the window. A
//! device counts for all processes: it can refute the claim, and together with the process's own
//! counter prove it, but it proves nothing alone.
//!
//! A filesystem in memory fails at once. Behind a loop device the file has a page cache of its own;
//! the disks' counters show what it absorbs. What the host below a virtual disk caches can't be
//! seen here: the flush check says so.

use flashlag_schema::counters::CounterDelta;
use flashlag_schema::{Check, CheckId, Phase};
use flashlag_spec::Reading;
use flashlag_units::Bytes;

use crate::evidence::{Evidence, payload_bytes, reads};
use crate::finding::{Finding, combine, share};

const CLAIM: &str = "The bytes reached storage";
const LEAST: f64 = 0.95;

pub(super) fn check(evidence: &Evidence<'_>) -> Option<Check> {
    if evidence.phases.is_empty() {
        return None;
    }
    if let Some(memory) = evidence.in_memory() {
        let detail = format!("{} is {memory}, held in memory.", place(evidence));
        return combine(CheckId::CacheBypass, CLAIM, vec![Finding::fail(None, detail, ELSEWHERE)]);
    }
    let findings = evidence.counted().filter_map(|(phase, counted)| {
        let payload = payload_bytes(phase);
        (payload > Bytes::ZERO).then(|| judge_phase(evidence, phase, payload, counted))
    });
    combine(CheckId::CacheBypass, CLAIM, findings.collect())
}

const ELSEWHERE: &str = "Choose a directory on the storage: df shows which those are.";

fn place(evidence: &Evidence<'_>) -> String {
    let mount_point = evidence.environment.filesystem.mount_point.value();
    mount_point.map_or_else(|| "The directory".to_owned(), Clone::clone)
}

/// One counter that should have seen the payload.
struct Witness {
    name: String,
    saw: Reading<Bytes>,
}

fn judge_phase(
    evidence: &Evidence<'_>,
    phase: &Phase,
    payload: Bytes,
    counted: Option<CounterDelta>,
) -> Finding {
    let witnesses = witnesses(evidence, phase, counted);
    let verb = if reads(phase) { "read" } else { "written" };
    let seen = witnesses.iter().filter_map(|witness| Some((witness, *witness.saw.value()?)));
    let least = seen.min_by_key(|(_, saw)| *saw);
    if let Some((witness, saw)) = least
        && share(saw.0, payload.0) < LEAST
    {
        let part = share(saw.0, payload.0);
        let detail = format!(
            "{} counted {saw} for {payload} {verb} ({part:.2}×); at least 0.95× is needed.",
            witness.name
        );
        return Finding::fail(Some(phase), detail, advice(evidence, phase)).weighing(1.0 - part);
    }
    let missing = witnesses.iter().find_map(|witness| Some((&witness.name, witness.saw.reason()?)));
    match (missing, least) {
        (Some((name, reason)), _) => {
            let detail = format!("{name} could not be read: {reason}.");
            Finding::unknown(Some(phase), detail, ELSEWHERE)
        }
        (None, Some((witness, saw))) => {
            let part = share(saw.0, payload.0);
            let detail =
                format!("{} counted {saw} for {payload} {verb} ({part:.2}×).", witness.name);
            Finding::pass(Some(phase), detail).weighing(-part)
        }
        (None, None) => Finding::unknown(Some(phase), "Nothing counted its bytes.", ELSEWHERE),
    }
}

fn witnesses(
    evidence: &Evidence<'_>,
    phase: &Phase,
    counted: Option<CounterDelta>,
) -> Vec<Witness> {
    let own = Witness {
        name: "This process".to_owned(),
        saw: match &counted {
            Some(counted) => {
                map(
                    &counted.self_io,
                    |io| {
                        if reads(phase) { io.read_bytes } else { io.write_bytes }
                    },
                )
            }
            None => phase.ledger.storage_bytes.clone(),
        },
    };
    let disk = evidence.environment.device.name.value().map_or("The disk", String::as_str);
    let bytes = |counters: &Reading<flashlag_schema::counters::DiskCounters>| {
        map(counters, |disk| if reads(phase) { disk.read_bytes } else { disk.write_bytes })
    };
    let Some(counted) = &counted else {
        let saw = phase.ledger.block_bytes.clone();
        return vec![own, Witness { name: disk.to_owned(), saw }];
    };
    let top = Witness { name: "The filesystem's device".into(), saw: bytes(&counted.partition) };
    vec![own, Witness { name: disk.to_owned(), saw: bytes(&counted.disk) }, top]
}

fn map<T>(reading: &Reading<T>, pick: impl Fn(&T) -> Bytes) -> Reading<Bytes> {
    match reading {
        Reading::Value(value) => Reading::Value(pick(value)),
        Reading::Unavailable { unavailable } => Reading::unavailable(unavailable.clone()),
    }
}

fn advice(evidence: &Evidence<'_>, phase: &Phase) -> &'static str {
    let looped = evidence.environment.device.stack.iter().any(|layer| layer.starts_with("loop"));
    if looped {
        return "The page cache below the loop device took them: use losetup --direct-io=on, or \
                measure outside of the loop device.";
    }
    if compresses(evidence) {
        return "The filesystem compresses: switch it off for the directory (chattr +m).";
    }
    if !phase.direct && phase.operation.is_block_test() {
        return "The page cache took them: measure with direct I/O (--set direct=true).";
    }
    "Something between the program and the disk caches: choose a directory on the storage itself."
}

/// Whether the mount options enable compression.
pub(super) fn compresses(evidence: &Evidence<'_>) -> bool {
    let options = evidence.environment.filesystem.options.value();
    options.into_iter().flatten().any(|option| {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let on = !matches!(value, "no" | "none" | "off");
        on && matches!(name, "compress" | "compress-force" | "compress_algorithm" | "compression")
    })
}

#[cfg(test)]
mod tests {
    use flashlag_schema::CheckStatus;
    use flashlag_schema::counters::Counters;

    use super::*;
    use crate::testing::Case;

    #[test]
    fn bytes_that_both_witnesses_saw_pass() {
        assert_eq!(Case::quiet().status(check), Some(CheckStatus::Pass));
    }

    #[test]
    fn tmpfs_fails_with_advice() {
        let mut case = Case::quiet();
        case.environment.filesystem.kind = Reading::Value("tmpfs".to_owned());
        case.environment.filesystem.mount_point = Reading::Value("/tmp".to_owned());
        let found = case.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Fail);
        assert_eq!(found.detail, "/tmp is tmpfs, held in memory.");
        assert!(found.advice.is_some());
    }

    #[test]
    fn reads_from_the_page_cache_fail_and_are_named() {
        let mut case = Case::quiet();
        let index = case.index_of("rand_read_4k");
        case.after(index, |(before, after)| after.disk = before.disk.clone());
        let found = case.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Fail);
        assert_eq!(found.phases, ["new: rand_read_4k"]);
        assert!(found.detail.contains("0.00×"), "{}", found.detail);
    }

    #[test]
    fn half_of_the_bytes_is_not_enough() {
        let mut case = Case::quiet();
        let index = case.index_of("rand_write_4k");
        case.after(index, |(before, after)| {
            if let (Reading::Value(a), Reading::Value(b)) = (&before.self_io, &mut after.self_io) {
                b.write_bytes.0 = a.write_bytes.0 + (b.write_bytes.0 - a.write_bytes.0) / 2;
            }
        });
        assert_eq!(case.status(check), Some(CheckStatus::Fail));
    }

    #[test]
    fn a_network_filesystem_is_unknown() {
        let mut case = Case::quiet();
        for (before, after) in case.counters.iter_mut().flatten() {
            for counters in [before, after] {
                counters.disk = Reading::unavailable("nfs4 has no block device");
                counters.partition = counters.disk.clone();
            }
        }
        let found = case.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Unknown);
        assert!(found.detail.contains("nfs4"), "{}", found.detail);
    }

    type Counter = fn(&mut Counters) -> &mut Bytes;

    /// One phase of 20,000 × 4 KiB, with a witness that counted `seen` bytes.
    fn witnessed(name: &str, witness: Counter, seen: u64) -> Check {
        let mut case = Case::quiet();
        case.keep_only(name);
        case.after(0, |(before, after)| {
            let mut start = before.clone();
            *witness(after) = Bytes(witness(&mut start).0 + seen);
        });
        case.check(check).unwrap()
    }

    fn value<T>(reading: &mut Reading<T>) -> &mut T {
        match reading {
            Reading::Value(value) => value,
            Reading::Unavailable { .. } => panic!("read"),
        }
    }

    #[test]
    fn each_witness_must_have_seen_95_percent_and_a_byte_less_fails() {
        const ENOUGH: u64 = 20_000 * 4096 / 100 * 95;
        let witnesses: [(&str, &str, Counter); 6] = [
            ("rand_write_4k", "This process", |c| &mut value(&mut c.self_io).write_bytes),
            ("rand_write_4k", "mmcblk0", |c| &mut value(&mut c.disk).write_bytes),
            ("rand_write_4k", "The filesystem's device", |c| {
                &mut value(&mut c.partition).write_bytes
            }),
            ("rand_read_4k", "This process", |c| &mut value(&mut c.self_io).read_bytes),
            ("rand_read_4k", "mmcblk0", |c| &mut value(&mut c.disk).read_bytes),
            ("rand_read_4k", "The filesystem's device", |c| {
                &mut value(&mut c.partition).read_bytes
            }),
        ];
        for (phase, name, witness) in witnesses {
            let found = witnessed(phase, witness, ENOUGH);
            assert_eq!(found.status, CheckStatus::Pass, "{}", found.detail);
            let found = witnessed(phase, witness, ENOUGH - 1);
            assert_eq!(found.status, CheckStatus::Fail, "{phase} {name}");
            let expected = format!("new: {phase}: {name} counted");
            assert!(found.detail.starts_with(&expected), "{}", found.detail);
        }
    }

    #[test]
    fn the_phase_of_which_least_was_seen_is_quoted() {
        let bytes = 20_000 * 4096;
        for (mild, worst) in [(50, 10), (94, 50), (99, 96), (150, 100)] {
            let mut case = Case::twice("rand_write_4k");
            for (index, percent) in [mild, worst].into_iter().enumerate() {
                case.disk(index, |disk| disk.write_bytes = Bytes(bytes / 100 * percent));
                // If others write as well, the witness counts more than the phase's bytes.
                case.after(index, |(before, after)| {
                    after.partition = after.disk.clone();
                    let start = value(&mut before.self_io.clone()).write_bytes;
                    value(&mut after.self_io).write_bytes =
                        start.plus(Bytes(bytes / 100 * percent));
                });
            }
            assert_eq!(case.quoted(check), "worst", "{mild} {worst}");
        }
    }

    #[test]
    fn a_save_that_may_stay_in_memory_is_not_looked_at_and_a_durable_one_must_be_seen() {
        let mut case = Case::quiet();
        case.keep_only("save_wal");
        // A page for each save, however few bytes the rows have.
        case.phases[0].bytes = Bytes(10);
        assert_eq!(case.status(check), Some(CheckStatus::Pass));
        case.disk(0, |disk| disk.write_bytes = Bytes(20_000 * 4096 / 2));
        assert_eq!(case.status(check), Some(CheckStatus::Fail));
        case.phases[0].durable = flashlag_spec::scenario::Durability::None;
        assert_eq!(case.status(check), None);
    }

    #[test]
    fn bytes_of_an_earlier_process_are_taken_from_the_phases_own_ledger() {
        let mut case = Case::quiet();
        case.keep_only("rand_write_4k");
        case.counters[0] = None;
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
        let ledger = &mut case.phases[0].ledger;
        ledger.storage_bytes = Reading::Value(Bytes(20_000 * 4096));
        ledger.block_bytes = Reading::Value(Bytes(20_000 * 4096));
        assert_eq!(case.status(check), Some(CheckStatus::Pass));
        case.phases[0].ledger.block_bytes = Reading::Value(Bytes(0));
        let found = case.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Fail);
        assert!(found.detail.contains("mmcblk0 counted"), "{}", found.detail);
    }

    #[test]
    fn what_took_the_bytes_is_advised_against() {
        let advice = |change: fn(&mut Case)| {
            let mut case = Case::quiet();
            case.keep_only("rand_write_4k");
            case.disk(0, |disk| disk.write_bytes = Bytes::ZERO);
            change(&mut case);
            case.check(check).unwrap().advice.unwrap()
        };
        let options = |case: &mut Case, option: &str| {
            case.environment.filesystem.options = Reading::Value(vec![option.to_owned()]);
        };
        assert!(advice(|_| {}).contains("Something between"));
        assert!(advice(|case| case.phases[0].direct = false).contains("direct=true"));
        let save = |case: &mut Case| {
            (case.phases[0].direct, case.phases[0].operation) =
                (false, flashlag_spec::Operation::Save);
        };
        assert!(advice(save).contains("Something between"), "SQLite's I/O is never direct");
        let looped = |case: &mut Case| case.environment.device.stack = vec!["loop0".to_owned()];
        assert!(advice(looped).contains("losetup"));
        for (option, on) in [
            ("compress", true),
            ("compress=zstd:3", true),
            ("compress-force=lzo", true),
            ("compress_algorithm=lz4", true),
            ("compression=zstd", true),
            ("compress=no", false),
            ("compress=none", false),
            ("compression=off", false),
            ("relatime", false),
        ] {
            let mut case = Case::quiet();
            options(&mut case, option);
            assert_eq!(compresses(&case.evidence()), on, "{option}");
        }
        let compressed = |case: &mut Case| {
            case.environment.filesystem.options = Reading::Value(vec!["compress=zstd".to_owned()]);
        };
        assert!(advice(compressed).contains("chattr"));
    }
}
