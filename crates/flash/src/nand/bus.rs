use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::address::Die;
use crate::front::{Line, Rate};

/// The channels between the controller and the dies. Die d is on channel d mod channels, so that
/// dies in a row are on different ones.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Buses {
    /// Nothing but its die uses a channel of its own: its time is in the die's.
    shared: Vec<Line>,
    rate: Rate,
    channels: u32,
    /// The time of the last number of bytes, which is mostly the next one too.
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

    /// Moves bytes to or from a die as soon as they are `ready` and its channel is free; says when
    /// that is done. Nothing will be asked for before `now` any more.
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

    /// What moving so many bytes takes.
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
