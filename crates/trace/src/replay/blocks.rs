//! Maps the block requests of a trace into the replay's own address space.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use flashlag_schema::trace::{BlockOperation, TraceAction};
use flashlag_spec::replay::{LARGEST_REQUEST, ReplayCall, ReplayOp, ReplayStream};
use flashlag_spec::scenario::Replay;
use flashlag_units::{Bytes, Nanos};

use super::model::{Events, MOST_OPERATIONS, note};

/// Addresses are mapped in pieces of this size. Neighbours stay neighbours within a piece, and from
/// one piece to the next if both are used.
const PIECE: u64 = 256 << 10;
/// Requests are whole sectors.
const SECTOR: u64 = 512;

/// How addresses of a trace map to the replay's address space.
enum Places {
    /// The used pieces, packed closely in their order.
    Packed(BTreeMap<(u32, u64), u64>),
    /// The requests use more than there is room for: the address modulo the span.
    Folded,
}

impl Places {
    /// Packs all that the requests use, if it fits into `span`.
    fn of(events: &Events<'_>, span: u64) -> Places {
        let most = usize::try_from(span / PIECE).unwrap_or(usize::MAX);
        let mut touched: BTreeSet<(u32, u64)> = BTreeSet::new();
        for (_, event) in events.iter() {
            let TraceAction::Block { device, operation, offset, bytes, .. } = event.action else {
                continue;
            };
            if bytes.0 == 0 || operation == BlockOperation::Flush {
                continue;
            }
            // A discard of all free space needs no space of its own.
            let discards = operation == BlockOperation::Discard;
            let bytes = if discards { bytes.0.min(LARGEST_REQUEST.0) } else { bytes.0 };
            let last = offset.saturating_add(bytes - 1) / PIECE;
            let pieces = (offset / PIECE..=last).take(most.saturating_add(1));
            touched.extend(pieces.map(|piece| (device, piece)));
            if touched.len() > most {
                return Places::Folded;
            }
        }
        Places::Packed((0..).zip(touched).map(|(index, piece)| (piece, index * PIECE)).collect())
    }

    fn span(&self, asked: u64) -> u64 {
        match self {
            Places::Packed(pieces) => pieces.len() as u64 * PIECE,
            Places::Folded => asked - asked % PIECE,
        }
    }

    /// The mapped address; `None` for a piece that is not kept.
    fn place(&self, device: u32, offset: u64, span: u64) -> Option<u64> {
        match self {
            Places::Packed(pieces) => {
                pieces.get(&(device, offset / PIECE)).map(|place| place + offset % PIECE)
            }
            Places::Folded => offset.checked_rem(span),
        }
    }
}

pub(super) fn stream(events: &Events<'_>, asked: &Replay) -> ReplayStream {
    let places = Places::of(events, asked.span.0.0);
    let span = places.span(asked.span.0.0);
    let mut stream = ReplayStream { threads: 1, span: Bytes(span), ..ReplayStream::default() };
    let (mut cut, mut split, mut empty) = (0, 0, 0);
    let mut in_flight: BinaryHeap<Reverse<Nanos>> = BinaryHeap::new();
    for (at, event) in events.iter() {
        let TraceAction::Block { device, operation, offset, bytes, flags, .. } = event.action
        else {
            continue;
        };
        while in_flight.peek().is_some_and(|Reverse(ends)| *ends <= at) {
            in_flight.pop();
        }
        if let Some(took) = event.took_ns {
            in_flight.push(Reverse(Nanos(at.0.saturating_add(took.0))));
        }
        let depth = u32::try_from(in_flight.len()).unwrap_or(u32::MAX).max(1);
        let op = ReplayOp { at, took: event.took_ns, depth, ..ReplayOp::default() };
        let flush = ReplayOp { call: ReplayCall::BlockFlush, took: None, ..op };
        let call = match operation {
            BlockOperation::Read => ReplayCall::BlockRead,
            BlockOperation::Write if flags.fua => ReplayCall::BlockWriteDurable,
            BlockOperation::Write => ReplayCall::BlockWrite,
            BlockOperation::Discard => ReplayCall::BlockDiscard,
            BlockOperation::Flush => {
                stream.ops.push(ReplayOp { took: event.took_ns, ..flush });
                continue;
            }
        };
        if bytes.0 == 0 {
            // A flush may be an empty write.
            if flags.preflush {
                stream.ops.push(ReplayOp { took: event.took_ns, ..flush })
            } else {
                empty += 1
            }
            continue;
        }
        if flags.preflush {
            stream.ops.push(flush);
        }
        let before = stream.ops.len();
        let request = Request { device, offset, bytes: bytes.0 };
        cut += u64::from(!request.add(&places, span, ReplayOp { call, ..op }, &mut stream.ops));
        split += u64::from(stream.ops.len() > before + 1);
        if stream.ops.len() > MOST_OPERATIONS {
            break;
        }
    }
    if let Places::Folded = places {
        let text = format!(
            "the requests reach over more than {}, into which they are folded",
            asked.span.0
        );
        stream.notes.push(text);
    }
    note(
        &mut stream.notes,
        split,
        "requests are several, for they are larger than 1 MiB or folded",
    );
    note(&mut stream.notes, cut, "discards are cut to 1 MiB");
    note(&mut stream.notes, empty, "requests of no bytes are left out");
    stream
}

/// The range of a request of the trace.
struct Request {
    device: u32,
    offset: u64,
    bytes: u64,
}

impl Request {
    /// Adds the operations of a request, in whole sectors and as one if possible. Returns `false`
    /// for a discard that is cut.
    fn add(&self, places: &Places, span: u64, op: ReplayOp, ops: &mut Vec<ReplayOp>) -> bool {
        let first = self.offset - self.offset % SECTOR;
        let mut left = self.offset.saturating_add(self.bytes).saturating_sub(first);
        let discards = op.call == ReplayCall::BlockDiscard;
        let is_cut = discards && left > LARGEST_REQUEST.0;
        if is_cut {
            left = LARGEST_REQUEST.0;
        }
        // Whatever the size of a request, the replay must not exceed its bound.
        let mut at = first;
        let from = ops.len();
        while left > 0 && ops.len() <= MOST_OPERATIONS {
            let Some(place) = places.place(self.device, at, span) else { break };
            let piece = (PIECE - at % PIECE).min(left).min(span - place).next_multiple_of(SECTOR);
            let last = ops.len() > from;
            match ops.last_mut().filter(|before| {
                last && before.offset + before.bytes == place
                    && before.bytes + piece <= LARGEST_REQUEST.0
            }) {
                Some(before) => before.bytes += piece,
                None => {
                    // The traced duration is for the whole request: the first operation gets it.
                    let took = op.took.filter(|_| !last);
                    ops.push(ReplayOp { offset: place, bytes: piece, took, ..op });
                }
            }
            let Some(next) = at.checked_add(piece) else { break };
            (at, left) = (next, left.saturating_sub(piece));
        }
        !is_cut
    }
}
