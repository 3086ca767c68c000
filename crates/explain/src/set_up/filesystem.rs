//! Findings from a filesystem's options and state.

use flashlag_schema::finding::{Fact, Finding, FindingId, Severity};
use flashlag_schema::internals::{Ext4Journal, FilesystemInternals};
use flashlag_schema::{Filesystem, Quota, QuotaOf};
use flashlag_units::Bytes;

use super::rule::{Rule, Seen, fact, found};

pub(super) const RULES: &[Rule] = &[
    read_only,
    no_barrier,
    no_journal,
    errors,
    data_journal,
    fast_commit,
    sync_mount,
    nearly_full,
    storage_quota,
    few_free_segments,
    discard_on_delete,
    never_trimmed,
    fragmented,
    access_times,
];

/// Share of a filesystem in use, in percent, above which flash and filesystem run short of room.
const FULL_PERCENT: u64 = 80;
/// Share of a quota in use, in percent, from which a fill or a growing database soon fails.
const QUOTA_PERCENT: u64 = 90;
/// Free segments per reserved segment of F2FS, below which a write may wait for cleaning.
const FREE_FOR_EACH_SPARE: u64 = 2;
/// Extents of a database, and the mean size of one up to which it is read page by page.
const PIECES: u64 = 32;
const PIECE: u64 = 64 << 10;
/// Days without a trim after which most deleted data is still data to the flash.
const DAYS: u64 = 30;

/// The reason for the finding on fast commits.
pub const FAST_COMMIT: &str =
    "docs/model.md: with fast_commit the fsync of a directory commits the whole transaction";

/// Nothing can be written: because of a mount option, or a device below that accepts no writes.
fn read_only(seen: &Seen<'_>) -> Option<Finding> {
    let why = seen.0.filesystem.read_only.as_ref()?;
    Some(found(
        FindingId::ReadOnly,
        Severity::Danger,
        "mount(8): ro; ext4(5): errors=remount-ro",
        vec![fact("filesystem.read_only", why)],
    ))
}

fn no_barrier(seen: &Seen<'_>) -> Option<Finding> {
    let by_option = seen.option(|option| Filesystem::is_without_flush(option) || option == "nolog");
    let evidence = match (by_option, seen.filesystem()) {
        (Some(option), _) => fact("filesystem.options", option),
        (None, Some(FilesystemInternals::Ext4 { barrier, .. }))
            if barrier.value() == Some(&false) =>
        {
            fact("internals.filesystem.barrier", "off")
        }
        _ => return None,
    };
    // Measured in the lab with 100 power cuts, behind a volatile cache of 1 MiB.
    let source = match (seen.kind(), by_option) {
        (Some("f2fs"), Some("fsync_mode=nobarrier")) => {
            "docs/lab.md, WAL without a cache: 23 of 500 power cuts lost a save; with barriers none"
        }
        (Some("f2fs"), _) => {
            "docs/lab.md, WAL: of 100 power cuts all lost saves, and 58 damaged the database; with \
             barriers none did"
        }
        _ => {
            "docs/lab.md, WAL: of 100 power cuts 90 lost saves, and 2 damaged the database; with \
             barriers none did"
        }
    };
    Some(found(FindingId::NoBarrier, Severity::Danger, source, vec![evidence]))
}

fn no_journal(seen: &Seen<'_>) -> Option<Finding> {
    let FilesystemInternals::Ext4 { journal, .. } = seen.filesystem()? else { return None };
    (journal.value() == Some(&Ext4Journal::None)).then(|| {
        found(
            FindingId::NoJournal,
            Severity::Danger,
            "ext4(5): without a journal a crash can leave directories and maps half changed",
            vec![fact("internals.filesystem.journal", "none")],
        )
    })
}

fn errors(seen: &Seen<'_>) -> Option<Finding> {
    let FilesystemInternals::Ext4 { errors, .. } = seen.filesystem()? else { return None };
    let count = errors.value().filter(|count| **count > 0)?;
    Some(found(
        FindingId::FilesystemErrors,
        Severity::Danger,
        "Documentation/ABI/testing/sysfs-fs-ext4: errors_count",
        vec![fact("internals.filesystem.errors", count.to_string())],
    ))
}

