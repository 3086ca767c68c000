//! What was seen since the last part of an hour was written.

use flashlag_schema::StoredHistogram;
use flashlag_schema::history::{MachineState, ProgramBytes, Span, WaitKind};
use flashlag_stats::Histogram;
use flashlag_units::{Bytes, Nanos};

use crate::span::{HOUR_S, programs};
use crate::waits::index;

/// Bits of a mean that are kept: means are rough, and rough ones need little room.
const BITS: u32 = 5;

/// A part of an hour.
#[derive(Debug, Default)]
pub struct Part {
    /// The start of its hour; `None` while empty.
    hour: Option<u64>,
    histograms: [Histogram; 4],
    span: Span,
    programs: Vec<ProgramBytes>,
}

impl Part {
    /// Whether it belongs to another hour than this second, so that it must be taken first.
    pub fn is_over(&self, now_s: u64) -> bool {
        self.hour.is_some_and(|hour| hour != now_s / HOUR_S * HOUR_S)
    }

    /// Adds a time that was watched.
    pub fn watched(&mut self, now_s: u64, time: Nanos, moved: Bytes, own: Bytes) {
        self.hour.get_or_insert(now_s / HOUR_S * HOUR_S);
        self.span.watched_ns = self.span.watched_ns.plus(time);
        self.span.disk_bytes = self.span.disk_bytes.plus(moved);
        self.span.own_bytes = self.span.own_bytes.plus(own);
    }

    /// Adds a time of which nothing can be said.
    pub fn stopped(&mut self, now_s: u64, time: Nanos) {
        self.hour.get_or_insert(now_s / HOUR_S * HOUR_S);
        self.span.stopped_ns = self.span.stopped_ns.plus(time);
    }

    /// Adds a probe's wait.
    pub fn probe(&mut self, wait: Nanos) {
        self.histograms[index(WaitKind::Probe)].record(wait);
    }

    /// Adds the mean wait of requests.
    pub fn mean(&mut self, kind: WaitKind, mean: Nanos, count: u64) {
        self.histograms[index(kind)].record_many(rough(mean), count);
    }

    /// Counts an incident.
    pub fn incident(&mut self) {
        self.span.incidents = self.span.incidents.saturating_add(1);
    }

    /// Notes the length of a wait that belongs to an incident.
    pub fn longest(&mut self, wait: Nanos) {
        self.span.longest_ns = self.span.longest_ns.max(wait);
    }

    /// Adds the bytes of programs.
    pub fn programs(&mut self, moved: &[ProgramBytes]) {
        self.programs = programs(self.programs.iter().chain(moved));
    }

    /// Notes the state of the machine.
    pub fn state(&mut self, state: MachineState) {
        self.span.state = state;
    }

    /// Adds flashlag's own CPU time.
    pub fn own_cpu(&mut self, time: Nanos) {
        self.span.own_cpu_ns = self.span.own_cpu_ns.plus(time);
    }

    /// The part as it is stored, and an empty one in its place; `None` if nothing was seen.
    pub fn take(&mut self) -> Option<Span> {
        let span = self.so_far()?;
        self.hour = None;
        self.span = Span::default();
        self.programs = Vec::new();
        self.histograms.iter_mut().for_each(Histogram::clear);
        Some(span)
    }

    /// The part as it would be stored now; `None` if nothing was seen.
    pub fn so_far(&self) -> Option<Span> {
        let start_s = self.hour?;
        let mut stored = self.histograms.iter().map(StoredHistogram::from);
        let mut next = || stored.next().unwrap_or_default();
        Some(Span {
            start_s,
            seconds: HOUR_S as u32,
            probes: next(),
            reads: next(),
            writes: next(),
            flushes: next(),
            programs: self.programs.clone(),
            ..self.span.clone()
        })
    }
}

/// A time with its leading bits alone, within 3 %.
fn rough(value: Nanos) -> Nanos {
    let bits = u64::BITS - value.0.leading_zeros();
    let shift = bits.saturating_sub(BITS);
    let half = if shift > 0 { 1 << (shift - 1) } else { 0 };
    Nanos((value.0 >> shift << shift) | half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rough_time_is_within_four_percent() {
        for value in (1..2_000_000u64).step_by(97).chain([u64::MAX, 250_000_000]) {
            let off = rough(Nanos(value)).0.abs_diff(value) as f64 / value as f64;
            assert!(off < 0.04, "{value}: {off}");
        }
        assert_eq!(rough(Nanos::ZERO), Nanos::ZERO);
    }

    #[test]
    fn a_part_is_empty_until_something_was_seen_and_after_it_was_taken() {
        let mut part = Part::default();
        assert_eq!(part.take(), None);
        part.watched(7300, Nanos::from_secs(1), Bytes(9), Bytes(1));
        part.probe(Nanos::from_millis(3));
        part.mean(WaitKind::Flush, Nanos::from_millis(2), 5);
        assert!(part.is_over(3600) && !part.is_over(7201));
        let span = part.take().unwrap();
        assert_eq!((span.start_s, span.seconds, span.disk_bytes), (7200, 3600, Bytes(9)));
        assert_eq!(span.flushes.restore().unwrap().count(), 5);
        assert_eq!(part.take(), None);
        part.watched(0, Nanos(1), Bytes(0), Bytes(0));
        assert_eq!(part.take().unwrap().probes.restore().unwrap().count(), 0);
    }
}
