//! Are durable writes durable?
//!
//! The evidence, strongest first:
//! 1. Mount options that stop the filesystem from flushing (`nobarrier`, `barrier=0`,
//!    `fsync_mode=nobarrier`): fail.
//! 2. If the disk has a volatile cache (`queue/write_cache` is `write back`), each durable
//!    operation needs a flush. The disk's flush counter must have risen by at least 0.9 times the
//!    operations, divided by the queue depth: the kernel merges flushes that are in flight
//!    together, including those of the journal's thread. Fewer: fail. `O_DSYNC` on a disk with FUA
//!    needs no flush, and FUA writes are not counted: unknown. Kernels before 5.5 count no flushes:
//!    unknown.
//! 3. Plausibility, on disks that are visible down to the bottom. eMMC, SD and UFS have no
//!    capacitors, and programming a NAND page takes 100 µs and more even in SLC mode (datasheets:
//!    200 to 300 µs), so a median durable write below 50 µs did not wait for the flash: fail. NVMe
//!    and SATA disks may have power-loss protection, which makes such a figure honest, but no
//!    attribute shows it: unknown.
//! 4. `write through` means that there is no volatile cache, so no flush is needed: pass.
//! 5. The host of a virtual disk may acknowledge a flush without doing it. From inside, that can be
//!    neither refuted nor proved: unknown.

use flashlag_schema::{Check, CheckId, Phase};
use flashlag_spec::scenario::Durability;
use flashlag_units::Nanos;

use crate::evidence::{Evidence, durable};
use crate::finding::{Finding, combine, share};

const CLAIM: &str = "Durable writes were flushed to the flash";
const LEAST_FLUSHES: f64 = 0.9;
/// No flash can program a page in less than this.
const FASTEST_PROGRAM: Nanos = Nanos::from_micros(50);

pub(super) fn check(evidence: &Evidence<'_>) -> Option<Check> {
    let durable: Vec<_> = evidence.counted().filter(|(phase, _)| durable(phase)).collect();
    if durable.is_empty() {
        return None;
    }
    if let Some(memory) = evidence.in_memory() {
        let detail = format!("{memory} has nothing to flush to.");
        let advice = "Choose a directory on the storage.";
        return combine(CheckId::FlushIsReal, CLAIM, vec![Finding::fail(None, detail, advice)]);
    }
    if let Some(option) = evidence.environment.filesystem.option_without_flush() {
        let detail = format!("The filesystem is mounted with {option}: it does not flush.");
        let advice = "Remount it without that option: a power cut would also lose data.";
        return combine(CheckId::FlushIsReal, CLAIM, vec![Finding::fail(None, detail, advice)]);
    }
    let findings = durable.into_iter().map(|(phase, counted)| {
        let disk = counted.and_then(|counted| counted.disk.value().copied());
        let flushes = disk.and_then(|disk| disk.flushes);
        let flushes = flushes.or(phase.ledger.flushes.value().copied());
        judge_phase(evidence, phase, flushes)
    });
    combine(CheckId::FlushIsReal, CLAIM, findings.collect())
}

fn judge_phase(evidence: &Evidence<'_>, phase: &Phase, flushes: Option<u64>) -> Finding {
    let queue = &evidence.environment.device.queue;
    let Some(write_cache) = queue.write_cache.value() else {
        let reason = queue.write_cache.reason().unwrap_or_default();
        let detail = format!("Whether the disk has a volatile cache can't be read: {reason}.");
        return Finding::unknown(Some(phase), detail, "Measure in a directory on a local disk.");
    };
    let write_through = write_cache.starts_with("write through");
    let counted = if write_through {
        "The disk says that it has no volatile cache".to_owned()
    } else {
        match count(evidence, phase, flushes) {
            Ok(counted) => counted,
            Err(finding) => return *finding,
        }
    };
    if let Some(server) = evidence.served_by() {
        let detail = format!("{counted}, but {server} answers them and may not pass them on.");
        return Finding::unknown(
            Some(phase),
            detail,
            "Measure on the machine that holds the flash, or trust what serves this disk.",
        );
    }
    plausible(evidence, phase, counted)
}

