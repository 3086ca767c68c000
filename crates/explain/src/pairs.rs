//! Two phases that differ in one thing.

use flashlag_schema::finding::{CauseId, Counted, FindingEvidence, FindingSides};
use flashlag_schema::{Phase, Run};
use flashlag_spec::scenario::{FileKind, FileSave, JournalMode, PrefsCall};
use flashlag_spec::{Operation, State};
use flashlag_units::Bytes;

use crate::candidate::{Candidate, Context, Suspicion, side};
use crate::doubt::is_trusted;
use crate::effect::{Mean, Side, effect, is_cost};
use crate::figures::Figures;
use crate::overload::is_overloaded;
use crate::plan::SaveKind;

/// All pairs of a run.
pub fn all(context: &Context<'_>) -> Vec<Candidate> {
    let Some(main) = context.subjects.main else { return Vec::new() };
    let mut found = Vec::new();
    found.extend(journal(context, main));
    found.extend(trim(context.run, main));
    found.extend(full(context, main));
    found.extend(busy(context));
    found.extend(databases(context, main));
    found.extend(statements(context));
    found.extend(commits(context, main));
    found.extend(whole_file(context, main));
    found
}

fn journal(context: &Context<'_>, main: &Phase) -> Option<Candidate> {
    let other = context.subjects.other_journal?;
    let is_wal = context.plan.save(main).is_some_and(|kind| kind.journal == JournalMode::Wal);
    let (rollback, wal) = if is_wal { (other, main) } else { (main, other) };
    let suspicion = Suspicion::of(CauseId::RollbackJournal)?;
    weigh(context.run, rollback, wal, suspicion)
}

/// Trimmed, compared with the state before it: deleted if that was measured, otherwise full.
fn trim(run: &Run, main: &Phase) -> Option<Candidate> {
    let trimmed = same_test(run, main, State::Trimmed)?;
    let deleted = same_test(run, main, State::Deleted);
    let before = deleted.or_else(|| same_test(run, main, State::Filled))?;
    let id = match deleted {
        Some(_) => CauseId::DeletedNotTrimmed,
        None => CauseId::FullNotTrimmed,
    };
    weigh(run, before, trimmed, Suspicion::of(id)?)
}

fn full(context: &Context<'_>, main: &Phase) -> Option<Candidate> {
    let new = context.subjects.new.filter(|new| new.name == main.name)?;
    if !comes_back(context.run, main, new) {
        return None;
    }
    let suspicion = Suspicion::of(CauseId::FullStorage)?;
    weigh(context.run, main, new, suspicion)
}

/// Whether making room undid at least a fifth of the slowdown, if the run measured that. If it did
/// not, the device was faster when new for another reason, such as a write cache.
fn comes_back(run: &Run, full: &Phase, new: &Phase) -> bool {
    let later = [State::Trimmed, State::Deleted].map(|state| same_test(run, full, state));
    let Some(later) = later.into_iter().flatten().find(|later| later.state != full.state) else {
        return true;
    };
    let mean = |phase: &Phase| phase.latency_ns.mean.map(|mean| mean.0 as f64);
    match (mean(new), mean(full), mean(later)) {
        (Some(new), Some(full), Some(later)) => full - later >= 0.2 * (full - new),
        _ => true,
    }
}

fn busy(context: &Context<'_>) -> Option<Candidate> {
    let (run, busy) = (context.run, context.subjects.busy?);
    let kind = context.plan.save(busy)?;
    let alone = run.phases.iter().find(|phase| {
        let same_stage = (phase.state, phase.run) == (busy.state, busy.run);
        let alone = phase.background.is_none() && phase.closed_loop;
        same_stage && alone && context.plan.save(phase) == Some(kind)
    })?;
    if !grew_alike(busy, alone) {
        return None;
    }
    let suspicion = Suspicion::of(CauseId::OtherWriter)?;
    weigh(run, busy, alone, suspicion)
}

/// A save over several databases, compared with the same save in one.
fn databases(context: &Context<'_>, main: &Phase) -> Option<Candidate> {
    let several = in_stage(context, main, |kind| kind.databases > 1)?;
    let kind = SaveKind { databases: 1, ..context.plan.save(several)? };
    let one = in_stage(context, main, |other| *other == kind)?;
    let suspicion = Suspicion::of(CauseId::SeveralDatabases)?;
    weigh(context.run, several, one, suspicion)
}

/// One transaction per change, compared with one for several changes, per change.
fn statements(context: &Context<'_>) -> Option<Candidate> {
    let main = context.subjects.main?;
    let many = in_stage(context, main, |kind| kind.statements > 1)?;
    let kind = context.plan.save(many)?;
    let single = SaveKind { statements: 1, ..kind };
    let one = in_stage(context, main, |other| *other == single)?;
    let suspicion = Suspicion::of(CauseId::SmallTransactions)?;
    weigh_shares(context.run, one, many, kind.statements, suspicion)
}

