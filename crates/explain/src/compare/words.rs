//! What a comparison says first.

use flashlag_schema::{Run, State, TargetKind};
use flashlag_units::Nanos;

use super::{CompareRow, Difference, Ratio, Subject};
use crate::doubt::Failure;
use crate::format::{self, decapitalized};
use crate::strip::GroupKind;
use crate::verdict::LagVerdict;
use crate::worst::worst;

/// What one subject's rows say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outcome {
    /// The worst of its rows with nothing beside them.
    alone: LagVerdict,
    /// The worst of those when new, where it has other stages too.
    new: Option<LagVerdict>,
    /// A stage with the worst; only where there are several.
    stage: Option<State>,
    /// Saves beside another writer, where they are worse.
    busy: Option<Busy>,
}

/// How saves go beside another writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Busy {
    Verdict(LagVerdict),
    Overloaded,
}

/// The stages, by which is named first.
const STAGES: [State; 5] = [State::Filled, State::Deleted, State::Idle, State::Trimmed, State::New];

impl Outcome {
    /// `None` where no row of it can be judged.
    fn of(rows: &[CompareRow], subject: usize) -> Option<Outcome> {
        let alone = |row: &&CompareRow| is_alone(row);
        let verdicts = |state: Option<State>| {
            let of_state = move |row: &&CompareRow| state.is_none_or(|state| row.state == state);
            let rows = rows.iter().filter(alone).filter(of_state);
            worst(rows.filter_map(|row| verdict(row, subject)))
        };
        let beside = rows.iter().filter(|row| row.kind == Some(GroupKind::BusySave));
        let busy = beside.filter_map(|row| busy(row, subject)).max_by_key(Busy::rank);
        let several = rows.iter().any(|row| row.in_strip && row.state != State::New);
        let Some(word) = verdicts(None) else {
            // Nothing but saves on a schedule.
            let alone = match busy? {
                Busy::Verdict(word) => word,
                Busy::Overloaded => LagVerdict::Freezes,
            };
            return Some(Outcome { alone, new: None, stage: None, busy: None });
        };
        let stage = STAGES.into_iter().find(|state| verdicts(Some(*state)) == Some(word));
        Some(Outcome {
            alone: word,
            new: verdicts(Some(State::New)).filter(|_| several),
            stage: stage.filter(|_| several),
            busy: busy.filter(|busy| busy.rank() > Busy::Verdict(word).rank()),
        })
    }
}

impl Busy {
    fn rank(&self) -> u8 {
        match self {
            Busy::Verdict(word) => *word as u8,
            Busy::Overloaded => u8::MAX,
        }
    }
}

fn busy(row: &CompareRow, subject: usize) -> Option<Busy> {
    let side = row.sides.get(subject)?.as_ref()?;
    let word = side.judgement.verdict()?;
    Some(if side.overload.is_some() { Busy::Overloaded } else { Busy::Verdict(word) })
}

/// What each is like by the worst of its rows, and how long the slow operations of the row that
/// decides took.
pub fn headline(subjects: &[Subject], rows: &[CompareRow]) -> (String, String) {
    if !rows.iter().any(|row| row.in_strip) {
        return without_waits(subjects, rows);
    }
    let outcomes: Vec<Option<Outcome>> =
        (0..subjects.len()).map(|subject| Outcome::of(rows, subject)).collect();
    if outcomes.iter().all(Option::is_none) {
        let sentence = "No verdict: checks fail on every subject.".to_owned();
        return (sentence, String::new());
    }
    let mut groups: Vec<(Outcome, Vec<usize>)> = Vec::new();
    for (subject, outcome) in outcomes.iter().enumerate() {
        let Some(outcome) = outcome else { continue };
        // What is said alike is said once.
        let alike = |known: &Outcome| predicate(known, 1) == predicate(outcome, 1);
        match groups.iter_mut().find(|(known, _)| alike(known)) {
            Some((_, of_group)) => of_group.push(subject),
            None => groups.push((*outcome, vec![subject])),
        }
    }
    groups.sort_by_key(|(outcome, _)| (outcome.alone, outcome.busy.map(|busy| busy.rank())));
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
    if let (Some(last), Some(rescue)) = (sentences.last_mut(), rescue(subjects, rows, &troubled)) {
        *last += &rescue;
    }
    let unjudged: Vec<usize> = (0..subjects.len()).filter(|s| outcomes[*s].is_none()).collect();
    if !unjudged.is_empty() {
        let verb = if unjudged.len() == 1 { "is" } else { "are" };
        sentences.push(format!("{} {verb} not judged", named(&unjudged)));
    }
    let sentence = sentences.iter().map(|s| format!("{s}.")).collect::<Vec<_>>().join(" ");
    (sentence, sizes(subjects, rows))
}

