//! The intervals of a run as CSV.

use flashlag_schema::{IntervalRecord, Phase, Run};
use flashlag_units::Nanos;

use super::{millis, quoted};

const HEADER: &str = "phase,state,run,test,t_s,ops,bytes,p50_ms,p90_ms,p99_ms,max_ms,filled_bytes,\
                      temperature_celsius,label\n";

/// Every interval of every phase: the phase's label, its parts, the interval's end in seconds from the
/// start of the phase, operations, bytes, percentiles in milliseconds, storage in use (fills),
/// temperature and the run's label. An unknown value is an empty field.
pub(crate) fn run(run: &Run) -> String {
    let mut csv = HEADER.to_owned();
    for phase in &run.phases {
        for interval in &phase.intervals {
            csv.push_str(&record(run, phase, interval));
        }
    }
    csv
}

fn record(run: &Run, phase: &Phase, interval: &IntervalRecord) -> String {
    let optional = |value: Option<Nanos>| value.map(millis).unwrap_or_default();
    let fields = [
        quoted(&phase.label()),
        phase.state.name().to_owned(),
        phase.run.to_string(),
        quoted(&phase.name),
        format!("{:.6}", interval.t_ns.as_secs_f64()),
        interval.ops.to_string(),
        interval.bytes.0.to_string(),
        optional(interval.p50),
        optional(interval.p90),
        optional(interval.p99),
        millis(interval.max),
        interval.filled_bytes.map(|bytes| bytes.0.to_string()).unwrap_or_default(),
        interval
            .temperature_millicelsius
            .map(|degrees| format!("{:.3}", degrees as f64 / 1000.0))
            .unwrap_or_default(),
        run.label.as_deref().map(quoted).unwrap_or_default(),
    ];
    fields.join(",") + "\n"
}
