//! The host's own kernel in the place of a guest's: the device as a file through FUSE, a loop device
//! on that file, and the filesystem mounted from there.
//!
//! All of it ends with its values. What a process that is killed leaves ends by itself: daemons with
//! their parent, mounts with the namespace that is ours alone, loop devices with their last mount.

mod check;
mod daemon;
mod loop_device;
mod mount;

pub use check::check_host;
pub use loop_device::LoopDevice;
pub use mount::HostMount;
