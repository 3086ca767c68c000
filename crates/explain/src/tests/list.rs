//! The one list: each kind of finding of a run in a planted case, and none in a similar one.

use std::collections::BTreeMap;

use flashlag_schema::finding::{Counted, EffectBasis, Finding, FindingId, Severity};
use flashlag_schema::internals::{DeviceInternals, Internals};
use flashlag_schema::*;
use flashlag_spec::scenario::Durability;
use flashlag_spec::*;
use flashlag_units::{Bytes, Nanos};

use crate::findings;
use crate::testing::{all, failing, interval, phase, run, saves, split};

fn found(run: &Run, id: FindingId) -> Option<Finding> {
    findings(run).list.into_iter().find(|finding| finding.id == id)
}

fn cost(run: &Run, id: FindingId) -> f64 {
    found(run, id).and_then(|finding| finding.cost()).unwrap()
}

const MS: u64 = 1_000_000;

/// Saves of 20 ms each, each of which waited this long for one cause.
pub(super) fn waited(cause: StallCause, ms: u64) -> Run {
    let waits = all(20 * MS, 500);
    let mut phase = saves("save_wal", State::New, &waits);
    let part = |cause, ns| WaitPart { cause, ns };
    phase.intervals = vec![IntervalRecord {
        bytes: Bytes::ZERO,
        waited: vec![
            part(cause, Nanos(ms * MS * 500)),
            part(StallCause::Storage, Nanos((20 - ms) * MS * 500)),
        ],
        ..interval(phase.elapsed_ns, &waits)
    }];
    run(vec![phase])
}

#[test]
fn what_saves_waited_for_is_found_from_a_twentieth_of_the_waits_on() {
    let mut sources = BTreeMap::new();
    for (cause, id) in [
        (StallCause::WriteCacheFull, FindingId::WriteCacheExhausted),
        (StallCause::WakeUp, FindingId::IdleWakeUp),
        (StallCause::Throttling, FindingId::Throttled),
        (StallCause::GarbageCollection, FindingId::CollectionPeriod),
        (StallCause::WearLevelling, FindingId::CollectionPeriod),
        (StallCause::DevicePeriod, FindingId::CollectionPeriod),
        (StallCause::Discard, FindingId::DiscardOnDelete),
        (StallCause::Cleaning, FindingId::FewFreeSegments),
    ] {
        let planted = waited(cause, 5);
        // 5 ms each, times 1,000.
        assert!((cost(&planted, id) - 5.0).abs() < 1e-9, "{cause:?}");
        let effect = found(&planted, id).unwrap().effect;
        assert_eq!(effect.value().unwrap().fixed_ns, Some(Nanos(15 * MS)), "{cause:?}");
        let source = found(&planted, id).unwrap().source;
        assert!(sources.get(&source).is_none_or(|known| *known == id), "{cause:?}: {source}");
        sources.insert(source, id);
        assert!(found(&waited(cause, 1), id).is_some(), "{cause:?}: just a twentieth");
        assert_eq!(found(&waited(cause, 0), id), None, "{cause:?}");
        assert_eq!(found(&waited(StallCause::FilesystemCommit, 5), id), None, "{cause:?}");
    }
}

#[test]
fn a_stall_of_an_inferred_cause_is_a_part_of_all_waits() {
    let stalled = |cause| {
        let mut phase = saves("save_wal", State::New, &all(20 * MS, 500));
        let stall = StallRecord {
            t_ns: Nanos::ZERO,
            ns: Nanos(2000 * MS),
            cause,
            cause_basis: CauseBasis::Inferred,
            time: None,
            waited: Vec::new(),
            around: None,
        };
        phase.stalls = vec![stall];
        run(vec![phase])
    };
    // 2 s in 500 saves.
    assert!((cost(&stalled(StallCause::WakeUp), FindingId::IdleWakeUp) - 4.0).abs() < 1e-9);
    assert_eq!(found(&stalled(StallCause::Unknown), FindingId::IdleWakeUp), None);
}

/// Sequential writes that take the first number of milliseconds during the first second, and the
/// second number afterwards.
fn changed(kind: ChangeKind, ms: [u64; 2]) -> Run {
    let mut phase =
        phase("seq_write_1m", State::New, Operation::SequentialWrite, &all(6 * MS, 500));
    phase.block_bytes = Bytes::from_mib(1);
    phase.changes = vec![Change {
        kind,
        t_ns: Nanos::from_secs(1),
        written_bytes: Bytes::from_mib(100),
        bytes_per_sec: None,
        period_ns: None,
        detail: "throughput fell".to_owned(),
    }];
    let second = |(index, ms): (u64, u64)| IntervalRecord {
        bytes: Bytes::from_mib(1000 / ms),
        ..interval(Nanos::from_secs(index + 1), &all(ms * MS, 1000 / ms))
    };
    phase.intervals = (0..).zip([ms[0], ms[1], ms[1]]).map(second).collect();
    run(vec![phase])
}

