//! A field that a finding is based on, in words.

use flashlag_schema::Run;
use flashlag_schema::finding::Fact;

use crate::outline::{for_people, phase_title};

/// `filesystem options: nobarrier`, `4K rand write, mean: 24 ms`.
pub(super) fn in_words(run: Option<&Run>, fact: &Fact) -> String {
    let value = run.map_or_else(|| fact.value.clone(), |run| for_people(run, &fact.value));
    format!("{}: {}", subject(run, &fact.field), value.trim_end_matches('.'))
}

fn subject(run: Option<&Run>, field: &str) -> String {
    if let Some((index, rest)) = indexed(field, "phases") {
        let title = run.and_then(|run| Some(phase_title(run, run.phases.get(index)?)));
        let title = title.unwrap_or_else(|| format!("test {}", index + 1));
        return match of_phase(rest) {
            "" => title,
            what => format!("{title}, {what}"),
        };
    }
    if let Some((index, _)) = indexed(field, "trust.checks") {
        let claim = run.and_then(|run| Some(run.trust.checks.get(index)?.claim.clone()));
        return format!("check ‘{}’ failed", claim.unwrap_or_else(|| "?".to_owned()));
    }
    if field == "target.profile.filesystem" {
        return "simulated filesystem".to_owned();
    }
    let field = field.strip_prefix("environment.").unwrap_or(field);
    let field = field.strip_prefix("internals.").unwrap_or(field);
    field.trim_end_matches("_ns").replace(['.', '_'], " ")
}

/// The index in a list, and the path that follows it: `phases[2].changes` is 2 and `changes`.
fn indexed<'a>(field: &'a str, list: &str) -> Option<(usize, &'a str)> {
    let (index, rest) = field.strip_prefix(list)?.strip_prefix('[')?.split_once(']')?;
    Some((index.parse().ok()?, rest.trim_start_matches('.')))
}

fn of_phase(field: &str) -> &str {
    let name = field.split('[').next().unwrap_or_default();
    match name {
        "latency_ns.mean" => "mean",
        "response_ns.mean" => "mean from the intended start",
        "flush_latency_ns.mean" => "mean flush",
        "growth.grew.latency_ns.mean" => "mean where a file grew",
        "growth.in_place.latency_ns.mean" => "mean within what is allocated",
        "lag.over_60hz" => "longer than a frame",
        "time.runnable_ns" => "runnable, waiting for a CPU",
        "changes" => "over time",
        "intervals" => "of all waits",
        "stalls" => "of the stalls listed",
        "bytes_per_sec" => "rate",
        "replay.transactions.rollback" => "through a rollback journal",
        "name" => "",
        other => other,
    }
}
