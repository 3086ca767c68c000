use flashlag_device::{Device, Durability, Op, Request};
use flashlag_spec::profile::{Model, Profile, builtin_profile};
use flashlag_units::{Bytes, Nanos, Text};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use super::*;
use crate::command::{Command, FlashError, ZoneFault};
use crate::device::FlashDevice;
use crate::flash::Flash;
use crate::sizing::model_of_size;

const UNIT: u64 = 4096;

fn model() -> Model {
    let profile = Profile::parse(builtin_profile("zufs40-phone").unwrap()).unwrap();
    model_of_size(&profile, Some(Bytes::from_mib(1024))).unwrap()
}

/// The model with zones of 4 MiB, so that a test fills many.
fn small() -> Model {
    let mut model = model();
    model.nand.pages_per_block = 48;
    let zones = model.zones.as_mut().unwrap();
    zones.size = Text(Bytes::from_mib(4));
    zones.conventional = Text(Bytes::from_mib(8));
    model.map.capacity = Text(Bytes::from_mib(136));
    model
}

fn write(offset: u64, length: u64) -> Command {
    Command::Write { offset: Bytes(offset), length: Bytes(length), fua: false }
}

/// The fault of a command; the zones stay as they were.
fn fault(flash: &mut Flash, command: Command) -> ZoneFault {
    let zones = |flash: &Flash| -> Vec<Zone> {
        (0..flash.zones().unwrap().count).map(|zone| flash.zone(zone).unwrap()).collect()
    };
    let before = zones(flash);
    let refused = flash.submit(Nanos::ZERO, command);
    assert_eq!(zones(flash), before, "{command:?}");
    match refused {
        Err(FlashError::Zone(fault)) => fault,
        other => panic!("{command:?}: {other:?}"),
    }
}

#[test]
fn what_a_zone_does_not_allow_is_refused_by_name_and_changes_nothing() {
    let mut flash = Flash::new(&small(), 1).unwrap();
    let zones = flash.zones().unwrap();
    let (first, size) = (zones.first.0, zones.size.0);
    flash.submit(Nanos::ZERO, write(first, 2 * UNIT)).unwrap();
    let pointer = first + 2 * UNIT;
    let (zone, offset) = (0, first);
    assert_eq!(fault(&mut flash, write(first, UNIT)), ZoneFault::Pointer { offset, zone, pointer });
    let offset = pointer + UNIT;
    assert_eq!(
        fault(&mut flash, write(offset, UNIT)),
        ZoneFault::Pointer { offset, zone, pointer }
    );
    for (offset, length) in [(first - UNIT, 2 * UNIT), (pointer, size)] {
        assert_eq!(fault(&mut flash, write(offset, length)), ZoneFault::Border { offset, length });
    }
    let (offset, length, unit) = (pointer, 512, UNIT);
    assert_eq!(fault(&mut flash, write(offset, length)), ZoneFault::Unit { offset, length, unit });
    let part = Command::Discard { offset: Bytes(first), length: Bytes(UNIT) };
    assert_eq!(fault(&mut flash, part), ZoneFault::Part { offset: first, length: UNIT });
    let end = first + size;
    flash.submit(Nanos::ZERO, write(pointer, size - 2 * UNIT)).unwrap();
    assert_eq!(flash.zone(0).unwrap().condition, ZoneCondition::Full);
    let full = ZoneFault::Full { offset: end - UNIT, zone: 0 };
    assert_eq!(fault(&mut flash, write(end - UNIT, UNIT)), full);
    let none = FlashError::Zone(ZoneFault::NoSuch { zone: zones.count, count: zones.count });
    assert_eq!(flash.zone(zones.count), Err(none));
}

