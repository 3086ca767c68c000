//! What a run shows on its own, without a side to compare it with: the kind of its saves, and its
//! failed checks.

use std::cmp::Reverse;

use flashlag_schema::finding::{Effect, EffectBasis, Estimate, Fact, Finding, FindingId, Severity};
use flashlag_schema::{Check, CheckCause, CheckId, CheckStatus, LayerKind, Phase};
use flashlag_spec::Reading;
use flashlag_spec::replay::TraceTransactions;
use flashlag_spec::scenario::{FileKind, JournalMode, PrefsCall};
use flashlag_units::{Nanos, ratio};

use super::phases::{felt, of_phase};
use crate::candidate::Context;
use crate::pairs::counted;
use crate::remedy::finding;
use crate::set_up;
use crate::verdict::{LagVerdict, verdict};

/// The findings of this kind.
pub(super) fn all(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(journal(context));
    found.extend(replayed_journal(context));
    found.extend(fast_commit(context));
    found.extend(databases(context));
    found.extend(commit_on_main_thread(context));
    found.extend(no_op_sync(context));
    found.extend(other_io(context));
    found.extend(hot(context));
    found.extend(busy_cpu(context));
    found.extend(limited(context));
    found.extend(modelled(context));
    found
}

fn place(context: &Context<'_>) -> Option<usize> {
    let main = context.subjects.main?;
    context.run.phases.iter().position(|phase| std::ptr::eq(phase, main))
}

/// Saves with a rollback journal, if there are no saves with a log to compare them with.
fn journal(context: &Context<'_>) -> Option<Finding> {
    let (main, index) = (context.subjects.main?, place(context)?);
    let kind = context.plan.save(main)?;
    let rollback =
        matches!(kind.journal, JournalMode::Delete | JournalMode::Truncate | JournalMode::Persist);
    if !rollback || kind.atomic || context.subjects.other_journal.is_some() {
        return None;
    }
    let mode = match kind.journal {
        JournalMode::Truncate => "journal_mode=TRUNCATE",
        JournalMode::Persist => "journal_mode=PERSIST",
        _ => "journal_mode=DELETE",
    };
    Some(finding(
        FindingId::RollbackJournal,
        felt(context, None),
        "sqlite.org/wal.html: a rollback journal takes several syncs a save, a log one",
        vec![of_phase(index, "name", format!("{}: {mode}", main.name))],
        Reading::unavailable("this run has no such saves in WAL mode to compare with"),
    ))
}

/// From this share of a trace's transactions on, the rollback journal counts as the cause of their
/// waits.
const REPLAYED: f64 = 0.05;

/// Transactions of a replayed trace that go through a rollback journal.
fn replayed_journal(context: &Context<'_>) -> Option<Finding> {
    let (main, index) = (context.subjects.main?, place(context)?);
    let TraceTransactions { rollback, log } = main.replay.as_ref()?.transactions?;
    let all = rollback.saturating_add(log);
    ratio(rollback, all).filter(|share| rollback > 0 && *share >= REPLAYED)?;
    let seen = format!("{rollback} of {all} recognised transactions");
    Some(finding(
        FindingId::RollbackJournal,
        felt(context, None),
        "sqlite.org/wal.html: a rollback journal takes several syncs a save, a log one",
        vec![of_phase(index, "replay.transactions.rollback", seen)],
        Reading::unavailable("a replay does what its trace did, with the trace's journal alone"),
    ))
}

/// Saves that sync their directory, on an ext4 with fast commits.
fn fast_commit(context: &Context<'_>) -> Option<Finding> {
    let main = context.subjects.main?;
    let kind = context.plan.save(main).map(|kind| kind.journal);
    let replayed = main.replay.as_ref().and_then(|replay| replay.transactions);
    let deletes = kind == Some(JournalMode::Delete) || replayed.is_some_and(|all| all.rollback > 0);
    let profile = context.run.target.profile.as_ref()?;
    if !deletes || !profile.filesystem.split(',').skip(1).any(|word| word == "fast_commit") {
        return None;
    }
    let evidence =
        Fact { field: "target.profile.filesystem".to_owned(), value: profile.filesystem.clone() };
    let effect = Reading::unavailable("this run did not measure without it");
    Some(finding(
        FindingId::FastCommit,
        felt(context, None),
        set_up::FAST_COMMIT,
        vec![evidence],
        effect,
    ))
}

