//! The lab's part of a target, `nexus5-2013+f2fs,nobarrier`: device, filesystem, mount options.

use std::fmt;

use flashlag_units::{Bytes, did_you_mean};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::layer::Layer;

/// A filesystem that the lab makes and mounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filesystem {
    /// ext4.
    Ext4,
    /// F2FS.
    F2fs,
    /// Btrfs.
    Btrfs,
    /// XFS.
    Xfs,
    /// NILFS2.
    Nilfs2,
}

/// How the device is encrypted below the filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cipher {
    /// AES in XTS mode, with a key of 256 bits.
    AesXts,
    /// Adiantum, for processors without instructions for AES.
    Adiantum,
}

/// A device, its filesystem and the layers above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabSpec {
    /// The device's profile, by name.
    pub profile: String,
    /// The filesystem.
    pub filesystem: Filesystem,
    /// Whether a sync flushes the device (`nobarrier` turns it off).
    pub barrier: bool,
    /// Whether F2FS flushes at checkpoints alone, not at each fsync (`fsync_mode=nobarrier`).
    pub checkpoints_only: bool,
    /// Whether freed space is discarded at once: F2FS's default.
    pub discard: bool,
    /// Whether ext4 commits small changes in its fast area.
    pub fast_commit: bool,
    /// Whether ext4 journals data as well.
    pub data_journal: bool,
    /// The layers above the filesystem, lowest first.
    pub above: Vec<Layer>,
    /// Whether the device is encrypted below the filesystem.
    pub encrypt: Option<Cipher>,
    /// Whether the host's own kernel mounts it, without a guest.
    pub host: bool,
    /// The size of the device; the profile's by default.
    pub size: Option<Bytes>,
    /// The device's state at the start, as for `flashlag device`; new by default.
    pub state: Option<String>,
    /// The pace of the device's time, as for `flashlag device`.
    pub time_scale: Option<String>,
    /// The same while a fill goes on.
    pub fill_time_scale: Option<String>,
}

/// The known options, for messages.
const OPTIONS: &str = "barrier, nobarrier, discard, nodiscard, fast_commit (ext4), data=journal (ext4), \
                       fsync_mode=nobarrier (f2fs), \
                       fuse, overlay, bind, encrypt, encrypt=adiantum, host, size=SIZE, state=STATE, \
                       time-scale=N, fill-time-scale=N";

fn near_option(option: &str) -> String {
    let name = option.split('=').next().unwrap_or_default();
    // Each begins with its name.
    let known = OPTIONS.split(", ").filter_map(|one| one.split([' ', '=']).next());
    did_you_mean(name, known)
}

/// Why a target is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpecError {
    /// No filesystem was named.
    #[error("\"{0}\" names no filesystem: write lab:PROFILE+FS, e.g. lab:nexus5-2013+ext4")]
    NoFilesystem(String),
    /// An unknown filesystem.
    #[error("the lab has no filesystem \"{0}\"; there are ext4, f2fs, btrfs, xfs and nilfs2{near}",
        near = did_you_mean(.0, ["ext4", "f2fs", "btrfs", "xfs", "nilfs2"]))]
    Filesystem(String),
    /// An unknown option.
    #[error("there is no option \"{0}\"; there are {OPTIONS}{near}", near = near_option(.0))]
    Option(String),
    /// An option of other filesystems.
    #[error("{filesystem} has no option \"{option}\"; {of} has")]
    NotOfThis {
        /// The option.
        option: String,
        /// Which filesystems have it.
        of: &'static str,
        /// The one that was named.
        filesystem: Filesystem,
    },
    /// A size that can't be read.
    #[error("\"{0}\" is no size: write size=4GB or size=4GiB")]
    Size(String),
}

impl Filesystem {
    /// All of them.
    pub const ALL: [Filesystem; 5] = [
        Filesystem::Ext4,
        Filesystem::F2fs,
        Filesystem::Btrfs,
        Filesystem::Xfs,
        Filesystem::Nilfs2,
    ];

