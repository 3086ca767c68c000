use flashlag_units::Nanos;

use crate::recorder::PhaseRecord;

/// A time in which the whole process did not run: stopped by a signal, frozen with its cgroup, or
/// suspended with the machine. Whether it would have waited for storage is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stop {
    /// The earliest time at which the process certainly did not run.
    pub from: Nanos,
    /// When the process ran again.
    pub to: Nanos,
}

impl Stop {
    /// Length of the part between two times.
    pub fn within(&self, from: Nanos, to: Nanos) -> Nanos {
        self.to.min(to).saturating_since(self.from.max(from))
    }
}

/// Length of all stops between two times.
pub fn stopped_within(stops: &[Stop], from: Nanos, to: Nanos) -> Nanos {
    stops.iter().fold(Nanos::ZERO, |sum, stop| sum.plus(stop.within(from, to)))
}

impl PhaseRecord {
    /// Subtracts stops from the time that looked blocked, in the split of each stall and in the
    /// sampled waits that contain the stall. `stops` are on the machine's clock. Latencies do not
    /// change.
    pub fn take_stops(&mut self, stops: &[Stop]) {
        if stops.is_empty() {
            return;
        }
        for stall in &mut self.stalls {
            let from = self.began.plus(stall.at).plus(stall.behind);
            let stopped = stopped_within(stops, from, from.plus(stall.length));
            let Some(split) = &mut stall.split else { continue };
            let before = *split;
            *split = before.with_stopped(stopped);
            self.waits.take_stopped(stall.length, split.stopped);
        }
    }

    /// Stopped time of the listed stalls, summed; `None` if none of them has a split.
    pub fn stopped_in_stalls(&self) -> Option<Nanos> {
        let stopped = self.stalls.iter().filter_map(|stall| stall.split).map(|split| split.stopped);
        stopped.reduce(Nanos::plus)
    }

    /// Stopped time of the phase. A stop during a pause can't be distinguished from one during the
    /// phase; the result is at most the length of the phase.
    pub fn stopped(&self, stops: &[Stop]) -> Nanos {
        let ended = self.began.plus(self.elapsed).plus(self.behind);
        stopped_within(stops, self.began, ended).min(self.elapsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stall::Stall;
    use crate::{Recorder, RecorderConfig, WaitSplit};

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    #[test]
    fn only_what_overlaps_counts() {
        let stops = [Stop { from: MS(10), to: MS(20) }, Stop { from: MS(50), to: MS(90) }];
        assert_eq!(stopped_within(&stops, MS(0), MS(100)), MS(50));
        assert_eq!(stopped_within(&stops, MS(15), MS(60)), MS(15));
        assert_eq!(stopped_within(&stops, MS(20), MS(50)), MS(0));
    }

    #[test]
    fn a_stall_in_a_stop_was_not_blocked_on_storage() {
        let (start, interval) = (MS(1_000), MS(100));
        let config = RecorderConfig { start, interval, stall_over: MS(1), live: None };
        let mut recorded = Recorder::new(config).finish(MS(4_000));
        let blocked = WaitSplit::of(MS(2_003), MS(1), MS(1));
        recorded.waits.record(MS(2_003), blocked);
        recorded.stalls = vec![Stall {
            at: MS(400),
            length: MS(2_003),
            behind: MS(100),
            split: Some(blocked),
            waited: None,
        }];
        let stops = [Stop { from: MS(1_501), to: MS(3_501) }];
        assert_eq!(recorded.stopped_in_stalls(), Some(MS(0)));
        recorded.take_stops(&stops);
        let split = recorded.stalls[0].split.unwrap();
        assert_eq!((split.blocked, split.stopped), (MS(1), MS(2_000)));
        assert_eq!(split.total(), blocked.total());
        assert_eq!(recorded.stopped_in_stalls(), Some(MS(2_000)));
        let (_, class) = recorded.waits.occupied().next().unwrap();
        assert_eq!(class.split, split);
        assert_eq!(recorded.stopped(&stops), MS(2_000));
        assert_eq!(recorded.stopped(&[Stop { from: MS(0), to: MS(9_000) }]), MS(3_000));
    }
}
