//! The system's clocks at one moment.

use flashlag_device::read_clock;
use flashlag_schema::ClockReading;
use flashlag_units::Nanos;
use rustix::time::ClockId;

/// What the system's clocks say at a moment of the monotonic one, in which no suspension lies between
/// that moment and now.
pub fn clocks_at(monotonic: Nanos) -> ClockReading {
    let (now, boot, wall) = clocks();
    let at = |clock: Nanos| match monotonic.0.checked_sub(now.0) {
        Some(later) => clock.plus(Nanos(later)),
        None => clock.saturating_since(now.since(monotonic)),
    };
    ClockReading { boot_ns: Some(at(boot)), monotonic_ns: Some(monotonic), wall_ns: Some(at(wall)) }
}

/// The monotonic, the boot-time and the wall clock at one time. If the thread lost its CPU in
/// between, they are read again: clocks that differ look like a machine that was suspended.
pub(crate) fn clocks() -> (Nanos, Nanos, Nanos) {
    const CLOSE: Nanos = Nanos::from_micros(20);
    const TRIES: usize = 100;
    let read = || {
        let at = read_clock(ClockId::Monotonic);
        let others = (read_clock(ClockId::Boottime), read_clock(ClockId::Realtime));
        (read_clock(ClockId::Monotonic).since(at), (at, others.0, others.1))
    };
    let mut closest = read();
    for _ in 0..TRIES {
        if closest.0 <= CLOSE {
            break;
        }
        let again = read();
        if again.0 < closest.0 {
            closest = again;
        }
    }
    closest.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_before_and_one_after_now_have_the_same_distance_on_each_clock() {
        let now = read_clock(ClockId::Monotonic);
        let (second, tolerance) = (Nanos::from_secs(1), 50_000_000);
        let (before, after) = (clocks_at(now.since(second)), clocks_at(now.plus(second)));
        for (one, other) in [(before.boot_ns, after.boot_ns), (before.wall_ns, after.wall_ns)] {
            let apart = other.unwrap_or_default().saturating_since(one.unwrap_or_default());
            assert!(apart.0.abs_diff(2_000_000_000) < tolerance, "{apart}");
        }
        assert_eq!(before.monotonic_ns, Some(now.since(second)));
    }
}
