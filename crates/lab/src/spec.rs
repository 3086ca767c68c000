//! A target of the lab: device, filesystem, layers, mount options.

use std::fmt;

use flashlag_spec::target::{
    Age, Cipher, DeviceSpec, FilesystemKind, FsyncMode, Kind, Literal, MountSpec, TargetError,
    TargetOption, TimeScale,
};
use flashlag_units::Bytes;

use crate::layer::Layer;

/// A filesystem that the lab makes and mounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filesystem {
    Ext4,
    /// F2FS.
    F2fs,
    Btrfs,
    Xfs,
    Nilfs2,
    /// FAT32.
    Vfat,
    Exfat,
    /// NTFS by the kernel's own driver.
    Ntfs3,
}

/// A device, its filesystem and the layers above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabSpec {
    /// The device's profile, by name.
    pub profile: String,
    pub filesystem: Filesystem,
    /// Whether a sync flushes the device (`nobarrier` turns it off).
    pub barrier: bool,
    /// The flushes of an F2FS fsync.
    pub fsync_mode: FsyncMode,
    /// Whether SQLite commits by F2FS's atomic writes.
    pub atomic: bool,
    /// Whether F2FS cleans while idle; the kernel's default if `None`.
    pub background_cleaning: Option<bool>,
    /// Whether concurrent callers that need an F2FS checkpoint share one.
    pub checkpoint_merge: bool,
    /// Whether Btrfs copies data on write.
    pub copy_on_write: bool,
    /// Whether freed space is discarded at once: F2FS's default.
    pub discard: bool,
    /// Whether ext4 commits small changes in its fast area.
    pub fast_commit: bool,
    /// Whether ext4 journals data as well.
    pub data_journal: bool,
    /// Whether files are in the root directory, and not in one that an app has created.
    pub rootdir: bool,
    /// The layers above the filesystem, lowest first.
    pub above: Vec<Layer>,
    /// The cipher below the filesystem; `None`: not encrypted.
    pub encrypt: Option<Cipher>,
    /// Whether the host's own kernel mounts it, without a guest.
    pub host: bool,
    /// The size of the device; the profile's by default.
    pub size: Option<Bytes>,
    /// The device's state at the start; new by default.
    pub state: Option<Literal<Age>>,
    /// The speed of the device's clock; real time by default.
    pub time_scale: Option<Literal<TimeScale>>,
    /// The speed during a fill; `time_scale` by default.
    pub fill_time_scale: Option<Literal<TimeScale>>,
}

impl Filesystem {
    /// Every filesystem.
    pub const ALL: [Filesystem; 8] = [
        Filesystem::Ext4,
        Filesystem::F2fs,
        Filesystem::Btrfs,
        Filesystem::Xfs,
        Filesystem::Nilfs2,
        Filesystem::Vfat,
        Filesystem::Exfat,
        Filesystem::Ntfs3,
    ];

    /// The name as the user types it, and as the kernel has it.
    pub fn name(self) -> &'static str {
        self.kind().name()
    }

    fn kind(self) -> FilesystemKind {
        match self {
            Filesystem::Ext4 => FilesystemKind::Ext4,
            Filesystem::F2fs => FilesystemKind::F2fs,
            Filesystem::Btrfs => FilesystemKind::Btrfs,
            Filesystem::Xfs => FilesystemKind::Xfs,
            Filesystem::Nilfs2 => FilesystemKind::Nilfs2,
            Filesystem::Vfat => FilesystemKind::Vfat,
            Filesystem::Exfat => FilesystemKind::Exfat,
            Filesystem::Ntfs3 => FilesystemKind::Ntfs3,
        }
    }
}

impl fmt::Display for Filesystem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl LabSpec {
    /// Parses `PROFILE+FS[,OPTION]...`.
    ///
    /// # Errors
    /// Fails as [`LabSpec::of`] does, or if a word is unknown.
    pub fn parse(text: &str) -> Result<LabSpec, TargetError> {
        LabSpec::of(&DeviceSpec::parse_as(Kind::Lab, text)?)
    }

