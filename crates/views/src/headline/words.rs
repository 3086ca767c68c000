use flashlag_explain::{FREEZE, Figures, LagVerdict, NOTICED, SaveKind, Subjects, is_overloaded};
use flashlag_schema::{Phase, Run};
use flashlag_spec::scenario::JournalMode;
use flashlag_spec::{Operation, State};

use crate::doubt::failures_of;
use crate::format::{self, capitalized};
use crate::naming::{file_save, file_saves, repeats, when};
use crate::overload::overload;
use crate::replayed::{FROM_THE_RECORDING, is_paced};

/// `Smooth when new`, `Lags as found`.
pub fn when_new(run: &Run, verdict: LagVerdict) -> String {
    format!("{} {}", capitalized(verdict.name()), when(run, State::New))
}

/// `Lags even when new`, `Lags as found`.
fn even_when_new(run: &Run, verdict: LagVerdict) -> String {
    let when = when(run, State::New);
    let even = if when.starts_with("when") { "even " } else { "" };
    format!("{} {even}{when}", capitalized(verdict.name()))
}

/// `Smooth in every state`, `Lags even when new`: the verdict when new is that of the worst state.
pub fn in_every_state(run: &Run, worst: &Phase, verdict: LagVerdict) -> String {
    if verdict != LagVerdict::Smooth {
        return even_when_new(run, verdict);
    }
    let states = if all_states_are_judged(run, worst) {
        "every state"
    } else {
        "every state that can be judged"
    };
    format!("Smooth in {states}")
}

/// The stage of a phase within a sentence: `once full (run 2)`, `after filling and
/// deleting`, `after trim`.
pub fn how_it_came(run: &Run, phase: &Phase) -> String {
    let filled = run.phases.iter().any(|other| other.state == State::Filled);
    let how = match phase.state {
        State::Deleted if filled => "after filling and deleting",
        state => when(run, state),
    };
    if repeats(run, phase.state) { format!("{how} (run {})", phase.run) } else { how.to_owned() }
}

/// Whether the run has the same test in another stage, so that the stage must be named.
pub fn is_of_several_stages(run: &Run, phase: &Phase) -> bool {
    let mut same = run.phases.iter().filter(|other| other.name == phase.name);
    phase.state > State::Filled
        || same.any(|other| (other.state, other.run) != (phase.state, phase.run))
}

/// Whether the test was measured in each stage of the scenario, without failed checks.
fn all_states_are_judged(run: &Run, phase: &Phase) -> bool {
    let same = run.phases.iter().filter(|other| other.name == phase.name);
    let mut stages = same.map(|other| (other.state, other.run, failures_of(run, other).is_empty()));
    let judged = stages.all(|(_, _, trusted)| trusted);
    judged && run.status == flashlag_schema::RunStatus::Complete
}

/// `Once full (run 1), 15% of 4 KiB durable writes miss a 60 Hz frame.`: if the worst stage is not
/// the full one.
pub fn once_full(run: &Run, subjects: &Subjects<'_>) -> Option<String> {
    let (worst, full) =
        (subjects.worst?, subjects.main.filter(|main| main.state == State::Filled)?);
    if std::ptr::eq(worst, full) || !failures_of(run, full).is_empty() {
        return None;
    }
    let when = capitalized(&how_it_came(run, full));
    Some(format!("{when}, {}.", miss_clause(run, full)?))
}

/// The operations: `SQLite saves`, `WAL saves`, `4 KiB durable writes`.
fn things(run: &Run, phase: &Phase) -> (String, String) {
    if phase.operation != Operation::Save {
        return ("4 KiB durable write".to_owned(), "4 KiB durable writes".to_owned());
    }
    if let Some(save) = file_save(run, phase) {
        let [one, many] = file_saves(&save);
        return (one, many);
    }
    let kind = SaveKind::of(run, phase).map(|kind| kind.journal);
    let save = match kind {
        Some(JournalMode::Wal) => "WAL save",
        _ => "SQLite save",
    };
    (save.to_owned(), format!("{save}s"))
}

/// `87% of SQLite saves miss a 60 Hz frame, and 1 in 100 takes longer than 531 ms`.
pub fn late_clause(run: &Run, phase: &Phase) -> String {
    if let Some(overload) = overload(run, phase) {
        return overload.clause();
    }
    let figures = Figures::of_phase(phase);
    let (_, many) = things(run, phase);
    let miss = miss_clause(run, phase).unwrap_or_else(|| format!("{many} were measured"));
    let miss = if is_paced(phase) { format!("{miss}, {FROM_THE_RECORDING}") } else { miss };
    match slowest_clause(&figures) {
        Some(slowest) => format!("{miss}, and {slowest}"),
        None => miss,
    }
}

/// The waits of a paced replay from its operations' own start, if these are better.
pub fn from_own_start(run: &Run, phase: &Phase) -> Option<String> {
    crate::replayed::from_own_start(run, phase, &things(run, phase).1)
}

