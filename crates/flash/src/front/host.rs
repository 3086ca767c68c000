//! The host interface: queue, command overheads, link, sleep.

use flashlag_schema::profile::HostModel;
use flashlag_units::Nanos;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use super::line::Line;
use super::queue::CommandQueue;
use super::rate::Rate;

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
/// of a command under way)`; one that arrives at least `sleep_after` after the last end also waits
/// for `wake`. The controller then spends the command's overhead, one command after another, so at
/// most 1 / overhead commands are done in a second at any depth. Data is transferred in pieces,
/// each as soon as it is ready: transfer and flash overlap except for the first or last piece.
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
    sleep_after: Option<Nanos>,
    wake: (Nanos, Nanos),
    random: Pcg64Mcg,
    /// End of the last command.
    quiet_from: Nanos,
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
            sleep_after: model.sleep_after.map(|after| after.0),
            wake: (shortest, model.wake_most.map_or(shortest, |most| most.0.max(shortest))),
            random: Pcg64Mcg::seed_from_u64(seed),
            quiet_from: Nanos::ZERO,
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
        if self.sleep_after.is_some_and(|after| now.saturating_since(self.quiet_from) >= after) {
            taken = taken.plus(self.draw_wake());
        }
        let overhead = match kind {
            CommandKind::Read => self.read_command,
            CommandKind::Write => self.write_overhead(now, taken),
            CommandKind::Flush => self.flush_command,
            CommandKind::Discard => self.write_command,
        };
        if kind != CommandKind::Write {
            self.pack = None;
        }
        self.controller = self.controller.max(taken).plus(overhead);
        (taken, self.controller)
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

    fn draw_wake(&mut self) -> Nanos {
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

    /// Keeps the controller busy until `end`.
    pub(crate) fn occupy(&mut self, end: Nanos) {
        self.controller = self.controller.max(end);
    }

    /// Completes the command that was started last, at `end`.
    #[inline]
    pub(crate) fn complete(&mut self, end: Nanos) {
        self.queue.end(end);
        self.quiet_from = self.quiet_from.max(end);
    }

    /// Ends everything under way; the device is ready again at `ready`.
    pub(crate) fn power_cut(&mut self, ready: Nanos) {
        self.queue.clear();
        self.inward.clear();
        self.outward.clear();
        self.pack = None;
        self.controller = ready;
        self.quiet_from = ready;
    }
}
