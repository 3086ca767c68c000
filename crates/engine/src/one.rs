//! One request at a time.

use flashlag_device::{Completion, Device, DeviceError, Request};

/// Submits one request to an idle device and waits for its completion. `completed` is scratch space
/// that a caller can reuse.
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
