//! Drives that other systems read, too: what is found of them, planted.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use flashlag_schema::finding::FindingId;
use flashlag_schema::internals::{FilesystemInternals, PortableFormat, Unplugged, Unsynced};
use flashlag_spec::Reading;
use flashlag_units::{Bytes, Nanos};

use super::machines::{known, laptop, trimmed, with};
use super::*;

/// A drive of a format that other systems read, fixed until it is [`pulled`].
fn portable(format: PortableFormat, by_fuse: bool, unsynced: Unsynced) -> Environment {
    with(trimmed(1), |seen| {
        seen.device.kind = known("usb".to_owned());
        let internals = seen.internals.as_mut().unwrap();
        internals.filesystem = known(FilesystemInternals::Portable { format, by_fuse, unsynced });
    })
}

/// That drive where it can be pulled out.
fn pulled(machine: Environment) -> Environment {
    with(machine, |seen| {
        seen.internals.as_mut().unwrap().unplugged = Some(Unplugged {
            because: "it is on USB".to_owned(),
            stays_ns: known(Nanos::from_secs(35)),
            unwritten_bytes: known(Bytes(3 << 20)),
            unwritten_at_end_bytes: Reading::unavailable("it is read at the end of a run"),
            of_all_storage: true,
        });
    })
}

/// The cases of drives that other systems read, too.
pub(super) fn portable_drives() -> Vec<(FindingId, Environment, Environment)> {
    use FindingId::*;
    let by_kernel = |format, unsynced| portable(format, false, unsynced);
    let fat = |unsynced| by_kernel(PortableFormat::Fat, unsynced);
    let exfat = || by_kernel(PortableFormat::Exfat, Unsynced::Later);
    vec![
        (LostIfUnplugged, pulled(fat(Unsynced::Later)), fat(Unsynced::Later)),
        (LostIfUnplugged, pulled(fat(Unsynced::AtClose)), pulled(fat(Unsynced::AtOnce))),
        (LostIfUnplugged, pulled(exfat()), pulled(laptop())),
        (FuseDriver, portable(PortableFormat::Ntfs, true, Unsynced::Later), exfat()),
    ]
}

#[test]
fn a_daemon_that_android_chose_is_no_driver_to_replace_but_a_part_of_the_path() {
    let found = |machine: &Environment| -> Vec<FindingId> {
        set_up(machine).into_iter().map(|one| one.id).collect()
    };
    let mut machine = portable(PortableFormat::Exfat, true, Unsynced::Later);
    machine.filesystem.kind = known("fuseblk".to_owned());
    assert!(found(&machine).contains(&FindingId::FuseDriver));
    machine.software.system = known("Android 13".to_owned());
    let found = found(&machine);
    assert!(!found.contains(&FindingId::FuseDriver), "{found:?}");
    assert!(found.contains(&FindingId::FuseOnPath), "{found:?}");
}

#[test]
fn what_is_lost_if_a_drive_is_pulled_out_is_what_its_driver_has_not_written() {
    let found = |format, by_fuse, unsynced| {
        let found = set_up(&pulled(portable(format, by_fuse, unsynced)));
        found.into_iter().find(|one| one.id == FindingId::LostIfUnplugged).unwrap()
    };
    let later = found(PortableFormat::Exfat, false, Unsynced::Later);
    let values: Vec<&str> = later.evidence.iter().map(|fact| fact.value.as_str()).collect();
    assert_eq!(
        values,
        ["exFAT", "it is on USB", "written in the last 35 s or more", "3.1 MB, of all storage"]
    );
    let closed = found(PortableFormat::Fat, false, Unsynced::AtClose);
    assert_eq!(closed.evidence[2].value, "a file that is still open");
    // Each driver's own promise is named.
    let sources = [
        found(PortableFormat::Fat, false, Unsynced::Later).source,
        found(PortableFormat::Exfat, false, Unsynced::Later).source,
        found(PortableFormat::Ntfs, false, Unsynced::Later).source,
        found(PortableFormat::Ntfs, true, Unsynced::Later).source,
    ];
    for (source, part) in sources.iter().zip(["fat_file", "exfat_file", "ntfs3", "daemons"]) {
        assert!(source.contains(part), "{source}");
    }
}
