//! Calls that move data between files, or submit several requests at once.

use flashlag_schema::trace::TraceAction;
use flashlag_units::{Bytes, Nanos};

use super::super::making::Making;
use super::line::{Call, descriptor, parts};
use super::processes::Processes;

/// An event of a call and its duration; absent if the call's wait is counted with another event.
pub(super) type Moved = (TraceAction, Option<Nanos>);

/// The positions of a call's arguments: the descriptor to read and its offset, and the descriptor
/// to write and its offset.
fn places(name: &str) -> Option<([usize; 2], [Option<usize>; 2])> {
    Some(match name {
        "copy_file_range" | "splice" => ([0, 2], [Some(1), Some(3)]),
        "sendfile" | "sendfile64" => ([1, 0], [Some(2), None]),
        _ => return None,
    })
}

/// The read and the write of `copy_file_range`, `sendfile` or `splice`; `None` for another call, or
/// if a descriptor can't be parsed.
pub(super) fn copied(
    processes: &mut Processes,
    (tid, call): (u32, &Call),
    moved: u64,
    making: &mut Making,
) -> Option<[Moved; 2]> {
    let (descriptors, offsets) = places(&call.name)?;
    let mut end = |which: usize| {
        let (fd, path) = descriptor(call.argument(descriptors[which]))?;
        let file = processes.file(tid, fd, path, making);
        let given = offsets[which].and_then(|at| first_number(call.argument(at)));
        Some((file, processes.moved(tid, fd, given, moved)))
    };
    let (read, written) = (end(0)?, end(1)?);
    let bytes = Bytes(moved);
    Some([
        (TraceAction::Read { file: read.0, offset: read.1, bytes }, None),
        (TraceAction::Write { file: written.0, offset: written.1, bytes }, call.took),
    ])
}

/// The number in `[4096]`, `[4096] => [8192]` or `4096`; `None` of `NULL`.
fn first_number(text: &str) -> Option<u64> {
    let text = text.trim_start_matches('[');
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text[..digits].parse().ok()
}

/// The requests that `io_submit` accepted; `None` if the line does not contain their structures.
pub(super) fn submitted(
    processes: &mut Processes,
    tid: u32,
    call: &Call,
    taken: u64,
    making: &mut Making,
) -> Option<Vec<Moved>> {
    let (list, _) = parts(call.argument(2).strip_prefix('[')?)?;
    let taken = usize::try_from(taken).ok()?;
    // strace may print fewer than there are, followed by `...`.
    if list.len() < taken {
        return None;
    }
    let mut requests = Vec::new();
    for text in &list[..taken] {
        requests.push((request(processes, tid, text, making)?, None));
    }
    // The thread waits for the submission once: count it with the first request.
    if let Some(first) = requests.first_mut() {
        first.1 = call.took;
    }
    Some(requests)
}

/// One request: `{aio_lio_opcode=IOCB_CMD_PWRITE, aio_fildes=3</x>, aio_buf="…", aio_nbytes=8192,
/// aio_offset=0}`; before strace 5 `{data=0, pwrite, fildes=3, str="…", nbytes=8192, offset=0}`.
fn request(
    processes: &mut Processes,
    tid: u32,
    text: &str,
    making: &mut Making,
) -> Option<TraceAction> {
    let (fields, _) = parts(text.strip_prefix('{')?)?;
    let field = |name: &str| {
        fields.iter().find_map(|field| {
            let (key, value) = field.split_once('=')?;
            (key.trim_start_matches("aio_") == name).then_some(value)
        })
    };
    let bare = || fields.iter().copied().find(|field| !field.contains('='));
    let kind = field("lio_opcode").or_else(bare)?.to_ascii_lowercase();
    let (fd, path) = descriptor(field("fildes")?)?;
    let file = processes.file(tid, fd, path, making);
    let lengths = || {
        let vector = field("buf").or_else(|| field("iovec"))?;
        let (list, _) = parts(vector.strip_prefix('[')?)?;
        let length =
            |one: &&str| one.rsplit_once("len=")?.1.trim_end_matches('}').parse::<u64>().ok();
        list.iter().map(length).sum()
    };
    let bytes = || field("nbytes").and_then(|bytes| bytes.parse().ok()).or_else(lengths);
    let offset = field("offset").and_then(|at| at.parse().ok());
    match kind.trim_start_matches("iocb_cmd_") {
        "pread" | "preadv" => Some(TraceAction::Read { file, offset, bytes: Bytes(bytes()?) }),
        "pwrite" | "pwritev" => Some(TraceAction::Write { file, offset, bytes: Bytes(bytes()?) }),
        "fsync" => Some(TraceAction::Sync { file, data_only: false }),
        "fdsync" => Some(TraceAction::Sync { file, data_only: true }),
        _ => None,
    }
}