fn is_alone(row: &CompareRow) -> bool {
    matches!(row.kind, Some(GroupKind::DurableWrite | GroupKind::Save))
}

/// The durable write of that state, its last run; else a save.
pub fn main_row(rows: &[CompareRow], state: State) -> Option<&CompareRow> {
    let of_state = || rows.iter().rev().filter(|row| row.state == state && is_alone(row));
    let is_write = |row: &&CompareRow| row.kind == Some(GroupKind::DurableWrite);
    of_state().find(is_write).or_else(|| of_state().next())
}

fn verdict(row: &CompareRow, subject: usize) -> Option<LagVerdict> {
    row.sides.get(subject)?.as_ref()?.judgement.verdict()
}

/// `lags`, `both freeze once full`, `stays smooth, full or empty`, `lags, and freezes beside another
/// writer`.
fn predicate(outcome: &Outcome, subjects: usize) -> String {
    let Outcome { alone, new, stage, busy } = *outcome;
    let staged = stage.is_some();
    let all = match subjects {
        1 => "",
        2 => "both ",
        _ => "all ",
    };
    let verb = verb(alone, subjects == 1, staged);
    let verb = match verb.strip_prefix("are ") {
        Some(how) => format!("are {all}{how}"),
        None => format!("{all}{verb}"),
    };
    let when = match (stage, new) {
        (None, _) | (Some(State::New), None) => String::new(),
        (Some(State::Filled), Some(LagVerdict::Smooth)) if alone == LagVerdict::Smooth => {
            ", full or empty".to_owned()
        }
        (Some(_), _) if alone == LagVerdict::Smooth => String::new(),
        (Some(State::New), Some(_)) => " at first".to_owned(),
        (Some(_), Some(new)) if new == alone => ", even at first".to_owned(),
        (Some(State::Filled), _) => " once full".to_owned(),
        (Some(State::Deleted), _) => " after deleting".to_owned(),
        (Some(State::Trimmed), _) => " after trim".to_owned(),
        (Some(State::Idle), _) => " after idling".to_owned(),
    };
    let Some(busy) = busy else { return verb + &when };
    let worse = match busy {
        Busy::Verdict(word) => self::verb(word, subjects == 1, false).to_owned(),
        Busy::Overloaded if subjects == 1 => "is overloaded".to_owned(),
        Busy::Overloaded => "are overloaded".to_owned(),
    };
    match alone {
        LagVerdict::Smooth => format!("{worse} beside another writer, and else {verb}{when}"),
        _ => format!("{verb}{when}, and {worse} beside another writer"),
    }
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

/// `; trimming rescues only Tablet T`: of those that are not smooth, by their worst rows.
fn rescue(subjects: &[Subject], rows: &[CompareRow], troubled: &[usize]) -> Option<String> {
    let of_state = |state: State, subject: usize| {
        let rows = rows.iter().filter(|row| is_alone(row) && row.state == state);
        worst(rows.filter_map(|row| verdict(row, subject)))
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

/// The figure whose difference is the largest that is sure: by the end of its interval that is
/// nearer to equal. `None` where nothing was compared.
pub fn largest(rows: &[CompareRow]) -> Option<String> {
    let all = || rows.iter().flat_map(|row| row.ratios.iter().map(move |ratio| (row, ratio)));
    all().next()?;
    let sure = |ratio: &Ratio| {
        let (low, high) = ratio.interval.unwrap_or((1.0, 1.0));
        low.ln().abs().min(high.ln().abs())
    };
    let differ = all().filter(|(_, ratio)| ratio.differs);
    let largest = differ.max_by(|a, b| sure(a.1).total_cmp(&sure(b.1)));
    Some(match largest {
        None => "No figure differs by more than chance.".to_owned(),
        Some((row, ratio)) => {
            let figure = ratio.kind.name(row.operation);
            format!("The largest sure difference is {}, {figure}: {}.", row.title, ratio.words)
        }
    })
}

/// `SQLite insert, WAL: 1 in 100 takes longer than 3.0 ms on Phone P and 423 ms on Tablet T.` Of
/// the row whose verdict is the worst.
fn sizes(subjects: &[Subject], rows: &[CompareRow]) -> String {
    let p99 = |row: &CompareRow, s: usize| -> Option<Nanos> {
        let side = row.sides.get(s)?.as_ref()?;
        side.figures.p99.filter(|_| side.judgement.failures().is_empty())
    };
    let known = |row: &CompareRow| (0..subjects.len()).filter(|s| p99(row, *s).is_some()).count();
    let rank = |row: &&CompareRow| {
        let verdict = worst((0..subjects.len()).filter_map(|s| verdict(row, s)));
        let stage = STAGES.iter().position(|stage| *stage == row.state);
        (known(row), verdict, std::cmp::Reverse(stage), row.run)
    };
    let candidates = rows.iter().filter(|row| is_alone(row) && known(row) > 0);
    let Some(row) = candidates.max_by_key(rank) else { return String::new() };
    let mut known: Vec<(Nanos, usize)> =
        (0..subjects.len()).filter_map(|s| Some((p99(row, s)?, s))).collect();
    let on = |(p99, s): &(Nanos, usize)| format!("{} on {}", format::time(*p99), subjects[*s].name);
    let listed = match known.len() {
        0..=3 => format::list(&known.iter().map(on).collect::<Vec<_>>()),
        _ => {
            known.sort_unstable();
            let (first, last) = (on(&known[0]), on(&known[known.len() - 1]));
            format!("{first} and {last}, on the others between")
        }
    };
    format!("{}: 1 in 100 takes longer than {listed}.", row.title)
}

/// Runs without durable writes and saves.
fn without_waits(subjects: &[Subject], rows: &[CompareRow]) -> (String, String) {
    let names: Vec<String> = subjects.iter().map(|subject| subject.name.clone()).collect();
    let sentence = if rows.iter().any(|row| !row.ratios.is_empty()) {
        "No durable write and no save was measured, so nothing here says how they lag.".to_owned()
    } else {
        format!("{} have no test in common that can be compared.", format::list(&names))
    };
    (sentence, String::new())
}

/// Whether it can be believed.
pub fn believe(
    runs: &[Run],
    subjects: &[Subject],
    rows: &[CompareRow],
    differs: &[Difference],
) -> String {
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
    let modelled = |subject: &&Subject| {
        let mut of_subject = subject.runs.iter().filter_map(|index| runs.get(*index));
        of_subject.any(|run| run.target.kind == TargetKind::Simulated)
    };
    let modelled: Vec<String> =
        subjects.iter().filter(modelled).map(|subject| subject.name.clone()).collect();
    if modelled.len() == subjects.len() {
        sentences.insert(0, "All are simulations: what the models do, not the devices.".to_owned());
    } else if !modelled.is_empty() {
        let verb = if modelled.len() == 1 { "is a simulation" } else { "are simulations" };
        sentences.insert(0, format!("{} {verb}, not measured.", format::list(&modelled)));
    } else if sentences.is_empty() {
        sentences.push("Yes: no check fails on any of them.".to_owned());
    }
    if differs.iter().any(|difference| difference.field == "Filesystem") {
        sentences.push(
            "The filesystems differ, so each result is device and filesystem together.".to_owned(),
        );
    }
    sentences.join(" ")
}