    /// The mount that a target describes.
    pub fn of(device: &DeviceSpec) -> Result<LabSpec, TargetError> {
        let DeviceSpec { profile, mount, .. } = device;
        let mount = mount.as_ref().ok_or_else(|| TargetError::NoFilesystem(profile.clone()))?;
        mount.check(Kind::Lab)?;
        let known = |one: &Filesystem| one.kind() == mount.filesystem;
        let filesystem = Filesystem::ALL.into_iter().find(known).unwrap_or(Filesystem::Ext4);
        let mut spec = LabSpec {
            profile: profile.clone(),
            filesystem,
            barrier: true,
            fsync_mode: FsyncMode::Posix,
            atomic: false,
            background_cleaning: None,
            checkpoint_merge: false,
            copy_on_write: true,
            discard: filesystem == Filesystem::F2fs,
            fast_commit: false,
            data_journal: false,
            rootdir: false,
            above: Vec::new(),
            encrypt: None,
            host: false,
            size: None,
            state: None,
            time_scale: None,
            fill_time_scale: None,
        };
        mount.options.iter().for_each(|option| spec.apply(option));
        Ok(spec)
    }

    fn apply(&mut self, option: &TargetOption) {
        match option {
            TargetOption::Barrier(on) => self.barrier = *on,
            TargetOption::FsyncMode(mode) => self.fsync_mode = *mode,
            TargetOption::AtomicWrites => self.atomic = true,
            TargetOption::BackgroundCleaning(on) => self.background_cleaning = Some(*on),
            TargetOption::CheckpointMerge => self.checkpoint_merge = true,
            TargetOption::NoDataCopy => self.copy_on_write = false,
            TargetOption::Discard(on) => self.discard = *on,
            TargetOption::FastCommit => self.fast_commit = true,
            TargetOption::DataJournal => self.data_journal = true,
            TargetOption::RootDirectory => self.rootdir = true,
            TargetOption::Fuse => self.above.push(Layer::Fuse),
            TargetOption::Overlay => self.above.push(Layer::Overlay),
            TargetOption::Bind => self.above.push(Layer::Bind),
            TargetOption::Encrypt(cipher) => self.encrypt = Some(*cipher),
            TargetOption::Host => self.host = true,
            TargetOption::Size(size) => self.size = Some(size.value),
            TargetOption::State(age) => self.state = Some(age.clone()),
            TargetOption::TimeScale(times) => self.time_scale = Some(times.clone()),
            TargetOption::FillTimeScale(times) => self.fill_time_scale = Some(times.clone()),
            // Options of a simulation, which were refused before.
            TargetOption::InPlace(_) | TargetOption::AtomicInMemory | TargetOption::Esdfs => {}
        }
    }

    /// The mount options.
    pub fn mount_options(&self) -> Vec<&'static str> {
        use Filesystem::{Btrfs, Exfat, Ext4, F2fs, Nilfs2, Ntfs3, Vfat, Xfs};
        let mut options = Vec::new();
        match (self.filesystem, self.barrier) {
            (_, true) | (Xfs | Vfat | Exfat | Ntfs3, false) => {}
            (Ext4 | F2fs | Btrfs | Nilfs2, false) => options.push("nobarrier"),
        }
        match self.fsync_mode {
            FsyncMode::Posix => {}
            FsyncMode::Strict => options.push("fsync_mode=strict"),
            FsyncMode::NoBarrier => options.push("fsync_mode=nobarrier"),
        }
        match self.background_cleaning {
            None => {}
            Some(true) => options.push("background_gc=on"),
            Some(false) => options.push("background_gc=off"),
        }
        options.extend(self.checkpoint_merge.then_some("checkpoint_merge"));
        options.extend((!self.copy_on_write).then_some("nodatacow"));
        match (self.filesystem, self.discard) {
            (_, true) => options.push("discard"),
            // Since Linux 6.2, Btrfs by default discards in a thread of its own.
            (F2fs | Btrfs, false) => options.push("nodiscard"),
            _ => {}
        }
        if self.filesystem == Xfs {
            // The floor device holds a copy, and XFS does not mount two filesystems with the same
            // identifier.
            options.push("nouuid");
        }
        if self.data_journal {
            options.push("data=journal");
        }
        options
    }

    /// The device's options except its size, as recorded.
    pub fn device_options(&self) -> Vec<String> {
        let options = [
            self.state.clone().map(TargetOption::State),
            self.time_scale.clone().map(TargetOption::TimeScale),
            self.fill_time_scale.clone().map(TargetOption::FillTimeScale),
        ];
        options.iter().flatten().map(TargetOption::to_string).collect()
    }

    /// Filesystem and options as recorded: each option once, in one order, without defaults, and
    /// without options of the device and the host.
    pub fn stack(&self) -> MountSpec {
        let mut options = Vec::new();
        options.extend((!self.barrier).then_some(TargetOption::Barrier(false)));
        if self.fsync_mode != FsyncMode::Posix {
            options.push(TargetOption::FsyncMode(self.fsync_mode));
        }
        options.extend(self.atomic.then_some(TargetOption::AtomicWrites));
        options.extend(self.background_cleaning.map(TargetOption::BackgroundCleaning));
        options.extend(self.checkpoint_merge.then_some(TargetOption::CheckpointMerge));
        options.extend((!self.copy_on_write).then_some(TargetOption::NoDataCopy));
        if self.discard != (self.filesystem == Filesystem::F2fs) {
            options.push(TargetOption::Discard(self.discard));
        }
        options.extend(self.fast_commit.then_some(TargetOption::FastCommit));
        options.extend(self.data_journal.then_some(TargetOption::DataJournal));
        options.extend(self.rootdir.then_some(TargetOption::RootDirectory));
        options.extend(self.above.iter().map(|layer| match layer {
            Layer::Fuse => TargetOption::Fuse,
            Layer::Overlay => TargetOption::Overlay,
            Layer::Bind => TargetOption::Bind,
        }));
        options.extend(self.encrypt.map(TargetOption::Encrypt));
        MountSpec { filesystem: self.filesystem.kind(), options }
    }
}

