use flashlag_units::Nanos;

/// What an operation can wait for, as far as a model knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Wait {
    #[default]
    /// The storage, while it works for the operation: reads, programs, transfers.
    Storage,
    /// Nothing: the operation's own work on a CPU.
    Executing,
    /// A CPU, or the single kernel thread or queue that does such work.
    Cpu,
    /// A commit of the filesystem's journal or log.
    FilesystemCommit,
    /// A checkpoint of the filesystem.
    Checkpoint,
    /// The filesystem's own cleaning of segments.
    Cleaning,
    Discard,
    /// Requests of others that came earlier.
    OtherIo,
    /// Garbage collection in the flash: copies of a victim and its erase, merges of log blocks.
    GarbageCollection,
    /// Wear levelling in the flash.
    WearLevelling,
    /// Room in the device's write cache.
    WriteCacheFull,
    /// The device or its link waking up.
    WakeUp,
    Throttling,
    /// Work that the device does after a certain number of writes, such as writing out its map.
    DevicePeriod,
}

impl Wait {
    /// All causes, in the order in which parts are stored.
    pub const ALL: [Wait; 14] = [
        Wait::Storage,
        Wait::Executing,
        Wait::Cpu,
        Wait::FilesystemCommit,
        Wait::Checkpoint,
        Wait::Cleaning,
        Wait::Discard,
        Wait::OtherIo,
        Wait::GarbageCollection,
        Wait::WearLevelling,
        Wait::WriteCacheFull,
        Wait::WakeUp,
        Wait::Throttling,
        Wait::DevicePeriod,
    ];
}

/// The time of an operation, or of several, divided by what it waited for. Parts are whole
/// nanoseconds and add up to that time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited([u64; Wait::ALL.len()]);

impl Waited {
    /// All of a time for one cause.
    pub fn all(cause: Wait, time: Nanos) -> Waited {
        let mut waited = Waited::default();
        waited.add(cause, time);
        waited
    }

    /// The part of a cause.
    pub fn of(&self, cause: Wait) -> Nanos {
        Nanos(self.0[cause as usize])
    }

    /// The causes with a part, and the parts, in the order of [`Wait::ALL`].
    pub fn parts(&self) -> impl Iterator<Item = (Wait, Nanos)> + '_ {
        let all = Wait::ALL.into_iter().map(|cause| (cause, self.of(cause)));
        all.filter(|(_, part)| *part > Nanos::ZERO)
    }

    /// Sum of all parts.
    pub fn total(&self) -> Nanos {
        Nanos(self.0.iter().fold(0, |sum, part| sum.saturating_add(*part)))
    }

    /// Adds time to a cause.
    pub fn add(&mut self, cause: Wait, time: Nanos) {
        let part = &mut self.0[cause as usize];
        *part = part.saturating_add(time.0);
    }

    /// Sum, part by part.
    #[must_use]
    pub fn plus(mut self, other: &Waited) -> Waited {
        for (mine, more) in self.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_add(more);
        }
        self
    }

    /// The difference from an earlier sum.
    #[must_use]
    pub fn since(mut self, before: &Waited) -> Waited {
        for (now, before) in self.0.iter_mut().zip(before.0) {
            *now = now.saturating_sub(before);
        }
        self
    }

    /// The same time with up to `most` of one cause counted as another.
    #[must_use]
    pub fn moved(mut self, from: Wait, to: Wait, most: Nanos) -> Waited {
        let part = self.of(from).0.min(most.0);
        self.0[from as usize] -= part;
        self.0[to as usize] += part;
        self
    }

    /// Parts in the same proportions that add up to `total`: rounded down, and the largest gets the
    /// rest. If all are zero, everything goes to [`Wait::Storage`].
    #[must_use]
    pub fn scaled_to(self, total: Nanos) -> Waited {
        let sum: u128 = self.0.iter().map(|part| u128::from(*part)).sum();
        if sum == u128::from(total.0) {
            return self;
        }
        if sum == 0 {
            return Waited::all(Wait::Storage, total);
        }
        let share = |part: u64| (u128::from(part) * u128::from(total.0) / sum) as u64;
        let mut scaled = Waited(self.0.map(share));
        let left = total.0 - scaled.total().0;
        let largest = Wait::ALL.into_iter().max_by_key(|cause| self.of(*cause));
        scaled.add(largest.unwrap_or(Wait::Storage), Nanos(left));
        scaled
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_are_summed_moved_and_taken_apart_by_cause() {
        let mut waited = Waited::all(Wait::Storage, Nanos(5));
        waited.add(Wait::WakeUp, Nanos(7));
        let twice = waited.plus(&waited);
        assert_eq!((twice.of(Wait::Storage), twice.total()), (Nanos(10), Nanos(24)));
        assert_eq!(twice.since(&waited), waited);
        let parts: Vec<_> = waited.parts().collect();
        assert_eq!(parts, [(Wait::Storage, Nanos(5)), (Wait::WakeUp, Nanos(7))]);
        let moved = waited.moved(Wait::WakeUp, Wait::Cpu, Nanos(3));
        assert_eq!((moved.of(Wait::WakeUp), moved.of(Wait::Cpu)), (Nanos(4), Nanos(3)));
        assert_eq!(waited.moved(Wait::WakeUp, Wait::Cpu, Nanos(9)).of(Wait::Cpu), Nanos(7));
        assert_eq!(Waited::default().scaled_to(Nanos(3)), Waited::all(Wait::Storage, Nanos(3)));
    }

    #[test]
    fn every_cause_has_a_place_of_its_own() {
        for (index, cause) in Wait::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, index, "{cause:?}");
        }
    }

    proptest! {
        #[test]
        fn scaled_parts_add_up_exactly_and_keep_their_proportions(
            parts in prop::array::uniform14(0u64..1 << 40),
            total in 0u64..1 << 50,
        ) {
            let mut waited = Waited::default();
            Wait::ALL.into_iter().zip(parts).for_each(|(cause, part)| waited.add(cause, Nanos(part)));
            let scaled = waited.scaled_to(Nanos(total));
            prop_assert_eq!(scaled.total(), Nanos(total));
            let sum: u64 = parts.iter().sum();
            for cause in Wait::ALL {
                let exact = waited.of(cause).0 as f64 * total as f64 / sum.max(1) as f64;
                if sum > 0 {
                    let error = (scaled.of(cause).0 as f64 - exact).abs();
                    prop_assert!(error < 15.0 + exact * 1e-9, "{cause:?}: {error}");
                }
            }
        }
    }
}
