//! The tracepoints of storage that an import understands.

use flashlag_units::Nanos;

/// When an event happened, and in which thread.
#[derive(Clone, Copy, Debug)]
pub(in crate::import) struct At {
    pub(in crate::import) t: Nanos,
    pub(in crate::import) tid: u32,
    pub(in crate::import) task: Option<u32>,
}

/// The arguments of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::import) struct CallWords {
    pub(in crate::import) fd: Option<u32>,
    pub(in crate::import) offset: Option<u64>,
    pub(in crate::import) length: Option<u64>,
}

/// A tracepoint of storage.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::import) enum Point<'a> {
    /// `ext4_sync_file_enter`, `f2fs_sync_file_enter`
    SyncEnter {
        device: String,
        inode: u64,
        data_only: bool,
    },
    /// `ext4_sync_file_exit`, `f2fs_sync_file_exit`
    SyncExit {
        device: String,
        inode: u64,
        data_only: bool,
    },
    /// `ext4_da_write_begin`, `ext4_write_begin`, `f2fs_write_begin`: up to one page.
    Write {
        device: String,
        inode: u64,
        offset: u64,
        bytes: u64,
    },
    /// `ext4_da_write_end`, `ext4_write_end`, `f2fs_write_end`: how many bytes were written.
    WriteEnd {
        device: String,
        inode: u64,
        offset: u64,
        bytes: u64,
    },
    /// `android_fs_datawrite_start`, `f2fs_datawrite_start`: a write as above, with the file's
    /// path.
    NamedWrite {
        path: &'a str,
        inode: u64,
        offset: u64,
        bytes: u64,
    },
    /// `jbd2_start_commit`
    CommitBegin {
        device: String,
    },
    /// `jbd2_end_commit`
    CommitEnd {
        device: String,
    },
    /// `f2fs_write_checkpoint`, its first state
    CheckpointBegin {
        device: String,
    },
    /// `f2fs_write_checkpoint`, its last state
    CheckpointEnd {
        device: String,
    },
    /// `f2fs_gc_begin`
    CleanBegin {
        device: String,
    },
    /// `f2fs_gc_end`
    CleanEnd {
        device: String,
    },
    Block {
        step: Step,
        device: String,
        rwbs: &'a str,
        sector: u64,
        sectors: u64,
    },
    /// `block_bio_remap`: a device passes a request on to the one below it.
    Remap {
        above: String,
    },
    /// `sys_enter`
    CallEnter {
        name: &'a str,
        words: CallWords,
    },
    /// `sys_exit`
    CallExit {
        name: &'a str,
        returned: i64,
    },
    /// `sys_enter` of `raw_syscalls`: only a number, which depends on the architecture.
    NumberEnter {
        number: u64,
        words: CallWords,
    },
    /// `sys_exit` of `raw_syscalls`
    NumberExit {
        number: u64,
        returned: i64,
    },
    /// `ext4_unlink_enter`
    Unlink {
        device: String,
        inode: u64,
    },
    /// `sched_process_fork`
    Forked {
        child: u32,
    },
    /// `sched_process_exit`
    Ended,
}

impl Point<'_> {
    /// Whether a process causes it by a system call.
    pub(in crate::import) fn is_call(&self) -> bool {
        match self {
            Point::SyncEnter { .. }
            | Point::SyncExit { .. }
            | Point::Write { .. }
            | Point::WriteEnd { .. }
            | Point::NamedWrite { .. }
            | Point::Unlink { .. }
            | Point::CallEnter { .. }
            | Point::CallExit { .. }
            | Point::NumberEnter { .. }
            | Point::NumberExit { .. } => true,
            Point::CommitBegin { .. }
            | Point::CommitEnd { .. }
            | Point::CheckpointBegin { .. }
            | Point::CheckpointEnd { .. }
            | Point::CleanBegin { .. }
            | Point::CleanEnd { .. }
            | Point::Block { .. }
            | Point::Remap { .. }
            | Point::Forked { .. }
            | Point::Ended => false,
        }
    }
}

/// A step of a block request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::import) enum Step {
    /// `block_bio_queue`
    Queue,
    /// `block_rq_issue`
    Issue,
    /// `block_rq_requeue`
    Requeue,
    /// `block_rq_complete`
    Complete,
    /// `block_bio_complete`: the only completion of devices without a request queue of their own.
    CompleteOfBio,
}
