//! What changed over months, in words.

use flashlag_schema::history::{Beside, Shift, Trends, WaitKind};

use super::time::day;
use crate::format;

/// What waits are called in the plural.
pub(super) fn kind_words(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Probe => "durable writes",
        WaitKind::Read => "reads",
        WaitKind::Write => "writes",
        WaitKind::Flush => "flushes",
        WaitKind::Freeze => "all requests",
    }
}

/// The slow change, then the sudden ones; none if there is nothing but noise.
pub fn trend_sentences(trends: &Trends) -> Vec<String> {
    trends.of.map(|of| sentences(trends, kind_words(of))).unwrap_or_default()
}

/// What changed over runs of a test, in one sentence: the slow change, else the last sudden one.
pub fn runs_sentence(trends: &Trends, test: &str) -> String {
    let found = sentences(trends, test);
    let newest = if trends.trend.is_some() { found.first() } else { found.last() };
    newest.cloned().unwrap_or_else(|| {
        format!("The median wait of {test} shows no change beyond noise over {} runs.", trends.days)
    })
}

fn sentences(trends: &Trends, of: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(trend) = &trends.trend {
        let verb = if trend.ratio > 1.0 { "grew" } else { "fell" };
        sentences.push(format!(
            "The median wait of {of} {verb} from {} to {} since {}: {} (95% interval {} to {}).",
            format::time(trend.from_ns),
            format::time(trend.to_ns),
            day(trend.since_s),
            format::times(trend.ratio),
            format::ratio_bare(trend.low),
            format::times(trend.high),
        ));
    }
    sentences.extend(trends.shifts.iter().map(|shift| shift_sentence(shift, of)));
    sentences
}

fn shift_sentence(shift: &Shift, of: &str) -> String {
    let verb = if shift.to_ns > shift.from_ns { "rose" } else { "fell" };
    let beside: Vec<String> = shift.beside.iter().map(beside).collect();
    let ground = if beside.is_empty() {
        "nothing that is recorded changed beside it".to_owned()
    } else {
        format!("beside it {}", format::list(&beside))
    };
    format!(
        "On {} the median wait of {of} {verb} from {} to {}; {ground}.",
        day(shift.at_s),
        format::time(shift.from_ns),
        format::time(shift.to_ns),
    )
}

fn beside(change: &Beside) -> String {
    match change {
        Beside::Kernel { from, to } => format!("the kernel changed from {from} to {to}"),
        Beside::Firmware { from, to } => format!("the firmware changed from {from} to {to}"),
        Beside::FreeSpace { from, to } if from > to => {
            format!("free space fell from {from}% to {to}%")
        }
        Beside::FreeSpace { from, to } => format!("free space rose from {from}% to {to}%"),
        Beside::Program { name } => format!("{name} began to move many bytes"),
        Beside::NoProgram { name } => format!("{name} stopped moving many bytes"),
    }
}

/// Why no trend is reported, if none is.
pub fn why_no_trend(trends: &Trends) -> Option<String> {
    if trends.of.is_none() {
        return Some(format!(
            "A trend needs 28 days with enough waits; there {}.",
            if trends.days == 1 { "is 1".to_owned() } else { format!("are {}", trends.days) }
        ));
    }
    let has_any = trends.trend.is_some() || !trends.shifts.is_empty();
    (!has_any)
        .then(|| format!("Over {} days nothing changed that is more than noise.", trends.days))
}