#[test]
fn a_fall_in_the_rate_costs_the_difference_of_what_an_operation_takes() {
    let fell = changed(ChangeKind::CacheExhausted, [10, 100]);
    let found_ = found(&fell, FindingId::WriteCacheExhausted).unwrap();
    // From 10 to 100 ms.
    assert!((found_.cost().unwrap() - 90.0).abs() < 1e-9);
    assert!(matches!(found_.effect.value().unwrap().basis, EffectBasis::Course { .. }));
    let hot = changed(ChangeKind::Throttled, [10, 20]);
    assert!((cost(&hot, FindingId::Throttled) - 10.0).abs() < 1e-9);
    assert_eq!(found(&hot, FindingId::WriteCacheExhausted), None);
    let steady = changed(ChangeKind::SteadyState, [10, 100]);
    assert!(findings(&steady).list.is_empty());
    let mut odd = fell.clone();
    odd.phases[0].intervals.clear();
    let unknown = found(&odd, FindingId::WriteCacheExhausted).unwrap();
    assert!(unknown.effect.reason().is_some(), "without a series there is no figure");
    let no_slower = found(&changed(ChangeKind::Throttled, [10, 10]), FindingId::Throttled).unwrap();
    assert!(no_slower.effect.reason().is_some(), "a wait no longer than before costs nothing");
}

#[test]
fn a_fill_that_stalls_matters_as_much_as_the_waits_of_an_app_in_that_run() {
    let severity = |ms: u64| {
        let mut fill = changed(ChangeKind::PeriodicStalls, [6, 6]).phases.remove(0);
        for interval in &mut fill.intervals {
            interval.filled_bytes = Some(Bytes::from_mib(1));
        }
        let both = run(vec![fill, saves("save_wal", State::New, &all(ms * MS, 1_200))]);
        found(&both, FindingId::CollectionPeriod).unwrap().severity
    };
    assert_eq!(severity(1), Severity::Minor, "nobody waits for a fill, and saves are smooth");
    assert_eq!(severity(300), Severity::Costly);
}

/// Sequential writes by second: how many MB, and the share of the waits that was for room.
fn by_second(seconds: &[(u64, u64)]) -> Run {
    let mut phase = phase("soak", State::New, Operation::SequentialWrite, &all(MS, 1000));
    phase.block_bytes = Bytes::from_mib(1);
    let second = |(index, (mib, percent)): (u64, &(u64, u64))| {
        let part = |cause, percent| WaitPart { cause, ns: Nanos(percent * 10 * MS) };
        let waited = vec![
            part(StallCause::WriteCacheFull, *percent),
            part(StallCause::Storage, 100 - percent),
        ];
        IntervalRecord {
            bytes: Bytes::from_mib(*mib),
            max: Nanos(MS),
            waited,
            ..interval(Nanos::from_secs(index + 1), &all(1000 * MS / mib, *mib))
        }
    };
    phase.intervals = (0..).zip(seconds).map(second).collect();
    run(vec![phase])
}

#[test]
fn what_a_save_took_before_and_after_is_what_its_own_waits_say_whatever_bytes_it_has() {
    let mut outran = by_second(&[(100, 0), (100, 0), (100, 10), (25, 90), (25, 80), (25, 50)]);
    let phase = &mut outran.phases[0];
    phase.operation = Operation::Save;
    // A row has a hundred bytes, a page of the database four thousand.
    phase.block_bytes = Bytes(4096);
    phase.intervals.iter_mut().for_each(|interval| interval.bytes = Bytes(100 * interval.ops));
    let found = found(&outran, FindingId::WriteCacheExhausted).unwrap();
    let effect = found.effect.value().unwrap();
    assert_eq!((effect.fixed_ns.unwrap().0 / MS, effect.now_ns.0 / MS), (10, 40));
    let evidence = serde_json::to_string(&found.evidence).unwrap();
    assert!(
        evidence.contains("100 saves a second until 3.0 s, then 25 saves a second"),
        "{evidence}"
    );
}

