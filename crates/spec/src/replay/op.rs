//! One operation of a replay.

use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use super::ReplayKind;

/// What an operation of a replay does. Bytes, offset and file are in [`ReplayOp`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ReplayCall {
    /// Opens a file that is there.
    #[default]
    Open,
    /// Opens a file, which is made if it does not exist.
    Create,
    /// Opens a file, of which nothing is left but the name, or makes it.
    CreateEmpty,
    /// Closes a file.
    Close,
    /// Reads from a file.
    Read,
    /// Writes to a file.
    Write,
    /// `fsync` of a file.
    Sync,
    /// `fdatasync` of a file.
    SyncData,
    /// `fsync` of the directory.
    SyncDirectory,
    /// `syncfs`.
    SyncAll,
    /// Sets a file's size, which is in [`ReplayOp::bytes`].
    Truncate,
    /// Removes a file.
    Unlink,
    /// Gives a file the name of another one, whose index is in [`ReplayOp::offset`].
    Rename,
    /// Reads from a device.
    BlockRead,
    /// Writes to a device.
    BlockWrite,
    /// Writes to a device, durable when done (FUA).
    BlockWriteDurable,
    /// Flushes a device's write cache.
    BlockFlush,
    /// Discards.
    BlockDiscard,
}

/// By number, as operations are stored.
const CALLS: [ReplayCall; 18] = [
    ReplayCall::Open,
    ReplayCall::Create,
    ReplayCall::CreateEmpty,
    ReplayCall::Close,
    ReplayCall::Read,
    ReplayCall::Write,
    ReplayCall::Sync,
    ReplayCall::SyncData,
    ReplayCall::SyncDirectory,
    ReplayCall::SyncAll,
    ReplayCall::Truncate,
    ReplayCall::Unlink,
    ReplayCall::Rename,
    ReplayCall::BlockRead,
    ReplayCall::BlockWrite,
    ReplayCall::BlockWriteDurable,
    ReplayCall::BlockFlush,
    ReplayCall::BlockDiscard,
];

impl ReplayCall {
    /// The phase in which the operation is recorded. A close is not recorded: see
    /// [`ReplayCall::is_recorded`].
    pub fn kind(self) -> ReplayKind {
        match self {
            ReplayCall::Read | ReplayCall::BlockRead => ReplayKind::Read,
            ReplayCall::Write | ReplayCall::BlockWrite | ReplayCall::BlockWriteDurable => {
                ReplayKind::Write
            }
            ReplayCall::Sync
            | ReplayCall::SyncData
            | ReplayCall::SyncDirectory
            | ReplayCall::SyncAll
            | ReplayCall::BlockFlush => ReplayKind::Sync,
            ReplayCall::BlockDiscard => ReplayKind::Discard,
            ReplayCall::Open
            | ReplayCall::Create
            | ReplayCall::CreateEmpty
            | ReplayCall::Close
            | ReplayCall::Truncate
            | ReplayCall::Unlink
            | ReplayCall::Rename => ReplayKind::Names,
        }
    }

    /// Whether the operation is recorded at all. A close does not wait for storage.
    pub fn is_recorded(self) -> bool {
        self != ReplayCall::Close
    }

    /// Whether the operation is one on a file.
    pub fn has_file(self) -> bool {
        !matches!(
            self,
            ReplayCall::SyncDirectory
                | ReplayCall::SyncAll
                | ReplayCall::BlockRead
                | ReplayCall::BlockWrite
                | ReplayCall::BlockWriteDurable
                | ReplayCall::BlockFlush
                | ReplayCall::BlockDiscard
        )
    }

    /// Whether the operation moves bytes.
    pub fn moves(self) -> bool {
        matches!(self.kind(), ReplayKind::Read | ReplayKind::Write)
    }
}

/// One operation. Stored as eight numbers, in the order of the fields, since a trace has hundreds
/// of thousands; `took` is stored as 0 if absent, else as the time plus one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "[u64; 8]", into = "[u64; 8]")]
pub struct ReplayOp {
    /// When the operation is due, counted from the start of the replay.
    pub at: Nanos,
    /// The thread, below [`super::ReplayStream::threads`].
    pub thread: u32,
    /// What is done.
    pub call: ReplayCall,
    /// The file, by index into [`super::ReplayStream::files`]; 0 if the call has none.
    pub file: u32,
    /// The position, in bytes from the start of the file or the device.
    pub offset: u64,
    pub bytes: u64,
    /// What the operation took when it was traced.
    pub took: Option<Nanos>,
    /// For a block request: the number of requests in flight at its issue, itself included.
    pub depth: u32,
}

impl From<ReplayOp> for [u64; 8] {
    fn from(op: ReplayOp) -> [u64; 8] {
        let took = op.took.map_or(0, |took| took.0.saturating_add(1));
        let call = op.call as u64;
        let [thread, file, depth] = [op.thread, op.file, op.depth].map(u64::from);
        [op.at.0, thread, call, file, op.offset, op.bytes, took, depth]
    }
}

impl TryFrom<[u64; 8]> for ReplayOp {
    type Error = String;

    fn try_from(numbers: [u64; 8]) -> Result<ReplayOp, String> {
        let [at, thread, call, file, offset, bytes, took, depth] = numbers;
        let small = |name: &str, value: u64| {
            u32::try_from(value).map_err(|_| format!("{name} {value} of an operation is too large"))
        };
        let known = usize::try_from(call).ok().and_then(|call| CALLS.get(call));
        Ok(ReplayOp {
            at: Nanos(at),
            thread: small("thread", thread)?,
            call: *known.ok_or_else(|| format!("no operation has the number {call}"))?,
            file: small("file", file)?,
            offset,
            bytes,
            took: took.checked_sub(1).map(Nanos),
            depth: small("depth", depth)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_call_is_stored_as_its_place_in_the_list() {
        for (number, call) in CALLS.into_iter().enumerate() {
            assert_eq!(call as usize, number, "{call:?}");
        }
    }

    proptest! {
        #[test]
        fn an_operation_comes_back_as_it_was_stored(
            at: u64, thread: u32, call in 0..CALLS.len(), file: u32, offset: u64, bytes: u64,
            took in prop::option::of(0..u64::MAX - 1), depth: u32,
        ) {
            let (at, call, took) = (Nanos(at), CALLS[call], took.map(Nanos));
            let op = ReplayOp { at, thread, call, file, offset, bytes, took, depth };
            let text = serde_json::to_string(&op).unwrap();
            prop_assert_eq!(serde_json::from_str::<ReplayOp>(&text).unwrap(), op);
        }

        #[test]
        fn numbers_that_are_no_operation_are_refused_and_nothing_worse(numbers: [u64; 8]) {
            let text = serde_json::to_string(&numbers).unwrap();
            let _ = serde_json::from_str::<ReplayOp>(&text);
        }
    }
}
