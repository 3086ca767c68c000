//! The host interface: queue, command overheads, link, sleep.

use flashlag_spec::profile::HostModel;
use flashlag_units::Nanos;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use super::housekeeping::{Housekeeping, Load};
use super::queue::CommandQueue;
use crate::die::{Line, Rate};
use crate::spread::Spread;

/// Kind of a command, which decides its overhead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandKind {
    Read,
    Write,
    Flush,
    Discard,
}

/// The host's side of the device.
///
/// A command that arrives at `t` starts at `s = t`, or with a full queue at `s = max(t, first end
/// of a command in flight)`; one that arrives at least `sleep_after` after the last end also waits
/// for `wake`, or after a rest for the `wake` of the last of `rests` that it has reached. The controller then spends the command's overhead, one command after another, so at
/// most 1 / overhead commands are done in a second at any depth. Data is transferred in pieces,
/// each as soon as it is ready: transfer and flash overlap except for the first or last piece.
///
/// A share `passed_over` of the reads and writes that find others before them ends a round later,
/// by the time that was reserved when they came, in the write buffer too: with n commands always in flight and a serial stage of s each, they take about 2 n s, the
/// others as much less as they gain by it, and 1 / s commands are done in a second all the same.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Host {
    queue: CommandQueue,
    read_command: Nanos,
    write_command: Nanos,
    flush_command: Nanos,
    read_rate: Rate,
    write_rate: Rate,
    largest: u64,
    /// Transfers to the device; from it too on a half duplex link.
    inward: Line,
    outward: Line,
    duplex: bool,
    controller: Nanos,
    packed: u32,
    /// If the last command was a write: its start, and its number within its pack.
    pack: Option<(Nanos, u32)>,
    /// The shortest rest that the device sleeps after.
    sleep_after: Option<Nanos>,
    wake: (Nanos, Nanos),
    /// Levels of sleep by the rest before them, with what waking takes.
    rests: Vec<(Nanos, Nanos)>,
    /// Share of the waiting commands that are passed over, of 2⁶⁴.
    passed_over: u64,
    /// How much later the command that was started last ends because it was passed over.
    later: Nanos,
    /// Spread of the controller's own time for a command, and for a flush.
    spread: Spread,
    flush_spread: Spread,
    housekeeping: Option<Box<Housekeeping>>,
    /// Bytes that found the write cache full since the last write command.
    past_cache: u64,
    /// When the write buffer has room for what was sent so far.
    room: Nanos,
    random: Pcg64Mcg,
    /// End of the last command.
    quiet_from: Nanos,
    /// The stages of the command that was started last, for the account of what it waits for.
    #[serde(skip)]
    begin: Begin,
}

/// When a command left the queue, found the device awake, and got the controller.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Begin {
    /// When it left the queue.
    pub(crate) taken: Nanos,
    /// When the device was awake.
    pub(crate) awake: Nanos,
    /// When the controller was free for the command.
    pub(crate) turn: Nanos,
}

impl Host {
    pub(crate) fn new(model: &HostModel, seed: u64) -> Host {
        let shortest = model.wake.0;
        Host {
            queue: CommandQueue::new(model.queue_depth),
            read_command: model.read_command.0,
            write_command: model.write_command.0,
            flush_command: model.flush_command.0,
            read_rate: Rate::new(model.read_per_second.0),
            write_rate: Rate::new(model.write_per_second.0),
            largest: model.largest.0.0.max(512),
            inward: Line::default(),
            outward: Line::default(),
            duplex: model.duplex,
            controller: Nanos::ZERO,
            packed: model.packed.max(1),
            pack: None,
            sleep_after: match model.rests.first() {
                Some(level) => Some(level.after.0),
                None => model.sleep_after.map(|after| after.0),
            },
            rests: model.rests.iter().map(|level| (level.after.0, level.wake.0)).collect(),
            passed_over: (model.passed_over * (1u128 << 64) as f64) as u64,
            later: Nanos::ZERO,
            wake: (shortest, model.wake_most.map_or(shortest, |most| most.0.max(shortest))),
            spread: Spread::new(model.command_spread),
            flush_spread: Spread::new(model.flush_spread),
            housekeeping: Housekeeping::new(model, seed).map(Box::new),
            past_cache: 0,
            room: Nanos::ZERO,
            random: Pcg64Mcg::seed_from_u64(seed),
            quiet_from: Nanos::ZERO,
            begin: Begin::default(),
        }
    }

    /// Bytes of the largest command.
    pub(crate) fn largest(&self) -> u64 {
        self.largest
    }

    /// End of the last command: the device is idle from then on.
    #[inline]
    pub(crate) fn quiet_from(&self) -> Nanos {
        self.quiet_from
    }

