//! Causes that the phases show by themselves: growth, the flush, waiting for a CPU.

use flashlag_schema::scenario::JournalMode;
use flashlag_schema::{Growth, Phase, Reading, Run};
use flashlag_units::{Nanos, ratio};

use super::effect::{Effect, Mean};
use super::{Candidate, Finding, FindingKind, FindingSide, RuledOut, evidence, per, side, trusted};
use crate::figures::{Figures, restored};
use crate::format;
use crate::headline::Facts;
use crate::naming::{SaveKind, stage_of};

/// From this share of the wait on, waiting for a CPU is a cause; below a fifth of it, it is none.
const CPU_IS_A_CAUSE: f64 = 0.05;

/// Every suspicion of this kind.
pub fn all(run: &Run, facts: &Facts) -> Vec<Candidate> {
    let mut found = Vec::new();
    if let Some(main) = facts.main.filter(|main| trusted(run, main)) {
        found.extend(growth(run, main));
        found.extend(cpu(run, main));
    }
    // Of the stage that the headline is about; else the last.
    let trusted_writes = || facts.writes.iter().rev().filter(|phase| trusted(run, phase));
    let same_stage = |phase: &&&Phase| {
        facts.main.is_some_and(|main| (phase.state, phase.run) == (main.state, main.run))
    };
    let write = trusted_writes().find(same_stage).or_else(|| trusted_writes().next());
    found.extend(write.and_then(|write| flush(run, write)));
    found
}

/// Saves that made a file grow against those that did not.
fn growth(run: &Run, phase: &Phase) -> Option<Candidate> {
    let Growth { grew, in_place } = phase.growth.as_ref()?;
    let (grew, in_place) = (restored(&grew.histogram)?, restored(&in_place.histogram)?);
    let share = ratio(grew.count(), grew.count().checked_add(in_place.count())?)?;
    let effect = Effect::between(Mean::of(&grew)?, Mean::of(&in_place)?, share);
    let what = format!(
        "{} of saves grew a file, {}",
        format::share(share),
        stage_of(run, phase).to_lowercase()
    );
    let evidence = evidence(&what, &effect, "saves");
    if !effect.is_cost() {
        let sentence = format!("Growing files: {evidence}");
        return Some(Candidate::Not(RuledOut { kind: FindingKind::Growth, sentence }));
    }
    let journal = SaveKind::of(run, phase).map(|kind| kind.journal);
    let rollback = matches!(journal, Some(JournalMode::Delete | JournalMode::Truncate));
    let now = side(run, phase)?;
    let times = |value: Option<Nanos>, mean: Nanos| format::time(value.unwrap_or(mean));
    let (grown, kept) = (Figures::of(&grew), Figures::of(&in_place));
    let would = format!(
        "staying within what is allocated would cut those saves' p50 from {} to {}",
        times(grown.p50, effect.means.0),
        times(kept.p50, effect.means.1)
    );
    let part = |how: &str, figures| FindingSide {
        label: format!("{}, {how}", now.label),
        phase: now.phase,
        figures,
    };
    Some(cause(Finding {
        kind: FindingKind::Growth,
        cause: "Files grow".to_owned(),
        would,
        fix: "Grow in larger steps (SQLITE_FCNTL_CHUNK_SIZE) and keep the journal's file rather \
              than delete it: growth costs the filesystem a commit of its own."
            .to_owned(),
        try_this: rollback.then(|| "PRAGMA journal_mode=PERSIST;".to_owned()),
        evidence,
        now: part("growing", grown),
        fixed: Some(part("in place", kept)),
        cost_s_per_1000: effect.cost,
        cost_interval: Some(effect.interval),
        per: "saves",
    }))
}

/// Waiting for a CPU, from the scheduler's own count over the phase.
fn cpu(run: &Run, phase: &Phase) -> Option<Candidate> {
    let Reading::Value(time) = &phase.time else { return None };
    let whole = time.total();
    let share = ratio(time.runnable_ns.0, whole.0)?;
    let (per, n) = (per(phase), phase.ops.max(1));
    let one = per.trim_end_matches('s');
    let each = Nanos(time.runnable_ns.0 / n);
    let measured = format!(
        "{} of {} a {one} on average ({}), {}, n = {}.",
        format::time(each),
        format::time(Nanos(whole.0 / n)),
        format::share(share),
        stage_of(run, phase).to_lowercase(),
        format::count(phase.ops)
    );
    if share < CPU_IS_A_CAUSE / 5.0 {
        let sentence = format!("Waiting for a CPU: {measured}");
        return Some(Candidate::Not(RuledOut { kind: FindingKind::Cpu, sentence }));
    }
    (share >= CPU_IS_A_CAUSE).then(|| {
        let now = side(run, phase)?;
        Some(cause(Finding {
            kind: FindingKind::Cpu,
            cause: "Waiting for a CPU".to_owned(),
            would: format!(
                "a free CPU would cut the mean {one} from {} to {}",
                format::time(Nanos(whole.0 / n)),
                format::time(Nanos((whole.0 - time.runnable_ns.0.min(whole.0)) / n))
            ),
            fix: "Do less at the same time, or raise the priority of what saves: storage is not \
                  to blame for this part."
                .to_owned(),
            try_this: None,
            evidence: format!("From the scheduler's count: {measured}"),
            now,
            fixed: None,
            cost_s_per_1000: each.as_secs_f64() * 1e3,
            cost_interval: None,
            per,
        }))
    })?
}

/// The flush's part of a durable write: no fix of its own, but what grouping saves.
fn flush(run: &Run, phase: &Phase) -> Option<Candidate> {
    let flush = restored(phase.flush_histogram.as_ref()?)?.mean()?;
    let whole = restored(&phase.histogram)?.mean()?;
    let share = ratio(flush.0, whole.0).filter(|share| (0.2..=1.0).contains(share))?;
    Some(cause(Finding {
        kind: FindingKind::Flush,
        cause: "Every write waits for a flush of its own".to_owned(),
        would: format!(
            "the flush takes {} of {} on average, {} of a durable write",
            format::time(flush),
            format::time(whole),
            format::share(share)
        ),
        fix: "Put several changes into one transaction, or several writes before one fdatasync."
            .to_owned(),
        try_this: None,
        evidence: format!(
            "Write and flush timed apart, {}, n = {}.",
            stage_of(run, phase).to_lowercase(),
            format::count(phase.ops)
        ),
        now: side(run, phase)?,
        fixed: None,
        cost_s_per_1000: flush.as_secs_f64() * 1e3,
        cost_interval: None,
        per: "writes",
    }))
}

fn cause(finding: Finding) -> Candidate {
    Candidate::Cause(Box::new(finding))
}
