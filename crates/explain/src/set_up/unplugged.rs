//! The finding of a drive that can be pulled out.

use flashlag_schema::finding::{Finding, FindingId, Severity};
use flashlag_schema::internals::{FilesystemInternals, PortableFormat, Unsynced};

use super::rule::{Rule, Seen, fact, found};

pub(super) const RULES: &[Rule] = &[lost_if_unplugged];

/// A filesystem without a journal on a drive that can be pulled out. With `sync`, what a call has
/// written is on the drive.
fn lost_if_unplugged(seen: &Seen<'_>) -> Option<Finding> {
    let lost = seen.internals()?.unplugged.as_ref()?;
    let FilesystemInternals::Portable { format, by_fuse, unsynced } = seen.filesystem()? else {
        return None;
    };
    let when = match unsynced {
        Unsynced::AtOnce => return None,
        Unsynced::AtClose => "a file that is still open".to_owned(),
        Unsynced::Later => match lost.stays_ns.value() {
            Some(stays) => format!("written in the last {stays} or more"),
            None => "whatever the kernel has not written by itself".to_owned(),
        },
    };
    let mut evidence = vec![
        fact("internals.filesystem.format", format.name()),
        fact("internals.unplugged.because", &*lost.because),
        fact("internals.unplugged.stays_ns", when),
    ];
    if let Some(bytes) = lost.unwritten_bytes.value() {
        let of = if lost.of_all_storage { "of all storage" } else { "of this drive" };
        evidence.push(fact("internals.unplugged.unwritten_bytes", format!("{bytes}, {of}")));
    }
    let source = source(*format, *by_fuse);
    Some(found(FindingId::LostIfUnplugged, Severity::Danger, source, evidence))
}

/// What an fsync writes, where that is written.
fn source(format: PortableFormat, by_fuse: bool) -> &'static str {
    match (format, by_fuse) {
        (_, true) => {
            "the daemons' fsync (ntfs-3g, exfat-fuse): all that they changed on the device, then a flush"
        }
        (PortableFormat::Fat, false) => {
            "fs/fat/file.c, fat_file_fsync: the file, its entry and the table, then a flush; after a rename the entry is written later, and fsck.vfat -a leaves the file empty (docs/lab.md)"
        }
        (PortableFormat::Exfat, false) => {
            "fs/exfat/file.c, exfat_file_fsync: the file and all changed metadata, then a flush"
        }
        (PortableFormat::Ntfs, false) => {
            "Documentation/filesystems/ntfs3.rst: the journal is replayed at the mount, and not written; after a cut the driver may refuse to mount it until `ntfsfix -d`, and hide a renamed file that ntfs-3g still reads (docs/lab.md)"
        }
    }
}