#[test]
fn a_write_to_one_zone_too_many_closes_the_oldest_that_a_write_opened() {
    let mut flash = Flash::new(&small(), 1).unwrap();
    let zones = flash.zones().unwrap();
    let start = |zone: u32| zones.first.0 + u64::from(zone) * zones.size.0;
    for zone in 0..=zones.open {
        flash.submit(Nanos::ZERO, write(start(zone), UNIT)).unwrap();
    }
    let condition = |flash: &Flash, zone| flash.zone(zone).unwrap().condition;
    assert_eq!(condition(&flash, 0), ZoneCondition::Closed);
    assert_eq!(condition(&flash, zones.open), ZoneCondition::ImplicitlyOpen);
    // Zones that the host has opened stay open, and then there is no room.
    for zone in 0..zones.open {
        flash.manage(Nanos::ZERO, zone, ZoneAction::Open).unwrap();
    }
    let (zone, limit) = (zones.open, zones.open);
    let refused = fault(&mut flash, write(start(zone) + UNIT, UNIT));
    assert_eq!(refused, ZoneFault::Open { zone, limit });
    flash.manage(Nanos::ZERO, 1, ZoneAction::Close).unwrap();
    flash.submit(Nanos::ZERO, write(start(zone) + UNIT, UNIT)).unwrap();
    // A zone that nothing was written to is empty when it is closed.
    flash.manage(Nanos::ZERO, 2, ZoneAction::Close).unwrap();
    flash.manage(Nanos::ZERO, 9, ZoneAction::Open).unwrap();
    flash.manage(Nanos::ZERO, 9, ZoneAction::Close).unwrap();
    assert_eq!(condition(&flash, 9), ZoneCondition::Empty);
    assert_eq!(
        flash.manage(Nanos::ZERO, 99, ZoneAction::Open),
        Err(FlashError::Zone(ZoneFault::NoSuch { zone: 99, count: zones.count }))
    );
}

#[test]
fn a_zone_written_in_order_is_programmed_once_and_never_copied() {
    let mut flash = Flash::new(&model(), 1).unwrap();
    let zones = flash.zones().unwrap();
    let mut now = Nanos::ZERO;
    for offset in (0..2 * zones.size.0).step_by(512 << 10) {
        now = flash.submit(now, write(zones.first.0 + offset, 512 << 10)).unwrap().ended;
    }
    flash.submit(now, Command::Flush).unwrap();
    let stats = flash.stats();
    assert_eq!(stats.programmed_folds, Bytes::ZERO);
    assert_eq!(stats.programmed_copies, Some(Bytes::ZERO));
    assert_eq!(stats.programmed_padding, Some(Bytes::ZERO));
    assert_eq!(stats.programmed_host, Some(Bytes(2 * zones.size.0)));
    assert_eq!(stats.mapped, Bytes(2 * zones.size.0));
}

#[test]
fn durable_writes_take_a_page_in_slc_mode_each_and_their_program_unit_once() {
    let mut flash = Flash::new(&model(), 1).unwrap();
    let first = flash.zones().unwrap().first.0;
    // A program unit has 24 units. Each but the last is durable in a page of 16 KiB, and read again.
    let (units, page) = (24, 4);
    let mut now = Nanos::ZERO;
    for unit in 0..units {
        now = flash.submit(now, write(first + unit * UNIT, UNIT)).unwrap().ended;
        now = flash.submit(now, Command::Flush).unwrap().ended;
    }
    let stats = flash.stats();
    let units_of = |count: u64| Bytes(count * UNIT);
    assert_eq!(stats.programmed_host, Some(units_of(units)));
    assert_eq!(stats.programmed_folds, units_of(units - 1));
    assert_eq!(stats.programmed_padding, Some(units_of((units - 1) * (page - 1))));
    assert_eq!(stats.programmed_map, units_of(units * page));
    assert_eq!(stats.mapped, units_of(units));
}

#[test]
fn a_reset_erases_the_zones_blocks_once_and_reads_of_it_take_no_page() {
    let mut flash = Flash::new(&small(), 1).unwrap();
    let zones = flash.zones().unwrap();
    let mut now = Nanos::ZERO;
    for round in 1..=20 {
        for offset in (0..zones.size.0).step_by(256 << 10) {
            now = flash.submit(now, write(zones.first.0 + offset, 256 << 10)).unwrap().ended;
        }
        now = flash.manage(now, 0, ZoneAction::Reset).unwrap().ended;
        // 6 MiB of each 4 dies: one superblock holds the zone.
        assert_eq!(flash.stats().erases, round * 4);
        assert_eq!(flash.zone(0).unwrap().condition, ZoneCondition::Empty);
    }
    let stats = flash.stats();
    let read = Command::Read { offset: zones.first, length: Bytes(64 << 10) };
    flash.submit(now, read).unwrap();
    assert_eq!(flash.stats().page_reads, stats.page_reads);
    assert_eq!(stats.mapped, Bytes::ZERO);
    // Every erased block goes to the end of the line, so that wear is even.
    assert!(stats.most_cycles <= 1, "{stats:?}");
}

