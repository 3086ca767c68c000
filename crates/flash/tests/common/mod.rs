//! Models for tests: a plain device, and what is changed in it.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test uses some; a test that fails says where"
)]

mod changed;

use flashlag_flash::{Command, Flash};
use flashlag_schema::profile::Model;
use flashlag_units::{Bytes, Nanos};

const BASE: &str = r#"
name = "plain"
about = "A plain device."
os = "none"
filesystem = "raw"
[nand]
cell = { value = "slc", source = "test" }
channels = { value = 1, source = "test" }
dies_per_channel = { value = 1, source = "test" }
planes = { value = 1, source = "test" }
page = { value = "4KiB", source = "test" }
pages_per_block = { value = 64, source = "test" }
read = { value = "50us", source = "test" }
program = { value = "600us", source = "test" }
erase = { value = "3ms", source = "test" }
bus_per_second = { value = "100MB", source = "test" }
[host]
link = { value = "test", source = "test" }
read_per_second = { value = "90MB", source = "test" }
write_per_second = { value = "90MB", source = "test" }
queue_depth = { value = 1, source = "test" }
read_command = { value = "100us", source = "test" }
write_command = { value = "100us", source = "test" }
[map]
kind = { value = "page", source = "test" }
capacity = { value = "64MiB", source = "test" }
spare = { value = "8MiB", source = "test" }
unit = { value = "4KiB", source = "test" }
program_unit = { value = "4KiB", source = "test" }
[gc]
policy = { value = "greedy", source = "test" }
hot_cold = { value = false, source = "test" }
"#;

/// The plain device with parameters besides or instead (`gc.policy = "fifo"`), as TOML values.
pub fn model(changes: &[(&str, &str)]) -> Model {
    changed::changed(BASE, changes)
}

pub fn flash(changes: &[(&str, &str)]) -> Flash {
    Flash::new(&model(changes), 1).unwrap()
}

pub fn write(offset: u64, length: u64) -> Command {
    Command::Write { offset: Bytes(offset), length: Bytes(length), fua: false }
}

pub fn read(offset: u64, length: u64) -> Command {
    Command::Read { offset: Bytes(offset), length: Bytes(length) }
}

pub fn discard(offset: u64, length: u64) -> Command {
    Command::Discard { offset: Bytes(offset), length: Bytes(length) }
}

/// Commands in a row, each handed over when the one before it ended; the end of the last.
pub fn in_a_row(
    flash: &mut Flash,
    from: Nanos,
    commands: impl IntoIterator<Item = Command>,
) -> Nanos {
    commands.into_iter().fold(from, |at, command| flash.submit(at, command).unwrap().ended)
}
