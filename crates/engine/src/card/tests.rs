//! Made-up cards, each with its own way of losing data.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use flashlag_device::DeviceError;
use flashlag_schema::{CardCheck, CardHolds};
use flashlag_units::{Bytes, Nanos};
use rustix::io::Errno;

use super::*;

const MIB: fn(u64) -> Bytes = Bytes::from_mib;

/// How a card treats what is written to a physical address.
#[derive(Clone, Copy, Debug)]
enum Card {
    Honest,
    /// Addresses are taken modulo this.
    Wraps(u64),
    /// What is written beyond this is lost, and reads give this byte.
    Drops(u64, u8),
    /// Writes fail once as much was written, with this error.
    RefusesAfter(u64, Errno),
    /// Writes are lost once as much was written: what was there before stays.
    KeepsOldAfter(u64),
    /// A bit of each sector within is flipped when it is read.
    Flips(u64, u64),
    /// Reads within fail.
    Unreadable(u64, u64),
}

/// A card with a filesystem that lays files one after the other.
struct MadeUp {
    card: Card,
    cells: BTreeMap<u64, Vec<u8>>,
    starts: BTreeMap<u32, u64>,
    next: u64,
    open: u32,
    written: u64,
    file: u64,
    /// How often each chunk was written, by file and offset.
    writes: BTreeMap<(u32, u64), u32>,
    /// Raised once this many more writes and reads were made.
    stops: Option<(u64, Arc<AtomicBool>)>,
}

const CELL: u64 = 4096;

impl MadeUp {
    fn new(card: Card) -> MadeUp {
        let (cells, starts) = (BTreeMap::new(), BTreeMap::new());
        let (writes, stops) = (BTreeMap::new(), None);
        MadeUp { card, cells, starts, next: 0, open: 0, written: 0, file: 0, writes, stops }
    }

    /// Has the process stop once this many more calls were made. Returns what it is stopped by.
    fn stop_after(&mut self, calls: u64) -> Arc<AtomicBool> {
        let stop = Arc::new(AtomicBool::new(false));
        self.stops = Some((calls, Arc::clone(&stop)));
        stop
    }

    fn called(&mut self) {
        if let Some((left, stop)) = &mut self.stops {
            stop.store(*left <= 1, Relaxed);
            *left = left.saturating_sub(1);
        }
    }

    fn fails(operation: &'static str) -> DeviceError {
        DeviceError::os(operation, "card", None, Errno::IO)
    }

    fn place(&self, at: u64) -> u64 {
        match self.card {
            Card::Wraps(size) => at % size,
            _ => at,
        }
    }
}

impl CardMedium for MadeUp {
    fn create(&mut self, file: u32, _: Option<Bytes>) -> Result<(), DeviceError> {
        let (next, size) = (self.next, self.file);
        let start = *self.starts.entry(file).or_insert(next);
        self.next = self.next.max(start + size);
        self.open = file;
        Ok(())
    }

    fn open(&mut self, file: u32) -> Result<(), DeviceError> {
        self.open = file;
        self.starts.contains_key(&file).then_some(()).ok_or_else(|| MadeUp::fails("open"))
    }

