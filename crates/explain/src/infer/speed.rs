//! The best speed that a disk has shown.

use flashlag_schema::{Phase, Surroundings};
use flashlag_spec::Operation;
use flashlag_units::Nanos;

/// The shortest time over which a speed is computed: in less, a burst into a cache looks fast.
const LEAST: Nanos = Nanos::from_millis(100);

/// A speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Speed {
    pub bytes_per_ns: f64,
}

/// The best write speed that a phase and those before it have shown: their own, that of the disk
/// outside of stalls, and that around each stall. `None` if no phase has written or none was
/// watched.
pub(super) fn best(phase: &Phase, all: &[Phase]) -> Option<Speed> {
    let before = all.iter().take_while(|other| other.began_ns < phase.began_ns);
    let phases = before.chain([phase]).filter(|phase| writes(phase));
    let speeds = phases.flat_map(speeds_of).filter(|speed| *speed > 0.0);
    speeds.reduce(f64::max).map(|bytes_per_ns| Speed { bytes_per_ns })
}

fn speeds_of(phase: &Phase) -> Vec<f64> {
    let Some(watched) = &phase.watched else { return Vec::new() };
    let around = phase.stalls.iter().filter_map(|stall| stall.around.as_ref());
    let seen = around.chain([&watched.calm]).filter_map(speed_of);
    let own = phase.bytes.0 as f64 / phase.elapsed_ns.0.max(1) as f64;
    seen.chain([own]).collect()
}

fn speed_of(seen: &Surroundings) -> Option<f64> {
    let bytes = seen.disk_bytes?;
    (seen.window_ns >= LEAST).then(|| bytes.0 as f64 / seen.window_ns.0 as f64)
}

/// Whether the measured operations write.
pub(super) fn writes(phase: &Phase) -> bool {
    phase.operation.writes_blocks() || phase.operation == Operation::Save
}
