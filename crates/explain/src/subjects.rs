use flashlag_schema::{Phase, Run};
use flashlag_spec::scenario::{JournalMode, Synchronous};
use flashlag_spec::{Operation, State};

use crate::figures::Figures;
use crate::plan::{Plan, SaveKind, is_fill};
use crate::verdict::{LagVerdict, verdict};

/// The tests that explain a run: the one that decides its verdict, and others that differ from it
/// in one thing.
pub struct Subjects<'a> {
    /// The save of SQLite's default kind in the fullest stage, in its worst repetition; without one
    /// another save, and without any save the durable write.
    pub main: Option<&'a Phase>,
    /// The same test in the stage with the worst verdict.
    pub worst: Option<&'a Phase>,
    /// The same test when new, if `worst` is from a later stage.
    pub new: Option<&'a Phase>,
    /// The save of the same kind as `main` with the other journal mode.
    pub other_journal: Option<&'a Phase>,
    /// Saves that ran in parallel to another writer in the same stage.
    pub busy: Option<&'a Phase>,
    /// Durable writes, by stage, in order.
    pub writes: Vec<&'a Phase>,
}

impl<'a> Subjects<'a> {
    /// The subjects of a run; none if it measured neither a save nor a durable 4 KiB write.
    pub fn of(run: &'a Run) -> Subjects<'a> {
        let plan = Plan::of(run);
        let measured = |phase: &&Phase| phase.ops > 0;
        let writes: Vec<&Phase> = run
            .phases
            .iter()
            .filter(measured)
            .filter(|phase| phase.is_durable_write() && phase.background.is_none())
            .filter(|phase| !is_fill(&plan, phase))
            .collect();
        let saves: Vec<&Phase> = run
            .phases
            .iter()
            .filter(measured)
            .filter(|phase| phase.operation == Operation::Save)
            .collect();
        let alone: Vec<&Phase> = saves
            .iter()
            .copied()
            .filter(|phase| phase.background.is_none() && phase.closed_loop)
            .collect();
        let candidates = [&alone, &saves, &writes].into_iter().find(|list| !list.is_empty());
        let main = candidates.and_then(|list| best(run, &plan, list));
        let worst = main.and_then(|main| worst_stage(run, candidates?, main));
        let same = |phase: &&&Phase| {
            worst.is_some_and(|worst| worst.name == phase.name && phase.state == State::New)
        };
        let all = saves.iter().chain(&writes);
        let later = worst.is_some_and(|worst| worst.state != State::New);
        let new_write = || writes.iter().find(|phase| phase.state == State::New);
        let new = all.into_iter().find(same).or_else(new_write).filter(|_| later).copied();
        Subjects {
            new,
            other_journal: main.and_then(|main| other_journal(&plan, main, &alone)),
            busy: main.and_then(|main| busy(main, &saves)),
            main,
            worst,
            writes,
        }
    }

    /// The verdict when new, if `worst` is from a later stage and the new state can be judged.
    pub fn new_verdict(&self, run: &Run) -> Option<LagVerdict> {
        self.new.and_then(|phase| verdict(run, phase))
    }
}

/// The phase to explain, from the fullest stage: preferably in SQLite's default journal mode, and
/// the worst of its repetitions that can be judged.
fn best<'a>(run: &Run, plan: &Plan, list: &[&'a Phase]) -> Option<&'a Phase> {
    let rank = |phase: &Phase| match plan.save(phase) {
        Some(kind) if kind.is_default() => 0,
        Some(kind) if kind.journal == JournalMode::Wal && kind.synchronous == Synchronous::Full => {
            1
        }
        Some(kind) if kind.is_durable() => 2,
        _ => 3,
    };
    let stage = |phase: &Phase| match phase.state {
        State::Filled => 0,
        State::New => 1,
        State::Deleted => 2,
        State::Trimmed => 3,
        State::Idle => 4,
    };
    let first = list.iter().copied().min_by_key(|phase| (stage(phase), rank(phase)))?;
    let repeats = list.iter().copied();
    let repeats = repeats.filter(|phase| phase.state == first.state && phase.name == first.name);
    Some(severest(run, repeats).unwrap_or(first))
}

/// The test of `main` in its worst stage, of those that can be judged; `main` if no other is worse.
fn worst_stage<'a>(run: &Run, list: &[&'a Phase], main: &'a Phase) -> Option<&'a Phase> {
    let same = list.iter().copied().filter(|phase| phase.name == main.name);
    // `main` last: among equals the last is taken.
    let same = same.filter(|phase| !std::ptr::eq(*phase, main)).chain([main]);
    Some(severest(run, same).unwrap_or(main))
}

/// The phase with the worst verdict among those that can be judged. Among several of them, the one
/// with the most late operations, then the one with the longest tail, then the last.
pub fn severest<'a>(run: &Run, phases: impl Iterator<Item = &'a Phase>) -> Option<&'a Phase> {
    let judged = phases.filter_map(|phase| {
        let verdict = verdict(run, phase)?;
        let figures = Figures::of_phase(phase);
        let late = (figures.late_share().unwrap_or(0.0) * 1e6) as u64;
        let tail = figures.p999.or(figures.p99).or(figures.max);
        Some(((verdict, late, tail), phase))
    });
    judged.max_by_key(|(severity, _)| *severity).map(|(_, phase)| phase)
}

/// WAL in place of a rollback journal, or the other way round: same statement, same stage.
fn other_journal<'a>(plan: &Plan, main: &Phase, saves: &[&'a Phase]) -> Option<&'a Phase> {
    let kind = plan.save(main)?;
    let wanted = match kind.journal {
        JournalMode::Wal => JournalMode::Delete,
        JournalMode::Delete => JournalMode::Wal,
        _ => return None,
    };
    let partner = SaveKind { journal: wanted, ..kind };
    let same_stage = |phase: &Phase| (phase.state, phase.run) == (main.state, main.run);
    let fits = |phase: &&Phase| same_stage(phase) && plan.save(phase) == Some(partner);
    saves.iter().copied().find(fits)
}

fn busy<'a>(main: &Phase, saves: &[&'a Phase]) -> Option<&'a Phase> {
    let beside = |phase: &&Phase| phase.background.is_some() && phase.state == main.state;
    saves.iter().copied().find(beside).filter(|phase| phase.name != main.name)
}
