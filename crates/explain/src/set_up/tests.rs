//! Each rule has a planted case in which it must fire, and healthy machines on which none may.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use flashlag_schema::counters::Throttle;
use flashlag_schema::finding::{FindingId, Severity};
use flashlag_schema::internals::{
    Calls, DatabasePieces, Databases, DeviceInternals, Ext4Journal, FilesystemInternals,
};
use flashlag_schema::{
    DeviceLife, LayerKind, Limit, LimitKind, Limits, PressureStall, Quota, QuotaOf,
};
use flashlag_spec::Reading;
use flashlag_units::{Bytes, Nanos};

use super::machines::{known, laptop, layer, trimmed, with};
use super::*;

/// A phone with F2FS on UFS.
fn phone() -> Environment {
    let mut seen = laptop();
    seen.software.system = known("Android 13".to_owned());
    seen.filesystem.kind = known("f2fs".to_owned());
    seen.filesystem.options = known(vec!["rw".to_owned(), "discard".to_owned()]);
    seen.device.kind = known("ufs".to_owned());
    seen.layers =
        vec![layer(LayerKind::Filesystem, "/data", "f2fs"), layer(LayerKind::Disk, "sda", "ufs")];
    let internals = seen.internals.as_mut().unwrap();
    let calls = Calls { foreground: 10, background: 100 };
    internals.filesystem = known(FilesystemInternals::F2fs {
        free_segments: known(9000),
        dirty_segments: known(100),
        spare_segments: known(500),
        fsync_mode: known("posix".to_owned()),
        ipu_policy: known("16".to_owned()),
        checkpoints: known(calls),
        cleanings: known(calls),
        lifetime_written_bytes: known(Bytes::from_mib(1)),
    });
    internals.device = known(DeviceInternals::Ufs {
        version: known("3.1".to_owned()),
        write_booster: known(true),
        write_booster_free_percent: known(90),
        host_map: known(true),
        gear: known("HS_GEAR4".to_owned()),
        lanes: known(2),
        sleeps_after_ns: known(Nanos::from_millis(1)),
    });
    internals.trimmed_before_ns = Reading::unavailable("no timer of systemd trims here");
    seen
}

fn card(app_class: u8) -> Environment {
    let mut seen = laptop();
    seen.device.kind = known("sd".to_owned());
    seen.internals.as_mut().unwrap().device = known(DeviceInternals::Sd {
        speed_class: known(10),
        uhs_grade: known(1),
        video_class: known(10),
        app_class: known(app_class),
        allocation_unit_bytes: known(Bytes::from_mib(4)),
    });
    seen
}

fn emmc(cache_on: bool) -> Environment {
    let mut seen = laptop();
    seen.device.kind = known("emmc".to_owned());
    seen.internals.as_mut().unwrap().device = known(DeviceInternals::Emmc {
        command_queue: known(true),
        cache_bytes: known(Bytes::from_kib(65_536)),
        cache_on: known(cache_on),
        background_operations: known(true),
    });
    seen
}

fn option(seen: Environment, option: &str) -> Environment {
    with(seen, |seen| {
        let Reading::Value(options) = &mut seen.filesystem.options else { return };
        options.push(option.to_owned());
    })
}

fn above(seen: Environment, kind: LayerKind, detail: &str) -> Environment {
    with(seen, |seen| seen.layers.insert(0, layer(kind, "x", detail)))
}

fn ext4(
    change: impl FnOnce(&mut Reading<Ext4Journal>, &mut Reading<bool>, &mut Reading<u64>),
) -> Environment {
    with(laptop(), |seen| {
        let filesystem = &mut seen.internals.as_mut().unwrap().filesystem;
        if let Reading::Value(FilesystemInternals::Ext4 { journal, barrier, errors, .. }) =
            filesystem
        {
            change(journal, barrier, errors);
        }
    })
}

fn few_free() -> Environment {
    with(phone(), |seen| {
        let filesystem = &mut seen.internals.as_mut().unwrap().filesystem;
        if let Reading::Value(FilesystemInternals::F2fs { free_segments, .. }) = filesystem {
            *free_segments = known(1000);
        }
    })
}

