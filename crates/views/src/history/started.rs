//! What a watch says when it begins.

use flashlag_schema::history::Subject;
use flashlag_units::{Bytes, Nanos};

use super::answer::name_of;

/// What is watched, what that costs, and what can't be seen.
pub fn started(subject: &Subject, probe: Bytes, daily: Bytes) -> Vec<String> {
    let mut sentences = vec![format!(
        "watching {} below {} for waits over {}",
        name_of(Some(subject)),
        subject.directory,
        subject.over_ns
    )];
    sentences.push(match subject.probe_ns {
        Some(every) => {
            let bytes = daily_probes(every, probe);
            let share = match subject.size_bytes.filter(|size| size.0 > 0) {
                Some(size) => {
                    let days = size.0 / bytes.0.max(1);
                    format!(", the size of this disk in {} days", flashlag_units::count(days))
                }
                None => String::new(),
            };
            format!(
                "a durable write of 4 KiB each {every}: at most {bytes} a day{share}; the history \
                 takes at most {daily} a day"
            )
        }
        None => format!(
            "it writes nothing but the history, at most {daily} a day; an idle disk is measured \
             with --probe 10s alone"
        ),
    });
    if !subject.missing.is_empty() {
        sentences.push(format!("not seen here: {}", subject.missing.join("; ")));
    }
    sentences
}

/// Bytes that probes write a day.
pub fn daily_probes(every: Nanos, probe: Bytes) -> Bytes {
    const DAY: u64 = 86_400_000_000_000;
    Bytes((DAY / every.0.max(1)).saturating_mul(probe.0))
}
