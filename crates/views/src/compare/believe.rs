//! Whether a comparison can be believed.

use flashlag_schema::{Run, TargetKind};
use flashlag_units::InOrder;

use super::model::{CompareRow, Difference, Subject};
use crate::doubt::Failure;
use crate::format::{self, decapitalized};

/// Whether it can be believed.
pub fn believe(
    runs: &[Run],
    subjects: &[Subject],
    rows: &[CompareRow],
    differs: &[Difference],
) -> String {
    let mut sentences: Vec<String> = subjects
        .iter()
        .enumerate()
        .filter_map(|(index, subject)| doubted(&subject.name, index, rows))
        .collect();
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

/// The number of checks that a sentence names at most; of more it gives only the number.
const NAMED: usize = 3;

/// `Not all of Nexus 5 can be believed: the check that … fails on 2 of 14 rows, and …`.
fn doubted(name: &str, index: usize, rows: &[CompareRow]) -> Option<String> {
    let sides = || rows.iter().filter_map(|row| row.sides.get(index)?.as_ref());
    let all = sides().count();
    let mut checks: Vec<(&Failure, usize)> = Vec::new();
    let mut doubted = 0;
    for side in sides() {
        let mut of_row: Vec<&Failure> = Vec::new();
        for failure in side.judgement.failures() {
            if !of_row.iter().any(|known| known.claim == failure.claim) {
                of_row.push(failure);
            }
        }
        doubted += usize::from(!of_row.is_empty());
        for failure in of_row {
            match checks.iter_mut().find(|(known, _)| known.claim == failure.claim) {
                Some((_, count)) => *count += 1,
                None => checks.push((failure, 1)),
            }
        }
    }
    let mut rows_named = false;
    let clause = |(failure, count): &(&Failure, usize)| {
        let claim = decapitalized(failure.claim.trim_end_matches('.'));
        let on = match (*count == all, rows_named) {
            (true, _) => String::new(),
            (false, false) => format!(" on {count} of {}", format::plural(all, "row", "rows")),
            (false, true) => format!(" on {count}"),
        };
        rows_named |= *count < all;
        format!("the check that {claim} fails{on}")
    };
    checks.order_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut clauses: Vec<String> = checks.iter().take(NAMED).map(clause).collect();
    if checks.len() > NAMED {
        clauses.push(format::plural(checks.len() - NAMED, "more check fails", "more checks fail"));
    }
    let which = match doubted {
        0 => return None,
        every if every == all => format!("{name} cannot be believed"),
        _ => format!("Not all of {name} can be believed"),
    };
    let last = clauses.pop().unwrap_or_default();
    let before = if clauses.is_empty() { String::new() } else { clauses.join(", ") + ", and " };
    Some(format!("{which}: {before}{last}."))
}
