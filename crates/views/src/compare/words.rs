//! The leading sentences of a comparison.

use flashlag_explain::LagVerdict;
use flashlag_schema::Run;
use flashlag_spec::State;
use flashlag_units::{InOrder, Nanos};

use super::model::{CompareRow, Ratio, Subject};
use super::outcome::{Outcome, STAGES, deciding, rows_of, verdict};
use crate::format;
use crate::headline::Deciding;
use crate::worst::{BESIDE, GroupKind, worst};

/// How each side fares in the test that decides its run's headline, and how long the slow
/// operations of the row that decides took.
pub fn headline(runs: &[Run], subjects: &[Subject], rows: &[CompareRow]) -> (String, String) {
    let deciding = deciding(runs, subjects);
    if deciding.iter().all(Option::is_none) {
        return without_waits(subjects, rows);
    }
    let outcomes: Vec<Option<Outcome>> = deciding
        .iter()
        .enumerate()
        .map(|(subject, deciding)| Outcome::of(rows, subject, deciding.as_ref()?))
        .collect();
    let apart =
        if in_common(rows) { String::new() } else { format!("{} ", nothing_in_common(subjects)) };
    if outcomes.iter().all(Option::is_none) {
        let sentence = format!(
            "{apart}No verdict: every side has a failed check that its deciding test depends on."
        );
        return (sentence, String::new());
    }
    let sentence = format!("{apart}{}", sentences(subjects, rows, &deciding, &outcomes));
    (sentence, sizes(subjects, rows, &deciding))
}

/// Whether two sides have a test in common.
fn in_common(rows: &[CompareRow]) -> bool {
    rows.iter().any(|row| row.sides.iter().flatten().count() > 1)
}

fn nothing_in_common(subjects: &[Subject]) -> String {
    let names: Vec<String> = subjects.iter().map(|subject| subject.name.clone()).collect();
    format!("{} have no test in common that can be compared.", format::list(&names))
}

/// The verdict of each side; equal verdicts together.
fn sentences(
    subjects: &[Subject],
    rows: &[CompareRow],
    deciding: &[Option<Deciding>],
    outcomes: &[Option<Outcome>],
) -> String {
    let mut groups: Vec<(Outcome, Vec<usize>)> = Vec::new();
    for (subject, outcome) in outcomes.iter().enumerate() {
        let Some(outcome) = outcome else { continue };
        let alike = |known: &Outcome| predicate(known, 1) == predicate(outcome, 1);
        match groups.iter_mut().find(|(known, _)| alike(known)) {
            Some((_, of_group)) => of_group.push(subject),
            None => groups.push((outcome.clone(), vec![subject])),
        }
    }
    groups.order_by_key(|(outcome, _)| (outcome.alone, outcome.worse.clone()));
    let named = |of_group: &[usize]| {
        let names: Vec<String> = of_group.iter().map(|s| subjects[*s].name.clone()).collect();
        format::list(&names)
    };
    let sentence = |(outcome, of_group): &(Outcome, Vec<usize>)| {
        format!("{} {}", named(of_group), predicate(outcome, of_group.len()))
    };
    let mut sentences: Vec<String> = groups.iter().map(sentence).collect();
    let troubled: Vec<usize> = groups
        .iter()
        .filter(|(outcome, _)| outcome.alone != LagVerdict::Smooth)
        .flat_map(|(_, of_group)| of_group.iter().copied())
        .collect();
    let rescue = rescue(subjects, rows, deciding, &troubled);
    if let (Some(last), Some(rescue)) = (sentences.last_mut(), rescue) {
        *last += &rescue;
    }
    let without = |waits: bool| {
        let unjudged = (0..subjects.len()).filter(|s| outcomes[*s].is_none());
        unjudged.filter(|s| deciding[*s].is_some() == waits).collect::<Vec<usize>>()
    };
    for (waits, one, many) in [
        (true, "is not judged", "are not judged"),
        (false, "has no save and no durable write", "have no save and no durable write"),
    ] {
        let unjudged = without(waits);
        if !unjudged.is_empty() {
            let how = if unjudged.len() == 1 { one } else { many };
            sentences.push(format!("{} {how}", named(&unjudged)));
        }
    }
    sentences.iter().map(|s| format!("{s}.")).collect::<Vec<_>>().join(" ")
}

fn is_alone(row: &CompareRow) -> bool {
    matches!(row.kind, Some(GroupKind::DurableWrite | GroupKind::Save))
}

/// The durable write of that state in its last run, or a save if there is none.
pub fn main_row(rows: &[CompareRow], state: State) -> Option<&CompareRow> {
    let of_state = || rows.iter().rev().filter(|row| row.state == state && is_alone(row));
    let is_write = |row: &&CompareRow| row.kind == Some(GroupKind::DurableWrite);
    of_state().find(is_write).or_else(|| of_state().next())
}

