//! Constructed runs for the tests of this crate.
#![allow(clippy::unwrap_used)]

use flashlag_schema::*;
use flashlag_spec::*;
use flashlag_stats::Histogram;
pub use flashlag_testing::{bare_run as run, closed_loop_phase as phase};
use flashlag_units::{Bytes, Nanos};

/// A histogram of waits in milliseconds.
pub fn of_ms(waits: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    waits.iter().for_each(|ms| histogram.record(Nanos::from_millis(*ms)));
    histogram
}

/// `n` waits of that many nanoseconds.
pub fn all(nanos: u64, n: u64) -> Histogram {
    let mut histogram = Histogram::new();
    (0..n).for_each(|_| histogram.record(Nanos(nanos)));
    histogram
}

/// `n` waits spread evenly over a tenth of a millisecond around `ms`.
pub fn around(ms: u64, n: u64) -> Histogram {
    let mut histogram = Histogram::new();
    (0..n).for_each(|i| histogram.record(Nanos(ms * 1_000_000 - 50_000 + i % 11 * 10_000)));
    histogram
}

/// A phase of durable 4 KiB writes.
pub fn writes(name: &str, state: State, waits_ms: &[u64]) -> Phase {
    phase(name, state, Operation::RandomWrite, &of_ms(waits_ms))
}

/// An interval that ends at a time, with waits.
pub fn interval(t_ns: Nanos, waits: &Histogram) -> IntervalRecord {
    IntervalRecord {
        t_ns,
        filled_bytes: None,
        ops: waits.count(),
        bytes: Bytes(waits.count() * 4096),
        p50: None,
        p90: None,
        p99: None,
        max: waits.max().unwrap(),
        temperature_millicelsius: None,
        histogram: StoredHistogram::from(waits),
        waited: Vec::new(),
    }
}

/// A phase of saves.
pub fn saves(name: &str, state: State, waits: &Histogram) -> Phase {
    phase(name, state, Operation::Save, waits)
}

/// Sets how a phase's time was split, in parts of 1,000.
pub fn split(phase: &mut Phase, on_cpu: u64, runnable: u64) {
    let part =
        |parts: u64| Nanos((u128::from(phase.elapsed_ns.0) * u128::from(parts) / 1000) as u64);
    phase.time = Reading::Value(Time {
        on_cpu_ns: part(on_cpu),
        runnable_ns: part(runnable),
        blocked_ns: phase.elapsed_ns.since(part(on_cpu)).since(part(runnable)),
        stopped_ns: Nanos::ZERO,
    });
}

/// A failed check that covers the phases with these labels; without labels, all.
pub fn failing(id: CheckId, phases: &[&str]) -> Check {
    Check {
        id,
        status: CheckStatus::Fail,
        claim: "a claim".to_owned(),
        detail: String::new(),
        cause: None,
        advice: None,
        phases: phases.iter().map(|label| (*label).to_owned()).collect(),
    }
}
