//! Tests the front over a store that consists only of dies, against closed forms.

mod buffer;
mod durable;
mod link;
mod power;
mod reserve;
mod stops;
mod write_booster;
mod write_cache;

use flashlag_spec::profile::Model;
use flashlag_testing::model;
use flashlag_units::{Bytes, Nanos};

use super::commands::Front;
use super::store::{Store, UnitWrite};
use crate::address::{Die, Unit};
use crate::command::{Command, FlashError};
use crate::die::DieWork;
use crate::power::WordLine;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Program operations use the dies in turn; garbage collection is never needed.
struct Dies {
    busy: Vec<Nanos>,
    next: usize,
    read: Nanos,
    program: Nanos,
    mapped: Vec<bool>,
    programs: u64,
    units: u64,
    reads: u64,
}

impl Dies {
    fn new(model: &Model) -> Dies {
        let dies = model.nand.channels * model.nand.dies_per_channel;
        Dies {
            busy: vec![Nanos::ZERO; dies as usize],
            next: 0,
            read: model.nand.read.0,
            program: model.nand.program.0,
            mapped: vec![false; (model.map.capacity.0.0 / model.map.unit.0.0) as usize],
            programs: 0,
            units: 0,
            reads: 0,
        }
    }

    fn keep(&mut self, at: Nanos, die: usize, time: Nanos) -> Nanos {
        self.busy[die] = self.busy[die].max(at).plus(time);
        self.busy[die]
    }
}

impl Store for Dies {
    fn read(&mut self, at: Nanos, unit: Unit, _: u32) -> Nanos {
        self.reads += 1;
        let die = unit.index() % self.busy.len();
        self.keep(at, die, self.read)
    }

    fn write(&mut self, at: Nanos, units: &[UnitWrite]) -> Result<Nanos, FlashError> {
        let die = self.next;
        self.next = (die + 1) % self.busy.len();
        self.programs += 1;
        self.units += units.len() as u64;
        units.iter().for_each(|write| self.mapped[write.unit.index()] = true);
        Ok(self.keep(at, die, self.program))
    }

    fn word_line(&self) -> Option<WordLine> {
        None
    }

    fn discard(&mut self, _: Nanos, unit: Unit, count: u32) {
        self.mapped[unit.index()..unit.plus(count).index()].fill(false);
    }

    fn is_mapped(&self, unit: Unit) -> bool {
        self.mapped[unit.index()]
    }

    fn mapped_units(&self) -> u64 {
        self.mapped.iter().filter(|mapped| **mapped).count() as u64
    }

    fn background(&mut self, _: Nanos, _: Nanos) -> Result<(), FlashError> {
        Ok(())
    }

    fn power_cut(&mut self, at: Nanos) -> Nanos {
        self.busy.fill(at);
        Nanos::from_millis(10)
    }

    fn dies(&self) -> u32 {
        self.busy.len() as u32
    }

    fn work(&mut self, at: Nanos, die: Die, work: DieWork) -> Nanos {
        let time = match work {
            DieWork::Read { time, .. }
            | DieWork::Program { time, .. }
            | DieWork::Erase { time } => time,
        };
        self.keep(at, die.index(), time)
    }
}

/// Four dies of TLC behind a fast link.
const FRONT: [(&str, &str); 14] = [
    ("nand.cell", r#""tlc""#),
    ("nand.dies_per_channel", "4"),
    ("nand.page", r#""16KiB""#),
    ("nand.pages_per_block", "96"),
    ("nand.program", r#""1ms""#),
    ("nand.bus_per_second", r#""1GB""#),
    ("host.read_per_second", r#""400MB""#),
    ("host.write_per_second", r#""400MB""#),
    ("host.read_command", r#""20us""#),
    ("host.write_command", r#""20us""#),
    ("host.flush_command", r#""5us""#),
    ("map.capacity", r#""256MiB""#),
    ("map.spare", r#""32MiB""#),
    ("map.program_unit", r#""48KiB""#),
];

/// The front and its dies, with added or changed parameters (`host.packed = 8`), as TOML values.
fn front(changes: &[(&str, &str)]) -> (Front, Dies) {
    let model = model(&[&FRONT, changes].concat());
    let dies = Dies::new(&model);
    (Front::new(&model, 4, 1), dies)
}

fn write(offset: u64, length: u64) -> Command {
    Command::Write { offset: Bytes(offset), length: Bytes(length), fua: false }
}

fn read(offset: u64, length: u64) -> Command {
    Command::Read { offset: Bytes(offset), length: Bytes(length) }
}

/// Consecutive commands, each submitted at the end of the previous one; returns the last end.
fn in_a_row(
    front: &mut Front,
    dies: &mut Dies,
    from: Nanos,
    commands: impl IntoIterator<Item = Command>,
) -> Nanos {
    commands.into_iter().fold(from, |at, command| front.submit(dies, at, command).unwrap().ended)
}

fn sequential(from: u64, bytes: u64, block: u64) -> impl Iterator<Item = Command> {
    (from..from + bytes).step_by(block as usize).map(move |offset| write(offset, block))
}

fn near(actual: f64, expected: f64, share: f64) {
    assert!((actual / expected - 1.0).abs() < share, "{actual} is not {expected}");
}

const BUFFER: [(&str, &str); 2] = [("buffer.size", "\"1MiB\""), ("buffer.volatile", "true")];
