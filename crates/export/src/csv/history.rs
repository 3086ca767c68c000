//! The hours and days of a history as CSV.

use flashlag_schema::StoredHistogram;
use flashlag_schema::history::{History, Span};
use flashlag_stats::{Histogram, Percentile};

use super::millis;

const HEADER: &str = "start_s,seconds,watched_s,stopped_s,incidents,longest_ms,probes,probe_p50_ms,\
                      probe_p99_ms,probe_max_ms,reads,read_p50_ms,writes,write_p50_ms,flushes,\
                      flush_p50_ms,disk_bytes,own_bytes,own_cpu_ms,free_bytes,total_bytes,\
                      life_used_percent,temperature_celsius\n";

/// Every hour and day: times in seconds since 1970 (UTC), percentiles in milliseconds. An unknown
/// value is an empty field.
pub(crate) fn history(history: &History) -> String {
    let mut csv = HEADER.to_owned();
    history.spans.iter().for_each(|span| csv.push_str(&record(span)));
    csv
}

fn record(span: &Span) -> String {
    let restored = |stored: &StoredHistogram| stored.restore().unwrap_or_else(|_| Histogram::new());
    let of =
        |waits: &Histogram, at: Percentile| waits.percentile(at).map(millis).unwrap_or_default();
    let (probes, reads) = (restored(&span.probes), restored(&span.reads));
    let (writes, flushes) = (restored(&span.writes), restored(&span.flushes));
    let number = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let state = &span.state;
    let fields = [
        span.start_s.to_string(),
        span.seconds.to_string(),
        format!("{:.3}", span.watched_ns.as_secs_f64()),
        format!("{:.3}", span.stopped_ns.as_secs_f64()),
        span.incidents.to_string(),
        millis(span.longest_ns),
        probes.count().to_string(),
        of(&probes, Percentile::P50),
        of(&probes, Percentile::P99),
        probes.max().map(millis).unwrap_or_default(),
        reads.count().to_string(),
        of(&reads, Percentile::P50),
        writes.count().to_string(),
        of(&writes, Percentile::P50),
        flushes.count().to_string(),
        of(&flushes, Percentile::P50),
        span.disk_bytes.0.to_string(),
        span.own_bytes.0.to_string(),
        millis(span.own_cpu_ns),
        number(state.free_bytes.map(|bytes| bytes.0)),
        number(state.total_bytes.map(|bytes| bytes.0)),
        number(state.used_percent_at_most.map(u64::from)),
        state
            .hottest_millicelsius
            .map(|hot| format!("{:.1}", hot as f64 / 1000.0))
            .unwrap_or_default(),
    ];
    fields.join(",") + "\n"
}
