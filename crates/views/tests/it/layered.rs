//! One save layer by layer, and the story of a run: held to the run's own figures, derived another way.
#![allow(clippy::unwrap_used)]

use flashlag_explain::findings;
use flashlag_schema::*;
use flashlag_spec::*;
use flashlag_stats::Histogram;
use flashlag_testing::{bare_run, closed_loop_phase};
use flashlag_units::{Bytes, Nanos};
use flashlag_views::{Cell, in_words, layered, stalls, stalls_table, story};

const MS: u64 = 1_000_000;

/// 500 saves of 20 ms each.
fn saves() -> Phase {
    let mut waits = Histogram::new();
    (0..500).for_each(|_| waits.record(Nanos(20 * MS)));
    let mut phase = closed_loop_phase("save_delete", State::New, Operation::Save, &waits);
    phase.ledger.app_bytes = Reading::Value(Bytes(500 * 100));
    phase.ledger.syscall_bytes = Reading::Value(Bytes(500 * 17_000));
    phase.ledger.block_bytes = Reading::Value(Bytes(500 * 57_000));
    phase.ledger.block_writes = Reading::Value(500 * 6);
    phase.ledger.flushes = Reading::Value(500 * 4);
    phase
}

/// The same by a model that knows what each waited for.
fn modelled(parts: &[(StallCause, u64)]) -> Phase {
    let mut phase = saves();
    let waited =
        parts.iter().map(|(cause, ms)| WaitPart { cause: *cause, ns: Nanos(500 * ms * MS) });
    phase.intervals = vec![IntervalRecord {
        t_ns: phase.elapsed_ns,
        filled_bytes: None,
        ops: 500,
        bytes: Bytes::ZERO,
        p50: None,
        p90: None,
        p99: None,
        max: Nanos(20 * MS),
        temperature_millicelsius: None,
        histogram: phase.histogram.clone(),
        waited: waited.collect(),
    }];
    phase
}

#[test]
fn times_of_the_layers_add_up_to_the_mean_and_bytes_are_the_ledger_s() {
    let run = bare_run(vec![modelled(&[
        (StallCause::Executing, 1),
        (StallCause::FilesystemCommit, 5),
        (StallCause::Checkpoint, 2),
        (StallCause::Storage, 8),
        (StallCause::GarbageCollection, 4),
    ])]);
    let seen = layered(&run).unwrap();
    let total: u64 = seen.rows.iter().filter_map(|row| row.time).map(|time| time.0).sum();
    assert_eq!(total, 20 * MS);
    let of = |name: &str| seen.rows.iter().find(|row| row.name == name).unwrap();
    assert_eq!(of("filesystem").time, Some(Nanos(7 * MS)));
    assert_eq!(of("flash").time, Some(Nanos(12 * MS)));
    assert!((of("queue").bytes.unwrap() - 57_000.0).abs() < 1e-9);
    assert_eq!(of("queue").requests, "6.00 requests, 4.00 flushes");
    assert!((of("SQLite").bytes.unwrap() - 17_000.0).abs() < 1e-9);
    assert_eq!(of("flash").bytes, None, "nothing counted what the flash programmed");
    let sentence = seen.sentence().unwrap();
    assert!(
        sentence.contains("12 ms pass in the flash and 7.0 ms in the filesystem"),
        "{sentence}"
    );
    assert!((seen.share(of("flash")) - 0.6).abs() < 1e-9);
}

#[test]
fn less_than_a_hundredth_of_a_layer_is_in_its_time_and_not_in_its_words() {
    let mut phase = modelled(&[(StallCause::FilesystemCommit, 5), (StallCause::Storage, 15)]);
    let waited = &mut phase.intervals[0].waited;
    waited.push(WaitPart { cause: StallCause::Checkpoint, ns: Nanos(500 * 68) });
    let seen = layered(&bare_run(vec![phase])).unwrap();
    let row = seen.rows.iter().find(|row| row.name == "filesystem").unwrap();
    assert_eq!(row.time, Some(Nanos(5 * MS + 68)));
    assert_eq!(row.what, "filesystem commit");
}

