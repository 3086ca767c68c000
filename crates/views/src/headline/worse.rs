//! The row with the worst verdict of all, if it does not belong to the headline's test. The first
//! sentence names it and its circumstances, so that no mild verdict stands above a row that is
//! worse.

use flashlag_explain::{LagVerdict, Plan, SaveKind, severest, verdict};
use flashlag_schema::{Phase, Run};
use flashlag_spec::Operation;

use super::words;
use crate::format::decapitalized;
use crate::naming::{file_save, file_saves, save_label, test_title};
use crate::worst::{GroupKind, decides};

/// A row that is worse than the test of the headline.
#[derive(Clone, Debug)]
pub struct Worse<'a> {
    pub phase: &'a Phase,
    pub verdict: LagVerdict,
    /// The circumstances of the headline's test: `alone`, `with a rollback journal`, `for SQLite saves`.
    pub main: String,
    /// The circumstances of the row, with its stage if the run has several: `beside another writer
    /// once full`.
    pub own: String,
}

impl<'a> Worse<'a> {
    /// The worst row of those that decide, if its verdict is worse than that of the test in the headline.
    pub fn than(run: &'a Run, main: &Phase, main_verdict: Option<LagVerdict>) -> Option<Worse<'a>> {
        let plan = Plan::of(run);
        let measured = run.phases.iter().filter(|phase| phase.ops > 0);
        let phase = severest(run, measured.filter(|phase| decides(&plan, phase).is_some()))?;
        let verdict = verdict(run, phase)?;
        if std::ptr::eq(phase, main) || main_verdict.is_some_and(|main| verdict <= main) {
            return None;
        }
        let (main, own) = circumstances(run, &plan, main, phase);
        let own = if words::is_of_several_stages(run, phase) {
            format!("{own} {}", words::how_it_came(run, phase))
        } else {
            own
        };
        Some(Worse { phase, verdict, main, own })
    }
}

/// What distinguishes two rows, within a sentence: one text for each.
fn circumstances(run: &Run, plan: &Plan, main: &Phase, other: &Phase) -> (String, String) {
    let texts = |main: &str, other: &str| (main.to_owned(), other.to_owned());
    match decides(plan, other) {
        Some(GroupKind::BusySave) if other.background.is_some() => {
            return texts("alone", "beside another writer");
        }
        Some(GroupKind::BusySave) => return texts("one after another", "on a schedule"),
        _ => {}
    }
    if main.operation != other.operation {
        return match other.operation {
            Operation::Save => texts("for 4 KiB durable writes", &saves(run, other)),
            _ => texts(&saves(run, main), &format!("for {}", writes(other))),
        };
    }
    if file_save(run, main).is_some() || file_save(run, other).is_some() {
        return (saves(run, main), saves(run, other));
    }
    if main.name == other.name {
        return texts("", "");
    }
    match (SaveKind::of(run, main), SaveKind::of(run, other)) {
        (Some(of_main), Some(of_other)) if of_main.statement == of_other.statement => {
            (with_journal(&of_main), with_journal(&of_other))
        }
        (Some(of_main), Some(of_other)) => (statements(&of_main), statements(&of_other)),
        _ => match (test_title(&main.name), test_title(&other.name).split_once(", after ")) {
            (title, Some((same, rest))) if title == same => {
                ("without a rest".to_owned(), format!("after a rest of {rest}"))
            }
            _ => (format!("for {}", writes(main)), format!("for {}", writes(other))),
        },
    }
}

/// `for SQLite saves`, `for SharedPreferences commits`.
fn saves(run: &Run, phase: &Phase) -> String {
    match file_save(run, phase) {
        Some(save) => format!("for {}", file_saves(&save)[1]),
        None => "for SQLite saves".to_owned(),
    }
}

/// `with WAL`, `with a rollback journal (truncate)`, `without a journal`.
fn with_journal(kind: &SaveKind) -> String {
    let label = save_label(kind);
    match label.strip_prefix("No journal") {
        Some(more) => format!("without a journal{more}"),
        None if label.starts_with("WAL") => format!("with {label}"),
        None => format!("with a {}", decapitalized(&label)),
    }
}

/// `for inserts with WAL`.
fn statements(kind: &SaveKind) -> String {
    format!("for {}s {}", kind.statement_name(), with_journal(kind))
}

/// `4 KiB durable writes`, `4 KiB durable writes after 10 ms`.
fn writes(phase: &Phase) -> String {
    let title = test_title(&phase.name);
    match title.strip_prefix("4K rand write") {
        Some(more) => format!("4 KiB durable writes{}", more.replace(", ", " ")),
        None => format!("4 KiB durable writes of {title}"),
    }
}
