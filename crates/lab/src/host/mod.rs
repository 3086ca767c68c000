//! The host's own kernel in the place of a guest's: the device as a file through FUSE, a loop device
//! on that file, and the filesystem mounted from there.
//!
//! Dropping the values undoes everything. If this process is killed, the kernel does: daemons end
//! with their parent, mounts with this process's mount namespace, loop devices with their last mount.

mod check;
mod daemon;
mod loop_device;
mod mount;

pub use check::check_host;
pub use loop_device::LoopDevice;
pub use mount::HostMount;