/// A `commit` of `SharedPreferences` for each of several changes against one write of all that `apply` left.
fn commits(context: &Context<'_>, main: &Phase) -> Option<Candidate> {
    let is_several = |save: &FileSave| {
        let prefs = save.kind == FileKind::SharedPreferences;
        prefs && save.call == PrefsCall::Commit && save.changes > 1
    };
    let several = file_in_stage(context, main, is_several)?;
    let of_several = context.plan.file_save(several)?;
    let together = file_in_stage(context, main, |save| {
        let alike = (save.kind, save.size, save.changes) == {
            (of_several.kind, of_several.size, of_several.changes)
        };
        alike && save.call == PrefsCall::Apply && save.writes() == 1
    })?;
    let suspicion = Suspicion::of(CauseId::CommitPerChange)?;
    weigh(context.run, several, together, suspicion)
}

/// The smallest file that is large, and how many times its change it is.
const LARGE: (Bytes, u64) = (Bytes(64_000), 100);

/// A large file that is written anew for a small change against that change appended to a log.
fn whole_file(context: &Context<'_>, main: &Phase) -> Option<Candidate> {
    let is_large = |save: &FileSave| {
        let (least, times) = LARGE;
        let large = save.size.0 >= least && save.size.0.0 / save.change.0.0.max(1) >= times;
        large && save.kind != FileKind::AppendLog && save.writes() == 1
    };
    let whole = file_in_stage(context, main, is_large)?;
    let change = context.plan.file_save(whole)?.change;
    let alone = file_in_stage(context, main, |save| {
        save.kind == FileKind::AppendLog && save.change == change && save.writes() == 1
    })?;
    let suspicion = Suspicion::of(CauseId::WholeFileAgain)?;
    weigh(context.run, whole, alone, suspicion)
}

/// Saves of a file in the stage that is explained, one after the other and alone.
fn file_in_stage<'a>(
    context: &Context<'a>,
    main: &Phase,
    wanted: impl Fn(&FileSave) -> bool,
) -> Option<&'a Phase> {
    let mut phases = alone_in_stage(context, main);
    phases.find(|phase| context.plan.file_save(phase).is_some_and(&wanted))
}

/// Saves of a kind in the stage that is explained, in a closed loop and alone.
fn in_stage<'a>(
    context: &Context<'a>,
    main: &Phase,
    wanted: impl Fn(&SaveKind) -> bool,
) -> Option<&'a Phase> {
    let mut phases = alone_in_stage(context, main);
    phases.find(|phase| context.plan.save(phase).is_some_and(|kind| wanted(&kind)))
}

/// What was measured in the stage that is explained, one operation after the other and alone.
fn alone_in_stage<'a>(
    context: &Context<'a>,
    main: &Phase,
) -> impl Iterator<Item = &'a Phase> + use<'a> {
    let stage = (main.state, main.run);
    let alone = |phase: &&Phase| phase.background.is_none() && phase.closed_loop && phase.ops > 0;
    let phases = context.run.phases.iter().filter(alone);
    phases.filter(move |phase| (phase.state, phase.run) == stage)
}

/// Whether about the same share of both phases' saves grew a file. A few hundred saves on a new log
/// all grow it, thousands hardly do, and growth costs a commit of the filesystem's. If the shares
/// differ, a difference can't be attributed to the other writer.
fn grew_alike(one: &Phase, other: &Phase) -> bool {
    const APART: f64 = 0.1;
    let share = |phase: &Phase| {
        let growth = phase.growth.as_ref()?;
        flashlag_units::ratio(growth.grew.ops, growth.grew.ops.saturating_add(growth.in_place.ops))
    };
    match (share(one), share(other)) {
        (Some(one), Some(other)) => (one - other).abs() <= APART,
        // Growth that is not known can't explain a difference.
        _ => true,
    }
}

/// The last phase of the same test in that state.
fn same_test<'a>(run: &'a Run, main: &Phase, state: State) -> Option<&'a Phase> {
    let same = |phase: &&Phase| {
        phase.state == state && phase.name == main.name && phase.background == main.background
    };
    run.phases.iter().rev().find(same).filter(|phase| phase.ops > 0)
}

/// `Saves` or `Writes`.
pub fn counted(phase: &Phase) -> Counted {
    match phase.operation {
        Operation::Save => Counted::Saves,
        _ => Counted::Writes,
    }
}

/// A cause if the first side waits longer, and not by chance; otherwise ruled out.
fn weigh(run: &Run, now: &Phase, fixed: &Phase, suspicion: Suspicion) -> Option<Candidate> {
    weigh_shares(run, now, fixed, 1, suspicion)
}

/// The same if each operation of the second side does the work of several of the first.
fn weigh_shares(
    run: &Run,
    now: &Phase,
    fixed: &Phase,
    work: u32,
    suspicion: Suspicion,
) -> Option<Candidate> {
    if !is_trusted(run, now) || !is_trusted(run, fixed) {
        return None;
    }
    // On a schedule that is not kept, waits depend on how long the test was.
    if is_overloaded(now) || is_overloaded(fixed) {
        return None;
    }
    let measured = |phase: &Phase| {
        Some(Side { mean: Mean::of_phase(phase)?, figures: Figures::of_phase(phase) })
    };
    let share = |side: Side| match work {
        0 | 1 => side,
        // A share of an operation has a mean and no percentiles.
        work => Side { mean: side.mean.divided(work), figures: Figures::default() },
    };
    let effect = effect(counted(now), &measured(now)?, &share(measured(fixed)?), 1.0)?;
    let sides = FindingSides { now: side(now), fixed: Some(side(fixed)) };
    Some(suspicion.weighed(is_cost(&effect), sides, effect, FindingEvidence::TwoPhases))
}
