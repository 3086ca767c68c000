//! The sentences of a finding, by its cause and its action.

use flashlag_explain::{lowers_median, slowest_remain};
use flashlag_schema::finding::{
    Cause, CauseId, Counted, FindingAction, FindingEffect, FindingEvidence, FindingSides, RuledOut,
};
use flashlag_schema::{Phase, Run, finding};
use flashlag_units::Nanos;

use crate::format;
use crate::naming::stage_of;

/// `Rollback journal`.
pub fn cause(id: CauseId) -> &'static str {
    match id {
        CauseId::RollbackJournal => "Rollback journal",
        CauseId::GrowingFiles => "Files grow",
        CauseId::FullStorage => "Storage is full",
        CauseId::DeletedNotTrimmed => "Trim has not run since files were deleted",
        CauseId::FullNotTrimmed => "Storage is full and not trimmed",
        CauseId::OtherWriter => "Another writer",
        CauseId::CpuWait => "Waiting for a CPU",
        CauseId::FlushPerWrite => "Every write waits for a flush of its own",
        CauseId::SeveralDatabases => "Several databases a save",
        CauseId::SmallTransactions => "A transaction for each change",
        CauseId::CommitPerChange => "A commit for each change",
        CauseId::WholeFileAgain => "A large file for a small change",
    }
}

/// `Rollback journal: measured filled, run 3: mean save …`: a suspicion and what refutes it.
pub fn ruled_out(run: &Run, out: &RuledOut) -> Option<String> {
    let evidence = figures(run, out.id, &out.sides, &out.effect, &out.evidence)?;
    let suspicion = match out.id {
        CauseId::GrowingFiles => "Growing files",
        id => cause(id),
    };
    Some(format!("{suspicion}: {evidence}"))
}

/// `saves` or `writes`.
pub fn per(effect: &FindingEffect) -> &'static str {
    match effect.per {
        Counted::Saves => "saves",
        Counted::Writes => "writes",
        Counted::Reads => "reads",
    }
}

fn one(effect: &FindingEffect) -> &'static str {
    match effect.per {
        Counted::Saves => "save",
        Counted::Writes => "write",
        Counted::Reads => "read",
    }
}

/// `switching to WAL would cut save p50 from 24 ms to 9.1 ms`.
pub fn would(finding: &Cause) -> String {
    let effect = &finding.effect;
    let change = match finding.action {
        FindingAction::UseWal => "switching to WAL",
        FindingAction::Trim => "trimming",
        FindingAction::DeleteAndTrim => "deleting and trimming",
        FindingAction::KeepSpaceFree => "keeping it as it was when new",
        FindingAction::DeferBulkWrites => "saving without it",
        FindingAction::GrowInSteps | FindingAction::KeepJournalFile => {
            "staying within what is allocated"
        }
        FindingAction::FreeCpu => "a free CPU",
        FindingAction::GroupFlushes => "grouping them",
        FindingAction::OneDatabase => "one database",
        FindingAction::SaveTogether => "saving them together",
        FindingAction::KeepApart => "writing only what changed",
        // The causes of a run have no other actions.
        _ => "the change",
    };
    match &finding.evidence {
        FindingEvidence::FlushTimedApart { flush_ns, share } => format!(
            "the flush takes {} of {} on average, {} of a durable write",
            format::time(*flush_ns),
            format::time(effect.now.mean_ns),
            format::share(*share)
        ),
        FindingEvidence::TwoParts { .. } => {
            let p50 = |wait: flashlag_schema::finding::MeasuredWait| {
                format::time(wait.p50_ns.unwrap_or(wait.mean_ns))
            };
            let (now, fixed) = (p50(effect.now), effect.fixed.map(p50).unwrap_or_default());
            format!("{change} would cut those saves' p50 from {now} to {fixed}")
        }
        _ => format!("{change} would cut {}", cut(effect)),
    }
}

/// `save p50 from 24 ms to 9.1 ms`; the mean if the cost is in the slow operations.
fn cut(effect: &FindingEffect) -> String {
    let one = one(effect);
    let fixed = effect.fixed;
    let ((what, now), fixed) = if lowers_median(effect) {
        ((format!("{one} p50"), effect.now.p50_ns), fixed.and_then(|wait| wait.p50_ns))
    } else {
        let mean = (format!("the mean {one}"), Some(effect.now.mean_ns));
        (mean, fixed.map(|wait| wait.mean_ns))
    };
    let time = |value: Option<Nanos>| value.map_or_else(|| format::NONE.to_owned(), format::time);
    format!("{what} from {} to {}", time(now), time(fixed))
}

