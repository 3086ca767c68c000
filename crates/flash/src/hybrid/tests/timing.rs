//! Log blocks on dies that take time.

use flashlag_spec::profile::Model;
use flashlag_units::{Bytes, Nanos};

use crate::address::{Block, Die, Slot, Unit};
use crate::command::{Command, FlashError};
use crate::die::{DieWork, Dies, Spot};
use crate::front::{Front, Store, UnitWrite};
use crate::hybrid::cached::CachedMap;
use crate::hybrid::layout::Layout;
use crate::hybrid::log_blocks::LogBlocks;
use crate::hybrid::store::LogBlockStore;
use crate::power::WordLine;

/// A card with allocation units of 4 MiB, as the [plain device](flashlag_testing::PLAIN) with other
/// parameters.
const CARD: [(&str, &str); 20] = [
    ("nand.cell", "\"mlc\""),
    ("nand.planes", "2"),
    ("nand.page", "\"8KiB\""),
    ("nand.pages_per_block", "256"),
    ("nand.read", "\"75us\""),
    ("nand.program", "\"1ms\""),
    ("nand.bus_per_second", "\"40MB\""),
    ("host.read_per_second", "\"20MB\""),
    ("host.write_per_second", "\"20MB\""),
    ("host.read_command", "\"0s\""),
    ("host.write_command", "\"0s\""),
    ("map.kind", "\"fast\""),
    ("map.capacity", "\"128MiB\""),
    ("map.spare", "\"32MiB\""),
    ("map.unit", "\"16KiB\""),
    ("map.program_unit", "\"16KiB\""),
    ("map.log_blocks", "6"),
    ("map.open_units", "2"),
    ("map.allocation_unit", "\"4MiB\""),
    ("map.cache", "\"64KiB\""),
];

pub(super) fn model(changes: &[(&str, &str)]) -> Model {
    flashlag_testing::model(&[&CARD, changes].concat())
}

/// One die, or several, that remember where everything is programmed.
pub(super) struct Timed {
    pub(super) busy: Vec<Nanos>,
    model: Model,
    programmed: std::collections::BTreeMap<(Die, Block), u32>,
}

impl Timed {
    pub(super) fn new(model: &Model) -> Timed {
        let dies = model.nand.channels * model.nand.dies_per_channel;
        Timed {
            busy: vec![Nanos::ZERO; dies as usize],
            model: model.clone(),
            programmed: Default::default(),
        }
    }

    fn keep(&mut self, at: Nanos, die: Die, time: Nanos, bytes: u64) -> Nanos {
        let bus = Nanos(bytes * 1_000_000_000 / self.model.nand.bus_per_second.0.0);
        let busy = &mut self.busy[die.index()];
        *busy = at.max(*busy).plus(time).plus(bus);
        *busy
    }
}

impl Dies for Timed {
    fn read(&mut self, at: Nanos, spot: Spot, bytes: u64) -> Nanos {
        self.keep(at, spot.die, self.model.nand.read.0, bytes)
    }

    fn program(&mut self, at: Nanos, spot: Spot, bytes: u64) -> Nanos {
        let next = self.programmed.entry((spot.die, spot.block)).or_default();
        assert!(spot.page.0 >= *next, "page {} after {next}", spot.page.0);
        *next = spot.page.0 + 1;
        assert!(*next <= self.model.nand.pages_per_block);
        self.keep(at, spot.die, self.model.nand.program.0, bytes)
    }

    fn erase(&mut self, at: Nanos, spot: Spot) -> Nanos {
        self.programmed.remove(&(spot.die, spot.block));
        self.keep(at, spot.die, self.model.nand.erase.0, 0)
    }

    fn work(&mut self, at: Nanos, die: Die, work: DieWork) -> Nanos {
        match work {
            DieWork::Read { time, bytes } | DieWork::Program { time, bytes } => {
                self.keep(at, die, time, bytes)
            }
            DieWork::Erase { time } => self.keep(at, die, time, 0),
        }
    }

    fn word_line(&self) -> Option<WordLine> {
        None
    }

    fn count(&self) -> u32 {
        self.busy.len() as u32
    }

    fn power_cut(&mut self, at: Nanos) {
        self.busy.fill(at);
    }

    fn check_wear(&self) -> Result<(), FlashError> {
        Ok(())
    }
}

/// Bytes per second of 256 KiB writes that go to `streams` allocation units in turn, each in order.
pub(super) fn interleaved(model: &Model, streams: u64) -> f64 {
    let (mut map, mut dies) = (LogBlocks::new(model).unwrap(), Timed::new(model));
    let unit_bytes = model.map.unit.0.0;
    let mut at = Nanos::ZERO;
    let write = |map: &mut LogBlocks, dies: &mut Timed, at: Nanos, offset: u64, bytes: u64| {
        let first = Unit((offset / unit_bytes) as u32);
        let count = (bytes / unit_bytes) as u32;
        let units: Vec<_> = first.run(count).map(|unit| UnitWrite { unit, whole: true }).collect();
        map.write(dies, at, &units)
    };
    for offset in (0..32 << 20).step_by(256 << 10) {
        at = write(&mut map, &mut dies, at, offset, 256 << 10);
    }
    let from = at;
    for block in (0..4 << 20).step_by(256 << 10) {
        for stream in 0..streams {
            at = write(&mut map, &mut dies, at, (stream << 22) + block, 256 << 10);
        }
    }
    (streams << 22) as f64 / at.since(from).as_secs_f64()
}