#[test]
fn on_real_storage_the_thread_s_time_is_split_and_no_layer_is_invented() {
    let mut phase = saves();
    phase.time = Reading::Value(Time {
        on_cpu_ns: Nanos(500 * MS),
        runnable_ns: Nanos(500 * MS),
        blocked_ns: Nanos(500 * 18 * MS),
        stopped_ns: Nanos::ZERO,
    });
    let seen = layered(&bare_run(vec![phase])).unwrap();
    let names: Vec<&str> = seen.rows.iter().map(|row| row.name).collect();
    assert_eq!(names, ["application", "SQLite", "queue", "storage"]);
    let times: Vec<Option<Nanos>> = seen.rows.iter().map(|row| row.time).collect();
    assert_eq!(times, [Some(Nanos(2 * MS)), None, None, Some(Nanos(18 * MS))]);
}

#[test]
fn what_a_thread_does_between_two_saves_is_part_of_no_save() {
    let mut phase = saves();
    phase.time = Reading::Value(Time {
        on_cpu_ns: Nanos(500 * 4 * MS),
        runnable_ns: Nanos(500 * MS),
        blocked_ns: Nanos(500 * 18 * MS),
        stopped_ns: Nanos::ZERO,
    });
    let seen = layered(&bare_run(vec![phase])).unwrap();
    let total: u64 = seen.rows.iter().filter_map(|row| row.time).map(|time| time.0).sum();
    assert_eq!(total, 20 * MS, "4 + 1 + 18 ms of the thread, but a save takes 20");
    let sentence = seen.sentence().unwrap();
    assert!(
        sentence.contains("18 ms pass in the storage and 2.0 ms in the application"),
        "{sentence}"
    );
}

#[test]
fn without_bytes_and_times_there_is_no_picture_and_the_story_is_short() {
    let empty = bare_run(Vec::new());
    assert_eq!(layered(&empty), None);
    assert!(story(&empty, &findings(&empty).list).sentences().len() <= 2);
    let mut bare = saves();
    (bare.ledger, bare.time) = (Ledger::default(), Reading::default());
    let run = bare_run(vec![bare]);
    assert_eq!(layered(&run), None);
    assert_eq!(story(&run, &findings(&run).list).waited, None);
}

#[test]
fn the_story_names_the_largest_cause_with_the_gain_of_the_list() {
    let mut waits = Histogram::new();
    (0..500).for_each(|_| waits.record(Nanos(5 * MS)));
    let wal = closed_loop_phase("save_wal", State::New, Operation::Save, &waits);
    let run = bare_run(vec![saves(), wal]);
    let seen = story(&run, &findings(&run).list);
    assert!(seen.cause.as_ref().unwrap().contains("rollback journal"), "{seen:?}");
    // 20 against 5 ms: 15 s in a thousand.
    assert!(
        seen.advice.as_ref().unwrap().ends_with("up to 15 s less for 1,000 saves."),
        "{seen:?}"
    );
}

fn replayed() -> Replayed {
    Replayed {
        trace_sha256: String::new(),
        source: TraceSourceKind::Strace,
        level: replay::ReplayLevel::Calls,
        pace: replay::ReplayPace::Own,
        scheduled_ns: None,
        traced_ns: None,
        traced_histogram: None,
        transactions: Some(replay::TraceTransactions { rollback: 500, log: 0 }),
    }
}

/// A stall whose cause follows from what it waited for, as in a simulation.
fn stalled(at: u64, parts: &[(StallCause, u64)]) -> StallRecord {
    let waited: Vec<WaitPart> =
        parts.iter().map(|(cause, ms)| WaitPart { cause: *cause, ns: Nanos(ms * MS) }).collect();
    StallRecord {
        t_ns: Nanos(at),
        ns: Nanos(parts.iter().map(|(_, ms)| ms * MS).sum()),
        cause: StallCause::known(&waited, None),
        cause_basis: CauseBasis::Modelled,
        time: None,
        waited,
        around: None,
    }
}