/// Saves over several databases, if there are no saves in one to compare them with.
fn databases(context: &Context<'_>) -> Option<Finding> {
    let (main, index) = (context.subjects.main?, place(context)?);
    let kind = context.plan.save(main).filter(|kind| kind.databases > 1)?;
    Some(finding(
        FindingId::SeveralDatabases,
        felt(context, None),
        "sqlite.org/atomiccommit.html: each transaction waits for its own syncs",
        vec![of_phase(
            index,
            "name",
            format!("{}: {} databases a save", main.name, kind.databases),
        )],
        Reading::unavailable("this run has no such saves in one database to compare with"),
    ))
}

/// Commits of `SharedPreferences` of which one in a hundred takes longer than a frame, or which freeze: whoever
/// calls `commit` waits for all of it, and that is the app's main thread. Single ones, where the run has any: several
/// for one save are a finding of their own.
fn commit_on_main_thread(context: &Context<'_>) -> Option<Finding> {
    let late =
        |phase: &Phase| verdict(context.run, phase).is_some_and(|it| it > LagVerdict::Smooth);
    let commits = context.run.phases.iter().enumerate().filter_map(|(index, phase)| {
        let save = context.plan.file_save(phase)?;
        let waits = save.kind == FileKind::SharedPreferences && save.call == PrefsCall::Commit;
        let mean = phase.latency_ns.mean?;
        (waits && late(phase)).then_some((save.changes, Reverse(mean), index, phase))
    });
    let (_, Reverse(mean), index, phase) =
        commits.min_by_key(|(changes, mean, index, _)| (*changes, *mean, *index))?;
    let mut evidence = vec![of_phase(index, "latency_ns.mean", mean.to_string())];
    if let Some(lag) = phase.lag {
        let late = format!("{} of {}", lag.over_60hz, lag.saves);
        evidence.push(of_phase(index, "lag.over_60hz", late));
    }
    let effect = Effect {
        basis: EffectBasis::Part { phase: phase.label() },
        per: counted(phase),
        now_ns: mean,
        fixed_ns: None,
        cost_s_per_1000: Estimate { value: mean.as_secs_f64() * 1e3, interval: None },
    };
    let source =
        "SharedPreferencesImpl.commit (frameworks/base): the thread that calls it awaits the write";
    let felt = felt(context, Some(phase));
    Some(finding(FindingId::CommitOnMainThread, felt, source, evidence, Reading::Value(effect)))
}

/// The first failed check of that kind.
fn failed(context: &Context<'_>, id: CheckId) -> Option<Fact> {
    let checks = context.run.trust.checks.iter().enumerate();
    let mut failed = checks.filter(|(_, check)| check.status == CheckStatus::Fail);
    let (index, check) = failed.find(|(_, check)| check.id == id)?;
    Some(Fact { field: format!("trust.checks[{index}]"), value: check.detail.clone() })
}

/// A sync that does not reach storage, although the storage supports it.
fn no_op_sync(context: &Context<'_>) -> Option<Finding> {
    let layers = &context.run.environment.layers;
    if layers.iter().any(|layer| matches!(layer.kind, LayerKind::Memory | LayerKind::Remote)) {
        return None;
    }
    Some(finding(
        FindingId::SyncIsNoOp,
        Severity::Danger,
        "docs/measuring.md: flushes that the disk counts, and how fast flash can be programmed",
        vec![failed(context, CheckId::FlushIsReal)?],
        Reading::unavailable("what the flushes would take was not measured"),
    ))
}

