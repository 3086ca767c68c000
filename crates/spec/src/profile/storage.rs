//! The kind of storage that a profile models.

use serde::Deserialize;

/// A kind of flash storage, by its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StorageKind {
    /// eMMC.
    Emmc,
    /// An SD or microSD card.
    Sd,
    /// UFS.
    Ufs,
    /// An NVMe drive.
    Nvme,
    /// A SATA drive.
    Sata,
    /// A drive behind USB.
    Usb,
    /// No real storage: a device that takes practically no time.
    Ideal,
}

impl StorageKind {
    /// The name in files: `emmc`, as `DeviceEnvironment` has it of a real device.
    pub const fn name(self) -> &'static str {
        match self {
            StorageKind::Emmc => "emmc",
            StorageKind::Sd => "sd",
            StorageKind::Ufs => "ufs",
            StorageKind::Nvme => "nvme",
            StorageKind::Sata => "sata",
            StorageKind::Usb => "usb",
            StorageKind::Ideal => "ideal",
        }
    }

    /// The kind in the text of a profile, as a run file stores it; `None` if it does not say.
    pub fn in_text(text: &str) -> Option<StorageKind> {
        // The head ends where the first section begins; a hundred parameters need not be read.
        let head = text.split_once("\n[").map_or(text, |(head, _)| head);
        let mut head: toml::Table = head.parse().ok()?;
        head.remove("kind")?.try_into().ok()
    }
}