    fn write(&mut self, offset: Bytes, from: &[u8]) -> Result<(), DeviceError> {
        self.called();
        *self.writes.entry((self.open, offset.0)).or_default() += 1;
        let start = self.starts[&self.open] + offset.0;
        for (index, cell) in (0..).zip(from.chunks(CELL as usize)) {
            let at = self.place(start + index * CELL);
            match self.card {
                Card::RefusesAfter(most, errno) if self.written >= most => {
                    return Err(DeviceError::os("write", "card", None, errno));
                }
                Card::KeepsOldAfter(most) if self.written >= most => continue,
                Card::Drops(size, _) if at >= size => continue,
                _ => {}
            }
            self.written += cell.len() as u64;
            self.cells.insert(at, cell.to_vec());
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn read(&mut self, offset: Bytes, into: &mut [u8]) -> Result<(), DeviceError> {
        self.called();
        let start = self.starts[&self.open] + offset.0;
        for (index, cell) in (0..).zip(into.chunks_mut(CELL as usize)) {
            let at = self.place(start + index * CELL);
            let blank = if let Card::Drops(_, blank) = self.card { blank } else { 0 };
            match self.cells.get(&at) {
                Some(held) => cell.copy_from_slice(held),
                None => cell.fill(blank),
            }
            match self.card {
                Card::Flips(from, to) if (from..to).contains(&at) => {
                    cell.iter_mut().step_by(512).for_each(|byte| *byte ^= 4);
                }
                Card::Unreadable(from, to) if (from..to).contains(&at) => {
                    return Err(MadeUp::fails("read"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn is_direct(&self) -> bool {
        true
    }
}

fn job(stop: &AtomicBool) -> CardJob<'_> {
    CardJob {
        seed: 7,
        interval: Nanos::from_millis(250),
        stall_over: Nanos::from_secs(1),
        live: None,
        stop,
    }
}

fn begun(plan: CardPlan, quick: bool) -> CardCheck {
    CardCheck {
        generation: 5,
        quick,
        span_bytes: plan.span,
        file_bytes: plan.file,
        each_bytes: plan.each,
        ..CardCheck::default()
    }
}

/// What is found of a card of 64 MiB.
fn checked(card: Card, quick: bool) -> CardCheck {
    let plan = if quick { CardPlan::places(MIB(64), 16) } else { CardPlan::all(MIB(64)) };
    let mut medium = MadeUp { file: plan.file.0, ..MadeUp::new(card) };
    let stop = AtomicBool::new(false);
    let mut check = begun(plan, quick);
    let written = write_card(&mut medium, &job(&stop), &mut check, &mut |_| ()).unwrap();
    assert!(!written.stopped && check.is_written);
    let read = read_card(&mut medium, &job(&stop), &mut check);
    assert!(!read.stopped);
    assert_eq!(read.recorded.bytes, read.moved);
    rewrite_card(&mut medium, &job(&stop), &mut check);
    assert_eq!(check.checked_bytes, check.written_bytes);
    assert_eq!(check.proven_bytes.plus(check.lost.total()), check.checked_bytes);
    check
}

#[test]
fn of_an_honest_card_every_byte_is_proven() {
    let whole = checked(Card::Honest, false);
    assert_eq!((whole.proven_bytes, whole.stretches_seen), (MIB(64), 0));
    assert_eq!((whole.rewritten.places, whole.rewritten.old), (64, 0));
    let quick = checked(Card::Honest, true);
    assert_eq!((quick.proven_bytes, quick.rewritten.places), (MIB(16), 16));
}

#[test]
fn a_wrap_says_where_the_data_came_from() {
    let whole = checked(Card::Wraps(16 << 20), false);
    assert_eq!((whole.proven_bytes, whole.lost.other_address), (MIB(16), MIB(48)));
    assert_eq!(whole.repeats_after, Some(MIB(16)));
    let first = whole.stretches[0];
    assert_eq!((first.offset, first.holds), (MIB(0), CardHolds::OtherAddress));
    assert_eq!((first.from, first.length), (Some(MIB(48)), MIB(16)));
    let quick = checked(Card::Wraps(16 << 20), true);
    assert_eq!((quick.repeats_after, quick.proven_bytes), (Some(MIB(16)), MIB(4)));
}

#[test]
fn dropped_writes_are_a_stretch_to_the_end_by_what_is_read_there() {
    for (byte, holds) in
        [(0, CardHolds::Zeros), (0xff, CardHolds::Ones), (0x55, CardHolds::Foreign)]
    {
        let whole = checked(Card::Drops(24 << 20, byte), false);
        let only = whole.stretches[0];
        assert_eq!((whole.stretches_seen, only.offset, only.length), (1, MIB(24), MIB(40)));
        assert_eq!((only.holds, whole.proven_before_bytes), (holds, MIB(24)));
        let quick = checked(Card::Drops(24 << 20, byte), true);
        assert_eq!((quick.first_lost, quick.proven_bytes), (Some(MIB(24)), MIB(6)));
    }
}

#[test]
fn a_card_that_refuses_writes_is_read_as_far_as_it_took_them() {
    let whole = checked(Card::RefusesAfter(10 << 20, Errno::IO), false);
    assert!(whole.refused.as_ref().is_some_and(|error| error.contains("write")), "{whole:?}");
    assert!(whole.written_bytes >= MIB(9) && whole.written_bytes <= MIB(14), "{whole:?}");
}

#[test]
fn without_room_or_a_right_to_write_no_write_is_tried_again() {
    for (errno, failures, room, refused) in [
        (Errno::IO, 4, MIB(64), true),
        (Errno::ROFS, 1, MIB(64), true),
        (Errno::NOSPC, 1, MIB(10), false),
    ] {
        let plan = CardPlan::all(MIB(64));
        let card = Card::RefusesAfter(10 << 20, errno);
        let mut medium = MadeUp { file: plan.file.0, ..MadeUp::new(card) };
        let (go, mut check) = (AtomicBool::new(false), begun(plan, false));
        write_card(&mut medium, &job(&go), &mut check, &mut |_| ()).unwrap();
        let tried: u64 = medium.writes.values().map(|times| u64::from(*times)).sum();
        assert_eq!(tried, 10 + failures, "{errno}");
        assert_eq!((check.span_bytes, check.refused.is_some()), (room, refused), "{errno}");
    }
}

#[test]
fn a_card_that_keeps_what_it_had_is_found_by_a_second_write() {
    let whole = checked(Card::KeepsOldAfter(64 << 20), false);
    assert_eq!((whole.proven_bytes, whole.lost.total()), (MIB(64), MIB(0)));
    assert_eq!((whole.rewritten.places, whole.rewritten.old), (0, 64));
    // Of an earlier run, by its generation.
    let plan = CardPlan::all(MIB(8));
    let mut medium = MadeUp { file: plan.file.0, ..MadeUp::new(Card::KeepsOldAfter(8 << 20)) };
    let stop = AtomicBool::new(false);
    for (generation, old) in [(5, MIB(0)), (9, MIB(8))] {
        let mut check = CardCheck { generation, ..begun(plan, false) };
        write_card(&mut medium, &job(&stop), &mut check, &mut |_| ()).unwrap();
        read_card(&mut medium, &job(&stop), &mut check);
        assert_eq!(check.lost.old, old);
    }
}

#[test]
fn flipped_bits_are_counted_and_what_can_not_be_read_is_found_to_4_kib() {
    let flips = checked(Card::Flips(10 << 20, (10 << 20) + 8192), false);
    let only = flips.stretches[0];
    assert_eq!((flips.stretches_seen, only.holds), (1, CardHolds::Flipped));
    assert_eq!((only.offset, only.length, only.bits), (MIB(10), Bytes(8192), Some(16)));
    let torn = checked(Card::Unreadable(20 << 20, (20 << 20) + 4096), false);
    assert_eq!((torn.lost.unreadable, torn.stretches[0].offset), (Bytes(4096), MIB(20)));
}

/// A sixteenth of a sector's 4096 bits may be flipped: more are other data.
#[test]
fn a_sector_with_more_than_256_flipped_bits_is_something_else() {
    for (flipped, lost) in [(255, Some(255)), (256, Some(256)), (257, None)] {
        let mut check = begun(CardPlan::all(MIB(1)), false);
        let mut sector = [0; 512];
        flashlag_workload::Payload::new(7).fill(&mut sector, Bytes::ZERO, check.generation);
        (0..flipped).for_each(|bit| sector[bit / 8] ^= 1 << (bit % 8));
        let mut tally = tally::Tally::of(7, &mut check);
        tally.add(&mut check, Bytes::ZERO, &sector);
        tally.tell(&mut check);
        let holds = if lost.is_some() { CardHolds::Flipped } else { CardHolds::Foreign };
        assert_eq!((check.stretches[0].holds, check.stretches[0].bits), (holds, lost));
    }
}

#[test]
fn what_was_stopped_goes_on_at_the_file_that_was_not_whole() {
    let plan = CardPlan::all(MIB(64));
    let mut medium = MadeUp { file: plan.file.0, ..MadeUp::new(Card::Honest) };
    let mut check = begun(CardPlan { span: MIB(20), ..plan }, false);
    let (go, stop) = (AtomicBool::new(false), AtomicBool::new(true));
    write_card(&mut medium, &job(&go), &mut check, &mut |_| ()).unwrap();
    check.span_bytes = plan.span;
    let stopped = write_card(&mut medium, &job(&stop), &mut check, &mut |_| ()).unwrap();
    assert!(stopped.stopped && !check.is_written);
    assert_eq!((stopped.moved, check.files), (MIB(0), 20));
    let rest = write_card(&mut medium, &job(&go), &mut check, &mut |_| ()).unwrap();
    assert_eq!((rest.moved, check.written_bytes, check.is_written), (MIB(44), MIB(64), true));
    let half = read_card(&mut medium, &job(&stop), &mut check);
    assert!(half.stopped && check.files_read == 0 && check.checked_bytes == MIB(0));
    read_card(&mut medium, &job(&go), &mut check);
    assert_eq!(check.proven_bytes, MIB(64));
}

/// What is found of a card of 16 MiB in files of two chunks, in one go, or by processes of which the first is killed
/// once it has made `after` writes, one is stopped and one killed while they read, and one killed at its end.
fn interrupted(card: Card, after: Option<u64>) -> CardCheck {
    let plan = CardPlan { span: MIB(16), file: MIB(2), each: MIB(2) };
    let mut medium = MadeUp { file: plan.file.0, ..MadeUp::new(card) };
    let go = AtomicBool::new(false);
    let mut stored = begun(plan, false);
    if let Some(after) = after {
        let kill = medium.stop_after(after);
        let mut lost = stored.clone();
        let keep = &mut |now: &CardCheck| stored = now.clone();
        assert!(write_card(&mut medium, &job(&kill), &mut lost, keep).unwrap().stopped);
        assert_eq!((u64::from(stored.files), stored.is_written), (after / 2, false));
        medium.stops = None;
    }
    let synced = stored.files;
    write_card(&mut medium, &job(&go), &mut stored, &mut |_| ()).unwrap();
    for ((file, offset), times) in &medium.writes {
        let again = *file == synced && after.is_some_and(|after| *offset < after % 2 * CHUNK.0);
        assert_eq!(*times, 1 + u32::from(again), "{card:?} {after:?}: file {file} at {offset}");
    }
    if let Some(after) = after {
        let stop = medium.stop_after(after);
        assert!(read_card(&mut medium, &job(&stop), &mut stored).stopped);
        let kill = medium.stop_after(1);
        assert!(read_card(&mut medium, &job(&kill), &mut stored.clone()).stopped);
        medium.stops = None;
    }
    assert!(!read_card(&mut medium, &job(&go), &mut stored).stopped);
    if after.is_some() {
        rewrite_card(&mut medium, &job(&go), &mut stored.clone());
    }
    rewrite_card(&mut medium, &job(&go), &mut stored);
    assert_eq!(stored.checked_bytes, MIB(16));
    stored
}

#[test]
fn after_a_kill_nothing_synced_is_written_again_and_the_same_is_found() {
    let cards = [
        Card::Honest,
        Card::Wraps(4 << 20),
        Card::Drops(6 << 20, 0xff),
        Card::Flips(7 << 20, 9 << 20),
    ];
    for card in cards {
        let whole = interrupted(card, None);
        for after in [1, 4, 7, 9, 15] {
            assert_eq!(interrupted(card, Some(after)), whole, "{card:?} {after}");
        }
    }
}