/// `lags`, `both freeze once full`, `stays smooth, full or empty`, `is smooth alone but lags beside another
/// writer`.
fn predicate(outcome: &Outcome, subjects: usize) -> String {
    let Outcome { alone, new, stage, several, beside, .. } = *outcome;
    let all = match subjects {
        1 => "",
        2 => "both ",
        _ => "all ",
    };
    let verb = verb(alone, subjects == 1, several);
    let verb = match verb.strip_prefix("are ") {
        Some(how) => format!("are {all}{how}"),
        None => format!("{all}{verb}"),
    };
    let smooth = alone == LagVerdict::Smooth;
    let when = match (stage, new) {
        (None, _) | (Some(State::New), None) => "",
        (Some(State::Filled), Some(LagVerdict::Smooth)) if smooth => ", full or empty",
        (Some(_), _) if smooth && several => "",
        (Some(State::New), Some(_)) => " at first",
        (Some(_), Some(new)) if new == alone => ", even at first",
        (Some(State::Filled), _) => " once full",
        (Some(State::Deleted), _) => " after deleting",
        (Some(State::Trimmed), _) => " after trim",
        (Some(State::Idle), _) => " after idling",
    };
    let when = format!("{when}{}", if beside { " beside another writer" } else { "" });
    let Some((worse, circumstances)) = &outcome.worse else { return verb + &when };
    let alone = if circumstances == BESIDE { " alone" } else { "" };
    let comma = if when.starts_with(',') { "," } else { "" };
    let but = if smooth { "but" } else { "and" };
    let worse = self::verb(*worse, subjects == 1, false);
    format!("{verb}{alone}{when}{comma} {but} {worse} {circumstances}")
}

fn verb(verdict: LagVerdict, one: bool, staged: bool) -> &'static str {
    let (single, many) = match verdict {
        LagVerdict::Smooth if staged => ("stays smooth", "stay smooth"),
        LagVerdict::Smooth => ("is smooth", "are smooth"),
        LagVerdict::Hitches => ("hitches", "hitch"),
        LagVerdict::Lags => ("lags", "lag"),
        LagVerdict::Freezes => ("freezes", "freeze"),
        LagVerdict::Overloaded => ("is overloaded", "are overloaded"),
    };
    if one { single } else { many }
}

/// `; trimming helps only Tablet T`: considers the sides that are not smooth in the deciding test.
fn rescue(
    subjects: &[Subject],
    rows: &[CompareRow],
    deciding: &[Option<Deciding>],
    troubled: &[usize],
) -> Option<String> {
    let of_state = |state: State, subject: usize| {
        let rows = rows_of(rows, deciding.get(subject)?.as_ref()?);
        worst(rows.filter(|row| row.state == state).filter_map(|row| verdict(row, subject)))
    };
    let of_both = |s: &usize| Some((of_state(State::Filled, *s)?, of_state(State::Trimmed, *s)?));
    let known: Vec<usize> = troubled.iter().copied().filter(|s| of_both(s).is_some()).collect();
    let better = |s: &&usize| of_both(s).is_some_and(|(full, trimmed)| trimmed < full);
    let rescued: Vec<String> = known
        .iter()
        .filter(better)
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

/// The figure of any two sides with the largest certain difference: by the end of its
/// interval that is nearer to equal. `None` if nothing was compared.
pub fn largest(rows: &[CompareRow]) -> Option<String> {
    let all = || rows.iter().flat_map(|row| row.all_ratios().map(move |ratio| (row, ratio)));
    all().next()?;
    let sure = |ratio: &Ratio| {
        let (low, high) = ratio.interval.unwrap_or((1.0, 1.0));
        low.ln().abs().min(high.ln().abs())
    };
    let differ = all().filter(|(_, ratio)| ratio.differs);
    let largest = differ.max_by(|a, b| sure(a.1).total_cmp(&sure(b.1)));
    Some(match largest {
        None => {
            "No figure is shown to differ: each interval includes equal, or the figures are within \
                 1.6%, the resolution of a histogram."
                .to_owned()
        }
        Some((row, ratio)) => {
            let figure = ratio.kind.name(row.operation);
            format!("The largest difference is {}, {figure}: {}.", row.title, ratio.words)
        }
    })
}

/// `WAL save: 1 in 100 takes longer than 3.0 ms on Phone P and 423 ms on Tablet T.` Of
/// the tests that decide, the row with the worst verdict.
fn sizes(subjects: &[Subject], rows: &[CompareRow], deciding: &[Option<Deciding>]) -> String {
    let p99 = |row: &CompareRow, s: usize| -> Option<Nanos> {
        let side = row.sides.get(s)?.as_ref()?;
        side.figures.p99.filter(|_| side.judgement.failures().is_empty())
    };
    let known = |row: &CompareRow| (0..subjects.len()).filter(|s| p99(row, *s).is_some()).count();
    let rank = |row: &&CompareRow| {
        let known_of = (0..subjects.len()).filter(|s| p99(row, *s).is_some());
        let verdict = worst(known_of.filter_map(|s| verdict(row, s)));
        let stage = STAGES.iter().position(|stage| *stage == row.state);
        (verdict, known(row), std::cmp::Reverse(stage), row.run)
    };
    let decides = |row: &&CompareRow| deciding.iter().flatten().any(|own| own.test == row.test);
    let candidates = rows.iter().filter(decides).filter(|row| known(row) > 0);
    let Some(row) = candidates.max_by_key(rank) else { return String::new() };
    let mut known: Vec<(Nanos, usize)> =
        (0..subjects.len()).filter_map(|s| Some((p99(row, s)?, s))).collect();
    let on = |(p99, s): &(Nanos, usize)| format!("{} on {}", format::time(*p99), subjects[*s].name);
    let listed = match known.len() {
        0..=3 => format::list(&known.iter().map(on).collect::<Vec<_>>()),
        _ => {
            known.order();
            let (first, last) = (on(&known[0]), on(&known[known.len() - 1]));
            format!("{first} and {last}, on the others between")
        }
    };
    format!("{}: 1 in 100 takes longer than {listed}.", row.title)
}

/// Runs without durable writes and saves.
fn without_waits(subjects: &[Subject], rows: &[CompareRow]) -> (String, String) {
    let sentence = if rows.iter().any(|row| !row.ratios.is_empty()) {
        "No durable write and no save was measured, so nothing here says how they lag.".to_owned()
    } else {
        nothing_in_common(subjects)
    };
    (sentence, String::new())
}