#[cfg(test)]
mod tests {
    use flashlag_spec::target::OPTIONS;
    use proptest::prelude::*;
    use proptest::sample::{select, subsequence};

    use super::*;

    #[test]
    fn a_target_is_a_profile_a_filesystem_and_options_in_order() {
        let spec = LabSpec::parse("nexus5-2013+f2fs,nobarrier,encrypt=adiantum,size=2GB").unwrap();
        assert_eq!((spec.profile.as_str(), spec.filesystem), ("nexus5-2013", Filesystem::F2fs));
        assert!(!spec.barrier && spec.discard && spec.encrypt == Some(Cipher::Adiantum));
        assert_eq!(spec.size, Some(Bytes::from_mb(2000)));
        assert_eq!(spec.mount_options(), ["nobarrier", "discard"]);
        assert_eq!(spec.stack().to_string(), "f2fs,nobarrier,encrypt=adiantum");
    }

    #[test]
    fn options_of_the_device_are_recorded_as_typed_and_are_no_part_of_the_stack() {
        let spec =
            LabSpec::parse("zero+ext4,state=aged:12mo,time-scale=10,fill-time-scale=50").unwrap();
        assert_eq!(spec.stack().to_string(), "ext4");
        let recorded = ["state=aged:12mo", "time-scale=10", "fill-time-scale=50"];
        assert_eq!(spec.device_options(), recorded);
    }

    /// Options of a filesystem and the layers above it, in any order.
    fn options(filesystem: Filesystem) -> impl Strategy<Value = Vec<&'static str>> {
        let kind = filesystem.kind();
        let rows = OPTIONS.iter().filter(|row| row.lab.contains(&kind) && row.value.is_none());
        let words: Vec<&str> = rows.map(|row| row.word).filter(|word| *word != "host").collect();
        subsequence(words.clone(), 0..=words.len()).prop_shuffle().prop_map(|mut words| {
            // A target has each option at most once, whatever its value.
            let mut names = std::collections::HashSet::new();
            words.retain(|word| names.insert(word.split('=').next()));
            words
        })
    }

    proptest! {
        #[test]
        fn a_recorded_stack_reads_back_as_the_same_mount(
            (filesystem, words) in select(Filesystem::ALL.to_vec())
                .prop_flat_map(|one| (Just(one), options(one)))
        ) {
            let list: String = words.iter().map(|word| format!(",{word}")).collect();
            let spec = LabSpec::parse(&format!("zero+{filesystem}{list}")).unwrap();
            prop_assert_eq!(LabSpec::parse(&format!("zero+{}", spec.stack())), Ok(spec));
        }
    }

    #[test]
    fn a_target_without_a_filesystem_or_of_another_kind_is_refused() {
        let error_of = |text| LabSpec::parse(text).unwrap_err().to_string();
        assert!(error_of("zero").contains("lab:PROFILE+FS"));
        let simulated = DeviceSpec::parse("sim:zero+f2fs,noipu").unwrap().unwrap();
        assert!(LabSpec::of(&simulated).unwrap_err().to_string().contains("sim: has it"));
    }
}
