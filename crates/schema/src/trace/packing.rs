//! How an event is packed.

use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use super::packed::Pack;
use super::{BlockFlags, BlockOperation, FailedCall, TraceAction, TraceEvent};

/// An event without its time.
#[derive(Serialize, Deserialize)]
pub struct PackedEvent {
    took_ns: Option<Nanos>,
    task: Option<u32>,
    #[serde(with = "PackedAction")]
    action: TraceAction,
}

/// The action in the same terms. The stored form of [`TraceAction`] has names and omits absent
/// fields, which postcard can't.
#[derive(Serialize, Deserialize)]
#[serde(remote = "TraceAction")]
enum PackedAction {
    Open {
        file: u32,
        truncated: bool,
        created: bool,
    },
    Close {
        file: u32,
    },
    Change {
        file: u32,
    },
    Counted {
        writes: u64,
        bytes: Bytes,
    },
    Read {
        file: u32,
        offset: Option<u64>,
        bytes: Bytes,
    },
    Write {
        file: u32,
        offset: Option<u64>,
        bytes: Bytes,
    },
    Sync {
        file: u32,
        data_only: bool,
    },
    SyncAll,
    Truncate {
        file: u32,
        bytes: Bytes,
    },
    Unlink {
        file: u32,
    },
    Rename {
        file: u32,
        to: u32,
    },
    Failed {
        call: FailedCall,
        file: Option<u32>,
        error: u16,
    },
    Commit {
        device: u32,
    },
    Checkpoint {
        device: u32,
    },
    Clean {
        device: u32,
    },
    Block {
        device: u32,
        operation: BlockOperation,
        offset: u64,
        bytes: Bytes,
        #[serde(with = "PackedFlags")]
        flags: BlockFlags,
        queued_ns: Option<Nanos>,
        file: Option<u32>,
    },
}

/// A bit for each flag.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PackedFlags(u8);

impl PackedFlags {
    fn serialize<S: serde::Serializer>(flags: &BlockFlags, to: S) -> Result<S::Ok, S::Error> {
        PackedFlags::from(*flags).0.serialize(to)
    }

    fn deserialize<'a, D: serde::Deserializer<'a>>(from: D) -> Result<BlockFlags, D::Error> {
        u8::deserialize(from).map(|bits| PackedFlags(bits).into())
    }
}

impl From<BlockFlags> for PackedFlags {
    fn from(flags: BlockFlags) -> PackedFlags {
        let BlockFlags { sync, meta, journal, preflush, fua, ahead } = flags;
        let bits = [sync, meta, journal, preflush, fua, ahead];
        PackedFlags(bits.into_iter().rev().fold(0, |bits, bit| bits << 1 | u8::from(bit)))
    }
}

impl From<PackedFlags> for BlockFlags {
    fn from(PackedFlags(bits): PackedFlags) -> BlockFlags {
        let [sync, meta, journal, preflush, fua, ahead] =
            [0, 1, 2, 3, 4, 5].map(|at| bits >> at & 1 == 1);
        BlockFlags { sync, meta, journal, preflush, fua, ahead }
    }
}

impl Pack for TraceEvent {
    type Packed = PackedEvent;

    fn time(&self) -> u64 {
        self.t_ns.0
    }

    fn pack(&self) -> PackedEvent {
        PackedEvent { took_ns: self.took_ns, task: self.task, action: self.action }
    }

    fn unpack(time: u64, packed: PackedEvent) -> TraceEvent {
        let PackedEvent { took_ns, task, action } = packed;
        TraceEvent { t_ns: Nanos(time), took_ns, task, action }
    }
}