    /// As it is typed, and as the kernel calls it.
    pub fn name(self) -> &'static str {
        match self {
            Filesystem::Ext4 => "ext4",
            Filesystem::F2fs => "f2fs",
            Filesystem::Btrfs => "btrfs",
            Filesystem::Xfs => "xfs",
            Filesystem::Nilfs2 => "nilfs2",
        }
    }

    fn parse(text: &str) -> Option<Filesystem> {
        Filesystem::ALL.into_iter().find(|filesystem| filesystem.name() == text)
    }
}

impl fmt::Display for Filesystem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl LabSpec {
    /// Reads `PROFILE+FS[,OPTION]...`.
    ///
    /// # Errors
    /// A word that is not known, or an option of another filesystem.
    pub fn parse(text: &str) -> Result<LabSpec, SpecError> {
        let named = text.split_once('+').filter(|(profile, _)| !profile.is_empty());
        let (profile, stack) = named.ok_or_else(|| SpecError::NoFilesystem(text.to_owned()))?;
        let mut words = stack.split(',').map(str::trim);
        let name = words.next().unwrap_or_default();
        let filesystem =
            Filesystem::parse(name).ok_or_else(|| SpecError::Filesystem(name.to_owned()))?;
        let mut spec = LabSpec {
            profile: profile.to_owned(),
            filesystem,
            barrier: true,
            checkpoints_only: false,
            discard: filesystem == Filesystem::F2fs,
            fast_commit: false,
            data_journal: false,
            above: Vec::new(),
            encrypt: None,
            host: false,
            size: None,
            state: None,
            time_scale: None,
            fill_time_scale: None,
        };
        for word in words {
            spec.take(word)?;
        }
        Ok(spec)
    }

    fn take(&mut self, word: &str) -> Result<(), SpecError> {
        match word {
            "barrier" => self.barrier = true,
            "nobarrier" if self.filesystem == Filesystem::Xfs => {
                return Err(self.not_of_this(word, "each of the others"));
            }
            "nobarrier" => self.barrier = false,
            "fsync_mode=nobarrier" if self.filesystem != Filesystem::F2fs => {
                return Err(self.not_of_this(word, "f2fs"));
            }
            "fsync_mode=nobarrier" => self.checkpoints_only = true,
            "discard" => self.discard = true,
            "nodiscard" => self.discard = false,
            "fast_commit" | "data=journal" if self.filesystem != Filesystem::Ext4 => {
                return Err(self.not_of_this(word, "ext4"));
            }
            "fast_commit" => self.fast_commit = true,
            "data=journal" => self.data_journal = true,
            "encrypt" | "encrypt=aes-xts" => self.encrypt = Some(Cipher::AesXts),
            "encrypt=adiantum" => self.encrypt = Some(Cipher::Adiantum),
            "host" => self.host = true,
            other if Layer::parse(other).is_some() => self.above.extend(Layer::parse(other)),
            other => match other.split_once('=') {
                Some(("size", size)) => {
                    let refuse = || SpecError::Size(size.to_owned());
                    self.size = Some(size.parse().map_err(|_| refuse())?);
                }
                Some(("state", state)) => self.state = Some(state.to_owned()),
                Some(("time-scale", times)) => self.time_scale = Some(times.to_owned()),
                Some(("fill-time-scale", times)) => self.fill_time_scale = Some(times.to_owned()),
                _ => return Err(SpecError::Option(other.to_owned())),
            },
        }
        Ok(())
    }

    fn not_of_this(&self, option: &str, of: &'static str) -> SpecError {
        SpecError::NotOfThis { option: option.to_owned(), of, filesystem: self.filesystem }
    }