#[test]
fn zones_that_are_all_reset_at_once_are_erased_when_they_are_written_again() {
    let mut flash = Flash::new(&small(), 1).unwrap();
    let zones = flash.zones().unwrap();
    let mut now = Nanos::ZERO;
    let program_unit = 96 << 10;
    let one = |flash: &mut Flash, now: Nanos, zone: u32| {
        let at = zones.first.0 + u64::from(zone) * zones.size.0;
        let done = flash.submit(now, write(at, program_unit)).unwrap().ended;
        flash.submit(done, Command::Flush).unwrap().ended
    };
    let fresh = one(&mut flash, now, 0).since(now);
    for zone in 1..zones.count {
        now = one(&mut flash, now.plus(Nanos::from_secs(1)), zone);
        now = flash.manage(now, zone, ZoneAction::Finish).unwrap().ended;
    }
    let before = now;
    for zone in 0..zones.count {
        now = flash.manage(now, zone, ZoneAction::Reset).unwrap().ended;
    }
    assert!(now.since(before) < Nanos::from_millis(5 * u64::from(zones.count)));
    // Superblocks that were never used come first; then those that are due.
    for zone in 0..zones.count {
        let begun = now;
        now = one(&mut flash, now, zone);
        let erase = Nanos(2 * 3_500_000);
        assert!(now.since(begun) < fresh.plus(erase), "zone {zone}: {}", now.since(begun));
    }
}

#[test]
fn a_finished_zone_takes_nothing_more_and_keeps_what_it_has() {
    let mut flash = Flash::new(&small(), 1).unwrap();
    let first = flash.zones().unwrap().first.0;
    flash.submit(Nanos::ZERO, write(first, 5 * UNIT)).unwrap();
    let ended = flash.manage(Nanos::ZERO, 0, ZoneAction::Finish).unwrap().ended;
    let again = flash.manage(ended, 0, ZoneAction::Finish).unwrap();
    assert_eq!(again.started, again.ended);
    assert_eq!(flash.zone(0).unwrap().condition, ZoneCondition::Full);
    assert_eq!(flash.stats().mapped, Bytes(5 * UNIT));
    let full = ZoneFault::Full { offset: first + 5 * UNIT, zone: 0 };
    assert_eq!(fault(&mut flash, write(first + 5 * UNIT, UNIT)), full);
    let pages = flash.stats().page_reads;
    flash.submit(ended, Command::Read { offset: Bytes(first), length: Bytes(UNIT) }).unwrap();
    assert_eq!(flash.stats().page_reads, pages + 1);
}

/// A device with data under random commands, and what it should hold.
struct Trial {
    device: FlashDevice,
    random: Pcg64Mcg,
    /// The byte that each unit is filled with.
    units: Vec<u8>,
    pointers: Vec<u64>,
}

