//! A device that counts for itself, beside the kernel's counters: a virtual device below a
//! directory.

use std::fmt::Debug;

use flashlag_schema::DeviceCount;

/// A device that knows what was asked of it.
pub(crate) trait Witness: Debug {
    /// A phase of that label is about to begin.
    fn phase_begins(&mut self, label: &str);

    /// What the device has counted by now; `None` where the device does not answer.
    fn count(&mut self) -> Option<DeviceCount>;

    /// A note about the phase that has ended, where there is one.
    fn phase_note(&self) -> Option<String> {
        None
    }
}
