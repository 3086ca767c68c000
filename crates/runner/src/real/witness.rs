//! A device with counters of its own, besides the kernel's: a virtual device below a directory.

use std::fmt::Debug;

use flashlag_schema::DeviceCount;

/// A device with counters of its own.
pub(crate) trait Witness: Debug {
    /// A phase of that label is about to begin.
    fn phase_begins(&mut self, label: &str);

    /// The device's counters now; `None` if the device does not answer.
    fn count(&mut self) -> Option<DeviceCount>;

    /// A note about the phase that has ended, if any.
    fn phase_note(&self) -> Option<String> {
        None
    }
}
