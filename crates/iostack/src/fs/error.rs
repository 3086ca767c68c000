use flashlag_units::Bytes;
use thiserror::Error;

/// Why a device can't have a filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum LayoutError {
    /// The device is smaller than the filesystem's metadata.
    #[error(
        "{filesystem} needs a device of {} MiB at least; this one has {} MiB",
        .least.0 >> 20,
        .size.0 >> 20
    )]
    TooSmall { filesystem: &'static str, least: Bytes, size: Bytes },
    #[error("the device is too large")]
    TooLarge,
    #[error("ext4 finds no room for its journal")]
    NoJournal,
    #[error("the device is zoned, and of the modelled filesystems only F2FS writes zones in order")]
    NotOnZones,
    #[error("the device is zoned, which F2FS before Linux 3.17 (noipu) does not know")]
    OldOnZones,
    #[error("the device is zoned, and F2FS resets zones by discards: nodiscard is refused")]
    NoReset,
    #[error("F2FS has 6 logs, each with a zone open, and the device can have {open} open")]
    FewOpen { open: u32 },
    #[error("zones of {} bytes are no multiple of F2FS's segments of 2 MiB", .size.0)]
    ZoneSize { size: Bytes },
    #[error(
        "F2FS's metadata takes {} MiB, and the device's conventional zones have {}",
        .needed.0.div_ceil(1 << 20),
        .size.0 >> 20
    )]
    FewConventional { needed: Bytes, size: Bytes },
}
