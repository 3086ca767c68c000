//! What a comparison says first.

use flashlag_schema::{Operation, State};
use flashlag_units::Nanos;

use super::{CompareRow, Difference, RatioKind, Subject};
use crate::doubt::Failure;
use crate::format::{self, capitalized, decapitalized};
use crate::verdict::LagVerdict;

/// The sentence, and the sizes behind it.
pub fn headline(subjects: &[Subject], rows: &[CompareRow]) -> (String, String) {
    let full = main_row(rows, State::Filled);
    let Some(row) = full.or_else(|| any_row(rows)) else { return without_waits(subjects, rows) };
    let verdicts: Vec<Option<LagVerdict>> = (0..subjects.len()).map(|s| verdict(row, s)).collect();
    if verdicts.iter().all(Option::is_none) {
        let sentence = "No verdict: checks fail on every subject.".to_owned();
        return (sentence, String::new());
    }
    let new = full.and_then(|_| main_row(rows, State::New));
    let mut sentences = Vec::new();
    let order = LagVerdict::ALL;
    let mut troubled = Vec::new();
    for word in order {
        let of_word: Vec<usize> =
            (0..subjects.len()).filter(|s| verdicts[*s] == Some(word)).collect();
        if of_word.is_empty() {
            continue;
        }
        let names: Vec<String> = of_word.iter().map(|s| subjects[*s].name.clone()).collect();
        let when = when(word, full.is_some(), new, &of_word);
        sentences.push(format!(
            "{} {}{when}",
            format::list(&names),
            verb(word, names.len(), full.is_some())
        ));
        if word != LagVerdict::Smooth {
            troubled.extend(of_word);
        }
    }
    let trimmed = full.and_then(|_| main_row(rows, State::Trimmed));
    let rescue = trimmed.and_then(|trimmed| rescue(subjects, row, trimmed, &troubled));
    if let (Some(last), Some(rescue)) = (sentences.last_mut(), rescue) {
        *last += &rescue;
    }
    let unjudged: Vec<String> = (0..subjects.len())
        .filter(|s| verdicts[*s].is_none())
        .map(|s| subjects[s].name.clone())
        .collect();
    if !unjudged.is_empty() {
        let verb = if unjudged.len() == 1 { "is" } else { "are" };
        sentences.push(format!("{} {verb} not judged", format::list(&unjudged)));
    }
    if verdicts.iter().all(|v| *v == verdicts[0]) {
        sentences.extend(told_apart(row));
    }
    let sentence = sentences.iter().map(|s| capitalized(s) + ".").collect::<Vec<_>>().join(" ");
    (sentence, sizes(subjects, row, full.is_some()))
}

/// The durable write of that state, its last run; else a save.
fn main_row(rows: &[CompareRow], state: State) -> Option<&CompareRow> {
    let of_state = || rows.iter().rev().filter(|row| row.state == state && row.in_strip);
    of_state().find(|row| is_write(row)).or_else(|| of_state().next())
}

fn any_row(rows: &[CompareRow]) -> Option<&CompareRow> {
    main_row(rows, State::New).or_else(|| rows.iter().find(|row| row.in_strip))
}

/// Rows of the picture are durable writes or saves, and saves are titled as such.
fn is_write(row: &CompareRow) -> bool {
    row.in_strip && row.operation == Operation::RandomWrite
}

fn verdict(row: &CompareRow, subject: usize) -> Option<LagVerdict> {
    row.sides.get(subject)?.as_ref()?.judgement.verdict()
}

fn verb(verdict: LagVerdict, subjects: usize, full: bool) -> String {
    let (one, many) = match verdict {
        LagVerdict::Smooth if full => ("stays smooth", "stay smooth"),
        LagVerdict::Smooth => ("is smooth", "are smooth"),
        LagVerdict::Hitches => ("hitches", "hitch"),
        LagVerdict::Lags => ("lags", "lag"),
        LagVerdict::Freezes => ("freezes", "freeze"),
        LagVerdict::Overloaded => ("is overloaded", "are overloaded"),
    };
    match (subjects, many.strip_prefix("are ")) {
        (1, _) => one.to_owned(),
        (2, Some(how)) => format!("are both {how}"),
        (_, Some(how)) => format!("are all {how}"),
        (2, None) => format!("both {many}"),
        _ => format!("all {many}"),
    }
}

/// `, full or empty`, ` once full`, or nothing where no full device was measured.
fn when(
    word: LagVerdict,
    full: bool,
    new: Option<&CompareRow>,
    subjects: &[usize],
) -> &'static str {
    let smooth_when_new =
        |new: &CompareRow| subjects.iter().all(|s| verdict(new, *s) == Some(LagVerdict::Smooth));
    match (full, word) {
        (false, _) => "",
        (true, LagVerdict::Smooth) if new.is_some_and(smooth_when_new) => ", full or empty",
        _ => " once full",
    }
}