fn data_journal(seen: &Seen<'_>) -> Option<Finding> {
    let by_option = seen.option(|option| option == "data=journal").is_some();
    let by_account = matches!(
        seen.filesystem(),
        Some(FilesystemInternals::Ext4 { journal, .. })
            if journal.value() == Some(&Ext4Journal::Journal)
    );
    (by_option || by_account).then(|| {
        found(
            FindingId::DataJournal,
            Severity::Costly,
            "docs/lab.md: a save by a rollback journal writes 108 KiB with data=journal, 57 KiB without",
            vec![fact("filesystem.options", "data=journal")],
        )
    })
}

/// Fast commits, recognised by the superblock's features or because there were some.
fn fast_commit(seen: &Seen<'_>) -> Option<Finding> {
    let FilesystemInternals::Ext4 { fast_commits, features, .. } = seen.filesystem()? else {
        return None;
    };
    let by_feature = features.value().is_some_and(|all| all.iter().any(|one| one == "fast_commit"));
    let made = fast_commits.value().filter(|count| **count > 0);
    let evidence = match (by_feature, made) {
        (true, _) => fact("internals.filesystem.features", "fast_commit"),
        (false, Some(count)) => fact("internals.filesystem.fast_commits", count.to_string()),
        (false, None) => return None,
    };
    Some(found(FindingId::FastCommit, Severity::Minor, FAST_COMMIT, vec![evidence]))
}

fn sync_mount(seen: &Seen<'_>) -> Option<Finding> {
    let option = seen.option(|option| matches!(option, "sync" | "dirsync"))?;
    Some(found(
        FindingId::SyncMount,
        Severity::Costly,
        "mount(8): sync and dirsync make each write, or each change of a directory, wait for the device",
        vec![fact("filesystem.options", option)],
    ))
}

fn nearly_full(seen: &Seen<'_>) -> Option<Finding> {
    let filesystem = &seen.0.filesystem;
    let (total, free) = (filesystem.total_bytes.value()?.0, filesystem.free_bytes.value()?.0);
    let used = total.checked_sub(free).filter(|_| total > 0)?;
    let percent = u64::try_from(u128::from(used) * 100 / u128::from(total)).ok()?;
    (percent >= FULL_PERCENT && seen.is_flash()).then(|| {
        found(
            FindingId::NearlyFull,
            Severity::Costly,
            "docs/lab.md: a Nexus 7 writes 0.14 MB/s full and 0.45 new",
            vec![fact("filesystem.free_bytes", format!("{percent}% in use"))],
        )
    })
}

/// A quota with its usage, or one of a mount option whose usage can't be read. The latter is no
/// finding on Android, which uses such options only for counting.
fn storage_quota(seen: &Seen<'_>) -> Option<Finding> {
    let quotas = &seen.0.filesystem.quotas;
    let share = |quota: &Quota| {
        let (used, limit) = (quota.used_bytes.value()?.0, quota.limit_bytes.value()?.0);
        u64::try_from(u128::from(used) * 100 / u128::from(limit.max(1))).ok()
    };
    let worst = quotas.iter().filter_map(share).max();
    if quotas.is_empty() || (worst.is_none() && seen.is_android()) {
        return None;
    }
    let nearly = worst.is_some_and(|percent| percent >= QUOTA_PERCENT);
    let severity = if nearly { Severity::Costly } else { Severity::Minor };
    let evidence = quotas.iter().map(|quota| fact("filesystem.quotas", said(quota)));
    let source = "quota(1); btrfs-quota(8): EDQUOT, with room on the filesystem";
    Some(found(FindingId::StorageQuota, severity, source, evidence.collect()))
}

fn said(quota: &Quota) -> String {
    let of = match quota.of {
        QuotaOf::User => "user",
        QuotaOf::Group => "group",
        QuotaOf::Project => "project",
        QuotaOf::Subvolume => "subvolume",
    };
    match (quota.used_bytes.value(), quota.limit_bytes.value()) {
        (Some(used), Some(limit)) => {
            let left = limit.saturating_minus(*used);
            format!("{of}: {used} of {limit} in use, {left} left")
        }
        _ => format!("{of}: what is left is not known here, `{}` shows it", quota.of.command()),
    }
}

fn few_free_segments(seen: &Seen<'_>) -> Option<Finding> {
    let FilesystemInternals::F2fs { free_segments, dirty_segments, spare_segments, .. } =
        seen.filesystem()?
    else {
        return None;
    };
    let (free, spare) = (*free_segments.value()?, *spare_segments.value()?);
    if spare == 0 || free > spare.saturating_mul(FREE_FOR_EACH_SPARE) {
        return None;
    }
    let mut evidence = vec![
        fact("internals.filesystem.free_segments", free.to_string()),
        fact("internals.filesystem.spare_segments", spare.to_string()),
    ];
    if let Some(dirty) = dirty_segments.value() {
        evidence.push(fact("internals.filesystem.dirty_segments", dirty.to_string()));
    }
    Some(found(
        FindingId::FewFreeSegments,
        Severity::Costly,
        "fs/f2fs/segment.h, has_not_enough_free_secs: below its reserve a write cleans first",
        evidence,
    ))
}

