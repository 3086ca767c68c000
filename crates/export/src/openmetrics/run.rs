//! A run as metrics.

use flashlag_schema::{CheckStatus, Phase, Run, StoredHistogram};
use flashlag_spec::Verdict;
use flashlag_stats::Histogram;
use flashlag_units::Nanos;

use super::writer::{Dialect, Exposition, Kind, Labels, bound};

/// Bucket bounds in nanoseconds: 1, 2 and 5 for each power of ten from 1 µs to 10 s, one frame at
/// 120, 90 and 60 Hz, and a frozen frame. A stored bucket counts as within a bound if its
/// middle is, as for lag.
const BOUNDS: [u64; 26] = [
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    8_333_333,
    11_111_111,
    16_666_667,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    700_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
    60_000_000_000,
];

/// A run as metrics: counters, gauges in seconds and bytes, latency histograms with
/// cumulative buckets, one set of labels for each phase.
pub(crate) fn run(run: &Run, dialect: Dialect) -> String {
    let mut out = Exposition::new(dialect);
    about_run(&mut out, run);
    about_trust(&mut out, run);
    counters(&mut out, run);
    percentiles(&mut out, run);
    histograms(&mut out, run);
    waits(&mut out, run);
    saves(&mut out, run);
    out.finish()
}

fn about_run(out: &mut Exposition, run: &Run) {
    out.family("flashlag_run", Kind::Info, "", "What was run, where and by what.");
    let environment = &run.environment;
    let mut labels: Labels = vec![
        ("version", run.flashlag.version.clone()),
        ("scenario", run.scenario.name.clone()),
        ("scenario_hash", run.scenario.hash.clone()),
        ("seed", run.scenario.seed.to_string()),
        ("target", run.target.name.clone()),
    ];
    let readings = [
        ("machine", environment.software.machine.value()),
        ("kernel", environment.software.kernel.value()),
        ("filesystem", environment.filesystem.kind.value()),
        ("device", environment.device.name.value()),
        ("device_model", environment.device.model.value()),
    ];
    labels.extend(readings.into_iter().filter_map(|(key, value)| Some((key, value?.clone()))));
    labels.extend(run.label.iter().map(|label| ("label", label.clone())));
    labels.extend(run.started.iter().map(|started| ("started", started.clone())));
    out.sample("flashlag_run_info", &labels, 1.0);

    let name = "flashlag_written_bytes";
    out.family(name, Kind::Gauge, "bytes", "Bytes that the run handed to the filesystem.");
    out.sample(name, &[], run.wear.written_bytes.0 as f64);
    let name = "flashlag_block_written_bytes";
    out.family(name, Kind::Gauge, "bytes", "Bytes that the block device took, from all processes.");
    if let Some(bytes) = run.wear.block_bytes.value() {
        out.sample(name, &[], bytes.0 as f64);
    }
    let name = "flashlag_life_used_ratio";
    out.family(name, Kind::Gauge, "ratio", "Share of the rated life that the run used.");
    if let Some(percent) = run.wear.life_percent.value() {
        out.sample(name, &[], percent / 100.0);
    }
    let name = "flashlag_free_bytes";
    out.family(name, Kind::Gauge, "bytes", "Free on the filesystem before the run.");
    if let Some(bytes) = environment.filesystem.free_bytes.value() {
        out.sample(name, &[], bytes.0 as f64);
    }
}

fn about_trust(out: &mut Exposition, run: &Run) {
    let name = "flashlag_trusted";
    out.family(name, Kind::Gauge, "", "1 where no trust check failed, else 0.");
    out.sample(name, &[], if run.trust.verdict == Verdict::Trusted { 1.0 } else { 0.0 });
    let name = "flashlag_check";
    out.family(name, Kind::StateSet, "", "The outcome of each trust check.");
    for (index, check) in run.trust.checks.iter().enumerate() {
        let states = [
            ("fail", CheckStatus::Fail),
            ("unknown", CheckStatus::Unknown),
            ("pass", CheckStatus::Pass),
        ];
        for (state, status) in states {
            let labels = [
                ("check", check.id.name().to_owned()),
                ("index", (index + 1).to_string()),
                ("flashlag_check", state.to_owned()),
            ];
            out.sample(name, &labels, if check.status == status { 1.0 } else { 0.0 });
        }
    }
}

fn labels(index: usize, phase: &Phase) -> Labels {
    vec![
        ("phase", (index + 1).to_string()),
        ("state", phase.state.name().to_owned()),
        ("run", phase.run.to_string()),
        ("test", phase.name.clone()),
    ]
}

fn for_each_phase(run: &Run, mut each: impl FnMut(&Phase, Labels)) {
    for (index, phase) in run.phases.iter().enumerate() {
        each(phase, labels(index, phase));
    }
}

