mod cards;
mod host_map;
mod timing;

use proptest::prelude::*;

use flashlag_units::Nanos;

use super::fast::{Fast, Logs};
use super::medium::{Medium, Merges, Place, Shape};
use crate::address::{Block, Slot, Unit};

/// What a unit held and how often it had been written then.
type Content = Option<(u32, u64)>;

/// Flash that keeps its content, and refuses operations that real flash can't do.
struct Flash {
    units: u32,
    slots: Vec<Content>,
    next: Vec<u32>,
    versions: Vec<u64>,
    programs: u64,
    reads: u64,
    erases: u64,
}

impl Flash {
    fn new(shape: Shape) -> Flash {
        Flash {
            units: shape.units,
            slots: vec![None; (shape.blocks * shape.units) as usize],
            next: vec![0; shape.blocks as usize],
            versions: vec![0; (shape.logical_blocks * shape.units) as usize],
            programs: 0,
            reads: 0,
            erases: 0,
        }
    }

    fn at(&self, place: Place) -> Content {
        self.slots[(place.block.0 * self.units + place.slot.0) as usize]
    }

    fn put(&mut self, block: Block, slot: Slot, contents: &[Content]) {
        let (block, slot) = (block.0, slot.0);
        assert!(slot >= self.next[block as usize], "programmed out of order");
        self.next[block as usize] = slot + contents.len() as u32;
        assert!(self.next[block as usize] <= self.units);
        for (slot, content) in (slot..).zip(contents) {
            self.slots[(block * self.units + slot) as usize] = *content;
        }
    }
}

impl Medium for Flash {
    fn read(&mut self, at: Nanos, _: Block, _: Slot, count: u32) -> Nanos {
        self.reads += u64::from(count);
        at.plus(Nanos(u64::from(count)))
    }

    fn program(&mut self, at: Nanos, block: Block, slot: Slot, units: &[Unit]) -> Nanos {
        let contents: Vec<Content> = units
            .iter()
            .map(|unit| {
                self.versions[unit.index()] += 1;
                Some((unit.0, self.versions[unit.index()]))
            })
            .collect();
        self.put(block, slot, &contents);
        self.programs += units.len() as u64;
        at.plus(Nanos(10))
    }

    fn copy(&mut self, at: Nanos, from: &[Place], block: Block, slot: Slot) -> Nanos {
        let taken = |place: &Place| if place.is_nowhere() { None } else { self.at(*place) };
        let contents: Vec<Content> = from.iter().map(taken).collect();
        self.put(block, slot, &contents);
        self.programs += from.iter().filter(|place| !place.is_nowhere()).count() as u64;
        at.plus(Nanos(11))
    }

    fn erase(&mut self, at: Nanos, block: Block) -> Nanos {
        let from = (block.0 * self.units) as usize;
        self.slots[from..from + self.units as usize].fill(None);
        self.next[block.index()] = 0;
        self.erases += 1;
        at.plus(Nanos(100))
    }
}

const LOGS: u32 = 3;

fn shape(units: u32, program: u32) -> Shape {
    Shape { logical_blocks: 6, blocks: 6 + LOGS + 1, units, program }
}

/// Log blocks, one of them for sequential writes.
fn logs(all: u32, most_open: Option<u32>) -> Logs {
    Logs { all, sequential: 1, most_open }
}

fn write(map: &mut Fast, flash: &mut Flash, unit: u32, count: u32) {
    map.write(flash, Nanos::ZERO, Unit(unit), count);
}

/// A map whose every unit was written once, in order.
fn filled(shape: Shape) -> (Fast, Flash) {
    let (mut map, mut flash) = (Fast::new(shape, logs(LOGS, None)), Flash::new(shape));
    fill(&mut map, &mut flash, shape);
    (map, flash)
}

/// Writes every unit of every block, in order.
fn fill(map: &mut Fast, flash: &mut Flash, shape: Shape) {
    for unit in (0..shape.logical_blocks * shape.units).step_by(shape.program as usize) {
        write(map, flash, unit, shape.program);
    }
}

#[test]
fn sequential_overwrites_cost_switch_merges_only() {
    let shape = shape(8, 2);
    let (mut map, mut flash) = filled(shape);
    fill(&mut map, &mut flash, shape);
    // Six blocks twice; the first time there was nothing to erase.
    let expected = Merges { switches: 12, erased: 6, ..Merges::default() };
    assert_eq!(map.blocks.merges, expected);
    assert_eq!(flash.programs, 2 * 48);
}

#[test]
fn a_log_that_begins_its_block_is_filled_up_by_a_partial_merge() {
    let shape = shape(8, 1);
    let (mut map, mut flash) = filled(shape);
    write(&mut map, &mut flash, 8, 3);
    // The next block in order needs the sequential log.
    write(&mut map, &mut flash, 24, 8);
    let merges = map.blocks.merges;
    assert_eq!((merges.partials, merges.copied, merges.fulls), (1, 5, 0));
}

