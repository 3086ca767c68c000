//! Drives that can be pulled out: what an fsync promises there, and what is lost.

use flashlag_schema::internals::{
    FilesystemInternals, Internals, PortableFormat, Unplugged, Unsynced,
};
use flashlag_units::Bytes;

use crate::format;

/// What an fsync writes before it returns.
pub(crate) fn promise(format: PortableFormat, by_fuse: bool) -> &'static str {
    match (format, by_fuse) {
        (_, true) => "an fsync writes all that the daemon changed, and flushes",
        (PortableFormat::Fat, false) => {
            "an fsync writes the file, its entry and the table, and flushes"
        }
        (PortableFormat::Exfat, false) => {
            "an fsync writes the file and all changed metadata, and flushes"
        }
        (PortableFormat::Ntfs, false) => "an fsync writes the file and its record, and flushes",
    }
}

/// What who pulls the drive out loses.
pub(crate) fn lost(unplugged: &Unplugged, internals: &Internals) -> String {
    let unsynced = match internals.filesystem.value() {
        Some(FilesystemInternals::Portable { unsynced, .. }) => *unsynced,
        _ => Unsynced::Later,
    };
    let because = &unplugged.because;
    let what = match (unsynced, unplugged.stays_ns.value()) {
        (Unsynced::AtOnce, _) => {
            return format!("{because}: what a call has written is on it, by the option sync");
        }
        (Unsynced::AtClose, _) => "loses what was written to files still open".to_owned(),
        (Unsynced::Later, Some(stays)) => {
            let stays = format::time(*stays);
            format!("loses what was not synced: that of the last {stays}, more if it is slow")
        }
        (Unsynced::Later, None) => "loses what was not synced".to_owned(),
    };
    let bytes = |bytes: &Bytes, when: &str| {
        let of = if unplugged.of_all_storage { " for all storage" } else { "" };
        format!("; {} wait{of} {when}", format::size(*bytes))
    };
    let (before, after) =
        (unplugged.unwritten_bytes.value(), unplugged.unwritten_at_end_bytes.value());
    let waits = match (before, after) {
        (_, Some(after)) => bytes(after, "at the end"),
        (Some(before), None) => bytes(before, "now"),
        (None, None) => String::new(),
    };
    format!("{because}: who pulls it out {what}{waits}")
}
