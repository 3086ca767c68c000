//! Commands to a plain device with changed parameters.

use flashlag_flash::{Command, Flash};
pub use flashlag_testing::model;
use flashlag_units::{Bytes, Nanos};

pub fn flash(changes: &[(&str, &str)]) -> Flash {
    Flash::new(&model(changes), 1).unwrap()
}

pub fn write(offset: u64, length: u64) -> Command {
    Command::Write { offset: Bytes(offset), length: Bytes(length), fua: false }
}

pub fn read(offset: u64, length: u64) -> Command {
    Command::Read { offset: Bytes(offset), length: Bytes(length) }
}

/// Commands in a row, each handed over when the one before it ended; the end of the last.
pub fn in_a_row(
    flash: &mut Flash,
    from: Nanos,
    commands: impl IntoIterator<Item = Command>,
) -> Nanos {
    commands.into_iter().fold(from, |at, command| flash.submit(at, command).unwrap().ended)
}