/// The flushes of a phase, in words; or the finding, if the flushes decide it.
fn count(
    evidence: &Evidence<'_>,
    phase: &Phase,
    flushes: Option<u64>,
) -> Result<String, Box<Finding>> {
    let fua = evidence.environment.device.queue.fua.value() == Some(&true);
    let by_write = matches!(phase.durable, Durability::Dsync | Durability::RwfDsync);
    let Some(flushes) = flushes else {
        let detail = "This kernel does not count flushes.";
        let advice = "Use Linux 5.5 or newer, or a directory on a local disk.";
        return Err(Box::new(Finding::unknown(Some(phase), detail, advice)));
    };
    let [seen, needed] = [flushes, phase.ops].map(flashlag_units::count);
    let counted = format!("{seen} flushes for {needed} durable operations");
    let per_op = share(flushes, phase.ops) * f64::from(phase.in_flight());
    if per_op >= LEAST_FLUSHES {
        return Ok(counted);
    }
    if by_write && fua {
        let detail = format!("{counted}: the disk takes FUA writes, which are not counted.");
        let advice = "Use --set durable=fdatasync: those flushes are counted.";
        return Err(Box::new(Finding::unknown(Some(phase), detail, advice)));
    }
    let advice = "Something above the disk swallows them: see the mount options and the layers \
                  below the filesystem.";
    let finding = Finding::fail(Some(phase), format!("{counted}."), advice);
    Err(Box::new(finding.weighing(1.0 - per_op)))
}

fn plausible(evidence: &Evidence<'_>, phase: &Phase, counted: String) -> Finding {
    let Some(median) = phase.latency_ns.p50 else {
        let detail = format!("{counted}, too few for a median that could be judged.");
        return Finding::unknown(Some(phase), detail, "Run it longer.");
    };
    if median >= FASTEST_PROGRAM {
        return Finding::pass(Some(phase), format!("{counted}, {median} each."));
    }
    let detail = format!("{counted}, but {median} each is faster than flash can be programmed.");
    if matches!(evidence.disk_kind(), "emmc" | "sd" | "ufs") {
        let advice = "This device answers flushes without doing them: expect lost data after a \
                      power cut.";
        return Finding::fail(Some(phase), detail, advice);
    }
    let advice = "Honest only if the disk has power-loss protection: see its data sheet.";
    Finding::unknown(Some(phase), detail, advice)
}

#[cfg(test)]
mod tests {
    use flashlag_schema::CheckStatus;
    use flashlag_spec::Reading;

    use super::*;
    use crate::testing::Case;

