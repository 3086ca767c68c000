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
}
