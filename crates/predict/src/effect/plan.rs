//! Which change shows the cost of a finding.

use flashlag_explain::{Plan, Subjects};
use flashlag_schema::finding::{Counted, FindingId, Shown};
use flashlag_schema::internals::{DeviceInternals, FilesystemInternals};
use flashlag_schema::{Phase, Run};
use flashlag_spec::Reading;
use flashlag_spec::profile::Profile;
use flashlag_spec::replay::TraceTransactions;
use flashlag_spec::scenario::JournalMode;
use flashlag_units::{Bytes, ratio};

use crate::change::Change;

/// The changes to simulate before and after, and the figure to compare.
pub(super) struct Forecasting {
    pub(super) before: Vec<Change>,
    pub(super) change: Change,
    pub(super) per: Counted,
    /// Whether the device was used before: at its full size the simulation would take a minute.
    pub(super) used: bool,
}

/// Share in use that a filled device is compared with.
const HALF_FULL: f64 = 0.5;
/// The highest fill level that is simulated.
const FULLEST: f64 = 0.97;
/// The used share of the rated cycles up to which reads are modelled: then blocks fail.
const MOST_WORN: f64 = 0.95;
/// The used share of the rated cycles from which on wear explains what a worn device shows.
const LEAST_WORN: f64 = 0.8;
/// F2FS's segments.
const SEGMENT: u64 = 2 << 20;

/// The simulation for a finding, or why the model can't show it; `None` for one that costs nothing
/// that could be simulated.
pub(super) fn plan_of(
    id: FindingId,
    run: &Run,
    profile: Option<&Profile>,
) -> Option<Reading<Forecasting>> {
    let (before, per) = saves_of(run);
    let (more, change) = match id.row().shown? {
        Shown::Runs { lacks, .. } => {
            return Some(Reading::unavailable(format!("the model has no {lacks}")));
        }
        Shown::Wear => return Some(worn(run, profile).into()),
        Shown::Fill => full(used(run)?),
        Shown::FillOfSegments => full(used_segments(run)?),
        Shown::Trim => {
            let level = used(run).unwrap_or(HALF_FULL).min(FULLEST);
            let on = [Change::Discard(false), Change::Full(level), Change::Untrimmed(true)];
            (on.to_vec(), Change::Untrimmed(false))
        }
        Shown::Journal => journal(run, per)?,
        Shown::Discard => (vec![Change::Discard(true)], Change::Discard(false)),
        Shown::Buffer => (vec![Change::Buffer(None)], Change::Buffer(Some(cache(run)?))),
        Shown::Without(option) => {
            (vec![Change::Option(option.clone(), true)], Change::Option(option, false))
        }
    };
    let before = [before, more].concat();
    let used = change.is_of_use();
    Some(Reading::Value(Forecasting { before, change, per, used }))
}

/// WAL in place of the journal mode that the run's saves have.
fn journal(run: &Run, per: Counted) -> Option<(Vec<Change>, Change)> {
    if per != Counted::Saves {
        return None;
    }
    // A trace may have more transactions through a log, which is not what is changed here.
    let replay = Subjects::of(run).main.is_some_and(|main| main.replay.is_some());
    let from = replay.then_some(Change::Journal(JournalMode::Delete));
    Some((from.into_iter().collect(), Change::Journal(JournalMode::Wal)))
}

/// The size of the eMMC's cache.
fn cache(run: &Run) -> Option<Bytes> {
    let internals = run.environment.internals.as_ref()?;
    let Some(DeviceInternals::Emmc { cache_bytes, .. }) = internals.device.value() else {
        return None;
    };
    cache_bytes.value().copied()
}

fn full(level: f64) -> (Vec<Change>, Change) {
    (vec![Change::Full(level.min(FULLEST))], Change::Full(HALF_FULL))
}

/// The share of the filesystem that is in use.
fn used(run: &Run) -> Option<f64> {
    let filesystem = &run.environment.filesystem;
    let (total, free) = (filesystem.total_bytes.value()?, filesystem.free_bytes.value()?);
    ratio(total.0.checked_sub(free.0)?, total.0)
}