    #[test]
    fn counted_flushes_on_a_real_disk_pass() {
        let found = Case::quiet().check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Pass, "{}", found.detail);
    }

    #[test]
    fn mounted_without_barriers_fails() {
        for option in ["nobarrier", "barrier=0", "fsync_mode=nobarrier"] {
            let mut case = Case::quiet();
            case.environment.filesystem.options = Reading::Value(vec!["rw".into(), option.into()]);
            let found = case.check(check).unwrap();
            assert_eq!(found.status, CheckStatus::Fail);
            assert!(found.detail.contains(option) && found.advice.is_some());
        }
    }

    #[test]
    fn flushes_that_were_not_issued_fail() {
        let mut case = Case::quiet();
        let index = case.index_of("rand_write_4k");
        case.disk(index, |disk| disk.flushes = Some(3));
        let found = case.check(check).unwrap();
        assert_eq!((found.status, found.phases.len()), (CheckStatus::Fail, 1));
        assert!(found.detail.contains("3 flushes for"), "{}", found.detail);
    }

    #[test]
    fn flushes_merge_at_depth() {
        let mut case = Case::quiet();
        let index = case.index_of("rand_write_4k");
        case.phases[index].queue_depth = 8;
        let ops = case.phases[index].ops;
        case.disk(index, |disk| disk.flushes = Some(ops / 8));
        assert_eq!(case.status(check), Some(CheckStatus::Pass));
    }

    #[test]
    fn a_virtual_disk_never_proves_it() {
        let mut case = Case::quiet();
        case.environment.device.kind = Reading::Value("virtio".to_owned());
        let found = case.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Unknown);
        assert!(found.detail.contains("host"), "{}", found.detail);
        assert!(found.advice.is_some());
        case.environment.device.queue.write_cache = Reading::Value("write through".to_owned());
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
    }

    #[test]
    fn an_emmc_faster_than_flash_fails_and_an_nvme_is_unknown() {
        let mut case = Case::quiet();
        for phase in &mut case.phases {
            phase.latency_ns.p50 = Some(Nanos::from_micros(15));
        }
        case.environment.device.kind = Reading::Value("emmc".to_owned());
        assert_eq!(case.status(check), Some(CheckStatus::Fail));
        case.environment.device.kind = Reading::Value("nvme".to_owned());
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
    }

    #[test]
    fn an_unreadable_cache_or_an_old_kernel_is_unknown() {
        let mut case = Case::quiet();
        let index = case.index_of("rand_write_4k");
        case.disk(index, |disk| disk.flushes = None);
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
        let mut case = Case::quiet();
        case.environment.device.queue.write_cache = Reading::default();
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
    }

    #[test]
    fn a_run_without_durable_phases_has_nothing_to_claim() {
        let mut case = Case::quiet();
        case.phases.iter_mut().for_each(|phase| phase.durable = Durability::None);
        assert_eq!(case.status(check), None);
    }

    /// The status of a phase of 20,000 durable writes with this many flushes at this depth.
    fn flushed(flushes: u64, queue_depth: u32) -> CheckStatus {
        let mut case = Case::quiet();
        case.keep_only("rand_write_4k");
        case.phases[0].queue_depth = queue_depth;
        case.disk(0, |disk| disk.flushes = Some(flushes));
        case.status(check).unwrap()
    }

    #[test]
    fn nine_flushes_for_ten_operations_pass_and_one_less_in_all_fails() {
        assert_eq!(flushed(18_000, 1), CheckStatus::Pass);
        assert_eq!(flushed(17_999, 1), CheckStatus::Fail);
        assert_eq!(flushed(2_250, 8), CheckStatus::Pass);
        assert_eq!(flushed(2_249, 8), CheckStatus::Fail);
    }

    #[test]
    fn a_median_of_50_us_is_flash_and_a_nanosecond_less_is_not() {
        for kind in ["emmc", "sd", "ufs"] {
            for (median, status) in [(50_000, CheckStatus::Pass), (49_999, CheckStatus::Fail)] {
                let mut case = Case::quiet();
                case.keep_only("rand_write_4k");
                case.phases[0].latency_ns.p50 = Some(Nanos(median));
                case.environment.device.kind = Reading::Value(kind.to_owned());
                assert_eq!(case.status(check), Some(status), "{kind} {median}");
            }
        }
    }

    #[test]
    fn without_a_median_the_flushes_alone_prove_nothing() {
        let mut case = Case::quiet();
        case.keep_only("rand_write_4k");
        case.phases[0].latency_ns.p50 = None;
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
    }

    #[test]
    fn missing_flushes_are_excused_for_durable_writes_on_a_disk_with_fua_and_for_nothing_else() {
        for (durable, fua, status) in [
            (Durability::Dsync, true, CheckStatus::Unknown),
            (Durability::RwfDsync, true, CheckStatus::Unknown),
            (Durability::Dsync, false, CheckStatus::Fail),
            (Durability::Fdatasync, true, CheckStatus::Fail),
        ] {
            let mut case = Case::quiet();
            case.keep_only("rand_write_4k");
            case.phases[0].durable = durable;
            case.environment.device.queue.fua = Reading::Value(fua);
            case.disk(0, |disk| disk.flushes = Some(0));
            assert_eq!(case.status(check), Some(status), "{durable:?} {fua}");
        }
    }

    #[test]
    fn a_disk_without_a_volatile_cache_needs_no_flush() {
        let mut case = Case::quiet();
        case.keep_only("rand_write_4k");
        case.disk(0, |disk| disk.flushes = Some(0));
        case.environment.device.queue.write_cache = Reading::Value("write through".to_owned());
        assert_eq!(case.status(check), Some(CheckStatus::Pass));
    }

    #[test]
    fn flushes_of_an_earlier_process_are_taken_from_its_ledger() {
        let mut case = Case::quiet();
        case.keep_only("rand_write_4k");
        case.counters[0] = None;
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
        case.phases[0].ledger.flushes = Reading::Value(18_000);
        assert_eq!(case.status(check), Some(CheckStatus::Pass));
    }

    #[test]
    fn memory_has_nothing_to_flush_to() {
        let mut case = Case::quiet();
        case.environment.filesystem.kind = Reading::Value("tmpfs".to_owned());
        let found = case.check(check).unwrap();
        assert_eq!((found.status, found.detail.as_str()), {
            (CheckStatus::Fail, "tmpfs has nothing to flush to.")
        });
    }

    #[test]
    fn the_phase_with_the_fewest_flushes_for_its_operations_is_quoted() {
        let mut case = Case::twice("rand_write_4k");
        case.disk(0, |disk| disk.flushes = Some(16_000));
        case.disk(1, |disk| disk.flushes = Some(2_000));
        assert_eq!(case.quoted(check), "worst");
    }
}