fn boosting(on: bool, free: u8) -> Environment {
    with(phone(), |seen| {
        let device = &mut seen.internals.as_mut().unwrap().device;
        if let Reading::Value(DeviceInternals::Ufs {
            write_booster,
            write_booster_free_percent,
            ..
        }) = device
        {
            (*write_booster, *write_booster_free_percent) = (known(on), known(free));
        }
    })
}

fn swapped(mib: u64, hundredths: u64) -> Environment {
    with(laptop(), |seen| {
        let memory = &mut seen.internals.as_mut().unwrap().memory;
        memory.swapped_to_disk_bytes = known(Bytes::from_mib(mib));
        memory.pressure =
            known(PressureStall { avg10_hundredths: hundredths, total_ns: Nanos::ZERO });
    })
}

fn used(percent: u8, pre_eol: Option<&str>) -> Environment {
    with(laptop(), |seen| {
        seen.device.life = known(DeviceLife {
            used_percent_at_most: percent,
            pre_eol: pre_eol.map(str::to_owned),
            source: "eMMC life_time".to_owned(),
            written_bytes: None,
        });
    })
}

fn full(free_mib: u64) -> Environment {
    with(laptop(), |seen| seen.filesystem.free_bytes = known(Bytes::from_mib(free_mib)))
}

fn aes(seen: Environment, has: bool) -> Environment {
    with(seen, |seen| seen.internals.as_mut().unwrap().aes_instructions = known(has))
}

fn scheduled(kind: &str, scheduler: &str) -> Environment {
    with(laptop(), |seen| {
        seen.device.kind = known(kind.to_owned());
        seen.device.queue.scheduler = known(scheduler.to_owned());
    })
}

fn heat(undervoltage: Option<bool>, cooling_state: u64, limit: u8) -> Environment {
    with(laptop(), |seen| {
        seen.internals.as_mut().unwrap().thermal = known(Throttle {
            core_throttle_count: None,
            cooling_state: Some(cooling_state),
            frequency_limit_percent: Some(limit),
            frequency_khz: None,
            undervoltage,
        });
    })
}

fn kind(of: &str) -> Environment {
    with(laptop(), |seen| seen.filesystem.kind = known(of.to_owned()))
}

/// A laptop with a limit on its control group, partly used.
fn limited(kind: LimitKind, value: u64, used: Option<u64>) -> Environment {
    with(laptop(), |seen| {
        let device = kind.is_of_io().then(|| "nvme0n1".to_owned());
        let file = "/sys/fs/cgroup/system.slice/db.service/x".to_owned();
        let limit = Limit { kind, file, device, value, used };
        seen.limits = Some(Limits { set: vec![limit], unseen: Vec::new() });
    })
}

fn pieces(kib: u64, pieces: u64) -> Environment {
    with(laptop(), |seen| {
        let worst = DatabasePieces { name: None, bytes: Bytes::from_kib(kib), pieces };
        seen.internals.as_mut().unwrap().databases =
            known(Databases { searched: 9, complete: true, databases: 1, worst: Some(worst) });
    })
}

/// A quota of 1 MB of which this much is used, or one of which nothing is known.
fn quota(machine: Environment, used: Option<u64>) -> Environment {
    with(machine, |seen| {
        let bytes = |kb: Option<u64>| match kb {
            Some(kb) => known(Bytes(kb * 1000)),
            None => Reading::unavailable("not read"),
        };
        let limit_bytes = bytes(used.map(|_| 1000));
        seen.filesystem.quotas =
            vec![Quota { of: QuotaOf::User, limit_bytes, used_bytes: bytes(used) }];
    })
}

#[test]
fn a_quota_is_costly_from_nine_tenths_on_and_says_what_is_left_or_which_command_shows_it() {
    let found = |used| set_up(&quota(laptop(), used)).remove(0);
    assert_eq!(found(Some(899)).severity, Severity::Minor);
    let nearly = found(Some(900));
    assert_eq!(nearly.severity, Severity::Costly);
    assert_eq!(nearly.evidence[0].value, "user: 900 kB of 1.0 MB in use, 100 kB left");
    assert_eq!(found(Some(1001)).evidence[0].value, "user: 1.0 MB of 1.0 MB in use, 0 B left");
    assert!(found(None).evidence[0].value.contains("`quota -s` shows it"));
}

