//! The number of a file's extents, by FIEMAP (Documentation/filesystems/fiemap.rst).
// The single system call here has no safe wrapper.
#![allow(unsafe_code)]

use std::fs::File;

use rustix::ioctl::{Opcode, Updater, ioctl, opcode};

use crate::reason::Reason;

/// `struct fiemap` of `linux/fiemap.h` without room for extents: the kernel then only counts them.
#[repr(C)]
#[derive(Default)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

/// `FS_IOC_FIEMAP`: `_IOWR('f', 11, struct fiemap)`.
const FIEMAP: Opcode = opcode::read_write::<Fiemap>(b'f', 11);

/// The number of extents of a file.
pub(super) fn extents(file: &File) -> Result<u32, Reason> {
    let mut asked = Fiemap { length: u64::MAX, ..Fiemap::default() };
    // SAFETY: FS_IOC_FIEMAP reads and writes one `struct fiemap`, two 64-bit and four 32-bit words,
    // which `Fiemap` is. With `extent_count` of 0 nothing is written past it. The descriptor and the
    // structure live until the call returns.
    let counted = unsafe { ioctl(file, Updater::<FIEMAP, Fiemap>::new(&mut asked)) };
    counted.map_err(|error| Reason::unnamed("FIEMAP", error))?;
    Ok(asked.mapped_extents)
}