#[test]
fn fast_merges_every_block_that_its_oldest_log_holds_units_of() {
    let shape = shape(8, 1);
    let (mut map, mut flash) = filled(shape);
    let erased = map.blocks.merges.erased;
    // Two random logs of eight slots: sixteen writes fit, four to each of four blocks, spread over
    // both logs.
    for slot in 0..16 {
        write(&mut map, &mut flash, slot % 4 * 8 + 1 + slot / 4, 1);
    }
    assert_eq!(map.blocks.merges.fulls, 0);
    write(&mut map, &mut flash, 5 * 8 + 3, 1);
    let merges = map.blocks.merges;
    // The oldest log holds two units of each of the four blocks, and their merges take the other
    // log's units along.
    assert_eq!((merges.fulls, merges.copied, merges.erased - erased), (4, 32, 5));
    for slot in 0..8 {
        write(&mut map, &mut flash, 5 * 8 + 1 + slot % 6, 1);
    }
    // The second log was dead by then: its erase cost no merge.
    let merges = map.blocks.merges;
    assert_eq!((merges.fulls, merges.erased - erased), (4, 6));
}

#[test]
fn a_limit_of_open_blocks_closes_the_oldest() {
    let shape = Shape { logical_blocks: 6, blocks: 12, units: 8, program: 1 };
    let copied = |open: u32, streams: u32| {
        let mut flash = Flash::new(shape);
        let mut map = Fast::new(shape, logs(5, Some(open)));
        for unit in 0..48 {
            write(&mut map, &mut flash, unit, 1);
        }
        for offset in 0..8 {
            for stream in 0..streams {
                write(&mut map, &mut flash, stream * 8 + offset, 1);
            }
        }
        map.blocks.merges.copied
    };
    // Within the limit each block is put together about once; beyond it at every write.
    assert!(copied(2, 2) <= 2 * 8, "{}", copied(2, 2));
    assert!(copied(2, 3) >= 3 * 6 * 7, "{}", copied(2, 3));
    assert!(copied(3, 3) <= 3 * 8, "{}", copied(3, 3));
}

#[test]
fn what_was_discarded_is_not_copied() {
    let shape = shape(8, 1);
    let (mut map, mut flash) = filled(shape);
    // Units 1 to 3 into a log, of which 2 and 3 are discarded, and 6 and 7 from the data block.
    write(&mut map, &mut flash, 1, 3);
    map.discard(&mut flash, Nanos::ZERO, Unit(2), 2);
    map.discard(&mut flash, Nanos::ZERO, Unit(6), 2);
    map.reclaim_oldest(&mut flash, Nanos::ZERO);
    assert_eq!((map.blocks.merges.fulls, map.blocks.merges.copied), (1, 4));
}

#[derive(Clone, Debug)]
enum Step {
    Write(u32, u32),
    Discard(u32, u32),
    Reclaim,
}

fn steps(units: u32) -> impl Strategy<Value = Vec<Step>> {
    let range = (0..units).prop_flat_map(move |unit| (Just(unit), 1..=(units - unit).min(20)));
    let write = range.clone().prop_map(|(unit, count)| Step::Write(unit, count));
    let small = (0..units).prop_map(|unit| Step::Write(unit, 1));
    let start = (0..6u32).prop_map(move |logical| Step::Write(logical * (units / 6), 4));
    let discard = range.prop_map(|(unit, count)| Step::Discard(unit, count));
    let step = prop_oneof![
        4 => write, 6 => small, 2 => start, 2 => discard, 1 => Just(Step::Reclaim)
    ];
    prop::collection::vec(step, 1..200)
}

fn check(map: &Fast, flash: &Flash, reference: &[bool]) -> Result<(), TestCaseError> {
    for (unit, mapped) in (0u32..).zip(reference) {
        let place = map.place(Unit(unit));
        prop_assert_eq!(place.is_nowhere(), !*mapped, "unit {}", unit);
        if *mapped {
            let expected = Some((unit, flash.versions[unit as usize]));
            prop_assert_eq!(flash.at(place), expected, "unit {}", unit);
        }
    }
    prop_assert_eq!(
        map.blocks.mapped_units,
        reference.iter().filter(|mapped| **mapped).count() as u64
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_unit_reads_back_its_latest_version(
        steps in steps(60),
        program in prop_oneof![Just(1u32), Just(2), Just(4)],
        most_open in prop_oneof![Just(None), Just(Some(1u32)), Just(Some(2))],
        sequential in 1u32..LOGS,
    ) {
        let shape = shape(10, program);
        let (mut map, mut flash) = (
            Fast::new(shape, Logs { all: LOGS, sequential, most_open }),
            Flash::new(shape),
        );
        let mut reference = vec![false; 60];
        let mut host = 0;
        for step in &steps {
            match *step {
                Step::Write(unit, count) => {
                    write(&mut map, &mut flash, unit, count);
                    reference[unit as usize..(unit + count) as usize].fill(true);
                    host += u64::from(count);
                }
                Step::Discard(unit, count) => {
                    map.discard(&mut flash, Nanos::ZERO, Unit(unit), count);
                    reference[unit as usize..(unit + count) as usize].fill(false);
                }
                Step::Reclaim => {
                    map.reclaim_oldest(&mut flash, Nanos::ZERO);
                }
            }
            check(&map, &flash, &reference)?;
        }
        let merges = map.blocks.merges;
        prop_assert_eq!(flash.programs, host + merges.copied);
        prop_assert_eq!(flash.erases, merges.erased);
    }
}
