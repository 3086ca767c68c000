//! Power cuts at any moment, through the device that keeps data: what was flushed is there, and the
//! rest is, unit by unit, as some command left it that came after.

use crate::common;
use flashlag_device::{Clock, Completion, Device, Durability, Op, Request};
use flashlag_flash::{Command, Flash, FlashDevice};
use flashlag_units::{Bytes, Nanos};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

const SECTOR: u64 = 512;
/// Sectors that are written to: little, so that it is overwritten often.
const SPAN: u64 = 512;

/// One mapping unit's sectors: a number each, zero for nothing.
type Unit = Vec<u64>;

/// A device, and what it may hold after a cut.
struct Witness {
    device: FlashDevice,
    /// Sectors of a unit.
    unit: usize,
    /// Of each unit: what is durable, and all that it held since, the last one now.
    allowed: Vec<Vec<Unit>>,
    /// Of each unit what of that has been acknowledged.
    acknowledged: Vec<usize>,
    /// Whether a write is durable when it is acknowledged.
    battery: bool,
    number: u64,
    what: String,
}

impl Witness {
    fn new(changes: &[(&str, &str)], seed: u64) -> Witness {
        let model = common::model(changes);
        let unit = (model.map.unit.0.0 / SECTOR) as usize;
        let units = SPAN as usize / unit;
        Witness {
            device: FlashDevice::with_data(Flash::new(&model, seed).unwrap()),
            unit,
            allowed: vec![vec![vec![0; unit]]; units],
            acknowledged: vec![0; units],
            battery: model.buffer.as_ref().is_some_and(|buffer| !buffer.volatile),
            number: 0,
            what: format!("{changes:?}, seed {seed}"),
        }
    }

    fn unit_of(&self, sector: u64) -> usize {
        sector as usize / self.unit
    }

    /// Changes sectors of what the device holds now.
    fn change(&mut self, sectors: std::ops::Range<u64>, value: u64) {
        for unit in self.unit_of(sectors.start)..=self.unit_of(sectors.end - 1) {
            let mut now = self.allowed[unit].last().unwrap().clone();
            for (sector, held) in (unit as u64 * self.unit as u64..).zip(&mut now) {
                if sectors.contains(&sector) {
                    *held = value;
                }
            }
            self.allowed[unit].push(now);
        }
    }

    /// What a unit held when so much of its history was made is durable.
    fn secure(&mut self, unit: usize, index: usize) {
        self.allowed[unit].drain(..index);
        self.acknowledged[unit] = self.acknowledged[unit].saturating_sub(index);
    }

    /// Hands a request over and waits for it until `cut`; whether it was acknowledged by then.
    fn run(&mut self, request: Request, cut: Nanos) -> bool {
        self.device.submit(request).unwrap();
        let mut done: Vec<Completion> = Vec::new();
        loop {
            self.device.reap(0, &mut done).unwrap();
            if let Some(done) = done.pop() {
                done.result.unwrap();
                return true;
            }
            let before = self.device.clock().now();
            if before >= cut {
                return false;
            }
            self.device.wait_until(cut);
        }
    }

    fn request(op: Op, sectors: &std::ops::Range<u64>, durability: Durability) -> Request {
        let (offset, length) = (Bytes(sectors.start * SECTOR), sectors.end - sectors.start);
        Request { slot: 0, op, offset, length: Bytes(length * SECTOR), durability }
    }

    fn write(&mut self, sectors: std::ops::Range<u64>, durability: Durability, cut: Nanos) {
        self.number += 1;
        let number = self.number;
        let length = (sectors.end - sectors.start) as usize * SECTOR as usize;
        let buffer = &mut self.device.buffer(0)[..length];
        buffer.chunks_mut(8).for_each(|word| word.copy_from_slice(&number.to_le_bytes()));
        self.change(sectors.clone(), number);
        let acknowledged = self.run(Witness::request(Op::Write, &sectors, durability), cut);
        for unit in self.unit_of(sectors.start)..=self.unit_of(sectors.end - 1) {
            if acknowledged {
                self.acknowledged[unit] = self.allowed[unit].len() - 1;
                if durability != Durability::None || self.battery {
                    self.secure(unit, self.acknowledged[unit]);
                }
            }
        }
        if acknowledged && durability == Durability::Flush {
            self.flushed();
        }
    }