#[test]
fn stalls_of_a_replayed_transaction_are_its_trace_s_pauses_where_most_of_it_is() {
    let mut phase = modelled(&[(StallCause::Executing, 12), (StallCause::Storage, 8)]);
    phase.stalls = vec![
        stalled(1, &[(StallCause::Executing, 300), (StallCause::Storage, 100)]),
        stalled(2, &[(StallCause::Executing, 250), (StallCause::GarbageCollection, 90)]),
        stalled(3, &[(StallCause::Executing, 100), (StallCause::GarbageCollection, 200)]),
    ];
    phase.stalls_seen = 3;
    let named = |phase: &Phase| {
        let phases = stalls(&bare_run(vec![phase.clone()])).unwrap().phases;
        let causes = phases[0].causes.iter().map(|of| (of.name, of.stalls));
        (causes.collect::<Vec<_>>(), stalls_table(&phases).groups[0].rows[0].cells.clone())
    };
    let cell = |cells: &[Cell], wanted: &str| cells.iter().any(|cell| cell.text() == wanted);
    let (causes, cells) = named(&phase);
    assert_eq!(causes, [("on the CPU", 2), ("garbage collection", 1)]);
    assert!(cell(&cells, "on the CPU"), "{cells:?}");

    phase.replay = Some(replayed());
    let (causes, cells) = named(&phase);
    assert_eq!(causes, [("the trace's own pauses", 2), ("garbage collection", 1)]);
    assert!(cell(&cells, "the trace's own pauses"), "{cells:?}");

    // A single call of a trace has no pauses: its work is its own.
    phase.operation = Operation::ReplaySync;
    assert_eq!(named(&phase).0[0], ("on the CPU", 2));
}

#[test]
fn a_simulation_without_a_filesystem_has_no_row_for_one() {
    let mut run = bare_run(vec![modelled(&[(StallCause::Storage, 12), (StallCause::Cpu, 8)])]);
    let mut names = |filesystem: &str| {
        run.target.profile = Some(ProfileRecord {
            name: "x".to_owned(),
            about: String::new(),
            filesystem: filesystem.to_owned(),
            text: String::new(),
            device_options: Vec::new(),
        });
        layered(&run).unwrap().rows.iter().map(|row| row.name).collect::<Vec<_>>()
    };
    assert_eq!(names("raw"), ["application", "SQLite", "queue", "flash"]);
    assert_eq!(names("ext4,nobarrier"), ["application", "SQLite", "filesystem", "queue", "flash"]);
}

#[test]
fn a_forecast_of_another_filesystem_says_that_both_are_new() {
    let finding = |id: finding::FindingId| finding::Finding {
        id,
        severity: finding::Severity::Minor,
        evidence: Vec::new(),
        effect: Reading::Value(finding::Effect {
            basis: finding::EffectBasis::Forecast {
                profile: "x".to_owned(),
                of: finding::ProfileOf::Nearest,
                change: "fs=f2fs".to_owned(),
                size_bytes: None,
            },
            per: finding::Counted::Saves,
            now_ns: Nanos(20 * MS),
            fixed_ns: Some(Nanos(9 * MS)),
            cost_s_per_1000: finding::Estimate { value: 11.0, interval: None },
        }),
        action: finding::FindingAction::ChangeFilesystem,
        risk: None,
        commands: Vec::new(),
        source: String::new(),
    };
    let said = |id| in_words(None, None, &[finding(id)]).findings.remove(0).effect.unwrap();
    let other = said(finding::FindingId::OtherFilesystem);
    assert!(
        other.contains("9.0 ms instead of 20 ms") && other.contains("new and empty"),
        "{other}"
    );
    let barriers = said(finding::FindingId::NoBarrier);
    assert!(!barriers.contains("new and empty"), "{barriers}");
}

#[test]
fn what_a_replayed_transaction_spends_between_its_calls_is_a_pause_of_its_trace() {
    let parts = [(StallCause::Executing, 12), (StallCause::Storage, 8)];
    let mut phase = modelled(&parts);
    let said = |phase: &Phase| layered(&bare_run(vec![phase.clone()])).unwrap().sentence().unwrap();
    assert!(said(&phase).contains("12 ms pass in the application"), "{}", said(&phase));
    phase.replay = Some(replayed());
    let paused = said(&phase);
    let wanted =
        "Of a mean save of 20 ms, 12 ms pass in the trace's own pauses and 8.0 ms in the flash.";
    assert_eq!(paused, wanted);
    let run = bare_run(vec![phase]);
    let list = findings(&run).list;
    let journal = finding::FindingId::RollbackJournal;
    let mut facts = list.iter().filter(|one| one.id == journal).flat_map(|one| &one.evidence);
    assert!(facts.any(|fact| fact.value.starts_with("500 of 500")), "{list:?}");
}