#[test]
fn a_cache_that_writes_in_sequence_outran_is_found_where_the_rate_fell_with_it() {
    let id = FindingId::WriteCacheExhausted;
    let outran = by_second(&[(1000, 0), (1000, 0), (1000, 10), (250, 90), (250, 80), (250, 50)]);
    // A MiB takes 1 ms before, and 4 ms after.
    assert!((cost(&outran, id) - 3.0).abs() < 1e-9);
    let even = by_second(&[(250, 0), (250, 0), (250, 0), (250, 90), (250, 90), (250, 90)]);
    assert_eq!(found(&even, id), None, "as fast without the cache");
    let always = by_second(&[(250, 90); 6]);
    assert_eq!(found(&always, id), None, "never faster");
    let other = by_second(&[(1000, 0), (1000, 0), (1000, 0), (250, 40), (250, 40), (250, 40)]);
    assert_eq!(found(&other, id), None, "slower for something else");
}

/// A fill in ten equal steps, with the duration of each step's writes.
pub(super) fn fill(ms: [u64; 10]) -> Run {
    let mut phase = phase("fill_random", State::Filled, Operation::RandomWrite, &all(MS, 1000));
    let step = |(index, ms): (usize, &u64)| IntervalRecord {
        filled_bytes: Some(Bytes::from_mib(100 * (index as u64 + 1))),
        bytes: Bytes::ZERO,
        ..interval(Nanos::from_secs(index as u64 + 1), &all(ms * MS, 100))
    };
    phase.intervals = ms.iter().enumerate().map(step).collect();
    run(vec![phase])
}

#[test]
fn a_cliff_at_the_end_of_a_fill_shows_a_small_spare_area() {
    let cliff = fill([10, 10, 10, 10, 10, 10, 10, 10, 10, 40]);
    assert!((cost(&cliff, FindingId::SmallSpare) - 30.0).abs() < 0.5);
    assert_eq!(found(&fill([10, 10, 10, 10, 10, 10, 10, 10, 10, 25]), FindingId::SmallSpare), None);
    assert_eq!(found(&fill([10; 10]), FindingId::SmallSpare), None);
}

#[test]
fn what_is_seen_on_a_fill_comes_after_what_somebody_waits_for_however_large_its_writes() {
    let mut both = fill([10, 10, 10, 10, 10, 10, 10, 10, 10, 400]);
    both.phases.push(saves("save_delete", State::New, &all(40 * MS, 500)));
    both.phases.push(saves("save_wal", State::New, &all(20 * MS, 500)));
    let list = findings(&both).list;
    let at = |id| list.iter().position(|one| one.id == id).unwrap();
    let (journal, spare) = (at(FindingId::RollbackJournal), at(FindingId::SmallSpare));
    assert!(list[journal].cost() < list[spare].cost() && journal < spare, "{list:?}");
}

#[test]
fn a_failed_flush_check_is_a_sync_that_stores_nothing_unless_the_files_are_in_memory() {
    let mut run = run(vec![saves("save_wal", State::New, &all(20 * MS, 500))]);
    assert_eq!(found(&run, FindingId::SyncIsNoOp), None);
    run.trust.checks = vec![failing(CheckId::FlushIsReal, &[])];
    run.trust.checks[0].detail = "0 flushes".to_owned();
    let no_op = found(&run, FindingId::SyncIsNoOp).unwrap();
    assert_eq!((no_op.severity, no_op.evidence.len()), (Severity::Danger, 1));
    assert_eq!(findings(&run).list[0].id, FindingId::SyncIsNoOp, "data in danger comes first");
    // The finding about the mount option is the better one.
    run.environment.filesystem.options = Reading::Value(vec!["nobarrier".to_owned()]);
    let list = findings(&run).list;
    assert_eq!(list.iter().filter(|one| one.severity == Severity::Danger).count(), 1, "{list:?}");
    assert_eq!(list[0].id, FindingId::NoBarrier);
    assert_eq!(list[0].evidence.len(), 2, "with the evidence of both");
    run.environment.filesystem.options = Reading::default();
    run.environment.layers =
        vec![Layer { kind: LayerKind::Memory, name: "/tmp".to_owned(), detail: None }];
    assert_eq!(found(&run, FindingId::SyncIsNoOp), None);
}

#[test]
fn checks_on_others_requests_and_on_heat_are_findings() {
    for (check, id) in [
        (CheckId::ForeignIo, FindingId::OtherWriter),
        (CheckId::ThermalThrottling, FindingId::Throttled),
    ] {
        let mut run = run(vec![saves("save_wal", State::New, &all(20 * MS, 500))]);
        run.trust.checks = vec![failing(check, &[])];
        assert!(found(&run, id).unwrap().effect.reason().is_some());
        run.trust.checks[0].status = CheckStatus::Unknown;
        assert_eq!(found(&run, id), None, "unknown is no failure");
    }
}