    /// Starts a command; returns its start and when the controller has read it. `now` never goes
    /// back. [`Host::complete`] must follow.
    #[inline]
    pub(crate) fn begin(&mut self, now: Nanos, kind: CommandKind) -> (Nanos, Nanos) {
        self.inward.pass(now);
        self.outward.pass(now);
        let mut taken = self.queue.begin(now);
        let from_queue = taken;
        let rest = now.saturating_since(self.quiet_from);
        if self.sleep_after.is_some_and(|after| rest >= after) {
            taken = taken.plus(self.draw_wake(rest));
        }
        let overhead = match kind {
            CommandKind::Read => self.read_command,
            CommandKind::Write => self.write_overhead(now, taken),
            CommandKind::Flush => self.flush_command,
            CommandKind::Discard => self.write_command,
        };
        let spread = match kind {
            CommandKind::Flush => &self.flush_spread,
            CommandKind::Read | CommandKind::Write | CommandKind::Discard => &self.spread,
        };
        let overhead =
            if spread.is_none() { overhead } else { spread.of(overhead, self.random.random()) };
        if kind != CommandKind::Write {
            self.pack = None;
        }
        if self.passed_over > 0 {
            self.later = match kind {
                CommandKind::Read | CommandKind::Write => self.draw_later(taken, kind),
                CommandKind::Flush | CommandKind::Discard => Nanos::ZERO,
            };
        }
        let turn = self.controller.max(taken);
        self.begin = Begin { taken: from_queue, awake: taken, turn };
        self.controller = turn.plus(overhead);
        (taken, self.controller)
    }

    /// How much later a command ends because it was passed over: by all the time that was reserved
    /// before it.
    fn draw_later(&mut self, taken: Nanos, kind: CommandKind) -> Nanos {
        let line = match kind {
            CommandKind::Read if self.duplex => &self.outward,
            _ => &self.inward,
        };
        let mut before = line.reserved_from(taken).max(self.controller.saturating_since(taken));
        if kind == CommandKind::Write {
            before = before.max(self.room.saturating_since(taken));
        }
        if before == Nanos::ZERO || self.random.random::<u64>() >= self.passed_over {
            return Nanos::ZERO;
        }
        before
    }

    /// Overhead of a write. One that arrives while the write before it still waits joins its pack
    /// and has no overhead. Each write of a pack completes with its own data.
    #[inline]
    fn write_overhead(&mut self, now: Nanos, taken: Nanos) -> Nanos {
        if self.packed == 1 {
            return self.write_command;
        }
        match self.pack {
            Some((waits_until, place)) if now < waits_until && place < self.packed => {
                self.pack = Some((waits_until, place + 1));
                Nanos::ZERO
            }
            _ => {
                self.pack = Some((taken, 1));
                self.write_command
            }
        }
    }

    #[cold]
    fn draw_wake(&mut self, rest: Nanos) -> Nanos {
        if let Some((_, wake)) = self.rests.iter().rev().find(|(after, _)| rest >= *after) {
            return *wake;
        }
        let (shortest, longest) = self.wake;
        if shortest == longest {
            return shortest;
        }
        Nanos(self.random.random_range(shortest.0..=longest.0))
    }

    /// Transfers `bytes` to the device from `ready` on; returns the end.
    #[inline]
    pub(crate) fn receive(&mut self, ready: Nanos, bytes: u64) -> Nanos {
        self.inward.reserve(ready, self.write_rate.time(bytes))
    }

    /// Transfers `bytes` to the host from `ready` on; returns the end.
    #[inline]
    pub(crate) fn send(&mut self, ready: Nanos, bytes: u64) -> Nanos {
        let line = if self.duplex { &mut self.outward } else { &mut self.inward };
        line.reserve(ready, self.read_rate.time(bytes))
    }

    /// The stages of the command that was started last, and how much later it ends because it was
    /// passed over.
    pub(crate) fn begin_of_last(&self) -> (Begin, Nanos) {
        (self.begin, self.later)
    }

    /// How long the write command that was started last waits for the controller's own work;
    /// `came` is when it arrived.
    #[inline]
    pub(crate) fn housekeeping(&mut self, came: Nanos, bytes: u64) -> Nanos {
        let Some(housekeeping) = &mut self.housekeeping else {
            return Nanos::ZERO;
        };
        let rest = came.saturating_since(self.quiet_from);
        let past_cache = std::mem::take(&mut self.past_cache);
        let wait = housekeeping.before(Load { rest, bytes, past_cache });
        self.controller = self.controller.plus(wait);
        wait
    }

    /// Notes bytes that find the write cache full.
    pub(crate) fn went_past_cache(&mut self, bytes: u64) {
        self.past_cache += bytes;
    }

    /// Sets when the write buffer has room for what was sent so far.
    #[inline]
    pub(crate) fn room_from(&mut self, room: Nanos) {
        self.room = room;
    }

    /// Keeps the controller busy until `end`.
    pub(crate) fn occupy(&mut self, end: Nanos) {
        self.controller = self.controller.max(end);
    }

    /// Completes the command that was started last, whose work ends at `end`; returns when the
    /// host sees its end, which is later for a command that is passed over.
    #[inline]
    pub(crate) fn complete(&mut self, end: Nanos) -> Nanos {
        let end = end.plus(self.later);
        self.queue.end(end);
        self.quiet_from = self.quiet_from.max(end);
        end
    }

    /// Ends everything in progress; the device is ready again at `ready`.
    pub(crate) fn power_cut(&mut self, ready: Nanos) {
        self.queue.clear();
        self.inward.clear();
        self.outward.clear();
        self.pack = None;
        self.controller = ready;
        self.quiet_from = ready;
    }
}
