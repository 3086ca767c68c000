use flashlag_units::Bytes;
use thiserror::Error;

/// Why a device can't have a filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum LayoutError {
    /// A device smaller than the filesystem's metadata needs.
    #[error(
        "{filesystem} needs a device of {} MiB at least; this one has {} MiB",
        .least.0 >> 20,
        .size.0 >> 20
    )]
    TooSmall {
        /// The filesystem's name.
        filesystem: &'static str,
        /// The smallest device.
        least: Bytes,
        /// The device's size.
        size: Bytes,
    },
    /// A device with more segments than can be counted.
    #[error("the device is too large")]
    TooLarge,
    /// No free run of blocks for ext4's root directory or journal.
    #[error("ext4 finds no room for its journal")]
    NoJournal,
}
