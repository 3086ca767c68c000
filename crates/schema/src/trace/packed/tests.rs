use flashlag_units::{Bytes, Nanos};
use proptest::prelude::*;

use crate::trace::{BlockFlags, BlockOperation, FailedCall, TraceAction, TraceEvent, TraceEvents};

/// Numbers of every length, the largest too.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 0..300_u64, Just(u64::MAX), Just(0)]
}

fn action() -> impl Strategy<Value = TraceAction> {
    let short = || number().prop_map(|number| number as u32);
    let numbers = (short(), short(), number(), number());
    let absent = (proptest::option::of(number()), proptest::option::of(short()));
    (0..16_u8, numbers, absent, any::<[bool; 6]>()).prop_map(|(which, numbers, absent, bits)| {
        let ((file, to, offset, bytes), (some, other)) = (numbers, absent);
        let [sync, meta, journal, preflush, fua, ahead] = bits;
        let (device, bytes) = (file, Bytes(bytes));
        match which {
            0 => TraceAction::Open { file, truncated: sync, created: meta },
            1 => TraceAction::Close { file },
            2 => TraceAction::Change { file },
            3 => TraceAction::Counted { writes: offset, bytes },
            4 => TraceAction::Read { file, offset: some, bytes },
            5 => TraceAction::Write { file, offset: some, bytes },
            6 => TraceAction::Sync { file, data_only: sync },
            7 => TraceAction::SyncAll,
            8 => TraceAction::Truncate { file, bytes },
            9 => TraceAction::Unlink { file },
            10 => TraceAction::Rename { file, to },
            11 => TraceAction::Commit { device },
            12 => TraceAction::Checkpoint { device },
            13 => TraceAction::Clean { device },
            14 => {
                let call = if sync { FailedCall::Sync } else { FailedCall::Rename };
                TraceAction::Failed { call, file: other, error: to as u16 }
            }
            _ => {
                let operations = [
                    BlockOperation::Read,
                    BlockOperation::Write,
                    BlockOperation::Flush,
                    BlockOperation::Discard,
                ];
                let operation = operations[to as usize % operations.len()];
                let flags = BlockFlags { sync, meta, journal, preflush, fua, ahead };
                let queued_ns = some.map(Nanos);
                TraceAction::Block {
                    device,
                    operation,
                    offset,
                    bytes,
                    flags,
                    queued_ns,
                    file: other,
                }
            }
        }
    })
}

fn event() -> impl Strategy<Value = TraceEvent> {
    let times = (number(), proptest::option::of(number()), proptest::option::of(any::<u32>()));
    (times, action()).prop_map(|((t, took, task), action)| {
        let (t_ns, took_ns) = (Nanos(t), took.map(Nanos));
        TraceEvent { t_ns, took_ns, task, action }
    })
}

/// A single write; `file` identifies it.
fn write(t: u64, file: u32) -> TraceEvent {
    let action =
        TraceAction::Write { file, offset: Some(u64::from(file) * 4096), bytes: Bytes(4096) };
    TraceEvent { t_ns: Nanos(t), took_ns: Some(Nanos(30_000)), task: Some(3), action }
}

/// More than four pieces of writes, nearly in the order of time, four of each time.
fn many() -> Vec<TraceEvent> {
    let time = |at: u64| (at + (at * 7919) % 1000) / 4;
    (0..60_000_u32).map(|at| write(time(at.into()), at)).collect()
}

proptest! {
    #[test]
    fn every_event_is_unpacked_as_it_was_packed(events in proptest::collection::vec(event(), 0..40)) {
        let packed: TraceEvents = events.iter().copied().collect();
        prop_assert_eq!(packed.iter().collect::<Vec<_>>(), &events[..]);
        prop_assert_eq!(packed.len(), events.len());
        prop_assert_eq!(packed.is_sorted(), events.is_sorted_by_key(|event| event.t_ns));
        prop_assert_eq!(packed.clone().into_iter().collect::<Vec<_>>(), &events[..]);
        let (mut sorted, mut expected) = (packed, events);
        sorted.sort();
        expected.sort_by_key(|event| event.t_ns);
        prop_assert_eq!(sorted.into_iter().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn sorting_is_stable_over_all_pieces_also_where_they_stand_in_the_wrong_order() {
    let mut reversed = many();
    reversed.reverse();
    for mut events in [many(), reversed] {
        let mut packed = TraceEvents::from(events.clone());
        assert!(packed.pieces.len() > 4 && !packed.is_sorted(), "{}", packed.pieces.len());
        packed.sort();
        events.sort_by_key(|event| event.t_ns);
        assert!(packed.is_sorted() && packed.iter().eq(events.iter().copied()));
        assert_eq!((packed.len(), packed.first()), (events.len(), events.first().copied()));
    }
}

#[test]
fn a_cut_list_and_the_items_from_one_on_are_those_of_a_vec() {
    let events = many();
    let packed = TraceEvents::from(events.clone());
    let in_first = packed.pieces[0].items;
    let places = [0, 1, in_first - 1, in_first, in_first + 1, 59_999, 60_000, 70_000];
    for at in places {
        assert_eq!(packed.iter().nth(at), events.get(at).copied(), "item {at}");
        assert!(packed.iter().skip(at).eq(events.iter().skip(at).copied()), "from {at} on");
        let mut cut = packed.clone();
        cut.truncate(at);
        assert_eq!(cut.len(), at.min(events.len()), "cut to {at}");
        // What follows joins on.
        cut.push(&write(9, 9));
        let expected = events.iter().take(at).copied().chain([write(9, 9)]);
        assert!(cut.iter().eq(expected), "cut to {at}");
    }
}

#[test]
fn times_made_earlier_are_those_of_every_piece() {
    let mut packed = TraceEvents::from(many());
    packed.push(&write(20_000, 1));
    let mut moved = TraceEvents::from_iter(packed.iter().map(|event| {
        let t_ns = Nanos(event.t_ns.0 + 700);
        TraceEvent { t_ns, ..event }
    }));
    moved.make_earlier(700);
    moved.push(&write(20_001, 2));
    packed.push(&write(20_001, 2));
    assert!(moved == packed);
}

#[test]
fn a_write_takes_less_than_a_quarter_of_its_size_unpacked() {
    let packed = TraceEvents::from(many());
    let bytes: usize = packed.pieces.iter().map(|piece| piece.bytes.len()).sum();
    let an_event = bytes as f64 / packed.len() as f64;
    assert!(an_event < size_of::<TraceEvent>() as f64 / 4.0, "{an_event:.1} bytes");
}