/// The share of F2FS's segments that have data.
fn used_segments(run: &Run) -> Option<f64> {
    let internals = run.environment.internals.as_ref()?;
    let Some(FilesystemInternals::F2fs { free_segments, .. }) = internals.filesystem.value() else {
        return None;
    };
    let all = run.environment.filesystem.total_bytes.value()?.0 / SEGMENT;
    ratio(all.checked_sub(*free_segments.value()?)?, all)
}

/// Reads of a device whose blocks have used as many cycles as the device reports.
fn worn(run: &Run, profile: Option<&Profile>) -> Result<Forecasting, &'static str> {
    let life = run.environment.device.life.value().ok_or("how worn it is is not known")?;
    let share = f64::from(life.used_percent_at_most) / 100.0;
    if share < LEAST_WORN {
        return Err("the model has no reserve of blocks that runs out");
    }
    let model = profile.and_then(|profile| profile.model().ok());
    if model.is_some_and(|model| model.wear.endurance.is_none() || model.wear.retries <= 0.0) {
        return Err("the profile's reads take no longer as blocks wear");
    }
    let level = used(run).unwrap_or(HALF_FULL).min(FULLEST);
    Ok(Forecasting {
        before: vec![Change::Full(level), Change::Worn(share.min(MOST_WORN))],
        change: Change::Worn(0.0),
        per: Counted::Reads,
        used: true,
    })
}

/// The saves that a run is about, or durable writes if it has none.
pub(super) fn saves_of(run: &Run) -> (Vec<Change>, Counted) {
    let main = Subjects::of(run).main;
    let kind = main.and_then(|main| Plan::of(run).save(main)).map(|kind| kind.journal);
    match kind.or_else(|| replayed(main?)) {
        Some(journal) => (vec![Change::Journal(journal)], Counted::Saves),
        None => (Vec::new(), Counted::Writes),
    }
}

/// The journal of most transactions of a replayed trace.
fn replayed(main: &Phase) -> Option<JournalMode> {
    let TraceTransactions { rollback, log } = main.replay.as_ref()?.transactions?;
    Some(if log > rollback { JournalMode::Wal } else { JournalMode::Delete })
}

/// The share of a run's saves that a finding is about: a trace may have transactions through a rollback journal and
/// others through a log, and only the former gain from WAL.
pub(super) fn affected(id: FindingId, run: &Run) -> f64 {
    let main = Subjects::of(run).main;
    let replay = main.and_then(|main| main.replay.as_ref());
    let Some(TraceTransactions { rollback, log }) = replay.and_then(|replay| replay.transactions)
    else {
        return 1.0;
    };
    match id.row().shown {
        Some(Shown::Journal) => ratio(rollback, rollback.saturating_add(log)).unwrap_or(1.0),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use flashlag_schema::Replayed;
    use flashlag_spec::replay::{ReplayLevel, ReplayPace};
    use flashlag_spec::{Operation, State, TraceSourceKind};
    use flashlag_stats::Histogram;
    use flashlag_units::Nanos;

    use super::*;

    /// A replay of saves through these journals.
    fn run(transactions: Option<TraceTransactions>) -> Run {
        let mut waits = Histogram::new();
        (0..8).for_each(|_| waits.record(Nanos::from_millis(20)));
        let save =
            flashlag_testing::closed_loop_phase("replay_save", State::New, Operation::Save, &waits);
        let replay = transactions.map(|transactions| Replayed {
            trace_sha256: String::new(),
            source: TraceSourceKind::Strace,
            level: ReplayLevel::Calls,
            pace: ReplayPace::Flat,
            scheduled_ns: None,
            traced_ns: None,
            traced_histogram: None,
            transactions: Some(transactions),
        });
        flashlag_testing::bare_run(vec![Phase { replay, ..save }])
    }

    #[test]
    fn only_the_saves_of_a_trace_that_go_through_a_rollback_journal_gain_from_wal() {
        let half = run(Some(TraceTransactions { rollback: 4, log: 4 }));
        assert!((affected(FindingId::RollbackJournal, &half) - 0.5).abs() < 1e-9);
        assert!((affected(FindingId::OtherFilesystem, &half) - 1.0).abs() < 1e-9);
        let all = run(Some(TraceTransactions { rollback: 4, log: 0 }));
        assert!((affected(FindingId::RollbackJournal, &all) - 1.0).abs() < 1e-9);
        assert!((affected(FindingId::RollbackJournal, &run(None)) - 1.0).abs() < 1e-9);
    }
}
