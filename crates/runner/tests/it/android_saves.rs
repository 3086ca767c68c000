//! Saves as Android has made them by default: `run sqlite --set android=true`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use flashlag_runner::{Event, Observer, Request, SimTarget, Target, builtin, run};
use flashlag_schema::Run;
use flashlag_spec::scenario::{Scenario, Test};

const WAYS: [&str; 5] = [
    "android1_2008_delete_full",
    "android4_2012_persist_full",
    "android9_2018_wal_normal",
    "android10_2019_truncate_full",
    "android10_2019_f2fs_atomic_truncate_full",
];

const SAVES: u32 = 400;

struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: Event<'_>) {}
}

fn scenario(set: &[(&str, &str)]) -> Result<Scenario, String> {
    let set: Vec<(String, String)> =
        set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::parse(builtin("sqlite").unwrap().text(), &set).map_err(|error| error.to_string())
}

/// Updates in each way, on a simulated device.
fn updates(on: &str) -> Run {
    let saves = SAVES.to_string();
    let set = [("android", "true"), ("statement", "update"), ("saves", &saves), ("time", "60s")];
    let target = Target::Simulated(SimTarget::parse(on).unwrap());
    run(Request::new(scenario(&set).unwrap(), target, 1), &mut Silent).unwrap()
}

/// Flushes and KiB of a save, by way.
fn costs(run: &Run, way: &str) -> (f64, f64) {
    let name = format!("update_{way}");
    let phase = run.phases.iter().find(|phase| phase.name == name).unwrap();
    let flushes = *phase.ledger.flushes.value().unwrap() as f64;
    let kib = phase.ledger.block_bytes.value().unwrap().0 as f64 / 1024.0;
    (flushes / phase.ops as f64, kib / phase.ops as f64)
}

#[test]
fn with_android_there_is_a_test_for_each_way_it_has_saved_and_without_one_for_each_mode() {
    let android = scenario(&[("android", "true")]).unwrap();
    let mut expected: Vec<String> = ["insert", "update", "delete"]
        .iter()
        .flat_map(|statement| WAYS.iter().map(move |way| format!("{statement}_{way}")))
        .collect();
    expected.sort();
    assert_eq!(android.tests.keys().cloned().collect::<Vec<_>>(), expected);
    let own = scenario(&[]).unwrap();
    assert_eq!(own.tests.len(), 3 * 6 * 2);
    assert!(own.tests.keys().all(|name| !name.contains("android")));
    for (way, wanted) in WAYS.iter().zip([(None, None), (None, Some(512)), (Some(100), Some(512))])
    {
        let Test::Save(save) = &android.tests[&format!("insert_{way}")] else { panic!("{way}") };
        let limit = save.journal_size_limit.map(|limit| limit.0.0 >> 10);
        assert_eq!((save.wal_autocheckpoint, limit), wanted, "{way}");
    }
}

#[test]
fn a_journal_asked_for_beside_android_is_refused_since_android_says_which() {
    for (key, value) in [("journal", "wal"), ("synchronous", "full")] {
        let error = scenario(&[("android", "true"), (key, value)]).unwrap_err();
        let wanted = format!("--set {key}={value}: no test that is left uses `{key}`");
        assert!(error.contains(&wanted) && error.contains("unless = \"$android\""), "{error}");
        assert!(scenario(&[(key, value)]).is_ok());
        assert!(scenario(&[("android", "false"), (key, value)]).is_ok());
    }
    assert!(scenario(&[("android", "true"), ("rows", "10")]).is_ok());
}

#[test]
fn each_way_costs_what_its_journal_does() {
    let run = updates("sim:nexus5-2013+f2fs");
    assert_eq!((run.phases.len(), run.skipped.len()), (5, 0), "{:?}", run.skipped);
    let [delete, persist, wal, truncate, atomic] = WAYS.map(|way| costs(&run, way));
    // A journal is made durable before the database is, and then once more.
    for (way, (flushes, _)) in [("delete", delete), ("persist", persist), ("truncate", truncate)] {
        assert!(flushes >= 2.9, "{way}: {flushes} flushes");
    }
    // Data, and a node with a flush before it and one after.
    assert!((1.9..2.1).contains(&atomic.0), "atomic: {} flushes", atomic.0);
    // A log of which only checkpoints are made durable: every hundred pages.
    assert!(wal.0 > 0.0 && wal.0 < 0.2, "WAL NORMAL: {} flushes", wal.0);
    assert!(atomic.1 < persist.1 && atomic.1 < truncate.1, "{atomic:?} {persist:?} {truncate:?}");
}

#[test]
fn where_no_atomic_writes_are_their_test_is_skipped_with_the_reason_and_no_other() {
    let run = updates("sim:nexus5-2013+ext4");
    assert_eq!(run.phases.len(), 4);
    let [skipped] = run.skipped.as_slice() else { panic!("{:?}", run.skipped) };
    let reason = format!("update_{}: no batch atomic writes here: only F2FS has them", WAYS[4]);
    assert!(skipped.reason.starts_with(&reason), "{}", skipped.reason);
}

#[test]
fn on_a_target_whose_saves_are_atomic_only_the_test_of_atomic_writes_has_them() {
    let plain = updates("sim:nexus5-2013+f2fs");
    let atomic = updates("sim:nexus5-2013+f2fs,atomic");
    for way in WAYS {
        let ((flushes, kib), (others, other_kib)) = (costs(&plain, way), costs(&atomic, way));
        // The rows that an update changes are saved before as the target does, so that one checkpoint of
        // F2FS's own, by time, can fall into one run's test and not into the other's.
        let checkpoint = 1.5 / f64::from(SAVES);
        assert!((flushes - others).abs() < checkpoint, "{way}: {flushes}, {others} flushes a save");
        assert!((kib - other_kib).abs() < 0.01 * kib, "{way}: {kib}, {other_kib} KiB a save");
    }
}
