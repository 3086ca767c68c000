//! The sums of a history as metrics: they only grow until the oldest days are dropped.

use std::collections::BTreeMap;

use flashlag_schema::StoredHistogram;
use flashlag_schema::history::{History, Span};
use flashlag_stats::Histogram;
use flashlag_views::cause_name;

use super::run::buckets;
use super::writer::{Dialect, Exposition, Kind, Labels};

/// Waits, incidents by cause, and what watching cost, over all that a history holds.
pub(crate) fn history(history: &History, dialect: Dialect) -> String {
    let mut out = Exposition::new(dialect);
    let disk = history.subject.as_ref().and_then(|subject| subject.disk.clone());
    let labels: Labels = disk.into_iter().map(|disk| ("disk", disk)).collect();
    sums(&mut out, history, &labels);
    incidents(&mut out, history, &labels);
    waits(&mut out, history, &labels);
    last(&mut out, history, &labels);
    out.finish()
}

fn sums(out: &mut Exposition, history: &History, labels: &Labels) {
    let sum = |part: fn(&Span) -> f64| history.spans.iter().map(part).sum::<f64>();
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

fn incidents(out: &mut Exposition, history: &History, labels: &Labels) {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for incident in &history.incidents {
        *counts.entry(cause_name(incident.cause)).or_default() += 1;
    }
    let name = "flashlag_watch_incidents";
    out.family(name, Kind::Counter, "", "Waits unusually long, by cause.");
    for (cause, count) in counts {
        let mut labels = labels.clone();
        labels.push(("cause", cause.to_owned()));
        out.sample(&format!("{name}_total"), &labels, count as f64);
    }
}

fn waits(out: &mut Exposition, history: &History, labels: &Labels) {
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
        let stored = history.spans.iter().filter_map(|span| part(span).restore().ok());
        stored.for_each(|waits| all.merge(&waits));
        if all.count() > 0 {
            let mut labels = labels.clone();
            labels.push(("kind", kind.to_owned()));
            buckets(out, name, &labels, &all);
        }
    }
}

/// The state when it was last seen.
fn last(out: &mut Exposition, history: &History, labels: &Labels) {
    let Some(span) = history.spans.last() else { return };
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
