use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::address::Die;
use crate::die::{Line, Rate};

/// Channels between the controller and the dies. Die d is on channel `d mod channels`, so
/// consecutive dies are on different channels.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Buses {
    /// Reservations of shared channels. A channel of a single die needs none: its time is part of
    /// the die's.
    shared: Vec<Line>,
    rate: Rate,
    channels: u32,
    /// The last transfer and its time, since the next one is mostly of the same size.
    last: (u64, Nanos),
}

impl Buses {
    pub(super) fn new(channels: u32, dies_per_channel: u32, per_second: Bytes) -> Buses {
        let shared = if dies_per_channel > 1 { channels } else { 0 };
        Buses {
            shared: (0..shared).map(|_| Line::default()).collect(),
            rate: Rate::new(per_second),
            channels,
            last: (0, Nanos::ZERO),
        }
    }

    /// Transfers bytes to or from a die from `ready` on, once its channel is free; returns the end.
    /// Later calls must not ask for a time before `now`.
    #[inline]
    pub(super) fn move_bytes(&mut self, now: Nanos, die: Die, ready: Nanos, bytes: u64) -> Nanos {
        if self.last.0 != bytes {
            self.last = (bytes, self.rate.time(bytes));
        }
        if self.shared.is_empty() {
            return ready.plus(self.last.1);
        }
        let line = &mut self.shared[(die.0 % self.channels) as usize];
        line.pass(now);
        line.reserve(ready, self.last.1)
    }

    /// Time to transfer `bytes`.
    #[inline]
    pub(super) fn time(&self, bytes: u64) -> Nanos {
        self.rate.time(bytes)
    }

    pub(super) fn channels(&self) -> u32 {
        self.channels
    }

    pub(super) fn clear(&mut self) {
        self.shared.iter_mut().for_each(Line::clear);
    }
}