#[test]
fn the_gain_of_other_saves_than_the_story_is_about_says_of_which() {
    let mut busy = modelled(&[(StallCause::GarbageCollection, 19), (StallCause::Storage, 1)]);
    (busy.name, busy.background) = ("save_busy".to_owned(), Some("stream".to_owned()));
    let run = bare_run(vec![saves(), busy]);
    let seen = story(&run, &findings(&run).list);
    let advice = seen.advice.unwrap();
    assert!(advice.contains("less for 1,000 saves (") && advice.ends_with(")."), "{advice}");
}

/// What is said beside the counts of the disk of saves on real storage with that check of others' I/O.
fn beside(
    kind: TargetKind,
    operation: Operation,
    status: Option<CheckStatus>,
) -> Option<&'static str> {
    let mut phase = saves();
    (phase.operation, phase.durable) = (operation, flashlag_spec::scenario::Durability::Fdatasync);
    phase.name =
        if operation == Operation::Save { "save_delete" } else { "rand_write_4k" }.to_owned();
    let mut run = bare_run(vec![phase]);
    run.target.kind = kind;
    let check = |status| Check {
        id: CheckId::ForeignIo,
        status,
        claim: "Nothing else used the device".to_owned(),
        detail: String::new(),
        cause: None,
        advice: None,
        phases: Vec::new(),
    };
    run.trust.checks = status.map(check).into_iter().collect();
    let seen = layered(&run).unwrap();
    let marked: Vec<&str> =
        seen.rows.iter().filter(|row| row.others.is_some()).map(|row| row.name).collect();
    assert!(marked.is_empty() || marked == ["queue"], "{marked:?}");
    let queue = seen.rows.iter().find(|row| row.name == "queue").unwrap();
    assert!(queue.detail().contains(queue.others.unwrap_or_default()));
    queue.others
}

#[test]
fn counts_of_the_disk_that_contain_what_others_wrote_say_so() {
    use CheckStatus::{Fail, Pass};
    let (save, write) = (Operation::Save, Operation::RandomWrite);
    let failed = beside(TargetKind::Path, save, Some(Fail));
    assert_eq!(failed, Some("✕ includes what others wrote"));
    // The check cannot tell others' writes beside saves from the filesystem's own.
    let may = Some("may include what others wrote");
    assert_eq!(beside(TargetKind::Path, save, Some(Pass)), may);
    assert_eq!(beside(TargetKind::Phone, save, None), may);
    assert_eq!(beside(TargetKind::Path, write, None), may);
    assert_eq!(beside(TargetKind::Path, write, Some(Pass)), None);
    assert_eq!(beside(TargetKind::Simulated, save, Some(Fail)), None);
}

#[test]
fn the_gain_of_a_forecast_for_a_replayed_trace_is_not_said_to_be_that_of_its_own_saves() {
    let mut phase = saves();
    let mut list = {
        let run = bare_run(vec![phase.clone()]);
        findings(&run).list
    };
    phase.replay = Some(replayed());
    let run = bare_run(vec![phase]);
    list.extend(findings(&run).list);
    let mut journal =
        list.into_iter().rev().find(|one| one.id == finding::FindingId::RollbackJournal).unwrap();
    journal.severity = finding::Severity::Costly;
    journal.effect = Reading::Value(finding::Effect {
        basis: finding::EffectBasis::Forecast {
            profile: "x".to_owned(),
            of: finding::ProfileOf::Simulated,
            change: "journal=wal".to_owned(),
            size_bytes: None,
        },
        per: finding::Counted::Saves,
        now_ns: Nanos(24 * MS),
        fixed_ns: Some(Nanos(7 * MS)),
        cost_s_per_1000: finding::Estimate { value: 17.0, interval: None },
    });
    let advice = story(&run, &[journal]).advice.unwrap();
    let wanted =
        "17 s less for 1,000 saves (a forecast for saves of one row, not for your app's own).";
    assert!(advice.ends_with(wanted), "{advice}");
}
