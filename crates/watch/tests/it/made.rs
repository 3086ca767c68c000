//! Spans and incidents that are made up.

use flashlag_schema::StoredHistogram;
use flashlag_schema::history::{Incident, MachineState, ProgramBytes, Second, Span};
use flashlag_stats::Histogram;
use flashlag_units::{Bytes, Nanos};

/// A history's start: 2026-01-01.
pub const START_S: u64 = 1_767_225_600;

/// A histogram of `count` waits about `median`, each a little longer than the one before.
pub fn waits(median: Nanos, count: u64) -> StoredHistogram {
    let mut histogram = Histogram::new();
    for index in 0..count {
        histogram.record(Nanos(median.0 / 2 + median.0 * index / count.max(1)));
    }
    StoredHistogram::from(&histogram)
}

/// A part of the hour that begins at `start_s`.
pub fn part(start_s: u64, watched: Nanos) -> Span {
    Span {
        start_s,
        seconds: 3600,
        watched_ns: watched,
        probes: waits(Nanos::from_millis(3), 6),
        writes: waits(Nanos::from_millis(2), 40),
        disk_bytes: Bytes(1000),
        state: MachineState { kernel: Some("6.12.1".to_owned()), ..MachineState::default() },
        programs: vec![ProgramBytes { name: "backup".to_owned(), bytes: Bytes(10) }],
        ..Span::default()
    }
}

/// An incident at a time.
pub fn incident(start_ms: u64) -> Incident {
    let mut incident = Incident {
        start_ms,
        longest_ns: Nanos::from_millis(700),
        waits: 1,
        waiting: vec!["sqlite3".to_owned()],
        ..Incident::default()
    };
    incident.before.seconds = vec![Second { bytes: Bytes(5), ..Second::default() }; 30];
    incident
}