fn fast_commits(feature: bool, made: u64) -> Environment {
    with(laptop(), |seen| {
        let internals = seen.internals.as_mut().unwrap();
        let Reading::Value(FilesystemInternals::Ext4 { fast_commits, features, .. }) =
            &mut internals.filesystem
        else {
            return;
        };
        *fast_commits = known(made);
        let Reading::Value(all) = features else { return };
        all.extend(feature.then(|| "fast_commit".to_owned()));
    })
}

/// The cases of a filesystem that has little room, or is not trimmed.
fn with_little_room() -> Vec<(FindingId, Environment, Environment)> {
    use FindingId::*;
    vec![
        (NearlyFull, full(20_000), full(20_001)),
        (StorageQuota, quota(laptop(), None), laptop()),
        (StorageQuota, quota(phone(), Some(1)), quota(phone(), None)),
        (FewFreeSegments, few_free(), phone()),
        (DiscardOnDelete, option(laptop(), "discard"), phone()),
        (NeverTrimmed, trimmed(30), trimmed(29)),
    ]
}

/// For each kind of finding, a machine on which only that one must be found, and a similar one on
/// which none may be.
pub(crate) fn planted() -> Vec<(FindingId, Environment, Environment)> {
    use FindingId::*;
    let encrypted = |has| aes(above(laptop(), LayerKind::BlockEncryption, "dm-crypt"), has);
    let mut cases = vec![
        (NoBarrier, option(laptop(), "nobarrier"), option(laptop(), "barrier")),
        (NoBarrier, option(phone(), "fsync_mode=nobarrier"), option(phone(), "fsync_mode=posix")),
        (NoBarrier, ext4(|_, barrier, _| *barrier = known(false)), laptop()),
        (
            ReadOnly,
            with(laptop(), |seen| {
                seen.filesystem.read_only = Some("/ is mounted with the option ro".to_owned());
            }),
            laptop(),
        ),
        (FuseOnPath, kind("fuse.sshfs"), kind("ext3")),
        (NoJournal, ext4(|journal, _, _| *journal = known(Ext4Journal::None)), laptop()),
        (FilesystemErrors, ext4(|_, _, errors| *errors = known(3)), laptop()),
        (WornFlash, used(90, Some("normal")), used(70, Some("normal"))),
        (WornFlash, used(10, Some("warning")), used(10, None)),
        (
            DataJournal,
            ext4(|journal, _, _| *journal = known(Ext4Journal::Journal)),
            ext4(|journal, _, _| *journal = known(Ext4Journal::Writeback)),
        ),
        (FastCommit, fast_commits(true, 0), fast_commits(false, 0)),
        (FastCommit, fast_commits(false, 1), laptop()),
        (SyncMount, option(laptop(), "dirsync"), option(laptop(), "async")),
        (FuseOnPath, above(phone(), LayerKind::Fuse, "fuse"), phone()),
        (SoftwareEncryption, encrypted(false), encrypted(true)),
        (SoftwareEncryption, encrypted(false), option(encrypted(false), "inlinecrypt")),
        (DeviceCacheOff, emmc(false), emmc(true)),
        (WriteBoosterOff, boosting(false, 90), boosting(true, 10)),
        (WriteBoosterOff, boosting(true, 0), phone()),
        (NoAppClass, card(0), card(1)),
        (Scheduler, scheduled("nvme", "bfq"), scheduled("emmc", "bfq")),
        (Swapping, swapped(64, 100), swapped(64, 99)),
        (Swapping, swapped(64, 100), swapped(63, 100)),
        (IoLimit, limited(LimitKind::WriteBytes, 400_000, None), laptop()),
        (IoLimit, limited(LimitKind::WriteOps, 200, None), limited(LimitKind::Cpu, 2000, None)),
        (CpuQuota, limited(LimitKind::Cpu, 999, None), limited(LimitKind::Cpu, 1000, None)),
        (
            MemoryLimit,
            limited(LimitKind::MemoryMax, 1000, Some(900)),
            limited(LimitKind::MemoryMax, 1000, Some(899)),
        ),
        (
            MemoryLimit,
            limited(LimitKind::MemoryHigh, 1000, Some(1001)),
            limited(LimitKind::MemoryHigh, 1000, None),
        ),
        (Throttled, heat(None, 2, 79), heat(None, 2, 80)),
        (Throttled, heat(None, 2, 79), heat(None, 0, 79)),
        (Throttled, heat(Some(true), 0, 100), heat(Some(false), 0, 100)),
        (FragmentedDatabase, pieces(2048, 32), pieces(2048, 31)),
        (FragmentedDatabase, pieces(2048, 32), pieces(2112, 32)),
        (AccessTimes, option(laptop(), "strictatime"), option(laptop(), "noatime")),
        (LoopDevice, above(laptop(), LayerKind::Loop, "/images/one"), laptop()),
        (VirtualDisk, scheduled("virtio", "none"), scheduled("emmc", "none")),
        (NotOnFlash, above(laptop(), LayerKind::Memory, "tmpfs"), laptop()),
        (
            Overlay,
            above(laptop(), LayerKind::Stacked, "overlay"),
            above(laptop(), LayerKind::Stacked, "sdcardfs"),
        ),
    ];
    cases.extend(with_little_room());
    cases.extend(super::drives::portable_drives());
    cases
}