/// Requests of other processes while this run measured.
fn other_io(context: &Context<'_>) -> Option<Finding> {
    Some(finding(
        FindingId::OtherWriter,
        felt(context, None),
        "docs/measuring.md: bytes at the disk that are not of this run",
        vec![failed(context, CheckId::ForeignIo)?],
        Reading::unavailable("this run did not measure without the other's requests"),
    ))
}

fn hot(context: &Context<'_>) -> Option<Finding> {
    Some(finding(
        FindingId::Throttled,
        felt(context, None),
        "docs/measuring.md: temperatures, and counts of throttling",
        vec![failed(context, CheckId::ThermalThrottling)?],
        Reading::unavailable("this run did not measure while it was cool"),
    ))
}

/// Waits for a CPU, if a check says that they spoil the run: storage would be blamed for them.
fn busy_cpu(context: &Context<'_>) -> Option<Finding> {
    let fact = failed(context, CheckId::CpuContention)?;
    let mut evidence = vec![fact];
    let effect = context.subjects.main.zip(place(context)).and_then(|(main, index)| {
        let time = main.time_each().filter(|time| time.runnable_ns > Nanos::ZERO)?;
        let (whole, runnable) = (time.total(), time.runnable_ns);
        evidence.push(of_phase(index, "time.runnable_ns", format!("{runnable} a time")));
        Some(Effect {
            basis: EffectBasis::Part { phase: main.label() },
            per: counted(main),
            now_ns: whole,
            fixed_ns: Some(whole.saturating_since(runnable)),
            cost_s_per_1000: Estimate { value: runnable.as_secs_f64() * 1e3, interval: None },
        })
    });
    let effect = effect.map_or_else(
        || Reading::unavailable("the time of saves and writes was not split"),
        Reading::Value,
    );
    let source = "Documentation/scheduler/sched-stats.rst: time spent waiting to run";
    Some(finding(FindingId::CpuWait, Severity::Costly, source, evidence, effect))
}

/// The finding of a limit that held the run back, taken from the check that failed.
pub(super) fn limit_of(context: &Context<'_>) -> Option<FindingId> {
    let checks = &context.run.trust.checks;
    let failed =
        |check: &&Check| check.id == CheckId::MachineLimits && check.status == CheckStatus::Fail;
    Some(match checks.iter().find(failed)?.cause {
        Some(CheckCause::CpuQuota) => FindingId::CpuQuota,
        Some(CheckCause::MemoryLimit) => FindingId::MemoryLimit,
        _ => FindingId::IoLimit,
    })
}

/// A limit of a control group, if a check says that it spoils the run.
fn limited(context: &Context<'_>) -> Option<Finding> {
    let evidence = vec![failed(context, CheckId::MachineLimits)?];
    let effect = Reading::unavailable("this run did not measure without the limit");
    let source = "docs/measuring.md: what the group used of what its limit allows";
    Some(finding(limit_of(context)?, Severity::Costly, source, evidence, effect))
}

/// Layers above the filesystem of a simulated run, which has no others to inspect.
fn modelled(context: &Context<'_>) -> Vec<Finding> {
    let Some(profile) = &context.run.target.profile else { return Vec::new() };
    if !context.run.environment.layers.is_empty() {
        return Vec::new();
    }
    let words = profile.filesystem.split(',').skip(1);
    let layers = words.filter_map(|word| match word {
        "fuse" => Some((FindingId::FuseOnPath, "profiles/pixel-2016.toml: 0.1 ms a call")),
        "encrypt" => Some((FindingId::SoftwareEncryption, "docs/model.md: encryption in software")),
        _ => None,
    });
    let found = layers.map(|(id, source)| {
        let evidence = Fact {
            field: "target.profile.filesystem".to_owned(),
            value: profile.filesystem.clone(),
        };
        let effect = Reading::unavailable("this run did not measure without it");
        finding(id, felt(context, None), source, vec![evidence], effect)
    });
    found.collect()
}
