//! Another kernel on a virtual flash device: a guest that QEMU boots, with flashlag itself as its
//! only program.
//!
//! The host side finds a kernel ([`Kernel`]), makes the filesystem ([`make_filesystem`]), and boots
//! ([`Machine::boot`]); the guest side ([`guest`]) mounts it. Between them is a virtio port that takes a
//! message a line ([`protocol`]). Scenarios and runs go through the port as text: this crate
//! does not know what runs on the filesystem.
//!
//! For targets with `host`, [`LoopDevice`] and [`HostMount`] take the guest's place.
#![forbid(unsafe_code)]

mod accelerator;
mod error;
pub mod guest;
mod host;
mod initramfs;
mod kernel;
mod layer;
mod layers;
mod layout;
mod machine;
mod mkfs;
mod modules;
mod mounting;
mod program;
pub mod protocol;
mod repair;
mod spec;

pub use accelerator::accelerator;
pub use error::LabError;
pub use host::{HostMount, LoopDevice, check_host};
pub use initramfs::Initramfs;
pub use kernel::Kernel;
pub use layer::Layer;
pub use layout::{BlockKind, Layout};
pub use machine::{Disk, Machine, MachineSpec, zones_serial};
pub use mkfs::{conventional, make_filesystem, make_options, make_program};
pub use program::{add_tool, guest_program};
pub use repair::{Repair, Repaired};
pub use spec::{Filesystem, LabSpec};
