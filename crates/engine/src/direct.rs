//! The alignment that `O_DIRECT` needs on a file.

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, StatxFlags, statx};
use rustix::io::Errno;

use crate::aligned::AlignedBuffer;

/// Where I/O may begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alignment {
    /// Buffers begin at a multiple of this.
    pub memory: usize,
    /// Offsets and lengths are multiples of this.
    pub offset: u64,
}

/// A page: buffers begin at one anyway, so that registering them pins as few pages as possible.
const PAGE: usize = 4096;

impl Alignment {
    /// Buffered files take any address.
    pub(crate) const NONE: Alignment = Alignment { memory: PAGE, offset: 1 };
}

/// The alignment that a file opened with `O_DIRECT` needs: from `statx` (since Linux 6.1), or
/// without that the device's logical block size, or a page. Fails with the reason if direct I/O is
/// not possible.
pub(crate) fn alignment(file: &OwnedFd) -> Result<Alignment, &'static str> {
    let alignment = match from_statx(file) {
        Some((0, _) | (_, 0)) => {
            return Err("the filesystem does no direct I/O on this file");
        }
        Some((memory, offset)) => {
            Alignment { memory: (memory as usize).max(PAGE), offset: u64::from(offset) }
        }
        None => Alignment { memory: PAGE, offset: logical_block(file).unwrap_or(PAGE as u64) },
    };
    probe(file, alignment)?;
    Ok(alignment)
}

/// Memory and offset alignment; zeroes if direct I/O is not supported; `None` if the kernel does
/// not report it.
fn from_statx(file: &OwnedFd) -> Option<(u32, u32)> {
    let stat = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let is_known = stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0;
    is_known.then_some((stat.stx_dio_mem_align, stat.stx_dio_offset_align))
}

/// `logical_block_size` of the disk below the file, or of the disk that its partition is on.
fn logical_block(file: &OwnedFd) -> Option<u64> {
    let device = rustix::fs::fstat(file).ok()?.st_dev;
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let base = format!("/sys/dev/block/{major}:{minor}");
    ["queue", "../queue"].iter().find_map(|queue| {
        let text = std::fs::read_to_string(format!("{base}/{queue}/logical_block_size")).ok()?;
        text.trim().parse().ok().filter(|size: &u64| size.is_power_of_two())
    })
}

/// Reads the first bytes: some filesystems accept `O_DIRECT` at open and then refuse the I/O.
fn probe(file: &OwnedFd, alignment: Alignment) -> Result<(), &'static str> {
    let mut buffer = AlignedBuffer::new(alignment.offset as usize, alignment.memory);
    match rustix::io::pread(file, buffer.as_mut_slice(), 0) {
        Err(Errno::INVAL) => Err("the filesystem takes O_DIRECT but refuses the I/O"),
        // The first real operation reports any other error.
        _ => Ok(()),
    }
}
