//! The devices of this crate keep the promises of the seam.

use flashlag_device::{Latency, NullDevice, RamDevice, Service, VirtualClock};
use flashlag_testing::conformance::{Outcome, Report, check};
use flashlag_testing::{FaultDevice, Faults};
use flashlag_units::{Bytes, Nanos};

const SIZE: Bytes = Bytes::from_kib(256);
const BUFFER: Bytes = Bytes(8192);

fn assert_conforms(what: &str, report: &Report) {
    assert_eq!(report.broken(), Vec::<String>::new(), "{what}");
    assert!(report.held() >= 13, "{what}: {report:?}");
}

fn queueing() -> Service {
    Service {
        read: Latency::Uniform(Nanos::from_micros(50), Nanos::from_micros(90)),
        write: Latency::Fixed(Nanos::from_micros(20)),
        flush: Latency::Fixed(Nanos::from_millis(1)),
        units: 3,
    }
}

#[test]
fn null_devices_conform() {
    assert_conforms("real", &check(|| NullDevice::new(SIZE, 4, BUFFER)));
    let clock = VirtualClock::default;
    assert_conforms("virtual", &check(|| NullDevice::with_clock(clock(), SIZE, 4, BUFFER)));
}

#[test]
fn ram_devices_conform() {
    for slots in [1, 7] {
        assert_conforms("real", &check(|| RamDevice::new(SIZE, slots, BUFFER)));
        let simulated = || RamDevice::simulated(SIZE, slots, BUFFER, queueing(), 3);
        assert_conforms("virtual", &check(simulated));
    }
}

#[test]
fn a_slow_device_conforms() {
    let latency = Some(Latency::Uniform(Nanos::from_micros(10), Nanos::from_millis(2)));
    let faults = Faults { seed: 5, latency, ..Faults::default() };
    for slots in [1, 7] {
        let real = || FaultDevice::new(RamDevice::new(SIZE, slots, BUFFER), faults.clone());
        assert_conforms("real", &check(real));
        let simulated = || {
            let inner = RamDevice::simulated(SIZE, slots, BUFFER, queueing(), 3);
            FaultDevice::new(inner, faults.clone())
        };
        assert_conforms("virtual", &check(simulated));
    }
}

#[test]
fn the_suite_finds_a_device_that_loses_a_write() {
    let faults = Faults { seed: 5, lost_writes: vec![1], ..Faults::default() };
    let report = check(|| FaultDevice::new(RamDevice::new(SIZE, 2, BUFFER), faults.clone()));
    assert!(!report.broken().is_empty(), "{report:?}");
}

#[test]
fn the_suite_finds_a_device_that_flips_a_bit() {
    let faults = Faults { seed: 5, flipped_writes: vec![1, 2, 3, 4, 5], ..Faults::default() };
    let report = check(|| FaultDevice::new(RamDevice::new(SIZE, 2, BUFFER), faults.clone()));
    assert!(!report.broken().is_empty(), "{report:?}");
}

#[test]
fn a_device_that_keeps_no_data_is_not_asked_for_any() {
    let report = check(|| NullDevice::new(SIZE, 4, BUFFER));
    let skipped = |(_, outcome): &&(&str, Outcome)| matches!(outcome, Outcome::NotApplicable(_));
    assert_eq!(report.outcomes.iter().filter(skipped).count(), 2);
}
