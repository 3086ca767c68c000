use crate::meter::ThreadWaitMeter;
use flashlag_device::{Clock, MonotonicClock, WaitMeter};
use flashlag_spec::Reading;
use flashlag_units::Nanos;

const READINGS: usize = 401;

/// The median cost of one reading of the wait meter.
pub(super) fn cost() -> Reading<Nanos> {
    let meter = match ThreadWaitMeter::open() {
        Ok(meter) => meter,
        Err(error) => return Reading::unavailable(error.to_string()),
    };
    let mut costs = [0u64; READINGS];
    for cost in &mut costs {
        let started = MonotonicClock.now();
        if meter.read().is_none() {
            return Reading::unavailable("/proc/thread-self/schedstat can't be read any more");
        }
        *cost = MonotonicClock.now().since(started).0;
    }
    costs.sort_unstable();
    Reading::Value(Nanos(costs[READINGS / 2]))
}