fn discard_on_delete(seen: &Seen<'_>) -> Option<Finding> {
    // F2FS and, with `discard=async`, Btrfs discard in the background.
    if !matches!(seen.kind(), Some("ext4" | "btrfs" | "xfs")) {
        return None;
    }
    let option = seen.option(|option| matches!(option, "discard" | "discard=sync"))?;
    let supported = seen.0.device.queue.discard_max_bytes.value()?.0 > 0;
    (supported && seen.is_flash()).then(|| {
        found(
            FindingId::DiscardOnDelete,
            Severity::Minor,
            "fstrim(8) and ext4(5): discards are part of a commit, for which an fsync waits",
            vec![fact("filesystem.options", option)],
        )
    })
}

fn never_trimmed(seen: &Seen<'_>) -> Option<Finding> {
    let queue = &seen.0.device.queue;
    let supported = queue.discard_max_bytes.value()?.0 > 0;
    let discards = seen.option(|option| option.starts_with("discard")).is_some();
    // Android trims on its own while it is idle and charged.
    if !supported || discards || seen.is_android() || !seen.is_flash() {
        return None;
    }
    let trimmed = &seen.internals()?.trimmed_before_ns;
    let long = trimmed.value().map(|age| age.0 / 86_400_000_000_000);
    let last = match (long, trimmed.reason()) {
        (Some(days), _) if days < DAYS => return None,
        (Some(days), _) => format!("{days} days ago"),
        (None, reason) => reason.unwrap_or("unknown").to_owned(),
    };
    let options =
        seen.0.filesystem.options.value().map(|_| fact("filesystem.options", "no discard"));
    let mut evidence: Vec<Fact> = options.into_iter().collect();
    evidence.push(fact("internals.trimmed_before_ns", last));
    // If nothing was written twice, little was deleted: a fresh filesystem does not need a trim
    // yet.
    let size = seen.0.filesystem.total_bytes.value();
    let written = seen.filesystem().and_then(written);
    let fresh = written.zip(size).is_some_and(|(written, size)| written < *size);
    if let Some((written, size)) = written.zip(size).filter(|_| fresh) {
        let value = format!("{written}, less than its size of {size}");
        evidence.push(fact("internals.filesystem.lifetime_written_bytes", value));
    }
    Some(found(
        FindingId::NeverTrimmed,
        if fresh { Severity::Minor } else { Severity::Costly },
        "docs/lab.md: a Nexus 7 that was filled and emptied writes 0.46 MB/s after a trim",
        evidence,
    ))
}

/// The bytes written to the filesystem since it was created.
fn written(filesystem: &FilesystemInternals) -> Option<Bytes> {
    match filesystem {
        FilesystemInternals::Ext4 { lifetime_written_bytes, .. }
        | FilesystemInternals::F2fs { lifetime_written_bytes, .. } => {
            lifetime_written_bytes.value().copied()
        }
        _ => None,
    }
}

fn access_times(seen: &Seen<'_>) -> Option<Finding> {
    let option = seen.option(|option| option == "strictatime")?;
    Some(found(
        FindingId::AccessTimes,
        Severity::Minor,
        "mount(8): strictatime changes the file's node at each read",
        vec![fact("filesystem.options", option)],
    ))
}

/// A database in extents of a few pages each.
fn fragmented(seen: &Seen<'_>) -> Option<Finding> {
    let worst = seen.internals()?.databases.value()?.worst.as_ref()?;
    let piece = worst.bytes.0.checked_div(worst.pieces)?;
    if worst.pieces < PIECES || piece > PIECE {
        return None;
    }
    let name = worst.name.as_deref().map(|name| format!("{name}, ")).unwrap_or_default();
    let value = format!("{name}{} in {} pieces", worst.bytes, worst.pieces);
    Some(found(
        FindingId::FragmentedDatabase,
        Severity::Minor,
        "Documentation/filesystems/fiemap.rst; docs/model.md: reading what grew in pieces",
        vec![fact("internals.databases.worst", value)],
    ))
}
