//! A scenario inside a real kernel, on a virtual flash device: the host boots a guest whose only
//! process is this program, and the guest does what is done on any directory. With `host` the host's
//! own kernel takes the guest's place.

mod boot;
mod cuts;
mod floor;
mod guest;
mod host;
mod on_host;
mod saving;
mod target;
mod trust;
mod watch;

pub use cuts::{Cuts, CutsRequest, cut_in_lab};
pub use guest::be_the_guest;
pub use host::{LabRequest, run_in_lab};
pub use target::LabTarget;
