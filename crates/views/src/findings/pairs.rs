//! Two phases that differ in one thing.

use flashlag_schema::scenario::JournalMode;
use flashlag_schema::{Phase, Run, State};

use super::effect::{Effect, Mean};
use super::{Candidate, Finding, FindingKind, RuledOut, evidence, per, side, trusted};
use crate::figures::Figures;
use crate::format;
use crate::headline::Facts;
use crate::naming::{SaveKind, stage_of};
use crate::overload::is_overloaded;

/// What is said of a pair.
struct Words {
    kind: FindingKind,
    cause: String,
    /// `switching to WAL`: what would cut the wait.
    change: String,
    fix: String,
    try_this: Option<String>,
    measured: String,
}

/// Every pair that this run has.
pub fn all(run: &Run, facts: &Facts) -> Vec<Candidate> {
    let Some(main) = facts.main else { return Vec::new() };
    let stage = stage_of(run, main).to_lowercase();
    let mut found = Vec::new();
    found.extend(journal(run, facts, main, &stage));
    found.extend(trim(run, main));
    found.extend(full(run, facts, main));
    found.extend(busy(run, facts));
    found
}

fn journal(run: &Run, facts: &Facts, main: &Phase, stage: &str) -> Option<Candidate> {
    let other = facts.other_journal?;
    let is_wal = |phase: &Phase| {
        SaveKind::of(run, phase).is_some_and(|kind| kind.journal == JournalMode::Wal)
    };
    let (rollback, wal) = if is_wal(main) { (other, main) } else { (main, other) };
    let words = Words {
        kind: FindingKind::Journal,
        cause: "Rollback journal".to_owned(),
        change: "switching to WAL".to_owned(),
        fix: format!(
            "Open the database in WAL mode: a save then waits for storage fewer times.{}",
            rare_waits(rollback, wal)
        ),
        try_this: Some("PRAGMA journal_mode=WAL;".to_owned()),
        measured: format!("Measured {stage}"),
    };
    weigh(run, rollback, wal, words)
}

/// Whether the slowest 1 in 1,000 changes too.
fn rare_waits(now: &Phase, fixed: &Phase) -> String {
    let rare = |phase: &Phase| Figures::of_phase(phase).p999;
    match (rare(now), rare(fixed)) {
        (Some(now), Some(fixed)) if fixed.0 as f64 > 0.8 * now.0 as f64 => format!(
            " The slowest 1 in 1,000 barely changes ({} to {}).",
            format::time(now),
            format::time(fixed)
        ),
        _ => String::new(),
    }
}

/// Trimmed against what came right before it: deleted, where that was measured, else full.
fn trim(run: &Run, main: &Phase) -> Option<Candidate> {
    let trimmed = same_test(run, main, State::Trimmed)?;
    let deleted = same_test(run, main, State::Deleted);
    let before = deleted.or_else(|| same_test(run, main, State::Filled))?;
    let mount = run.environment.filesystem.mount_point.value();
    let (cause, change) = match deleted {
        Some(_) => ("Trim has not run since files were deleted", "trimming"),
        None => ("Storage is full and not trimmed", "deleting and trimming"),
    };
    let words = Words {
        kind: FindingKind::Trim,
        cause: cause.to_owned(),
        change: change.to_owned(),
        fix: "Trim regularly while idle and charging, or mount with discard: until then the flash \
              keeps moving data that was deleted."
            .to_owned(),
        try_this: mount.map(|mount| format!("fstrim -v {mount}")),
        measured: format!(
            "Measured {} and {}",
            stage_of(run, before).to_lowercase(),
            stage_of(run, trimmed).to_lowercase()
        ),
    };
    weigh(run, before, trimmed, words)
}

