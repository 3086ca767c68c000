//! The answer, first.

use std::collections::{BTreeMap, BTreeSet};

use flashlag_schema::history::{History, Incident, Subject};
use flashlag_schema::{CauseBasis, StallCause};
use flashlag_units::{InOrder, IntoOrder, Nanos};

use super::time::{length, minute, times};
use super::trend::trend_sentences;
use crate::causes::cause_name;
use crate::format;

/// Most files of limits in a sentence.
const FILES: usize = 3;

/// The sentences that say all: how often it froze, why, and whether it became slower.
pub fn answer(history: &History) -> Vec<String> {
    let watched = watched(history);
    if watched == Nanos::ZERO {
        return vec!["Nothing was watched yet: a history begins with its first minute.".to_owned()];
    }
    let name = name_of(history.subject.as_ref());
    let over = history.subject.as_ref().map_or(Nanos::ZERO, |subject| subject.over_ns);
    let mut sentences = Vec::new();
    let longest = history.incidents.iter().max_by_key(|incident| incident.longest_ns);
    sentences.push(match longest {
        None => {
            format!("In {} {name} made nothing wait unusually long (over {over}).", length(watched))
        }
        Some(longest) => format!(
            "In {} {name} froze {} for more than {over}, {} at most ({}).",
            length(watched),
            times(history.incidents.len() as u64),
            format::time(longest.longest_ns),
            minute(longest.start_ms),
        ),
    });
    sentences.extend(causes(history));
    sentences.extend(trend_sentences(&history.trends));
    sentences
}

/// How long was watched.
pub(super) fn watched(history: &History) -> Nanos {
    history
        .spans
        .iter()
        .fold(Nanos::ZERO, |sum, span| Nanos(sum.0.saturating_add(span.watched_ns.0)))
}

/// `the card SC64G`: what it is called in a sentence.
pub(super) fn name_of(subject: Option<&Subject>) -> String {
    let Some(subject) = subject else { return "the storage".to_owned() };
    let kind = match subject.kind.as_deref() {
        Some("sd") => "the card",
        Some("emmc") => "the eMMC",
        Some("ufs") => "the UFS storage",
        Some("nvme" | "sata") => "the disk",
        Some("usb") => "the USB disk",
        _ => "the storage",
    };
    match subject.model.as_ref().or(subject.disk.as_ref()) {
        Some(name) => format!("{kind} {name}"),
        None => kind.to_owned(),
    }
}

/// One sentence for each cause, the most frequent first.
pub fn causes(history: &History) -> Vec<String> {
    let mut by_cause: BTreeMap<&'static str, Vec<&Incident>> = BTreeMap::new();
    for incident in &history.incidents {
        by_cause.entry(word(incident)).or_default().push(incident);
    }
    let mut causes: Vec<(&str, Vec<&Incident>)> = by_cause.into_iter().collect();
    causes.order_by_key(|(_, incidents)| std::cmp::Reverse(incidents.len()));
    causes.iter().map(|(_, incidents)| sentence(incidents)).collect()
}

/// The name of a cause.
pub(super) fn word(incident: &Incident) -> &'static str {
    if incident.cause_basis == CauseBasis::Measured && incident.cause == StallCause::Storage {
        "unknown"
    } else {
        cause_name(incident.cause)
    }
}

fn sentence(incidents: &[&Incident]) -> String {
    let Some(first) = incidents.first() else { return String::new() };
    let often = format::capitalized(&times(incidents.len() as u64));
    let unknown = word(first) == "unknown";
    let moved = most_named(incidents);
    match (unknown, first.cause, moved) {
        (true, _, None) => format!("{often} no rule names the cause."),
        (true, _, Some(program)) => format!(
            "{often} no rule names the cause; {program} moved most bytes in the half minute before."
        ),
        (false, StallCause::OtherIo, Some(program)) => {
            format!("{often} other requests held it up; {program} moved most bytes.")
        }
        (false, StallCause::GroupLimit, _) => {
            let files: BTreeSet<&str> =
                incidents.iter().flat_map(|it| &it.before.limits).map(String::as_str).into_set();
            let files: Vec<&str> = files.into_iter().take(FILES).collect();
            format!("{often} a limit of a control group held it back: {}.", files.join(", "))
        }
        (false, ..) => format!("{often} it was {}.", word(first)),
    }
}

/// The program that moved most bytes before the most incidents, if it did before at least half.
fn most_named(incidents: &[&Incident]) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for incident in incidents {
        if let Some(program) = incident.before.programs.first() {
            *counts.entry(&program.name).or_default() += 1;
        }
    }
    let (name, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (count * 2 >= incidents.len()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use flashlag_schema::history::Before;

    use super::*;

    #[test]
    fn a_limit_is_named_with_the_files_that_set_it_each_once() {
        let held = |files: &[&str]| Incident {
            cause: StallCause::GroupLimit,
            cause_basis: CauseBasis::Inferred,
            before: Before {
                limits: files.iter().map(|file| (*file).to_owned()).collect(),
                ..Before::default()
            },
            ..Incident::default()
        };
        let incidents = vec![held(&["/b/io.max"]), held(&["/a/io.max", "/b/io.max"])];
        let history = History { incidents, ..History::default() };
        let said = "Twice a limit of a control group held it back: /a/io.max, /b/io.max.";
        assert_eq!(causes(&history), [said]);
    }
}
