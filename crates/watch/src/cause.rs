//! The cause of a wait, by the rules of `explain`.

use flashlag_explain::infer::Scene;
use flashlag_schema::history::WaitKind;
use flashlag_schema::{CauseBasis, StallCause, StallRecord, Surroundings, Time};
use flashlag_stats::WaitSplit;
use flashlag_units::Bytes;

use crate::waits::Wait;

/// The stalls whose likeness the rules look at.
const REMEMBERED: usize = 64;
/// Bytes of a probe.
const PROBE: Bytes = Bytes(4096);

/// The part of a speed that counts an hour later: half of it after a day.
const KEPT_EACH_HOUR: f64 = 0.97;
/// Of a disk that was idle for long this part of its best speed is expected.
const LEAST_OF_BEST: f64 = 0.25;

/// What was seen of the machine around a wait.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// The counters from the last reading before it to the first one after it.
    pub around: Option<Surroundings>,
    /// Those of the minute before.
    pub lately: Surroundings,
    /// Whether a control group limits I/O to the disk.
    pub is_limited: bool,
}

/// What is known of the disk besides a wait.
#[derive(Debug, Default)]
pub struct Causes {
    /// Stalls of probes, and of others.
    stalls: [Vec<StallRecord>; 2],
    calm: Surroundings,
    has_calm: bool,
    /// Bytes a nanosecond: the best that was seen lately.
    speed: Option<f64>,
    /// The best that was ever seen.
    best: f64,
    is_flash: bool,
}

impl Causes {
    /// Nothing is known yet.
    pub fn new(is_flash: bool) -> Causes {
        Causes { is_flash, ..Causes::default() }
    }

    /// Adds a time without a wait.
    pub fn calm(&mut self, change: &Surroundings) {
        self.calm = if self.has_calm { self.calm.plus(change) } else { *change };
        self.has_calm = true;
    }

    /// Adds a speed that the disk has shown.
    pub fn speed(&mut self, bytes_per_ns: f64) {
        if bytes_per_ns > self.speed.unwrap_or(0.0) {
            self.speed = Some(bytes_per_ns);
        }
        self.best = self.best.max(bytes_per_ns);
    }

    /// Another hour begins. A disk that ages or fills up does not come back to the best speed of its first day, by
    /// which others' bytes would never explain a wait.
    pub fn next_hour(&mut self) {
        let least = self.best * LEAST_OF_BEST;
        self.speed = self.speed.map(|speed| (speed * KEPT_EACH_HOUR).max(least));
    }

    /// The cause of a wait, and how it is known.
    pub fn of(&mut self, wait: &Wait, seen: Seen) -> (StallCause, CauseBasis) {
        // The disk's own account of a request is a wait for storage.
        let blocked = WaitSplit { blocked: wait.length, ..WaitSplit::default() };
        let split = wait.split.unwrap_or(blocked);
        let time = Time {
            on_cpu_ns: split.on_cpu,
            runnable_ns: split.runnable,
            blocked_ns: split.blocked,
            stopped_ns: split.stopped,
        };
        let measured = StallCause::of(&time);
        let stall = StallRecord {
            t_ns: wait.from,
            ns: wait.length,
            cause: measured,
            time: Some(time),
            around: seen.around,
            ..StallRecord::default()
        };
        let of_probes = wait.kind == WaitKind::Probe;
        let stalls = &mut self.stalls[usize::from(!of_probes)];
        if stalls.len() >= REMEMBERED {
            stalls.remove(0);
        }
        stalls.push(stall.clone());
        let inferred = self.scene(of_probes, &self.calm, &seen).cause(&stall).or_else(|| {
            // Seen from the disk all requests are measured ones; none are left for others.
            let (calm, around) = (as_own(&self.calm), stall.around.as_ref().map(as_own));
            let stall = StallRecord { around, ..stall.clone() };
            let seen = Seen { lately: as_own(&seen.lately), ..seen };
            (!of_probes).then(|| self.scene(of_probes, &calm, &seen).cause(&stall)).flatten()
        });
        match inferred {
            Some(cause) => (cause, CauseBasis::Inferred),
            None => (measured, CauseBasis::Measured),
        }
    }

    fn scene<'a>(&'a self, of_probes: bool, calm: &'a Surroundings, seen: &'a Seen) -> Scene<'a> {
        Scene {
            stalls: &self.stalls[usize::from(!of_probes)],
            changes: &[],
            calm,
            lately: &seen.lately,
            block_bytes: PROBE,
            bytes_per_ns: self.speed,
            is_flash: self.is_flash,
            writes: true,
            // A probe overwrites what is allocated: it changes nothing that a journal holds.
            commits: false,
            has_background: false,
            is_limited: seen.is_limited,
        }
    }
}

/// The same counters, with all bytes as measured ones.
fn as_own(seen: &Surroundings) -> Surroundings {
    Surroundings { own_bytes: seen.disk_bytes, ..*seen }
}

/// Whether a wait was one for storage, so that it may be an incident at all.
pub fn is_storage(cause: StallCause) -> bool {
    use StallCause::{Cpu, Executing, Mixed, Stopped, Unknown};
    !matches!(cause, Cpu | Executing | Mixed | Stopped | Unknown)
}

#[cfg(test)]
mod tests {
    use flashlag_units::Nanos;

    use super::*;

    /// The cause of a probe of two seconds: what the disk was busy with others before it, in bytes, and how long it was
    /// busy meanwhile with hardly any.
    fn named(others_before: u64, busy: Option<Nanos>, is_limited: bool) -> StallCause {
        let mut causes = Causes::new(true);
        causes.speed(0.05);
        let wait = Wait {
            from: Nanos::from_secs(100),
            to: Nanos::from_secs(102),
            length: Nanos::from_secs(2),
            kind: WaitKind::Probe,
            split: None,
            usual: None,
        };
        let around = Surroundings {
            window_ns: Nanos::from_millis(2250),
            own_bytes: Some(PROBE),
            disk_bytes: Some(PROBE),
            disk_busy_ns: busy,
            discards: Some(0),
            quiet_before_ns: Some(Nanos::ZERO),
            ..Surroundings::default()
        };
        let lately = Surroundings {
            window_ns: Nanos::from_secs(60),
            own_bytes: Some(Bytes(245_760)),
            disk_bytes: Some(Bytes(245_760 + others_before)),
            ..Surroundings::default()
        };
        causes.of(&wait, Seen { around: Some(around), lately, is_limited }).0
    }

    #[test]
    fn a_disk_that_had_no_request_did_not_collect_and_a_limit_held_them_above_it() {
        let (busy, idle) = (Nanos::from_millis(1990), Nanos::from_millis(12));
        assert_eq!(named(0, Some(busy), false), StallCause::GarbageCollection);
        assert_eq!(named(0, None, false), StallCause::GarbageCollection);
        assert_eq!(named(0, Some(idle), false), StallCause::Storage);
        assert_eq!(named(0, Some(idle), true), StallCause::GroupLimit);
        // Not where the disk worked, or nobody can say.
        assert_eq!(named(0, Some(busy), true), StallCause::GarbageCollection);
        assert_eq!(named(0, None, true), StallCause::GarbageCollection);
    }

    #[test]
    fn a_disk_that_wrote_for_others_in_the_minute_before_may_still_do_so() {
        assert_eq!(named(100_000_000, None, false), StallCause::GarbageCollection);
        assert_eq!(named(200_000_000, None, false), StallCause::Storage);
    }
}
