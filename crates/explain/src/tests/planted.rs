//! Goes through all kinds of findings: each has a run in which it must appear, and a similar one in
//! which it must not.

use flashlag_schema::finding::FindingId;
use flashlag_schema::{CheckCause, CheckStatus, Run, StallCause};
use flashlag_spec::State;

use super::list::{card, fill, reads, scenario, two, waited};
use super::pairs::{beside, rollback_and_wal, stages};
use super::within::{with_cpu, with_flush, with_growth};
use crate::findings;
use crate::set_up::tests as set_up;
use crate::testing::{all, around, failing, run, saves};

/// The runs for a kind: a sick one, and a similar healthy one.
fn planted(id: FindingId) -> Option<(Run, Run)> {
    use FindingId::*;
    Some(match id {
        RollbackJournal => {
            (rollback_and_wal(20_000_000, 10_000_000), rollback_and_wal(10_100_000, 10_000_000))
        }
        SeveralDatabases => (several("databases = 3", 30), several("databases = 3", 10)),
        SmallTransactions => (several("statements = 10", 20), several("statements = 10", 100)),
        CommitPerChange => (commits(50), commits(10)),
        CommitOnMainThread => (commits(50), commits(10)),
        WholeFileAgain => (whole_file(30), whole_file(10)),
        GrowingFiles => (with_growth("save_delete", 30), with_growth("save_delete", 10)),
        FlushPerWrite => (with_flush(200), with_flush(199)),
        OtherWriter => (beside_a_writer(30), beside_a_writer(10)),
        IoLimit | CpuQuota | MemoryLimit => limited(id),
        CpuWait => (with_cpu(51), with_cpu(49)),
        SyncIsNoOp => (sync(true), sync(false)),
        DeletedNotTrimmed => (trimmed(State::Deleted, 40), trimmed(State::Deleted, 12)),
        FullNotTrimmed => (trimmed(State::Filled, 40), trimmed(State::Filled, 12)),
        FullStorage => (
            stages(&[(State::New, 10), (State::Filled, 60)]),
            stages(&[(State::New, 10), (State::Filled, 10)]),
        ),
        SmallSpare => {
            let last = |ms| fill([10, 10, 10, 10, 10, 10, 10, 10, 10, ms]);
            (last(40), last(25))
        }
        WriteCacheExhausted => of_waits(StallCause::WriteCacheFull),
        IdleWakeUp => of_waits(StallCause::WakeUp),
        CollectionPeriod => of_waits(StallCause::GarbageCollection),
        BelowClass => (reads(1499.0, card(1)), reads(1500.0, card(1))),
        // Only a forecast shows it: crates/predict/tests/it/effect.rs has its cases.
        OtherFilesystem => return None,
        _ => of_set_up(id),
    })
}

fn several(key: &str, ms: u64) -> Run {
    let phases = [("one", 10), ("several", ms)]
        .map(|(name, ms)| saves(name, State::New, &all(ms * 1_000_000, 500)));
    scenario(&two(key), phases.to_vec())
}

/// Several commits that take this long, beside one write of what `apply` left that takes 10 ms.
fn commits(ms: u64) -> Run {
    files(preferences("apply"), preferences("commit"), ms)
}

/// Five changes of SharedPreferences by that call.
fn preferences(call: &str) -> String {
    format!("kind = \"shared-preferences\"\nchanges = 5\ncall = \"{call}\"")
}

/// A file of 400 kB that takes this long for a change of 100 bytes, beside a log that takes 10 ms.
fn whole_file(ms: u64) -> Run {
    let whole = "kind = \"datastore\"\nsize = \"400kB\"".to_owned();
    files("kind = \"append-log\"".to_owned(), whole, ms)
}

/// Two saves of files: `one` takes 10 ms, `several` takes `ms`.
fn files(one: String, several: String, ms: u64) -> Run {
    let save =
        |name: &str, lines: &str| format!("\n[[save]]\nname = \"{name}\"\nsaves = 500\n{lines}\n");
    let step = "\n[[step]]\nmeasure = [\"one\", \"several\"]\nstate = \"new\"\n";
    let text = save("one", &one) + &save("several", &several) + step;
    let phases = [("one", 10), ("several", ms)]
        .map(|(name, ms)| saves(name, State::New, &all(ms * 1_000_000, 500)));
    scenario(&text, phases.to_vec())
}

