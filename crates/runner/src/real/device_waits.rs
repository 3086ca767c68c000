//! Slow requests of a virtual device, in times of the machine's clock.

use flashlag_schema::DeviceCount;
use flashlag_units::Nanos;

use super::counters::EdgeCounters;
use crate::work::DeviceWait;

/// The slow requests between two edges. At each edge the device has reported its own time, so that
/// a moment in between is interpolated, whatever the device's pace. Half of the round-trip time is
/// the largest error between the clocks.
pub(super) fn between(before: &EdgeCounters, after: &EdgeCounters) -> Vec<DeviceWait> {
    let (Some(first), Some(last)) = (moment(before), moment(after)) else { return Vec::new() };
    let Some(device) = &after.device else { return Vec::new() };
    let lived = last.device.saturating_since(first.device);
    let passed = last.machine.saturating_since(first.machine);
    if lived == Nanos::ZERO {
        return Vec::new();
    }
    let machine = |at: Nanos| {
        let since = u128::from(at.saturating_since(first.device).0);
        let scaled = since * u128::from(passed.0) / u128::from(lived.0);
        first.machine.plus(Nanos(u64::try_from(scaled).unwrap_or(u64::MAX)))
    };
    let within = first.within.max(last.within);
    let slow = device.slow.iter().filter(|request| request.at_ns >= first.device);
    slow.map(|request| DeviceWait {
        from: machine(request.at_ns),
        to: machine(request.at_ns.plus(request.ns)),
        within,
        waited: request.waited.clone(),
    })
    .collect()
}

/// The same moment on both clocks.
#[derive(Clone, Copy, Debug)]
struct Moment {
    machine: Nanos,
    device: Nanos,
    /// The largest error between the two clocks.
    within: Nanos,
}

fn moment(edge: &EdgeCounters) -> Option<Moment> {
    let device: &DeviceCount = edge.device.as_ref()?;
    let (asked, answered) = edge.asked;
    let (before, after) = device.took_ns;
    let way = answered.saturating_since(asked).saturating_since(before.plus(after));
    let within = Nanos(way.0 / 2);
    Some(Moment { machine: asked.plus(within).plus(before), device: device.at_ns?, within })
}

#[cfg(test)]
mod tests {
    use flashlag_schema::{SlowRequest, StallCause, WaitPart};

    use super::*;
    use crate::real::counters::tests::edge;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    fn at(machine: (u64, u64), took: (u64, u64), device: u64, slow: &[(u64, u64)]) -> EdgeCounters {
        let request = |(at, ns): &(u64, u64)| SlowRequest {
            at_ns: MS(*at),
            ns: MS(*ns),
            waited: vec![WaitPart { cause: StallCause::GarbageCollection, ns: MS(*ns) }],
        };
        let count = DeviceCount {
            at_ns: Some(MS(device)),
            took_ns: (MS(took.0), MS(took.1)),
            slow: slow.iter().map(request).collect(),
            ..DeviceCount::default()
        };
        EdgeCounters { device: Some(count), asked: (MS(machine.0), MS(machine.1)), ..edge() }
    }

    #[test]
    fn the_devices_time_becomes_the_machines_at_whatever_pace() {
        // The device was queried at 1,000 ms. The query and its answer took 10 ms on the way, and
        // 300 ms passed before its clock was read: it read 0 at 1,305 ms, and runs at half pace.
        let begin = at((1000, 1510), (300, 200), 0, &[]);
        let end = at((3295, 3305), (5, 5), 1000, &[(100, 200)]);
        let found = between(&begin, &end);
        let times: Vec<(u64, u64)> =
            found.iter().map(|wait| (wait.from.0 / 1_000_000, wait.to.0 / 1_000_000)).collect();
        let (from, to) = (1305 + (3300 - 1305) / 10, 1305 + (3300 - 1305) * 3 / 10);
        assert_eq!(times, [(from, to)]);
    }

    #[test]
    fn clocks_may_be_apart_by_half_the_slower_answers_way() {
        let end = at((3000, 3010), (4, 2), 1000, &[(100, 200)]);
        let within = |begin: &EdgeCounters| between(begin, &end).first().map(|wait| wait.within);
        assert_eq!(within(&at((1000, 1061), (5, 5), 0, &[])), Some(Nanos(25_500_000)));
        assert_eq!(within(&at((1000, 1002), (1, 1), 0, &[])), Some(MS(2)));
        assert_eq!(within(&edge()), None, "the device was not asked");
    }
}
