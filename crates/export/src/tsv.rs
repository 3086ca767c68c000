//! The phases of a run as tab-separated values.

use flashlag_schema::{Phase, Run};
use flashlag_units::{Nanos, sanitize, to_ascii};
use flashlag_views::{Figures, failures_of};

const HEADER: &str = "state\trun\ttest\top\tblock_bytes\tqueue_depth\tdurable\tn\tmb_per_s\tops_per_s\
                      \tp50_ms\tp90_ms\tp99_ms\tp99.9_ms\tmax_ms\tlate\tok\n";

/// A run as tab-separated ASCII, one phase a line, for other programs. Units are in the column
/// names: MB is 10^6 bytes, `late` the share longer than one 60 Hz frame (0 to 1), `ok` whether no
/// failed trust check covers the row. `-` is a missing value: a percentile with fewer than
/// ten values beyond it.
pub(crate) fn run(run: &Run) -> String {
    let mut text = HEADER.to_owned();
    for phase in &run.phases {
        text.push_str(&record(run, phase));
    }
    text
}

fn record(run: &Run, phase: &Phase) -> String {
    let figures = Figures::of_phase(phase);
    let fields = [
        phase.state.name().to_owned(),
        phase.run.to_string(),
        to_ascii(&sanitize(&phase.name)),
        phase.operation.name().to_owned(),
        phase.block_bytes.0.to_string(),
        phase.queue_depth.to_string(),
        phase.durable.name().to_owned(),
        figures.n.to_string(),
        format!("{:.3}", phase.bytes_per_sec / 1e6),
        format!("{:.1}", phase.ops_per_sec),
        millis(figures.p50),
        millis(figures.p90),
        millis(figures.p99),
        millis(figures.p999),
        millis(figures.max),
        figures.late_share().map_or_else(none, |share| format!("{share:.4}")),
        if failures_of(run, phase).is_empty() { "yes" } else { "no" }.to_owned(),
    ];
    fields.join("\t") + "\n"
}

fn none() -> String {
    "-".to_owned()
}

/// Exact below 0.1 ms, otherwise to the microsecond.
fn millis(value: Option<Nanos>) -> String {
    match value {
        None => none(),
        Some(value) if value.0 < 100_000 => format!("{:.6}", value.as_millis_f64()),
        Some(value) => format!("{:.3}", value.as_millis_f64()),
    }
}
