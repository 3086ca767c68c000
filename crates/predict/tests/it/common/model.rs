use flashlag_spec::profile::Model;
use flashlag_spec::scenario::{Durability, IoOperation, JournalMode, Pattern, Test};

/// What an operation takes.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Most of them, in nanoseconds.
    pub typical: f64,
    /// What each fortieth waits besides.
    pub stall: f64,
    pub flushes: f64,
    pub blocks_per_write: f64,
}

impl Times {
    pub fn scaled(self, factor: f64) -> Times {
        Times { typical: self.typical * factor, stall: self.stall * factor, ..self }
    }
}

/// A device and the filesystem on it, at a moment of its life.
pub struct Situation<'a> {
    model: &'a Model,
    fast_sync: bool,
    log_structured: bool,
    fuse: bool,
    encrypt: bool,
    pub level: f64,
    pub trimmed: bool,
    filled_runs: u32,
    /// How many operations each test makes.
    pub ops: u64,
}

impl<'a> Situation<'a> {
    pub fn new(model: &'a Model, filesystem: &str) -> Situation<'a> {
        let has = |word: &str| filesystem.split(',').any(|one| one == word);
        Situation {
            model,
            fast_sync: has("nobarrier"),
            log_structured: has("f2fs"),
            fuse: has("fuse"),
            encrypt: has("encrypt"),
            level: 0.0,
            trimmed: false,
            filled_runs: 0,
            ops: 1_200,
        }
    }

    /// Bytes programmed for each byte written: more when full, less with more spare.
    pub fn copies(&self) -> f64 {
        let (spare, capacity) = (self.model.map.spare.0.0, self.model.map.capacity.0.0);
        let room = spare as f64 / capacity as f64 + (1.0 - self.level) * 0.5;
        let runs = 1.0 / (1.0 + 0.2 * f64::from(self.filled_runs));
        let mut copies = 1.0 + 0.05 * self.level * runs / room;
        if self.trimmed {
            copies = 1.0 + (copies - 1.0) * 0.2;
        }
        copies
    }

    pub fn wrote(&mut self, _: &Test, run: u32) {
        self.filled_runs = if self.level > 0.0 { run } else { 0 };
    }

    pub fn times(&self, test: &Test) -> Times {
        let (nand, host) = (&self.model.nand, &self.model.host);
        let stack = &self.model.stack;
        let ns = |time: flashlag_units::Nanos| time.0 as f64;
        let move_time = |bytes: f64, per_second: u64| bytes / per_second as f64 * 1e9;
        let (block, write, sequential, saves) = match test {
            Test::Io(io) => (
                io.block.0.0 as f64,
                io.operation == IoOperation::Write,
                io.pattern == Pattern::Sequential,
                None,
            ),
            Test::Save(save) => (4096.0, true, false, Some(save.journal)),
            Test::FileSave(_) | Test::Replay(_) | Test::Card(_) => {
                unreachable!("no forecast has these")
            }
        };
        let kib = block / 1024.0;
        let mut call = ns(stack.call.0) + kib * ns(stack.per_kib.0);
        if self.fuse {
            call += ns(stack.fuse_call.0) + kib * ns(stack.fuse_per_kib.0);
        }
        if self.encrypt {
            let costs = &stack.encryption;
            let rate = if write { costs.write_per_kib.0 } else { costs.read_per_kib.0 };
            call += kib * ns(rate);
        }
        let pages = (block / nand.page.0.0 as f64).ceil();
        let bus = move_time(block, nand.bus_per_second.0.0);
        if !write {
            let link = move_time(block, host.read_per_second.0.0);
            let typical = call + ns(host.read_command.0) + pages * ns(nand.read.0) + bus + link;
            return Times { typical, stall: 0.0, flushes: 0.0, blocks_per_write: 1.0 };
        }
        let link = move_time(block, host.write_per_second.0.0);
        // A write fills its mapping units.
        let unit = self.model.map.unit.0.0 as f64;
        let programmed = ((block / unit).ceil() * unit / nand.page.0.0 as f64).ceil();
        let copied = programmed * ns(nand.program.0) * self.copies();
        let one = ns(host.write_command.0) + link + bus + copied;
        let durable = match test {
            Test::Io(io) => io.durable != Durability::None,
            Test::Save(_) | Test::FileSave(_) | Test::Replay(_) | Test::Card(_) => true,
        };
        let requests = match (durable && !sequential, self.log_structured, saves) {
            (false, ..) => 1.0,
            (true, true, None) => 2.0,
            (true, false, None) => 3.0,
            (true, _, Some(JournalMode::Wal)) => 4.0,
            (true, _, Some(_)) => 8.0,
        };
        let flushes = if durable && !self.fast_sync { 2.0 } else { 0.0 };
        let sync = if durable { ns(stack.sync_call.0) } else { 0.0 };
        let typical = call + sync + requests * one + flushes * ns(host.flush_command.0);
        let stall = ns(nand.erase.0) * self.copies();
        Times { typical, stall, flushes, blocks_per_write: requests }
    }
}