#[test]
fn a_busy_cpu_is_found_where_its_check_fails_so_that_storage_is_not_blamed() {
    let mut phase = saves("save_wal", State::New, &all(20 * MS, 500));
    split(&mut phase, 100, 800);
    let mut run = run(vec![phase]);
    run.trust.checks = vec![failing(CheckId::CpuContention, &["new: save_wal"])];
    run.trust.checks[0].detail = "waited for a CPU".to_owned();
    // Four fifths of 20 ms.
    assert!((cost(&run, FindingId::CpuWait) - 16.0).abs() < 1e-9);
    assert_eq!(found(&run, FindingId::CpuWait).unwrap().evidence.len(), 2);
    run.phases[0].time = Reading::default();
    assert!(found(&run, FindingId::CpuWait).unwrap().effect.reason().is_some());
    run.trust.checks[0].status = CheckStatus::Pass;
    assert_eq!(found(&run, FindingId::CpuWait), None);
}

#[test]
fn a_rollback_journal_without_a_log_to_compare_is_found_without_a_figure() {
    let alone = run(vec![saves("save_delete", State::New, &all(20 * MS, 500))]);
    let journal = found(&alone, FindingId::RollbackJournal).unwrap();
    assert!(journal.effect.reason().unwrap().contains("WAL"));
    let wal = run(vec![saves("save_wal", State::New, &all(20 * MS, 500))]);
    assert_eq!(found(&wal, FindingId::RollbackJournal), None);
    let both = run(vec![
        saves("save_delete", State::New, &all(20 * MS, 500)),
        saves("save_wal", State::New, &all(10 * MS, 500)),
    ]);
    assert!((cost(&both, FindingId::RollbackJournal) - 10.0).abs() < 1e-9);
}

/// A run of a scenario's tests.
pub(super) fn scenario(tests: &str, phases: Vec<Phase>) -> Run {
    let mut run = run(phases);
    run.scenario.text = format!("name = \"two\"\nabout = \"Two tests.\"\n{tests}");
    run
}

pub(super) fn two(key: &str) -> String {
    let save = |name: &str, more: &str| {
        format!(
            "\n[[save]]\nname = \"{name}\"\nstatement = \"insert\"\njournal = \"wal\"\n\
             synchronous = \"full\"\nsaves = 500\n{more}\n"
        )
    };
    let step = "\n[[step]]\nmeasure = [\"one\", \"several\"]\nstate = \"new\"\n";
    save("one", "") + &save("several", key) + step
}

#[test]
fn several_databases_a_save_cost_what_one_would_save() {
    let phases = |several: u64| {
        vec![
            saves("one", State::New, &all(10 * MS, 500)),
            saves("several", State::New, &all(several * MS, 500)),
        ]
    };
    let planted = scenario(&two("databases = 3"), phases(30));
    assert!((cost(&planted, FindingId::SeveralDatabases) - 20.0).abs() < 1e-9);
    let alike = scenario(&two("databases = 3"), phases(10));
    assert_eq!(found(&alike, FindingId::SeveralDatabases), None);
    let alone = scenario(
        &two("databases = 3").replace("\"one\", \"several\"", "\"several\""),
        vec![saves("several", State::New, &all(30 * MS, 500))],
    );
    let unknown = found(&alone, FindingId::SeveralDatabases).unwrap();
    assert!(unknown.effect.reason().is_some());
}

#[test]
fn small_transactions_are_compared_by_change() {
    let phases = |many: u64| {
        vec![
            saves("one", State::New, &all(10 * MS, 500)),
            saves("several", State::New, &all(many * MS, 500)),
        ]
    };
    // Ten changes in 20 ms are 2 ms each, compared with 10.
    let planted = scenario(&two("statements = 10"), phases(20));
    assert!((cost(&planted, FindingId::SmallTransactions) - 8.0).abs() < 1e-9);
    let as_slow = scenario(&two("statements = 10"), phases(100));
    assert_eq!(found(&as_slow, FindingId::SmallTransactions), None);
}

/// Random reads of 4 KiB at a rate, on a card of a class or on a phone.
pub(super) fn reads(per_second: f64, change: impl FnOnce(&mut Environment)) -> Run {
    let mut phase = phase("rand_read_4k", State::New, Operation::RandomRead, &all(MS, 500));
    (phase.block_bytes, phase.durable) = (Bytes(4096), Durability::None);
    (phase.ops_per_sec, phase.bytes_per_sec) = (per_second, per_second * 4096.0);
    let mut run = run(vec![phase]);
    change(&mut run.environment);
    run
}

