//! The guest's side: the first and only process of its kernel.

mod crypt;
mod mounts;
mod port;

use std::path::Path;

use rustix::system::uname;

pub use mounts::system as mount_system;
pub use port::{Link, NextOrder, Orders, power_off};

use crate::error::LabError;
use crate::protocol::{Mount, SETUP, Setup};

/// Whether this process is the first of a guest of the lab.
pub fn is_guest() -> bool {
    std::process::id() == 1 && Path::new(SETUP).is_file()
}

/// Mounts what every program expects, loads modules, and opens the port.
pub fn start() -> Result<(Setup, Link, Orders), LabError> {
    mounts::system()?;
    let text = std::fs::read_to_string(SETUP).map_err(LabError::file("read", SETUP))?;
    let setup: Setup = serde_json::from_slice(text.as_bytes())?;
    let (link, orders) = port::open()?;
    Ok((setup, link, orders))
}

/// Loads the modules and mounts the filesystems.
pub fn set_up(setup: &Setup) -> Result<(), LabError> {
    for module in &setup.modules {
        load(module)?;
    }
    setup.mounts.iter().try_for_each(mounts::mount)
}

fn load(module: &str) -> Result<(), LabError> {
    let file = std::fs::File::open(module).map_err(LabError::file("open", module))?;
    // The kernel unpacks a compressed module itself.
    let packed = if module.ends_with(".ko") { 0 } else { MODULE_INIT_COMPRESSED_FILE };
    match rustix::system::finit_module(&file, c"", packed) {
        // Already loaded, or a driver without a device: both are fine.
        Ok(()) | Err(rustix::io::Errno::EXIST | rustix::io::Errno::NODEV) => Ok(()),
        Err(error) => Err(LabError::file("load the module", module)(error.into())),
    }
}

/// From the kernel's `module.h`; no library has the constant.
const MODULE_INIT_COMPRESSED_FILE: i32 = 4;

/// The guest's kernel: `Linux 6.12.117 x86_64`.
pub fn kernel() -> String {
    let uname = uname();
    let words = [uname.sysname(), uname.release(), uname.machine()];
    words.map(|word| word.to_string_lossy().into_owned()).join(" ")
}

/// Unmounts every filesystem of the setup.
pub fn unmount(setup: &Setup) -> Result<(), LabError> {
    setup.mounts.iter().rev().try_for_each(mounts::unmount)
}

/// Mounts one more filesystem.
pub fn mount_one(mount: &Mount) -> Result<(), LabError> {
    mounts::mount(mount)
}

/// Unmounts one filesystem.
pub fn unmount_one(mount: &Mount) -> Result<(), LabError> {
    mounts::unmount(mount)
}
