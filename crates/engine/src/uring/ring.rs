use std::os::fd::RawFd;

use flashlag_device::SyncCall;
use io_uring::squeue::Entry;
use io_uring::types::{Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};
use rustix::io::Errno;

use super::memory::SlotMemory;

/// `RWF_DSYNC` of linux/fs.h.
const RWF_DSYNC: i32 = 0x2;

/// A ring with its files and, where allowed, its buffers registered. Knows entries, not requests.
pub(super) struct Ring {
    ring: IoUring,
    /// Whether the buffers are registered: only where the limit on locked memory allows.
    fixed: bool,
}

/// A part of a file and the part of a slot's buffer that it is moved to or from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub slot: usize,
    pub file: usize,
    pub at: u64,
    /// From the start of the slot's buffer.
    pub skip: usize,
    pub length: u32,
}

impl Ring {
    /// A ring of `depth` entries.
    pub(super) fn new(depth: u32, files: &[RawFd], memory: &SlotMemory) -> Result<Ring, String> {
        let ring = build(depth).map_err(|error| refusal(&error))?;
        ring.submitter()
            .register_files(files)
            .map_err(|error| format!("io_uring can't register the files: {error}"))?;
        let buffers = memory.vectors();
        // SAFETY: the addresses are `memory`'s, which never moves and which the device frees only
        // after the last request on them has completed (see `UringDevice::drop`).
        let fixed = unsafe { ring.submitter().register_buffers(&buffers) }.is_ok();
        Ok(Ring { ring, fixed })
    }

    /// Queues a read into a slot's buffer. `false` if the queue is full.
    pub(super) fn push_read(&mut self, memory: &SlotMemory, part: Transfer) -> bool {
        let Transfer { slot, file, at, skip, length } = part;
        let (file, to) = (Fixed(file as u32), memory.address(slot).wrapping_add(skip));
        let entry = if self.fixed {
            opcode::ReadFixed::new(file, to, length, slot as u16).offset(at).build()
        } else {
            opcode::Read::new(file, to, length).offset(at).build()
        };
        self.push(&entry.user_data(slot as u64))
    }

    /// Queues a write from a slot's buffer. `false` if the queue is full.
    pub(super) fn push_write(&mut self, memory: &SlotMemory, part: Transfer, dsync: bool) -> bool {
        let Transfer { slot, file, at, skip, length } = part;
        let (file, from) = (Fixed(file as u32), memory.address(slot).wrapping_add(skip));
        let flags = if dsync { RWF_DSYNC } else { 0 };
        let entry = if self.fixed {
            let write = opcode::WriteFixed::new(file, from, length, slot as u16);
            write.offset(at).rw_flags(flags).build()
        } else {
            opcode::Write::new(file, from, length).offset(at).rw_flags(flags).build()
        };
        self.push(&entry.user_data(slot as u64))
    }

    /// Queues a sync of a file. `false` if the queue is full.
    pub(super) fn push_sync(&mut self, slot: usize, file: usize, sync: SyncCall) -> bool {
        let flags = match sync {
            SyncCall::Data => FsyncFlags::DATASYNC,
            SyncCall::All => FsyncFlags::empty(),
        };
        let entry = opcode::Fsync::new(Fixed(file as u32)).flags(flags).build();
        self.push(&entry.user_data(slot as u64))
    }

    fn push(&mut self, entry: &Entry) -> bool {
        // SAFETY: the entry's addresses lie in the slot's buffer, which is neither freed nor moved
        // until the request's completion has been reaped; the slot is not reused before that.
        unsafe { self.ring.submission().push(entry) }.is_ok()
    }

    /// Submits everything queued to the kernel and waits for `want` completions. A signal (EINTR)
    /// is no error and ends the wait.
    pub(super) fn enter(&mut self, want: usize) -> Result<(), Errno> {
        quiet(self.ring.submit_and_wait(want))
    }

    /// Does the same, but waits for one completion or until a timeout; `false` if this kernel
    /// can't.
    pub(super) fn enter_for(&mut self, nanos: u64) -> Result<bool, Errno> {
        if !self.ring.params().is_feature_ext_arg() {
            return Ok(false);
        }
        let timeout = Timespec::new().sec(nanos / 1_000_000_000);
        let timeout = timeout.nsec((nanos % 1_000_000_000) as u32);
        let arguments = SubmitArgs::new().timespec(&timeout);
        match quiet(self.ring.submitter().submit_with_args(1, &arguments)) {
            Ok(()) | Err(Errno::TIME) => Ok(true),
            Err(errno) => Err(errno),
        }
    }

    /// Whether a completion is in the ring, so that no system call is needed.
    #[inline]
    pub(super) fn has_completed(&mut self) -> bool {
        !self.ring.completion().is_empty()
    }

    /// Reaps the completions: slot and result.
    #[inline]
    pub(super) fn take(&mut self, into: &mut Vec<(usize, i32)>) {
        let all = self.ring.completion();
        into.extend(all.map(|entry| (entry.user_data() as usize, entry.result())));
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring").field("fixed", &self.fixed).finish_non_exhaustive()
    }
}

/// The cheapest ring that this kernel has: completions are processed only when this thread asks for
/// them (since 6.1); otherwise one that does not interrupt it (5.19); otherwise a plain one.
fn build(depth: u32) -> std::io::Result<IoUring> {
    let deferred = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_taskrun_flag()
        .build(depth);
    let cooperative = deferred
        .or_else(|_| IoUring::builder().setup_coop_taskrun().setup_taskrun_flag().build(depth));
    cooperative.or_else(|_| IoUring::builder().build(depth))
}

fn refusal(error: &std::io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOSYS) => "this kernel has no io_uring".to_owned(),
        Some(Errno::PERM | Errno::ACCESS) => {
            "io_uring is forbidden here (kernel.io_uring_disabled, seccomp or a container)"
                .to_owned()
        }
        _ => format!("io_uring can't be set up: {error}"),
    }
}

fn quiet(result: std::io::Result<usize>) -> Result<(), Errno> {
    match result {
        Ok(_) => Ok(()),
        Err(error) => match error.raw_os_error().map(Errno::from_raw_os_error) {
            // Interrupted; or the completion queue must be reaped first, which the caller does
            // next.
            Some(Errno::INTR | Errno::BUSY | Errno::AGAIN) => Ok(()),
            Some(errno) => Err(errno),
            None => Err(Errno::IO),
        },
    }
}