#[test]
fn writing_to_more_allocation_units_than_can_be_open_is_a_cliff() {
    let rate = |open, streams| interleaved(&model(&[("map.open_units", open)]), streams);
    let (one, two, three, roomy) = (rate("2", 1), rate("2", 2), rate("2", 3), rate("3", 3));
    // 16 KiB in 1 ms and 0.41 ms of bus. One block only can be written in order: streams that have
    // no sequential log cost a full merge each, once, which halves the rate.
    let open = 16384.0 / (1e-3 + 16384.0 / 40e6);
    assert!(one > 0.95 * open && one <= open * 1.001, "{one} of {open}");
    assert!(two > 0.4 * open && roomy > 0.4 * open, "{two} {roomy} of {open}");
    assert!(three < 0.15 * two, "{three} after {two}");
}

#[test]
fn blocks_in_a_row_work_on_all_dies_at_once() {
    let rate = |dies: &str| {
        interleaved(&model(&[("nand.dies_per_channel", dies), ("nand.pages_per_block", "64")]), 1)
    };
    // Four parts to an allocation unit, on one, two or four dies.
    let (one, two, four) = (rate("1"), rate("2"), rate("4"));
    assert!((two / one - 2.0).abs() < 0.1 && (four / one - 4.0).abs() < 0.3, "{one} {two} {four}");
}

#[test]
fn a_spare_area_without_room_for_the_logs_is_refused() {
    let refused = |changes: &[(&str, &str)]| match Layout::new(&model(changes)) {
        Err(FlashError::Model(text)) => text,
        other => panic!("{other:?}"),
    };
    assert!(refused(&[("map.spare", "\"16MiB\"")]).contains("map.log_blocks"));
    assert!(refused(&[("map.allocation_unit", "\"3MiB\"")]).contains("map.allocation_unit"));
}

#[test]
fn every_slot_has_a_place_of_its_own() {
    let model = model(&[("nand.dies_per_channel", "3"), ("nand.pages_per_block", "64")]);
    let layout = Layout::new(&model).unwrap();
    let mut places = std::collections::BTreeSet::new();
    for block in 0..layout.shape.blocks {
        for slot in (0..layout.shape.units).step_by(layout.shape.program as usize) {
            let Spot { die, block, page } = layout.spot(Block(block), Slot(slot));
            assert!(die.0 < 3 && block.0 < layout.blocks_per_die() && page.0 < 64);
            assert!(places.insert((die, block, page)));
        }
    }
}

#[test]
fn idle_time_merges_what_is_open() {
    let mut timed = model(&[]);
    timed.gc.idle_after = Some(flashlag_units::Text(Nanos::from_millis(100)));
    timed.gc.idle_until = Some(100);
    let (mut map, mut dies) = (LogBlocks::new(&timed).unwrap(), Timed::new(&timed));
    let all: Vec<_> = Unit(0).run(2048).map(|unit| UnitWrite { unit, whole: true }).collect();
    let at = map.write(&mut dies, Nanos::ZERO, &all);
    let odd: Vec<_> =
        (1..400).step_by(2).map(Unit).map(|unit| UnitWrite { unit, whole: true }).collect();
    let at = map.write(&mut dies, at, &odd);
    let before = map.merges().fulls;
    map.background(&mut dies, at, at.plus(Nanos::from_millis(99)));
    assert_eq!(map.merges().fulls, before);
    map.background(&mut dies, at, at.plus(Nanos::from_secs(30)));
    assert_eq!(map.merges().fulls, before + 2);
    assert_eq!(map.recovery(1), Nanos(75_000));
}

/// A store of nothing but times, below a map on flash.
pub(super) struct Bare(pub(super) Timed);

impl Store for Bare {
    fn read(&mut self, at: Nanos, unit: Unit, _: u32) -> Nanos {
        self.0.keep(at, Die::in_turn(unit.0.into(), self.dies()), Nanos::from_micros(75), 0)
    }

    fn write(&mut self, at: Nanos, units: &[UnitWrite]) -> Result<Nanos, FlashError> {
        Ok(self.0.keep(
            at,
            Die::in_turn(units[0].unit.0.into(), self.dies()),
            Nanos::from_millis(1),
            0,
        ))
    }

    fn word_line(&self) -> Option<WordLine> {
        None
    }

    fn discard(&mut self, _: Nanos, _: Unit, _: u32) {}

    fn is_mapped(&self, _: Unit) -> bool {
        true
    }

    fn mapped_units(&self) -> u64 {
        0
    }

    fn background(&mut self, _: Nanos, _: Nanos) -> Result<(), FlashError> {
        Ok(())
    }

