//! Does one request at a time, outside the measuring loop.

use flashlag_device::{Completion, Device, DeviceError, Request};

/// Submits one request to an idle device and waits for its completion. `completed` is scratch
/// space, so that a caller in a loop allocates once.
pub(crate) fn run_one<D: Device>(
    device: &mut D,
    request: Request,
    completed: &mut Vec<Completion>,
) -> Result<(), DeviceError> {
    completed.clear();
    device.submit(request)?;
    device.reap(1, completed)?;
    completed.drain(..).try_for_each(|completion| completion.result)
}
