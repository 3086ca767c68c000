//! The sums of a history as metrics: they only grow until the oldest days are dropped.

use flashlag_schema::history::{History, Span, Subject, Sums};
use flashlag_schema::{StallCause, StoredHistogram};
use flashlag_stats::Histogram;
use flashlag_views::cause_name;

use super::run::buckets;
use super::writer::{Dialect, Exposition, Kind, Labels};

/// The causes that an incident may have. Each has a value before its first incident: of a series that begins at 1
/// Prometheus sees no increase.
const CAUSES: [StallCause; 9] = [
    StallCause::Storage,
    StallCause::OtherIo,
    StallCause::GarbageCollection,
    StallCause::Discard,
    StallCause::Cleaning,
    StallCause::Checkpoint,
    StallCause::WakeUp,
    StallCause::Throttling,
    StallCause::GroupLimit,
];

/// Waits, incidents by cause, and what watching cost, over all that a history holds.
pub(crate) fn history(history: &History, dialect: Dialect) -> String {
    let mut sums = Sums::default();
    history.incidents.iter().for_each(|incident| sums.count(incident.cause));
    written(history.subject.as_ref(), &history.spans, &sums.incidents, dialect)
}

/// The same of a watch that goes on, since it began.
pub(crate) fn sums(sums: &Sums, dialect: Dialect) -> String {
    written(sums.subject.as_ref(), std::slice::from_ref(&sums.span), &sums.incidents, dialect)
}

fn written(
    subject: Option<&Subject>,
    spans: &[Span],
    counts: &[(StallCause, u64)],
    dialect: Dialect,
) -> String {
    let mut out = Exposition::new(dialect);
    let disk = subject.and_then(|subject| subject.disk.clone());
    let labels: Labels = disk.into_iter().map(|disk| ("disk", disk)).collect();
    totals(&mut out, spans, &labels);
    incidents(&mut out, counts, &labels);
    waits(&mut out, spans, &labels);
    last(&mut out, spans, &labels);
    out.finish()
}

fn totals(out: &mut Exposition, spans: &[Span], labels: &Labels) {
    let sum = |part: fn(&Span) -> f64| spans.iter().map(part).sum::<f64>();
    let families = [
        ("flashlag_watch_watched_seconds", "seconds", "Time watched.", sum(watched)),
        ("flashlag_watch_cpu_seconds", "seconds", "CPU time of flashlag watch.", sum(cpu)),
        ("flashlag_watch_own_bytes", "bytes", "Moved by flashlag watch itself.", sum(own)),
        ("flashlag_watch_disk_bytes", "bytes", "Moved by the disk while watched.", sum(disk)),
    ];
    for (name, unit, help, value) in families {
        out.family(name, Kind::Counter, unit, help);
        out.sample(&format!("{name}_total"), labels, value);
    }
}

fn watched(span: &Span) -> f64 {
    span.watched_ns.as_secs_f64()
}

fn cpu(span: &Span) -> f64 {
    span.own_cpu_ns.as_secs_f64()
}

fn own(span: &Span) -> f64 {
    span.own_bytes.0 as f64
}

fn disk(span: &Span) -> f64 {
    span.disk_bytes.0 as f64
}

fn incidents(out: &mut Exposition, counts: &[(StallCause, u64)], labels: &Labels) {
    let name = "flashlag_watch_incidents";
    out.family(name, Kind::Counter, "", "Waits unusually long, by cause.");
    let of =
        |cause| counts.iter().find(|(known, _)| *known == cause).map_or(0, |(_, count)| *count);
    let zero = CAUSES.iter().map(|cause| (*cause, of(*cause)));
    let others = counts.iter().filter(|(cause, _)| !CAUSES.contains(cause)).copied();
    for (cause, count) in zero.chain(others) {
        let mut labels = labels.clone();
        labels.push(("cause", cause_name(cause).to_owned()));
        out.sample(&format!("{name}_total"), &labels, count as f64);
    }
}

fn waits(out: &mut Exposition, spans: &[Span], labels: &Labels) {
    type Part = fn(&Span) -> &StoredHistogram;
    let kinds: [(&str, Part); 4] = [
        ("probe", |span| &span.probes),
        ("read", |span| &span.reads),
        ("write", |span| &span.writes),
        ("flush", |span| &span.flushes),
    ];
    let name = "flashlag_watch_wait_seconds";
    let help = "Waits: of probes each, of others the mean of each look, once a request.";
    out.family(name, Kind::Histogram, "seconds", help);
    for (kind, part) in kinds {
        let mut all = Histogram::new();
        let stored = spans.iter().filter_map(|span| part(span).restore().ok());
        stored.for_each(|waits| all.merge(&waits));
        if all.count() > 0 {
            let mut labels = labels.clone();
            labels.push(("kind", kind.to_owned()));
            buckets(out, name, &labels, &all);
        }
    }
}

/// The state when it was last seen.
fn last(out: &mut Exposition, spans: &[Span], labels: &Labels) {
    let Some(span) = spans.last() else { return };
    let free = span.state.free_bytes.zip(span.state.total_bytes);
    if let Some((free, total)) = free.filter(|(_, total)| total.0 > 0) {
        let name = "flashlag_watch_free_ratio";
        out.family(name, Kind::Gauge, "ratio", "Free share of the filesystem.");
        out.sample(name, labels, free.0 as f64 / total.0 as f64);
    }
    if let Some(used) = span.state.used_percent_at_most {
        let name = "flashlag_storage_life_used_ratio";
        out.family(name, Kind::Gauge, "ratio", "Share of the rated life that is used, at most.");
        out.sample(name, labels, f64::from(used) / 100.0);
    }
}