    fn power_cut(&mut self, _: Nanos) -> Nanos {
        Nanos::ZERO
    }

    fn dies(&self) -> u32 {
        self.0.busy.len() as u32
    }

    fn work(&mut self, at: Nanos, die: Die, work: DieWork) -> Nanos {
        Dies::work(&mut self.0, at, die, work)
    }
}

#[test]
fn a_map_on_flash_costs_a_read_for_each_miss_and_a_program_for_each_changed_page() {
    // Eight map pages of 2,048 entries: 256 MiB of a capacity of 1 GiB in units of 16 KiB.
    let model = model(&[
        ("map.capacity", "\"1GiB\""),
        ("map.spare", "\"64MiB\""),
        ("map.kind", "\"page\""),
    ]);
    let mut map = CachedMap::new(&model, Bare(Timed::new(&model)));
    let units = Bytes::from_mib(1024).0 / model.map.unit.0.0;
    let (mut at, mut state, count) = (Nanos::ZERO, 1u64, 100_000);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Unit(((state >> 33) % units) as u32)
    };
    for _ in 0..count {
        at = map.read(at, next(), 1);
    }
    let missed = map.traffic.reads as f64 / f64::from(count);
    assert!((missed - 0.75).abs() < 0.01, "{missed}");
    assert_eq!(map.traffic.programs, 0);
    let each = at.0 as f64 / f64::from(count);
    let expected = 75_000.0 + missed * (75_000.0 + 8192.0 * 25.0);
    assert!((each / expected - 1.0).abs() < 0.001, "{each} {expected}");
    let reads = map.traffic.reads;
    for _ in 0..count {
        at = map.write(at, &[UnitWrite { unit: next(), whole: true }]).unwrap();
    }
    // In the long run every page that gives way has changed.
    let (missed, written) = (map.traffic.reads - reads, map.traffic.programs);
    assert!(missed - written <= 8, "{missed} {written}");
    assert_eq!(map.traffic.erases, written / 256);
}

#[test]
fn a_map_in_slc_mode_takes_the_times_of_the_write_cache() {
    // Eight map pages of 32 are cached; each write is to the page that was used longest ago.
    let time = |changes: &[(&str, &str)]| {
        let flash = [
            ("map.capacity", "\"1GiB\""),
            ("map.spare", "\"64MiB\""),
            ("map.kind", "\"cached_page\""),
            ("slc.static", "\"1MiB\""),
            ("slc.read", "\"20us\""),
            ("slc.program", "\"100us\""),
            ("slc.erase", "\"2ms\""),
        ];
        let model = model(&[&flash[..], changes].concat());
        let mut map = CachedMap::new(&model, Bare(Timed::new(&model)));
        let write = |map: &mut CachedMap<Bare>, at, turn: u32| {
            map.write(at, &[UnitWrite { unit: Unit(turn % 32 * 2048), whole: true }]).unwrap()
        };
        let from = (0..8).fold(Nanos::ZERO, |at, turn| write(&mut map, at, turn));
        let end = (8..108).fold(from, |at, turn| write(&mut map, at, turn));
        assert_eq!((map.traffic.reads, map.traffic.programs), (108, 100));
        end.since(from).0 / 100
    };
    let (bus, data) = (8192 * 25, 1_000_000);
    assert_eq!(time(&[]), 1_000_000 + bus + 75_000 + bus + data);
    assert_eq!(time(&[("map.slc", "true")]), 100_000 + bus + 20_000 + bus + data);
}

#[test]
fn a_whole_card_reads_and_writes_at_the_speed_of_its_one_die_and_its_link() {
    let model = model(&[]);
    let mut store = LogBlockStore::new(&model, Timed::new(&model)).unwrap();
    let mut front = Front::new(&model, store.dies(), 1);
    let (largest, blocks) = (256 << 10, 128u64);
    let mut run = |front: &mut Front, from: Nanos, write: bool| {
        let mut at = from;
        for block in 0..blocks {
            let (offset, length) = (Bytes(block * largest), Bytes(largest));
            let command = if write {
                Command::Write { offset, length, fua: false }
            } else {
                Command::Read { offset, length }
            };
            at = front.submit(&mut store, at, command).unwrap().ended;
        }
        (at, (blocks * largest) as f64 / at.since(from).as_secs_f64())
    };
    let (at, written) = run(&mut front, Nanos::ZERO, true);
    let (_, read) = run(&mut front, at, false);
    // Without a buffer the link's first piece (0.82 ms) does not hide behind the die.
    let page = 16384.0;
    let expected = 16.0 * page / (page / 20e6 + 16.0 * (1e-3 + page / 40e6));
    assert!((written / expected - 1.0).abs() < 0.02, "{written} of {expected}");
    // Reading hides behind the link but for the first piece (75 us and 0.41 ms).
    let expected = 16.0 * page / (75e-6 + page / 40e6 + 16.0 * page / 20e6);
    assert!((read / expected - 1.0).abs() < 0.01, "{read} of {expected}");
}