fn beside_a_writer(ms: u64) -> Run {
    let mut busy = saves("save_delete", State::New, &around(ms, 500));
    beside(&mut busy);
    run(vec![saves("save_delete", State::New, &around(10, 500)), busy])
}

fn sync(fails: bool) -> Run {
    let mut run = run(vec![saves("save_wal", State::New, &all(20_000_000, 500))]);
    let check = failing(flashlag_schema::CheckId::FlushIsReal, &[]);
    run.trust.checks.extend(fails.then_some(check));
    run
}

/// A run in a control group with a limit: one that held it back, and one far above.
fn limited(id: FindingId) -> (Run, Run) {
    let (with_limit, _) = of_set_up(id);
    let judged = |status| {
        let mut run = with_limit.clone();
        run.phases = vec![saves("save_wal", State::New, &all(20_000_000, 500))];
        let mut check = failing(flashlag_schema::CheckId::MachineLimits, &[]);
        check.status = status;
        check.cause = Some(match id {
            FindingId::CpuQuota => CheckCause::CpuQuota,
            FindingId::MemoryLimit => CheckCause::MemoryLimit,
            _ => CheckCause::IoLimit,
        });
        run.trust.checks.push(check);
        run
    };
    (judged(CheckStatus::Fail), judged(CheckStatus::Pass))
}

/// Saves of 10 ms when new, then of `ms` in a state, then of 12 ms once trimmed.
fn trimmed(state: State, ms: u64) -> Run {
    stages(&[(State::New, 10), (state, ms), (State::Trimmed, 12)])
}

fn of_waits(cause: StallCause) -> (Run, Run) {
    (waited(cause, 5), waited(cause, 0))
}

fn of_set_up(id: FindingId) -> (Run, Run) {
    let cases = set_up::planted().into_iter().find(|(of, ..)| *of == id);
    let (_, sick, healthy) = cases.unwrap_or_else(|| panic!("{id:?} has no planted case"));
    let on = |environment| {
        let mut run = run(Vec::new());
        run.environment = environment;
        run
    };
    (on(sick), on(healthy))
}

#[test]
fn every_kind_of_finding_has_a_run_in_which_it_must_appear_and_one_in_which_it_must_not() {
    let mut without = Vec::new();
    for id in FindingId::ALL {
        let Some((sick, healthy)) = planted(id) else {
            without.push(id);
            continue;
        };
        let has = |run: &Run| findings(run).list.iter().any(|finding| finding.id == id);
        assert!(has(&sick), "{id:?} is not found where it was planted");
        assert!(!has(&healthy), "{id:?} is found where it was not planted");
    }
    assert_eq!(without, [FindingId::OtherFilesystem], "what only a forecast shows");
}

#[test]
fn a_commit_on_the_main_thread_costs_all_that_it_takes() {
    let found = findings(&commits(50)).list;
    let found = found.iter().find(|finding| finding.id == FindingId::CommitOnMainThread).unwrap();
    // 50 ms, times 1,000.
    assert!((found.cost().unwrap() - 50.0).abs() < 1e-9, "{found:?}");
    // `apply` is written by another thread, and other files by no such call.
    let log = "kind = \"append-log\"".to_owned();
    for late in [preferences("apply"), log] {
        let found = findings(&files(preferences("commit"), late, 50)).list;
        assert!(found.iter().all(|finding| finding.id != FindingId::CommitOnMainThread));
    }
}

#[test]
fn a_finding_without_a_figure_that_a_pair_of_runs_would_give_names_the_pair() {
    for id in
        [FindingId::Overlay, FindingId::Scheduler, FindingId::DataJournal, FindingId::SyncMount]
    {
        let (sick, _) = of_set_up(id);
        let found = findings(&sick).list.into_iter().find(|finding| finding.id == id).unwrap();
        assert!(found.effect.reason().is_some());
        let runs = found.commands.iter().filter(|command| command.starts_with("flashlag run"));
        assert_eq!(runs.count(), 2, "{id:?}");
        assert_eq!(found.commands.last().unwrap(), "flashlag compare with.json without.json");
    }
    for id in FindingId::ALL {
        let Some((sick, _)) = planted(id) else { continue };
        for finding in findings(&sick).list {
            assert!(finding.effect.reason().is_some() || finding.commands.is_empty(), "{id:?}");
        }
    }
}