/// The fix: a sentence.
pub fn fix(finding: &Cause) -> String {
    let fix = match finding.action {
        FindingAction::UseWal => {
            let slowest = match slowest_remain(&finding.effect) {
                Some((now, fixed)) => format!(
                    " The slowest 1 in 1,000 barely changes ({} to {}).",
                    format::time(now),
                    format::time(fixed)
                ),
                None => String::new(),
            };
            return format!(
                "Open the database in WAL mode: a save then waits for storage fewer \
                 times.{slowest}"
            );
        }
        FindingAction::Trim | FindingAction::DeleteAndTrim => {
            "Trim regularly while idle and charging, or mount with discard: until then the flash \
             keeps moving data that was deleted."
        }
        FindingAction::KeepSpaceFree => "Keep at least 20% free, and trim what is freed.",
        FindingAction::DeferBulkWrites => {
            "Write in bulk at another time, or in small pieces with pauses, at a low I/O priority."
        }
        FindingAction::GrowInSteps | FindingAction::KeepJournalFile => {
            "Grow in larger steps (SQLITE_FCNTL_CHUNK_SIZE) and keep the journal's file rather \
             than delete it: growth costs the filesystem writes of its own."
        }
        FindingAction::FreeCpu => {
            "Do less at the same time, or raise the priority of what saves: storage is not to \
             blame for this part."
        }
        FindingAction::GroupFlushes => {
            "Put several changes into one transaction, or several writes before one fdatasync."
        }
        other => other.sentence(),
    };
    fix.to_owned()
}

/// A command or setting to try.
pub fn try_this(run: &Run, action: FindingAction) -> Option<String> {
    let text = match action {
        FindingAction::UseWal => "PRAGMA journal_mode=WAL;",
        FindingAction::KeepJournalFile => "PRAGMA journal_mode=PERSIST;",
        FindingAction::DeferBulkWrites => "ionice -c 3 COMMAND",
        FindingAction::Trim | FindingAction::DeleteAndTrim => {
            let mount = run.environment.filesystem.mount_point.value()?;
            return Some(format!("fstrim -v {mount}"));
        }
        _ => return None,
    };
    Some(text.to_owned())
}

/// The evidence of a cause: a sentence. `None` if a side is not in the run.
pub fn evidence(run: &Run, finding: &Cause) -> Option<String> {
    let Cause { id, sides, effect, evidence, .. } = finding;
    let figures = figures(run, *id, sides, effect, evidence)?;
    Some(match evidence {
        FindingEvidence::SchedulerCount { .. } => {
            format!("From the scheduler's count: {figures}")
        }
        _ => figures,
    })
}

/// The measured figures of a side, with n.
fn figures(
    run: &Run,
    id: CauseId,
    sides: &FindingSides,
    effect: &FindingEffect,
    evidence: &FindingEvidence,
) -> Option<String> {
    let stage = |side| Some(stage_of(run, phase_of(run, side)?.1).to_lowercase());
    let now = stage(&sides.now)?;
    let n = format::count(effect.now.ops);
    Some(match evidence {
        FindingEvidence::TwoPhases => {
            let fixed = stage(sides.fixed.as_ref()?)?;
            compared(&measured(id, &now, &fixed), effect)
        }
        FindingEvidence::TwoParts { share } => {
            compared(&format!("{} of saves grew a file, {now}", format::share(*share)), effect)
        }
        FindingEvidence::SchedulerCount { runnable_ns, share } => format!(
            "{} of {} a {} on average ({}), {now}, n = {n}.",
            format::time(*runnable_ns),
            format::time(effect.now.mean_ns),
            one(effect),
            format::share(*share)
        ),
        FindingEvidence::FlushTimedApart { .. } => {
            format!("Write and flush timed apart, {now}, n = {n}.")
        }
    })
}

/// The stages of both sides.
fn measured(id: CauseId, now: &str, fixed: &str) -> String {
    match id {
        CauseId::RollbackJournal => format!("Measured {now}"),
        CauseId::FullStorage => format!("Measured {now} and new"),
        CauseId::OtherWriter => {
            "Beside the writer saves came on a schedule and count from their intended start; alone \
             each waited for the last"
                .to_owned()
        }
        _ => format!("Measured {now} and {fixed}"),
    }
}

/// `Mean save 51 ms against 11 ms, n = 12,000 each; difference 39 s per 1,000 saves (95% …).`
fn compared(what: &str, effect: &FindingEffect) -> String {
    let (one, per) = (one(effect), per(effect));
    let fixed = effect.fixed.unwrap_or(effect.now);
    let sizes = if effect.now.ops == fixed.ops {
        format!("n = {} each", format::count(effect.now.ops))
    } else {
        format!("n = {} and {}", format::count(effect.now.ops), format::count(fixed.ops))
    };
    let cost = effect.cost_s_per_1000;
    let (low, high) = cost.interval.unwrap_or((cost.value, cost.value));
    format!(
        "{what}: mean {one} {} against {}, {sizes}; difference {} s per 1,000 {per} \
         (95% interval {} to {}).",
        format::time(effect.now.mean_ns),
        format::time(fixed.mean_ns),
        signed(cost.value),
        signed(low),
        signed(high),
    )
}

fn signed(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "" };
    let value = value.abs();
    match value {
        v if v < 0.995 => format!("{sign}{v:.2}"),
        v if v < 9.95 => format!("{sign}{v:.1}"),
        v => format!("{sign}{}", format::count(v.round() as u64)),
    }
}

/// The phase that a side names.
pub(super) fn phase_of<'a>(
    run: &'a Run,
    side: &finding::FindingSide,
) -> Option<(usize, &'a Phase)> {
    run.phases.iter().enumerate().find(|(_, phase)| phase.label() == side.phase)
}