fn counters(out: &mut Exposition, run: &Run) {
    out.family("flashlag_operations", Kind::Counter, "", "Operations done.");
    for_each_phase(run, |phase, labels| {
        out.sample("flashlag_operations_total", &labels, phase.ops as f64);
    });
    out.family("flashlag_moved_bytes", Kind::Counter, "bytes", "Bytes moved by the operations.");
    for_each_phase(run, |phase, labels| {
        out.sample("flashlag_moved_bytes_total", &labels, phase.bytes.0 as f64);
    });
    let name = "flashlag_phase_seconds";
    out.family(name, Kind::Gauge, "seconds", "How long the phase took.");
    for_each_phase(run, |phase, labels| {
        out.sample(name, &labels, phase.elapsed_ns.as_secs_f64());
    });
    out.family("flashlag_stalls", Kind::Counter, "", "Waits longer than the label says.");
    for_each_phase(run, |phase, mut labels| {
        labels.push(("longer_than_seconds", phase.stall_over_ns.as_secs_f64().to_string()));
        out.sample("flashlag_stalls_total", &labels, phase.stalls_seen as f64);
    });
    let help = "Slots of the schedule that passed without an operation.";
    out.family("flashlag_missed_slots", Kind::Counter, "", help);
    for_each_phase(run, |phase, labels| {
        if let Some(missed) = phase.missed_slots {
            out.sample("flashlag_missed_slots_total", &labels, missed as f64);
        }
    });
}

fn percentiles(out: &mut Exposition, run: &Run) {
    let name = "flashlag_latency_percentile_seconds";
    let help = "Latency percentiles, within 0.8 %; one that rests on fewer than ten longer values \
                is absent.";
    out.family(name, Kind::Gauge, "seconds", help);
    for_each_phase(run, |phase, labels| {
        let summary = &phase.latency_ns;
        let figures = [
            ("50", summary.p50),
            ("90", summary.p90),
            ("99", summary.p99),
            ("99.9", summary.p999),
            ("100", summary.max),
        ];
        for (percentile, value) in figures {
            let Some(value) = value else { continue };
            let mut labels = labels.clone();
            labels.push(("percentile", percentile.to_owned()));
            out.sample(name, &labels, value.as_secs_f64());
        }
    });
}

fn histograms(out: &mut Exposition, run: &Run) {
    type Part = fn(&Phase) -> Option<&StoredHistogram>;
    let families: [(&str, &str, Part); 3] = [
        (
            "flashlag_latency_seconds",
            "From handing an operation to the device until it was done.",
            |phase| Some(&phase.histogram),
        ),
        (
            "flashlag_flush_latency_seconds",
            "The flush's part of the latency, where it is a call of its own.",
            |phase| phase.flush_histogram.as_ref(),
        ),
        (
            "flashlag_response_seconds",
            "From the intended start of an operation until it was done (open loop).",
            |phase| phase.response_histogram.as_ref(),
        ),
    ];
    for (name, help, part) in families {
        out.family(name, Kind::Histogram, "seconds", help);
        for_each_phase(run, |phase, labels| {
            // `flashlag verify` refuses a histogram that can't be restored.
            let stored = part(phase).and_then(|stored| stored.restore().ok());
            if let Some(histogram) = stored {
                buckets(out, name, &labels, &histogram);
            }
        });
    }
}

pub(super) fn buckets(out: &mut Exposition, name: &str, labels: &Labels, histogram: &Histogram) {
    let bucket = format!("{name}_bucket");
    for limit in BOUNDS {
        let within = histogram.count().saturating_sub(histogram.count_over(Nanos(limit)));
        let mut labels = labels.clone();
        labels.push(("le", bound(limit)));
        out.sample(&bucket, &labels, within as f64);
    }
    let mut all = labels.clone();
    all.push(("le", "+Inf".to_owned()));
    out.sample(&bucket, &all, histogram.count() as f64);
    out.sample(&format!("{name}_count"), labels, histogram.count() as f64);
    out.sample(&format!("{name}_sum"), labels, histogram.sum().as_secs_f64());
}

fn waits(out: &mut Exposition, run: &Run) {
    let help = "Where the measuring thread's time went.";
    out.family("flashlag_thread_seconds", Kind::Counter, "seconds", help);
    for_each_phase(run, |phase, labels| {
        let Some(time) = phase.time.value() else { return };
        let parts = [
            ("on_cpu", time.on_cpu_ns),
            ("runnable", time.runnable_ns),
            ("blocked", time.blocked_ns),
        ];
        for (part, nanos) in parts {
            let mut labels = labels.clone();
            labels.push(("part", part.to_owned()));
            out.sample("flashlag_thread_seconds_total", &labels, nanos.as_secs_f64());
        }
    });
}

fn saves(out: &mut Exposition, run: &Run) {
    let help = "Saves that took longer than the label says.";
    out.family("flashlag_late_saves", Kind::Counter, "", help);
    for_each_phase(run, |phase, labels| {
        let Some(lag) = &phase.lag else { return };
        let counts = [
            ("0.008333333", lag.over_120hz),
            ("0.011111111", lag.over_90hz),
            ("0.016666667", lag.over_60hz),
            ("0.1", lag.over_100ms),
            ("0.7", lag.over_700ms),
            ("5.0", lag.over_5s),
        ];
        for (limit, count) in counts {
            let mut labels = labels.clone();
            labels.push(("longer_than_seconds", limit.to_owned()));
            out.sample("flashlag_late_saves_total", &labels, count as f64);
        }
    });
}
