//! Causes that a single phase shows: growth, the flush, waiting for a CPU.

use flashlag_schema::finding::{
    CauseId, Counted, Estimate, FindingAction, FindingEffect, FindingEvidence, FindingSides,
    MeasuredWait, SavePart,
};
use flashlag_schema::{Growth, Phase};
use flashlag_spec::scenario::JournalMode;
use flashlag_units::ratio;

use crate::candidate::{Candidate, Context, Suspicion, part_of, side};
use crate::doubt::is_trusted;
use crate::effect::{Mean, Side, effect, is_cost};
use crate::figures::Figures;
use crate::histograms::restored;
use crate::pairs::counted;

/// From this share of the wait on, waiting for a CPU is a cause; below a fifth of it, it is ruled
/// out.
const CPU_IS_A_CAUSE: f64 = 0.05;
/// A flush that takes a smaller share of a durable write is not a cause.
const FLUSH_IS_A_CAUSE: f64 = 0.2;

/// Every suspicion of this kind.
pub fn all(context: &Context<'_>) -> Vec<Candidate> {
    let (run, subjects) = (context.run, context.subjects);
    let mut found = Vec::new();
    if let Some(main) = subjects.main.filter(|main| is_trusted(run, main)) {
        found.extend(growth(context, main));
        found.extend(cpu(main));
    }
    // The writes of the stage that is explained, or without any the last ones.
    let trusted_writes = || subjects.writes.iter().rev().filter(|phase| is_trusted(run, phase));
    let same_stage = |phase: &&&Phase| {
        subjects.main.is_some_and(|main| (phase.state, phase.run) == (main.state, main.run))
    };
    let write = trusted_writes().find(same_stage).or_else(|| trusted_writes().next());
    found.extend(write.and_then(|write| flush(write)));
    found
}

/// Saves that made a file grow, compared with those that did not.
fn growth(context: &Context<'_>, phase: &Phase) -> Option<Candidate> {
    let Growth { grew, in_place } = phase.growth.as_ref()?;
    let (grew, in_place) = (restored(&grew.histogram)?, restored(&in_place.histogram)?);
    let share = ratio(grew.count(), grew.count().checked_add(in_place.count())?)?;
    let now = Side { mean: Mean::of(&grew)?, figures: Figures::of(&grew) };
    let fixed = Side { mean: Mean::of(&in_place)?, figures: Figures::of(&in_place) };
    let effect = effect(Counted::Saves, &now, &fixed, share)?;
    let journal = context.plan.save(phase).map(|kind| kind.journal);
    let rollback = matches!(journal, Some(JournalMode::Delete | JournalMode::Truncate));
    let suspicion = Suspicion::of(CauseId::GrowingFiles)?;
    let suspicion = if rollback {
        Suspicion { action: FindingAction::KeepJournalFile, ..suspicion }
    } else {
        suspicion
    };
    let sides = FindingSides {
        now: part_of(phase, SavePart::Grew),
        fixed: Some(part_of(phase, SavePart::InPlace)),
    };
    Some(suspicion.weighed(is_cost(&effect), sides, effect, FindingEvidence::TwoParts { share }))
}

/// Waiting for a CPU, according to the scheduler's counters over the phase.
fn cpu(phase: &Phase) -> Option<Candidate> {
    let time = phase.time_each()?;
    let (whole, each) = (time.total(), time.runnable_ns);
    let share = ratio(each.0, whole.0)?;
    if (CPU_IS_A_CAUSE / 5.0..CPU_IS_A_CAUSE).contains(&share) {
        return None;
    }
    let wait = |mean_ns| MeasuredWait { ops: phase.ops, mean_ns, p50_ns: None, p999_ns: None };
    let effect = FindingEffect {
        per: counted(phase),
        now: wait(whole),
        fixed: Some(wait(whole.saturating_since(each))),
        mean_ratio: None,
        cost_s_per_1000: Estimate { value: each.as_secs_f64() * 1e3, interval: None },
    };
    let suspicion = Suspicion::of(CauseId::CpuWait)?;
    let evidence = FindingEvidence::SchedulerCount { runnable_ns: each, share };
    let sides = FindingSides { now: side(phase), fixed: None };
    Some(suspicion.weighed(share >= CPU_IS_A_CAUSE, sides, effect, evidence))
}

/// The flush's part of a durable write. The flush itself can't be fixed, but grouping writes saves
/// flushes.
fn flush(phase: &Phase) -> Option<Candidate> {
    let flush = restored(phase.flush_histogram.as_ref()?)?.mean()?;
    let histogram = restored(&phase.histogram)?;
    let whole = histogram.mean()?;
    let share = ratio(flush.0, whole.0).filter(|s| (FLUSH_IS_A_CAUSE..=1.0).contains(s))?;
    let figures = Figures::of(&histogram);
    let effect = FindingEffect {
        per: Counted::Writes,
        now: MeasuredWait {
            ops: phase.ops,
            mean_ns: whole,
            p50_ns: figures.p50,
            p999_ns: figures.p999,
        },
        fixed: None,
        mean_ratio: None,
        cost_s_per_1000: Estimate { value: flush.as_secs_f64() * 1e3, interval: None },
    };
    let suspicion = Suspicion::of(CauseId::FlushPerWrite)?;
    let evidence = FindingEvidence::FlushTimedApart { flush_ns: flush, share };
    let sides = FindingSides { now: side(phase), fixed: None };
    Some(suspicion.weighed(true, sides, effect, evidence))
}
