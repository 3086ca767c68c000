//! Calibration: measures what the clock, the wait meter and the measuring loop cost, so that every
//! figure can be judged beside that cost. Takes about a quarter of a second.

mod clock;
mod overhead;

use flashlag_device::{Clock, MonotonicClock};
use flashlag_spec::Calibration;
use flashlag_units::Nanos;
use rustix::time::ClockId;

/// The shortest window over which clocks are compared. At 100 ms a bracket of 50 ns is an error of
/// 0.5 parts in a million.
const WINDOW: Nanos = Nanos::from_millis(150);
/// How long the loop runs on the device that does nothing.
const LOOP: Nanos = Nanos::from_millis(100);

/// Measures clock, wait meter and loop. A figure that could not be measured says why.
pub fn calibrate() -> Calibration {
    let began = MonotonicClock.now();
    let boottime = clock::Comparison::start(ClockId::Boottime);
    let raw = clock::Comparison::start(ClockId::MonotonicRaw);
    let mut clock = clock::measure();
    let wait_meter_cost_ns = overhead::meter_cost();
    let engine = overhead::measure(LOOP);
    let spent = MonotonicClock.now().since(began);
    if spent < WINDOW {
        std::thread::sleep(WINDOW.saturating_since(spent).into());
    }
    clock.against_boottime_ppm = boottime.parts_per_million();
    clock.against_raw_ppm = raw.parts_per_million();
    clock.window_ns = MonotonicClock.now().since(began);
    let took_ns = MonotonicClock.now().since(began);
    Calibration { clock, wait_meter_cost_ns, engine, took_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calibration_is_quick_and_knows_its_clock() {
        let found = calibrate();
        eprintln!("{found:#?}");
        let quick = |found: &Calibration| found.took_ns < Nanos::from_millis(2000);
        assert!(quick(&found) || quick(&calibrate()), "twice: {found:?}");
        assert_eq!(found.clock.steps_back, 0);
        assert!(found.clock.resolution_ns.value().is_some_and(|step| step.0 > 0), "{found:?}");
        assert!(found.clock.cost_min_picoseconds > 0);
        assert!(found.clock.cost_min_picoseconds <= found.clock.cost_picoseconds);
        // The same counter drives both clocks: they differ only by the time that the machine
        // sleeps.
        assert_eq!(found.clock.against_boottime_ppm.value(), Some(&0.0), "{found:?}");
        let steered = found.clock.against_raw_ppm.value().copied().unwrap_or(f64::MAX);
        assert!(steered.abs() <= 1000.0, "{found:?}");
        let engine = found.engine.value().expect("the loop runs on nothing");
        assert!(engine.ops > 1000 && engine.cpu_picoseconds_per_op > 0, "{found:?}");
    }
}