    fn flushed(&mut self) {
        for unit in 0..self.allowed.len() {
            self.secure(unit, self.acknowledged[unit]);
        }
    }

    /// One command that is drawn.
    fn step(&mut self, random: &mut Pcg64Mcg, cut: Nanos) {
        let start = random.random_range(0..SPAN - 64);
        let any = start..start + random.random_range(1..64);
        let unit = self.unit as u64;
        let aligned = start / unit * unit..(start / unit + random.random_range(1..4)) * unit;
        match random.random_range(0..20) {
            0..10 => self.write(aligned, Durability::None, cut),
            10..13 => self.write(any, Durability::None, cut),
            13 => self.write(any, Durability::Write, cut),
            14 => self.write(aligned, Durability::Flush, cut),
            15 | 16 => {
                if self.run(Witness::request(Op::Flush, &(0..0), Durability::None), cut) {
                    self.flushed();
                }
            }
            17 => {
                self.change(aligned.clone(), 0);
                if self.run(Witness::request(Op::Discard, &aligned, Durability::None), cut) {
                    for unit in self.unit_of(aligned.start)..=self.unit_of(aligned.end - 1) {
                        self.acknowledged[unit] = self.allowed[unit].len() - 1;
                    }
                }
            }
            _ => {
                let now = self.device.clock().now();
                let later = now.plus(Nanos(random.random_range(0..3_000_000)));
                self.device.wait_until(later.min(cut));
            }
        }
    }

    /// Cuts the power, reads everything, and says how many units lost something.
    fn cut(&mut self, at: Nanos) -> usize {
        self.device.clock().advance_to(at);
        let cut = self.device.power_cut().unwrap();
        assert!(cut.recovery > Nanos::ZERO);
        let mut lost = 0;
        for unit in 0..self.allowed.len() {
            let sectors = (unit * self.unit) as u64..((unit + 1) * self.unit) as u64;
            assert!(self.run(Witness::request(Op::Read, &sectors, Durability::None), Nanos::MAX));
            assert!(self.device.clock().now() >= at.plus(cut.recovery), "ready too early");
            let bytes = &self.device.buffer(0)[..self.unit * SECTOR as usize];
            let words: Vec<u64> =
                bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
            let held: Unit = words.iter().copied().step_by(64).collect();
            assert!(words.chunks(64).all(|sector| sector.iter().all(|word| *word == sector[0])));
            let allowed = &self.allowed[unit];
            assert!(allowed.contains(&held), "{}: unit {unit}: {held:?} of {allowed:?}", self.what);
            lost += usize::from(held != *allowed.last().unwrap());
            self.allowed[unit] = vec![held];
            self.acknowledged[unit] = 0;
        }
        lost
    }
}

/// Lives that end with a cut, each at a moment that is drawn; how many units lost something.
fn lives(changes: &[(&str, &str)]) -> usize {
    let mut lost = 0;
    for seed in 0..60 {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut witness = Witness::new(changes, seed);
        for _ in 0..4 {
            let from = witness.device.clock().now();
            let cut = from.plus(Nanos(random.random_range(0..120_000_000)));
            while witness.device.clock().now() < cut {
                witness.step(&mut random, cut);
            }
            lost += witness.cut(cut);
        }
    }
    lost
}

const BUFFER: [(&str, &str); 2] = [("buffer.size", "\"128KiB\""), ("buffer.volatile", "true")];
const SMALL: (&str, &str) = ("map.capacity", "\"1MiB\"");
const MLC: [(&str, &str); 2] = [("nand.cell", "\"mlc\""), ("nand.program_upper", "\"2ms\"")];

