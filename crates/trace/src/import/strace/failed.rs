//! Calls that failed.

use flashlag_schema::trace::{FailedCall, TraceAction};

use super::super::making::Making;
use super::errors;
use super::line::{Call, descriptor, string};
use super::processes::Processes;

/// The kind of a call that becomes an event if it succeeds.
pub(super) fn kind(name: &str) -> Option<FailedCall> {
    Some(match name {
        "open" | "openat" | "openat2" | "creat" => FailedCall::Open,
        "close" => FailedCall::Close,
        "read" | "readv" | "pread64" | "preadv" | "preadv2" => FailedCall::Read,
        "write" | "writev" | "pwrite64" | "pwritev" | "pwritev2" | "io_submit"
        | "copy_file_range" | "sendfile" | "sendfile64" | "splice" => FailedCall::Write,
        "fsync" | "fdatasync" | "sync" | "syncfs" | "msync" => FailedCall::Sync,
        "ftruncate" | "ftruncate64" | "truncate" | "truncate64" => FailedCall::Truncate,
        "unlink" | "unlinkat" => FailedCall::Unlink,
        "rename" | "renameat" | "renameat2" => FailedCall::Rename,
        _ => return None,
    })
}

/// The event of a call that failed: `= -1 ENOSPC (No space left on device)`.
pub(super) fn event(
    processes: &mut Processes,
    tid: u32,
    call: &Call,
    making: &mut Making,
) -> Option<TraceAction> {
    let kind = kind(&call.name)?;
    let name = call.after.split_whitespace().next().unwrap_or_default();
    let error = errors::number(name);
    // The argument that is the written file, or the only one.
    let at = match call.name.as_str() {
        "copy_file_range" | "splice" => 2,
        _ => 0,
    };
    let file = match descriptor(call.argument(at)) {
        // The descriptor is not open, or the path does not exist: there is no file.
        _ if matches!(name, "EBADF" | "ENOENT") => None,
        Some((fd, path)) => Some(processes.file(tid, fd, path, making)),
        None => {
            let path = call.arguments.iter().find_map(|argument| string(argument));
            path.filter(|_| has_path(kind)).map(|path| making.file(&path))
        }
    };
    Some(TraceAction::Failed { call: kind, file, error })
}

/// Whether a call of this kind may name its file by a path.
fn has_path(kind: FailedCall) -> bool {
    use FailedCall::{Open, Rename, Truncate, Unlink};
    matches!(kind, Open | Unlink | Rename | Truncate)
}