#[test]
fn each_kind_of_finding_is_made_where_its_cause_is_planted_and_not_beside_it() {
    for (id, sick, healthy) in planted() {
        let given: Vec<FindingId> = set_up(&sick).into_iter().map(|one| one.id).collect();
        assert_eq!(given, [id], "where it was planted");
        assert_eq!(set_up(&healthy), Vec::new(), "close to {id:?}");
    }
}

#[test]
fn every_rule_has_a_planted_case() {
    let kinds: std::collections::HashSet<FindingId> =
        planted().into_iter().map(|(id, ..)| id).collect();
    assert_eq!(kinds.len(), rules().count());
}

#[test]
fn each_finding_names_fields_that_exist_with_what_was_seen() {
    for (id, sick, _) in planted() {
        let text = serde_json::json!({ "environment": sick });
        for fact in set_up(&sick).into_iter().flat_map(|one| one.evidence) {
            let mut at = &text;
            for name in fact.field.split('.') {
                at = at.get(name).unwrap_or_else(|| panic!("{id:?}: no field {}", fact.field));
            }
            assert!(!fact.value.is_empty(), "{id:?}");
        }
    }
}

#[test]
fn a_filesystem_that_was_never_written_once_over_lacks_no_trim_much() {
    let severity = |mib| {
        let seen = with(trimmed(30), |seen| {
            let internals = seen.internals.as_mut().unwrap();
            let Reading::Value(FilesystemInternals::Ext4 { lifetime_written_bytes, .. }) =
                &mut internals.filesystem
            else {
                return;
            };
            *lifetime_written_bytes = known(Bytes::from_mib(mib));
        });
        let found = set_up(&seen);
        assert_eq!(found[0].evidence[0].value, "no discard");
        (found[0].id, found[0].severity)
    };
    assert_eq!(severity(99_999), (FindingId::NeverTrimmed, Severity::Minor));
    assert_eq!(severity(100_000), (FindingId::NeverTrimmed, Severity::Costly));
}

#[test]
fn a_device_that_takes_no_discards_lacks_no_trim() {
    let takes = |most: u64| {
        let seen =
            with(trimmed(30), |seen| seen.device.queue.discard_max_bytes = known(Bytes(most)));
        set_up(&seen).iter().any(|found| found.id == FindingId::NeverTrimmed)
    };
    assert!(takes(4096) && !takes(0));
}

#[test]
fn nothing_is_said_of_what_could_not_be_read() {
    assert_eq!(set_up(&Environment::default()), Vec::new());
    assert_eq!(set_up(&with(laptop(), |seen| seen.internals = None)), Vec::new());
}

#[test]
fn what_endangers_data_comes_first() {
    let seen = above(
        option(above(full(1000), LayerKind::Loop, "x"), "nobarrier"),
        LayerKind::Fuse,
        "fuse",
    );
    let given: Vec<Severity> = set_up(&seen).into_iter().map(|one| one.severity).collect();
    assert!(given.is_sorted() && given.len() == 4, "{given:?}");
    assert_eq!(given.first(), Some(&Severity::Danger));
}