#[test]
fn what_was_flushed_survives_a_cut_at_any_moment() {
    assert!(lives(&[]) > 0, "nothing was ever lost: the cuts come too late");
    assert!(lives(&BUFFER) > 0);
    assert!(lives(&[&BUFFER[..], &MLC[..]].concat()) > 0);
    assert!(lives(&MLC) > 0);
    let queued = [("trim.kind", "\"queued\""), ("trim.per_range", "\"2ms\"")];
    assert!(lives(&[&BUFFER[..], &queued[..]].concat()) > 0);
}

#[test]
fn collection_and_partial_units_take_nothing_along() {
    let spare = ("map.spare", "\"512KiB\"");
    assert!(lives(&[SMALL, spare]) > 0);
    assert!(lives(&[&MLC[..], &[SMALL, spare]].concat()) > 0);
    let units = [("map.unit", "\"16KiB\""), ("map.program_unit", "\"32KiB\"")];
    assert!(lives(&[&BUFFER[..], &units[..]].concat()) > 0);
}

#[test]
fn other_maps_and_the_write_cache_keep_what_was_flushed() {
    let logs = [("map.kind", "\"fast\""), ("map.log_blocks", "4")];
    assert!(lives(&[&BUFFER[..], &logs[..]].concat()) > 0);
    let cached = [("map.kind", "\"cached_page\""), ("map.cache", "\"16KiB\"")];
    assert!(lives(&[&BUFFER[..], &cached[..]].concat()) > 0);
    let slc = [
        ("slc.static", "\"256KiB\""),
        ("slc.read", "\"20us\""),
        ("slc.program", "\"100us\""),
        ("slc.erase", "\"2ms\""),
        ("slc.fold_after", "\"1ms\""),
    ];
    assert!(lives(&[&BUFFER[..], &slc[..]].concat()) > 0);
    let units = [("map.program_unit", "\"16KiB\""), ("slc.reserve", "\"512KiB\"")];
    let reserve = [&BUFFER[..], &slc[1..4], &units[..], &[("slc.static", "\"16KiB\"")]];
    assert!(lives(&reserve.concat()) > 0);
}

#[test]
fn a_battery_keeps_all_that_was_acknowledged() {
    lives(&[BUFFER[0], ("buffer.volatile", "false")]);
    lives(&[&MLC[..], &[BUFFER[0], ("buffer.volatile", "false")]].concat());
}

/// Writes two pages of one word line, the first flushed or not, and cuts while the second is
/// being programmed; whether the first is lost.
fn lower_page_is_lost(flush: bool) -> bool {
    let mut flash = common::flash(&MLC);
    flash.keep_ledger();
    let mut at = flash.submit(Nanos::ZERO, common::write(0, 4096)).unwrap().ended;
    if flush {
        at = flash.submit(at, Command::Flush).unwrap().ended;
    }
    let upper = flash.submit(at, common::write(4096, 4096)).unwrap();
    let cut = flash.power_cut(Nanos(upper.ended.0 - 1_000_000)).unwrap();
    let lost = cut.lost.unwrap();
    assert!(lost.iter().any(|lost| lost.offset == Bytes(4096)), "it was under way");
    lost.iter().any(|lost| lost.offset == Bytes(0))
}

#[test]
fn an_upper_page_that_is_cut_takes_the_lower_page_along_unless_it_was_flushed() {
    assert!(lower_page_is_lost(false));
    assert!(!lower_page_is_lost(true));
}

#[test]
fn recovery_reads_the_map_and_the_open_blocks_on_all_dies_at_once() {
    // 64 MiB in units of 4 KiB, 4 B each: 16 pages of map; 50 us a read, and one more a die.
    for (dies, pages, expected) in [("1", 0, 17), ("1", 10, 27), ("4", 10, 8), ("4", 40, 15)] {
        let mut flash = common::flash(&[("nand.channels", dies)]);
        let writes = (0..pages).map(|page| common::write(page * 4096, 4096));
        let at = common::in_a_row(&mut flash, Nanos::ZERO, writes);
        let cut = flash.power_cut(at).unwrap();
        assert_eq!(cut.recovery, Nanos::from_micros(50 * expected), "{dies} dies, {pages} pages");
        let read = flash.submit(at, common::read(0, 4096)).unwrap();
        assert!(read.ended > at.plus(cut.recovery));
    }
}
