//! System call numbers of this machine, for the programs in the kernel.

/// One more than the largest system call number that is looked up.
pub const CALLS: usize = 1024;

/// What each system call does, indexed by its number, as values of `enum call` in `bpf/records.h`;
/// 0 for a call that does not touch storage.
pub fn table() -> Vec<u8> {
    let mut table = vec![0; CALLS];
    for (number, call) in everywhere().iter().chain(old()) {
        if let Some(place) = usize::try_from(*number).ok().and_then(|at| table.get_mut(at)) {
            *place = *call;
        }
    }
    table
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn everywhere() -> &'static [(libc::c_long, u8)] {
    &[
        (libc::SYS_openat, 1),
        (libc::SYS_openat2, 3),
        (libc::SYS_close, 4),
        (libc::SYS_read, 5),
        (libc::SYS_readv, 5),
        (libc::SYS_pread64, 6),
        (libc::SYS_preadv, 6),
        (libc::SYS_preadv2, 6),
        (libc::SYS_write, 7),
        (libc::SYS_writev, 7),
        (libc::SYS_pwrite64, 8),
        (libc::SYS_pwritev, 8),
        (libc::SYS_pwritev2, 8),
        (libc::SYS_fsync, 9),
        (libc::SYS_fdatasync, 10),
        (libc::SYS_sync_file_range, 11),
        (libc::SYS_syncfs, 12),
        (libc::SYS_sync, 13),
        (libc::SYS_ftruncate, 14),
        (libc::SYS_truncate, 15),
        (libc::SYS_unlinkat, 17),
        (libc::SYS_renameat2, 19),
        (libc::SYS_mmap, 20),
        (libc::SYS_msync, 21),
        (libc::SYS_copy_file_range, 22),
        (libc::SYS_sendfile, 23),
    ]
}

/// None of an architecture whose arguments are not known either: see [`ARGUMENTS`].
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn everywhere() -> &'static [(libc::c_long, u8)] {
    &[]
}

/// Calls that newer architectures do not have.
#[cfg(target_arch = "x86_64")]
fn old() -> &'static [(libc::c_long, u8)] {
    &[
        (libc::SYS_open, 2),
        (libc::SYS_creat, 24),
        (libc::SYS_unlink, 16),
        (libc::SYS_rename, 18),
        (libc::SYS_renameat, 19),
    ]
}

/// Calls that newer architectures do not have.
#[cfg(not(target_arch = "x86_64"))]
fn old() -> &'static [(libc::c_long, u8)] {
    &[(libc::SYS_renameat, 19)]
}

/// Offsets of a system call's six arguments in the registers that the kernel saved (`struct
/// pt_regs`); the ptrace interface keeps them fixed.
#[cfg(target_arch = "x86_64")]
pub const ARGUMENTS: Option<[u32; 6]> = Some([112, 104, 96, 56, 72, 64]);

/// Likewise: `regs[0]` to `regs[5]`.
#[cfg(target_arch = "aarch64")]
pub const ARGUMENTS: Option<[u32; 6]> = Some([0, 8, 16, 24, 32, 40]);

/// Not known of this architecture.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub const ARGUMENTS: Option<[u32; 6]> = None;