pub(super) fn card(class: u8) -> impl Fn(&mut Environment) {
    move |environment| {
        let read = |value| Reading::Value(value);
        environment.internals = Some(Internals {
            device: Reading::Value(DeviceInternals::Sd {
                speed_class: read(10),
                uhs_grade: read(1),
                video_class: read(10),
                app_class: read(class),
                allocation_unit_bytes: Reading::default(),
            }),
            ..Internals::default()
        });
    }
}

fn phone(environment: &mut Environment) {
    environment.software.system = Reading::Value("Android 6.0.1".to_owned());
    environment.filesystem.mount_point = Reading::Value("/data".to_owned());
}

#[test]
fn a_device_below_its_class_or_its_system_s_rules_is_found() {
    let below = found(&reads(1000.0, card(1)), FindingId::BelowClass).unwrap();
    let effect = below.effect.value().unwrap();
    assert_eq!(effect.per, Counted::Reads);
    // 1 ms each instead of a 1,500th of a second.
    assert!((below.cost().unwrap() - (1.0 - 1.0 / 1.5)).abs() < 1e-6, "{effect:?}");
    assert_eq!(found(&reads(1500.0, card(1)), FindingId::BelowClass), None);
    assert!(found(&reads(1499.0, card(2)), FindingId::BelowClass).is_some());
    assert_eq!(found(&reads(3999.0, card(2)), FindingId::BelowClass), None, "without a queue");
    assert_eq!(found(&reads(10.0, card(0)), FindingId::BelowClass), None, "no promise");
    // 3.5 MB/s are 854 reads of 4 KiB.
    assert!(found(&reads(854.0, phone), FindingId::BelowClass).is_some());
    assert_eq!(found(&reads(855.0, phone), FindingId::BelowClass), None);
}

#[test]
fn durable_writes_break_no_promise_where_a_flush_may_be_what_takes_the_time() {
    let mut run = reads(100.0, card(1));
    run.phases[0].operation = Operation::RandomWrite;
    run.phases[0].durable = Durability::Fdatasync;
    assert_eq!(found(&run, FindingId::BelowClass), None);
    run.environment.device.queue.write_cache = Reading::Value("write through".to_owned());
    assert!(found(&run, FindingId::BelowClass).is_some());
}

#[test]
fn a_measured_finding_absorbs_what_the_set_up_says_of_the_same() {
    let mut run = run(vec![
        saves("save_delete", State::New, &all(10 * MS, 500)),
        saves("save_delete", State::Filled, &all(60 * MS, 500)),
    ]);
    let environment = &mut run.environment;
    environment.device.kind = Reading::Value("emmc".to_owned());
    environment.filesystem.total_bytes = Reading::Value(Bytes::from_mib(1000));
    environment.filesystem.free_bytes = Reading::Value(Bytes::from_mib(50));
    let full = found(&run, FindingId::FullStorage).unwrap();
    assert!((full.cost().unwrap() - 50.0).abs() < 1e-9);
    assert!(full.evidence.iter().any(|fact| fact.value == "95% in use"), "{full:?}");
    assert_eq!(found(&run, FindingId::NearlyFull), None);
}

#[test]
fn a_smooth_run_has_nothing_costly_and_data_in_danger_stays_first() {
    let smooth = run(vec![
        saves("save_delete", State::New, &all(2 * MS, 500)),
        saves("save_wal", State::New, &all(MS, 500)),
    ]);
    let list = findings(&smooth).list;
    assert!(!list.is_empty() && list.iter().all(|one| one.severity == Severity::Minor));
    let mut endangered = smooth;
    endangered.environment.filesystem.options = Reading::Value(vec!["barrier=0".to_owned()]);
    assert_eq!(findings(&endangered).list[0].id, FindingId::NoBarrier);
}

#[test]
fn the_list_is_by_cost_and_every_field_of_its_evidence_is_in_the_run_file() {
    for run in [
        waited(StallCause::WakeUp, 5),
        fill([10, 10, 10, 10, 10, 10, 10, 10, 10, 40]),
        reads(1000.0, card(1)),
        changed(ChangeKind::CacheExhausted, [10, 20]),
    ] {
        let list = findings(&run).list;
        let costs: Vec<f64> = list.iter().filter_map(Finding::cost).collect();
        assert!(costs.is_sorted_by(|a, b| a >= b), "{costs:?}");
        let file = serde_json::to_value(&run).unwrap();
        for fact in list.iter().flat_map(|one| &one.evidence) {
            let pointer = fact.field.replace(['.', '['], "/").replace(']', "");
            assert!(file.pointer(&format!("/{pointer}")).is_some(), "{}", fact.field);
        }
    }
}
