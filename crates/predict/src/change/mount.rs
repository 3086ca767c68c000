//! Changes of the mount: another filesystem, an added or a removed option.

use flashlag_spec::target::{FilesystemKind, Kind, MountSpec, TargetOption};

/// The mount on another filesystem, with the options that exist there.
pub(super) fn on(mount: &MountSpec, filesystem: FilesystemKind) -> MountSpec {
    let is_same = filesystem == mount.filesystem;
    let keeps = |option: &&TargetOption| {
        let alone = MountSpec { filesystem, options: vec![(*option).clone()] };
        // Filesystems differ in their default for discards.
        is_same || (!matches!(option, TargetOption::Discard(_)) && alone.check(Kind::Sim).is_ok())
    };
    let options = mount.options.iter().filter(keeps).cloned().collect();
    MountSpec { filesystem, options }
}

/// The mount with an option, or without it.
pub(super) fn with(mount: &MountSpec, option: &TargetOption, on: bool) -> MountSpec {
    let mut next = mount.clone();
    next.options.retain(|one| one != option);
    if on {
        next.options.push(option.clone());
    }
    next
}

/// The mount with or without discards after a delete. F2FS discards by default, the other
/// filesystems do not.
pub(super) fn discarding(mount: &MountSpec, on: bool) -> MountSpec {
    let mut next = mount.clone();
    next.options.retain(|one| !matches!(one, TargetOption::Discard(_)));
    match (mount.filesystem, on) {
        (FilesystemKind::Ext4 | FilesystemKind::Btrfs, true) | (FilesystemKind::F2fs, false) => {
            with(&next, &TargetOption::Discard(on), true)
        }
        _ => next,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(text: &str) -> MountSpec {
        MountSpec::parse(Kind::Sim, text).unwrap()
    }

    #[test]
    fn options_go_along_to_another_filesystem_with_its_own_default_for_discards() {
        let to = |text: &str, kind| on(&mount(text), kind).to_string();
        assert_eq!(to("ext4,fuse,encrypt", FilesystemKind::F2fs), "f2fs,fuse,encrypt");
        assert_eq!(to("f2fs,nodiscard,encrypt", FilesystemKind::Ext4), "ext4,encrypt");
        assert_eq!(to("ext4,discard", FilesystemKind::F2fs), "f2fs");
    }

    #[test]
    fn options_of_the_old_filesystem_alone_stay_behind() {
        let to = |text: &str, kind| on(&mount(text), kind).to_string();
        assert_eq!(to("f2fs,noipu,rootdir,nobarrier", FilesystemKind::Ext4), "ext4,nobarrier");
        assert_eq!(to("f2fs,noipu,rootdir", FilesystemKind::F2fs), "f2fs,noipu,rootdir");
    }

    #[test]
    fn discards_are_written_as_each_filesystem_writes_them() {
        let on = |text: &str, on: bool| discarding(&mount(text), on).to_string();
        assert_eq!(on("ext4", true), "ext4,discard");
        assert_eq!(on("ext4,discard", false), "ext4");
        assert_eq!(on("btrfs", true), "btrfs,discard");
        assert_eq!(on("f2fs", false), "f2fs,nodiscard");
        assert_eq!(on("f2fs,nodiscard", true), "f2fs");
    }
}