/// `; trimming rescues only Tablet T`.
fn rescue(
    subjects: &[Subject],
    full: &CompareRow,
    trimmed: &CompareRow,
    troubled: &[usize],
) -> Option<String> {
    let known: Vec<usize> =
        troubled.iter().copied().filter(|s| verdict(trimmed, *s).is_some()).collect();
    let better = |s: &usize| verdict(trimmed, *s) < verdict(full, *s);
    let rescued: Vec<String> = known
        .iter()
        .filter(|s| better(s))
        .filter_map(|s| subjects.get(*s).map(|subject| subject.name.clone()))
        .collect();
    Some(match (known.len(), rescued.len()) {
        (0, _) => return None,
        (1, 0) => "; trimming does not help".to_owned(),
        (1, 1) => "; trimming helps".to_owned(),
        (_, 0) => "; trimming helps none of them".to_owned(),
        (all, some) if all == some => "; trimming helps all of them".to_owned(),
        _ => format!("; trimming helps only {}", format::list(&rescued)),
    })
}

/// Where all have the same verdict: how the row's p99 compares for the first pair.
fn told_apart(row: &CompareRow) -> Option<String> {
    let of_kind = |kind| row.ratios.iter().find(move |ratio| ratio.kind == kind);
    let ratio = of_kind(RatioKind::P99).or_else(|| of_kind(RatioKind::P50))?;
    let which = if ratio.kind == RatioKind::P99 { "p99" } else { "median" };
    Some(format!("{}, {which}: {}", row.title, ratio.words))
}

/// `When full, 1 in 100 writes takes longer than 3.0 ms on Phone P and 423 ms on Tablet T.`
fn sizes(subjects: &[Subject], row: &CompareRow, full: bool) -> String {
    let things = if is_write(row) { "writes" } else { "saves" };
    let p99: Vec<Option<Nanos>> = row
        .sides
        .iter()
        .map(|side| side.as_ref().filter(|s| s.judgement.failures().is_empty())?.figures.p99)
        .collect();
    let parts: Vec<String> = subjects
        .iter()
        .zip(&p99)
        .filter_map(|(subject, p99)| Some(format!("{} on {}", format::time((*p99)?), subject.name)))
        .collect();
    let mut sentences = Vec::new();
    if !parts.is_empty() {
        let when = if full { "When full, 1" } else { "1" };
        sentences
            .push(format!("{when} in 100 {things} takes longer than {}.", format::list(&parts)));
    }
    let alike = row.ratios.iter().filter(|ratio| ratio.kind == RatioKind::P50 && !ratio.differs);
    for ratio in alike.take(3) {
        let name = |s: usize| subjects.get(s).map_or("", |subject| subject.name.as_str());
        sentences.push(format!(
            "The medians of {} and {} cannot be told apart.",
            name(ratio.against),
            name(ratio.of)
        ));
    }
    sentences.join(" ")
}

/// Runs without durable writes and saves: throughput of what they have in common.
fn without_waits(subjects: &[Subject], rows: &[CompareRow]) -> (String, String) {
    let ratio = rows.iter().find_map(|row| {
        let ratio = row.ratios.iter().find(|ratio| ratio.kind == RatioKind::Throughput)?;
        Some(format!("{}, throughput: {}.", capitalized(&row.title), ratio.words))
    });
    let names: Vec<String> = subjects.iter().map(|subject| subject.name.clone()).collect();
    let none = || format!("{} have no test in common that can be compared.", format::list(&names));
    (ratio.unwrap_or_else(none), String::new())
}

/// Whether it can be believed.
pub fn believe(subjects: &[Subject], rows: &[CompareRow], differs: &[Difference]) -> String {
    let mut sentences = Vec::new();
    for (index, subject) in subjects.iter().enumerate() {
        let sides = || rows.iter().filter_map(move |row| row.sides.get(index)?.as_ref());
        let failing = || sides().filter(|side| !side.judgement.failures().is_empty());
        let (all, failed) = (sides().count(), failing().count());
        let first = failing().flat_map(|side| side.judgement.failures()).next();
        let Some(Failure { claim, .. }) = first else { continue };
        let claim = decapitalized(claim.trim_end_matches('.'));
        let which = match failed == all {
            true => format!("Not {}", subject.name),
            false => format!("Not {failed} of {all} rows of {}", subject.name),
        };
        sentences.push(format!("{which}: the check that {claim} fails."));
    }
    if sentences.is_empty() {
        sentences.push("Yes: no check fails on any of them.".to_owned());
    }
    if differs.iter().any(|difference| difference.field == "Filesystem") {
        sentences.push(
            "The filesystems differ, so each result is device and filesystem together.".to_owned(),
        );
    }
    sentences.join(" ")
}