fn full(run: &Run, facts: &Facts, main: &Phase) -> Option<Candidate> {
    let new = facts.new.filter(|new| new.name == main.name)?;
    if !comes_back(run, main, new) {
        return None;
    }
    let words = Words {
        kind: FindingKind::Full,
        cause: "Storage is full".to_owned(),
        change: "keeping it as it was when new".to_owned(),
        fix: "Keep at least 20% free, and trim what is freed.".to_owned(),
        try_this: None,
        measured: format!("Measured {} and new", stage_of(run, main).to_lowercase()),
    };
    weigh(run, main, new, words)
}

/// Whether making room undid a fifth of the slowdown at least, where the run did that: else what
/// was fast when new was something else, a write cache for instance.
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

fn busy(run: &Run, facts: &Facts) -> Option<Candidate> {
    let busy = facts.busy?;
    let journal = SaveKind::of(run, busy)?;
    let alone = run.phases.iter().find(|phase| {
        let same_stage = (phase.state, phase.run) == (busy.state, busy.run);
        let alone = phase.background.is_none() && phase.closed_loop;
        same_stage && alone && SaveKind::of(run, phase) == Some(journal)
    })?;
    if !grew_alike(busy, alone) {
        return None;
    }
    let words = Words {
        kind: FindingKind::Busy,
        cause: "Another writer".to_owned(),
        change: "saving without it".to_owned(),
        fix:
            "Write in bulk at another time, or in small pieces with pauses, at a low I/O priority."
                .to_owned(),
        try_this: Some("ionice -c 3 COMMAND".to_owned()),
        measured:
            "Beside the writer saves came on a schedule and count from their intended start; \
                   alone each waited for the last"
                .to_owned(),
    };
    weigh(run, busy, alone, words)
}

/// Whether about the same share of the saves of both grew a file. A few hundred saves on a new log
/// all grow it, thousands hardly do, and growth costs a commit of the filesystem's: with shares
/// apart, a difference would not tell the other writer from that.
fn grew_alike(one: &Phase, other: &Phase) -> bool {
    const APART: f64 = 0.1;
    let share = |phase: &Phase| {
        let growth = phase.growth.as_ref()?;
        flashlag_units::ratio(growth.grew.ops, growth.grew.ops + growth.in_place.ops)
    };
    match (share(one), share(other)) {
        (Some(one), Some(other)) => (one - other).abs() <= APART,
        // Where growth is not known it can't be held against a difference.
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

/// A cause where the first side waits longer beyond chance; ruled out where it does not.
fn weigh(run: &Run, now: &Phase, fixed: &Phase, words: Words) -> Option<Candidate> {
    if !trusted(run, now) || !trusted(run, fixed) {
        return None;
    }
    // What a schedule that is not kept waits depends on how long the test was.
    if is_overloaded(now) || is_overloaded(fixed) {
        return None;
    }
    let per = per(now);
    let one = per.trim_end_matches('s');
    let effect = Effect::between(Mean::of_phase(now)?, Mean::of_phase(fixed)?, 1.0);
    let evidence = evidence(&words.measured, &effect, per);
    if !effect.is_cost() {
        let sentence = format!("{}: {evidence}", words.cause);
        return Some(Candidate::Not(RuledOut { kind: words.kind, sentence }));
    }
    let (now, fixed) = (side(run, now)?, side(run, fixed)?);
    // Where the median does not fall, the cost is in the slow ones: say that instead.
    let cut = match (now.figures.p50, fixed.figures.p50) {
        (Some(before), Some(after)) if after.0 as f64 <= 0.98 * before.0 as f64 => {
            format!("{one} p50 from {} to {}", format::time(before), format::time(after))
        }
        _ => {
            let (before, after) = effect.means;
            format!("the mean {one} from {} to {}", format::time(before), format::time(after))
        }
    };
    Some(Candidate::Cause(Box::new(Finding {
        kind: words.kind,
        cause: words.cause,
        would: format!("{} would cut {cut}", words.change),
        fix: words.fix,
        try_this: words.try_this,
        evidence,
        now,
        fixed: Some(fixed),
        cost_s_per_1000: effect.cost,
        cost_interval: Some(effect.interval),
        per,
    })))
}
