//! Joins hours to days, and parts of an hour to an hour.

use flashlag_schema::StoredHistogram;
use flashlag_schema::history::{MachineState, ProgramBytes, Span};
use flashlag_stats::Histogram;
use flashlag_units::{Bytes, InOrder, Nanos};

/// An hour in seconds.
pub const HOUR_S: u64 = 3600;
/// Most programs that a span names.
pub const PROGRAMS: usize = 8;

/// Adds what was recorded later to a span. Both may come from a damaged file.
pub fn add(span: &mut Span, later: &Span) {
    span.watched_ns = sum(span.watched_ns, later.watched_ns);
    span.stopped_ns = sum(span.stopped_ns, later.stopped_ns);
    join(&mut span.probes, &later.probes);
    join(&mut span.reads, &later.reads);
    join(&mut span.writes, &later.writes);
    join(&mut span.flushes, &later.flushes);
    span.disk_bytes = Bytes(span.disk_bytes.0.saturating_add(later.disk_bytes.0));
    span.own_bytes = Bytes(span.own_bytes.0.saturating_add(later.own_bytes.0));
    span.own_cpu_ns = sum(span.own_cpu_ns, later.own_cpu_ns);
    span.state = after(&span.state, &later.state);
    span.programs = programs(span.programs.iter().chain(&later.programs));
    span.incidents = span.incidents.saturating_add(later.incidents);
    span.longest_ns = span.longest_ns.max(later.longest_ns);
}

fn sum(a: Nanos, b: Nanos) -> Nanos {
    Nanos(a.0.saturating_add(b.0))
}

/// Adds the values of one stored histogram to another. One that is damaged adds nothing.
fn join(to: &mut StoredHistogram, from: &StoredHistogram) {
    let Ok(added) = from.restore() else { return };
    if added.count() == 0 {
        return;
    }
    let mut all = to.restore().unwrap_or_else(|_| Histogram::new());
    all.merge(&added);
    *to = StoredHistogram::from(&all);
}

/// The later state; what it lacks is that of before.
fn after(before: &MachineState, later: &MachineState) -> MachineState {
    let word = |a: &Option<String>, b: &Option<String>| b.clone().or_else(|| a.clone());
    MachineState {
        free_bytes: later.free_bytes.or(before.free_bytes),
        total_bytes: later.total_bytes.or(before.total_bytes),
        used_percent_at_most: later.used_percent_at_most.or(before.used_percent_at_most),
        pre_eol: word(&before.pre_eol, &later.pre_eol),
        written_bytes: later.written_bytes.or(before.written_bytes),
        hottest_millicelsius: before.hottest_millicelsius.max(later.hottest_millicelsius),
        kernel: word(&before.kernel, &later.kernel),
        firmware: word(&before.firmware, &later.firmware),
    }
}

/// The programs with most bytes, each name once.
pub fn programs<'a>(all: impl Iterator<Item = &'a ProgramBytes>) -> Vec<ProgramBytes> {
    let mut sums: std::collections::BTreeMap<&str, u64> = std::collections::BTreeMap::new();
    for program in all {
        let sum = sums.entry(&program.name).or_default();
        *sum = sum.saturating_add(program.bytes.0);
    }
    let mut sums: Vec<ProgramBytes> = sums
        .into_iter()
        .map(|(name, bytes)| ProgramBytes { name: name.to_owned(), bytes: Bytes(bytes) })
        .collect();
    sums.order_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    sums.retain(|program| program.bytes.0 > 0);
    sums.truncate(PROGRAMS);
    sums
}