/// `87% of SQLite saves miss a 60 Hz frame`.
fn miss_clause(run: &Run, phase: &Phase) -> Option<String> {
    let figures = Figures::of_phase(phase);
    let (one, many) = things(run, phase);
    let n = format::count(figures.n);
    Some(match figures.late_share()? {
        0.0 => format!("none of {n} {many} misses a 60 Hz frame"),
        1.0 => format!("every {one} misses a 60 Hz frame"),
        share => format!("{} of {many} miss a 60 Hz frame", format::share(share)),
    })
}

/// `1 in 100 takes longer than 531 ms`; 1 in 1,000 if that alone decides the verdict; the longest if n
/// supports neither.
fn slowest_clause(figures: &Figures) -> Option<String> {
    let n = format::count(figures.n);
    let (Some(p99), p999) = (figures.p99, figures.p999) else {
        return figures.max.map(|max| format!("the longest of {n} took {}", format::time(max)));
    };
    let rare = p999.filter(|p999| {
        let late = figures.late_share().unwrap_or(0.0);
        *p999 >= FREEZE || (p99 < NOTICED && *p999 >= NOTICED && late < 0.01)
    });
    Some(match rare {
        Some(p999) => format!("1 in 1,000 takes longer than {}", format::time(p999)),
        None => format!("1 in 100 takes longer than {}", format::time(p99)),
    })
}

/// `That is SQLite's default journal; with WAL, 20% miss a frame.`
pub fn other_journal(run: &Run, subjects: &Subjects<'_>) -> Option<String> {
    let other = subjects.other_journal.filter(|phase| failures_of(run, phase).is_empty())?;
    let share = Figures::of_phase(other).late_share()?;
    let share = if share == 0.0 { "none".to_owned() } else { format::share(share) };
    let verb = if share == "none" { "misses" } else { "miss" };
    Some(match SaveKind::of(run, other)?.journal {
        JournalMode::Wal => {
            format!("That is SQLite's default journal; with WAL, {share} {verb} a frame.")
        }
        _ => format!("That is with WAL; with SQLite's default journal, {share} {verb} a frame."),
    })
}

/// `Beside another writer, 12% of WAL saves miss a 60 Hz frame, and …`; `Overloaded beside another
/// writer: only …`.
pub fn busy(run: &Run, subjects: &Subjects<'_>) -> Option<String> {
    let busy = subjects.busy.filter(|phase| failures_of(run, phase).is_empty())?;
    let clause = late_clause(run, busy);
    Some(if is_overloaded(busy) {
        format!("Overloaded beside another writer: {clause}.")
    } else {
        format!("Beside another writer, {clause}.")
    })
}

/// The recovery of the lost throughput.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Undone {
    Yes,
    Part,
    No,
}

/// `Deleting files does not undo the slowdown; trimming does.` By throughput of durable writes:
/// a "does" needs half of the loss back, a "partly" a fifth.
pub fn recovery(run: &Run, subjects: &Subjects<'_>) -> Option<String> {
    let rate = |state: State| {
        let trusted = |phase: &&&Phase| phase.state == state && failures_of(run, phase).is_empty();
        subjects.writes.iter().rev().find(trusted).map(|phase| phase.served_per_sec())
    };
    let (new, full) = (rate(State::New)?, rate(State::Filled)?);
    if full >= 0.8 * new {
        return None;
    }
    let undone = |state| {
        rate(state).map(|after| match (after - full) / (new - full) {
            back if back >= 0.5 => Undone::Yes,
            back if back >= 0.2 => Undone::Part,
            _ => Undone::No,
        })
    };
    recovery_words(undone(State::Deleted), undone(State::Trimmed))
}

fn recovery_words(deleting: Option<Undone>, trimming: Option<Undone>) -> Option<String> {
    use Undone::{No, Part, Yes};
    let alone = |what: &str, undone| match undone {
        Yes => format!("{what} undoes the slowdown."),
        Part => format!("{what} undoes part of the slowdown."),
        No => format!("{what} does not undo the slowdown."),
    };
    Some(match (deleting, trimming) {
        (None, None) => return None,
        (Some(deleting), None) => alone("Deleting files", deleting),
        (None, Some(trimming)) => alone("Trimming", trimming),
        (Some(No), Some(Yes)) => {
            "Deleting files does not undo the slowdown; trimming does.".to_owned()
        }
        (Some(No), Some(No)) => {
            "Neither deleting files nor trimming undoes the slowdown.".to_owned()
        }
        (Some(Yes), _) => alone("Deleting files", Yes),
        (Some(No), Some(Part)) => {
            "Deleting files does not undo the slowdown; trimming undoes part of it.".to_owned()
        }
        (Some(Part), Some(Yes)) => {
            "Deleting files undoes part of the slowdown; trimming undoes it.".to_owned()
        }
        (Some(Part), Some(Part)) => "Deleting and trimming undo part of the slowdown.".to_owned(),
        (Some(Part), Some(No)) => alone("Deleting files", Part),
    })
}