impl Trial {
    fn new(seed: u64) -> Trial {
        let device = FlashDevice::with_data(Flash::new(&small(), seed).unwrap());
        let zones = device.zones().unwrap();
        let units = device.geometry().size.0 / UNIT;
        Trial {
            device,
            random: Pcg64Mcg::seed_from_u64(seed),
            units: vec![0; units as usize],
            pointers: vec![0; zones.count as usize],
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound.max(1)
    }

    fn carry_out(&mut self, op: Op, offset: u64, length: u64, durability: Durability) {
        let request =
            Request { slot: 0, op, offset: Bytes(offset), length: Bytes(length), durability };
        let mut done = Vec::new();
        self.device.submit(request).unwrap();
        self.device.reap(1, &mut done).unwrap();
        done.remove(0).result.unwrap();
    }

    fn step(&mut self) {
        let zones = self.device.zones().unwrap();
        let zone = self.below(9) as usize;
        let start = zones.first.0 + zone as u64 * zones.size.0;
        let left = (zones.size.0 - self.pointers[zone]) / UNIT;
        match self.below(10) {
            0 if self.pointers[zone] > 0 && (left == 0 || self.below(20) == 0) => {
                self.carry_out(Op::Discard, start, zones.size.0, Durability::None);
                let first = (start / UNIT) as usize;
                self.units[first..first + (zones.size.0 / UNIT) as usize].fill(0);
                self.pointers[zone] = 0;
            }
            1 => {
                let unit = self.below(zones.first.0 / UNIT - 8);
                let count = 1 + self.below(8);
                self.write(unit * UNIT, count);
            }
            2 => self.carry_out(Op::Flush, 0, 0, Durability::None),
            _ if left > 0 => {
                let count = 1 + self.below(left.min(60));
                self.write(start + self.pointers[zone], count);
                self.pointers[zone] += count * UNIT;
            }
            _ => {}
        }
        let pointer = self.device.flash().zone(zone as u32).unwrap().pointer;
        assert_eq!(pointer, Bytes(start + self.pointers[zone]), "zone {zone}");
    }

    fn write(&mut self, offset: u64, count: u64) {
        let fill = 1 + (self.random.next_u64() % 255) as u8;
        self.device.buffer(0)[..(count * UNIT) as usize].fill(fill);
        let durability = match self.below(8) {
            0 => Durability::Write,
            1 => Durability::Flush,
            _ => Durability::None,
        };
        self.carry_out(Op::Write, offset, count * UNIT, durability);
        let first = (offset / UNIT) as usize;
        self.units[first..first + count as usize].fill(fill);
    }

    /// Reads everything and compares.
    fn check(&mut self, case: &str) {
        for unit in 0..self.units.len() {
            self.carry_out(Op::Read, unit as u64 * UNIT, UNIT, Durability::None);
            let expected = self.units[unit];
            let read = &self.device.buffer(0)[..UNIT as usize];
            assert!(read.iter().all(|byte| *byte == expected), "{case}: unit {unit}");
        }
    }
}

#[test]
fn whatever_is_written_in_order_is_read_back_and_only_slc_blocks_are_collected() {
    for seed in 0..6 {
        let mut trial = Trial::new(seed);
        for _ in 0..4000 {
            trial.step();
        }
        trial.carry_out(Op::Flush, 0, 0, Durability::None);
        trial.check(&format!("seed {seed}"));
        let zones = trial.device.zones().unwrap();
        let open = (0..zones.count).filter(|zone| {
            let condition = trial.device.flash().zone(*zone).unwrap().condition;
            condition == ZoneCondition::ImplicitlyOpen
        });
        assert!(open.count() <= zones.open as usize, "seed {seed}");
        let stats = trial.device.stats();
        let written: u64 = trial.units.iter().filter(|fill| **fill != 0).count() as u64;
        assert_eq!(stats.mapped, Bytes(written * UNIT), "seed {seed}");
        assert!(stats.write_amplification().unwrap() < 8.0, "seed {seed}: {stats:?}");
    }
}

#[test]
fn after_a_power_cut_a_zone_goes_on_behind_what_survived() {
    for seed in 0..4 {
        let mut trial = Trial::new(seed);
        for _ in 0..300 {
            trial.step();
        }
        trial.carry_out(Op::Flush, 0, 0, Durability::None);
        let zones = trial.device.zones().unwrap();
        let durable: Vec<Bytes> =
            (0..zones.count).map(|zone| trial.device.flash().zone(zone).unwrap().pointer).collect();
        // These are in the write buffer when the power is cut.
        for zone in 0..zones.count {
            let Zone { pointer, start, size, .. } = trial.device.flash().zone(zone).unwrap();
            if pointer.0 < start.0 + size.0 {
                trial.carry_out(Op::Write, pointer.0, UNIT, Durability::None);
            }
        }
        trial.device.power_cut().unwrap();
        for zone in 0..zones.count {
            let Zone { pointer, start, size, condition } = trial.device.flash().zone(zone).unwrap();
            let before = durable[zone as usize];
            assert!(pointer >= before && pointer.0 <= before.0 + UNIT, "seed {seed}, zone {zone}");
            assert_ne!(condition, ZoneCondition::ImplicitlyOpen);
            if pointer.0 < start.0 + size.0 {
                trial.carry_out(Op::Write, pointer.0, UNIT, Durability::Flush);
            }
        }
    }
}

#[test]
fn a_zoned_device_has_no_past() {
    let mut flash = Flash::new(&small(), 1).unwrap();
    assert_eq!(flash.scatter(), Err(FlashError::ZonedPast));
    let full = crate::age::aged(&small(), 1, flashlag_spec::target::Age::Full);
    assert_eq!(full.map(drop), Err(FlashError::ZonedPast));
    let mut pages = small();
    pages.zones = None;
    pages.map.spare = Text(Bytes::from_mib(32));
    pages.map.kind = flashlag_spec::profile::MapKind::Page;
    let mut pages = Flash::new(&pages, 1).unwrap();
    assert_eq!(pages.zones(), None);
    let none = Err(FlashError::Zone(ZoneFault::None));
    assert_eq!(pages.manage(Nanos::ZERO, 0, ZoneAction::Reset), none);
}
