//! A file's extents, by FIEMAP (Documentation/filesystems/fiemap.rst).
// The one system call here has no safe wrapper.
#![allow(unsafe_code)]

use std::fs::File;
use std::path::PathBuf;

use flashlag_units::Bytes;
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

/// Extents that are asked for at a time.
const AT_ONCE: usize = 64;

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved_64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// `struct fiemap` with room for extents.
#[repr(C)]
struct Mapped {
    head: Fiemap,
    extents: [Extent; AT_ONCE],
}

/// `FIEMAP_EXTENT_LAST`.
const LAST: u32 = 1;
/// `FIEMAP_EXTENT_UNKNOWN` and `_DELALLOC`, without a place yet, and `_UNWRITTEN`, with nothing in it.
const NOTHING_THERE: u32 = 0x2 | 0x4 | 0x800;

/// The lowest and the end of the highest address that was written of some files, from the start of their
/// filesystem.
pub fn reach(files: impl IntoIterator<Item = PathBuf>) -> Result<(Bytes, Bytes), Reason> {
    let mut found: Option<(u64, u64)> = None;
    for path in files {
        let file = File::open(&path).map_err(|error| Reason::file(&path, error.kind()))?;
        for extent in mapped(&file)? {
            let (from, to) = (extent.physical, extent.physical.saturating_add(extent.length));
            let (lowest, highest) = found.unwrap_or((from, to));
            found = Some((lowest.min(from), highest.max(to)));
        }
    }
    let (from, to) = found.ok_or("FIEMAP names no place")?;
    Ok((Bytes(from), Bytes(to)))
}

/// All extents of a file.
fn mapped(file: &File) -> Result<Vec<Extent>, Reason> {
    let (mut all, mut start) = (Vec::new(), 0);
    loop {
        let head = Fiemap {
            start,
            length: u64::MAX - start,
            extent_count: AT_ONCE as u32,
            ..Fiemap::default()
        };
        let mut asked = Mapped { head, extents: [Extent::default(); AT_ONCE] };
        // SAFETY: FS_IOC_FIEMAP, whose number is that of `struct fiemap` alone, reads and writes that
        // structure and, after it, as many extents as `extent_count` says, which `Mapped` has room for in the
        // kernel's layout. The descriptor and the structure live until the call returns.
        let answered = unsafe { ioctl(file, Updater::<FIEMAP, Mapped>::new(&mut asked)) };
        answered.map_err(|error| Reason::unnamed("FIEMAP", error))?;
        let count = (asked.head.mapped_extents as usize).min(AT_ONCE);
        let Some(last) = count.checked_sub(1).map(|index| asked.extents[index]) else {
            return Ok(all);
        };
        let placed =
            asked.extents[..count].iter().filter(|extent| extent.flags & NOTHING_THERE == 0);
        all.extend(placed);
        start = last.logical.saturating_add(last.length.max(1));
        if last.flags & LAST != 0 {
            return Ok(all);
        }
    }
}