    /// The mount options.
    pub fn mount_options(&self) -> Vec<&'static str> {
        use Filesystem::{Btrfs, Ext4, F2fs, Nilfs2, Xfs};
        let mut options = Vec::new();
        match (self.filesystem, self.barrier) {
            (_, true) | (Xfs, false) => {}
            (Ext4 | F2fs | Btrfs | Nilfs2, false) => options.push("nobarrier"),
        }
        if self.checkpoints_only {
            options.push("fsync_mode=nobarrier");
        }
        match (self.filesystem, self.discard) {
            (_, true) => options.push("discard"),
            (F2fs, false) => options.push("nodiscard"),
            _ => {}
        }
        if self.filesystem == Xfs {
            // The floor is a copy, and XFS mounts no two that bear one name.
            options.push("nouuid");
        }
        if self.data_journal {
            options.push("data=journal");
        }
        options
    }

    /// The device's options but its size, as recorded.
    pub fn device_options(&self) -> Vec<String> {
        let named = [
            ("state", &self.state),
            ("time-scale", &self.time_scale),
            ("fill-time-scale", &self.fill_time_scale),
        ];
        let asked = named.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        asked.map(|(name, value)| format!("{name}={value}")).collect()
    }

    /// Filesystem and options as they are recorded: without what is the device's, and the host.
    pub fn stack(&self) -> String {
        let mut words = vec![self.filesystem.name()];
        words.extend((!self.barrier).then_some("nobarrier"));
        words.extend(self.checkpoints_only.then_some("fsync_mode=nobarrier"));
        match (self.filesystem, self.discard) {
            (Filesystem::F2fs, false) => words.push("nodiscard"),
            (Filesystem::F2fs, true) | (_, false) => {}
            (_, true) => words.push("discard"),
        }
        words.extend(self.fast_commit.then_some("fast_commit"));
        words.extend(self.data_journal.then_some("data=journal"));
        words.extend(self.above.iter().map(|layer| layer.name()));
        words.extend(self.encrypt.map(|cipher| match cipher {
            Cipher::AesXts => "encrypt",
            Cipher::Adiantum => "encrypt=adiantum",
        }));
        words.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_profile_a_filesystem_and_options_in_order() {
        let spec = LabSpec::parse("nexus5-2013+f2fs,nobarrier,encrypt=adiantum,size=2GB").unwrap();
        assert_eq!((spec.profile.as_str(), spec.filesystem), ("nexus5-2013", Filesystem::F2fs));
        assert!(!spec.barrier && spec.discard && spec.encrypt == Some(Cipher::Adiantum));
        assert_eq!(spec.size, Some(Bytes::from_mb(2000)));
        assert_eq!(spec.mount_options(), ["nobarrier", "discard"]);
        assert_eq!(spec.stack(), "f2fs,nobarrier,encrypt=adiantum");
    }

    #[test]
    fn what_is_the_devices_is_kept_as_it_was_typed_and_is_no_part_of_the_stack() {
        let spec =
            LabSpec::parse("zero+ext4,state=aged:12mo,time-scale=10,fill-time-scale=50").unwrap();
        assert_eq!(spec.state.as_deref(), Some("aged:12mo"));
        let scales = [spec.time_scale.as_deref(), spec.fill_time_scale.as_deref()];
        assert_eq!(scales, [Some("10"), Some("50")]);
        assert_eq!(spec.stack(), "ext4");
        let recorded = ["state=aged:12mo", "time-scale=10", "fill-time-scale=50"];
        assert_eq!(spec.device_options(), recorded);
    }

    #[test]
    fn what_is_recorded_reads_back_as_what_was_asked() {
        for filesystem in Filesystem::ALL {
            for option in ["", ",nodiscard", ",discard,overlay,fuse", ",bind,encrypt"] {
                let spec = LabSpec::parse(&format!("zero+{filesystem}{option}")).unwrap();
                assert_eq!(LabSpec::parse(&format!("zero+{}", spec.stack())), Ok(spec));
            }
        }
    }

    #[test]
    fn what_is_not_known_is_refused_with_what_is() {
        let told = |text| LabSpec::parse(text).unwrap_err().to_string();
        assert!(told("zero").contains("lab:PROFILE+FS"));
        assert!(told("+ext4").contains("lab:PROFILE+FS"));
        assert!(told("zero+ext3").contains("nilfs2"));
        assert!(told("zero+ext4,fast").contains("fast_commit"));
        assert!(told("zero+f2fs,fast_commit").contains("ext4 has"));
        assert!(told("zero+ext4,fsync_mode=nobarrier").contains("f2fs has"));
        assert!(told("zero+xfs,nobarrier").contains("xfs has no option"));
        assert!(told("zero+ext4,size=big").contains("no size"));
    }
}
