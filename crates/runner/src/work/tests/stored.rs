//! Checks what is stored about a test: files, operations, figures and what was read back.

use flashlag_engine::Verification;
use flashlag_schema::{ChangeKind, Think};
use flashlag_spec::Operation;
use flashlag_spec::scenario::{Durability, EngineKind};

use super::super::Access;
use super::*;

#[test]
fn the_run_is_stored_after_each_task_with_all_that_follows_from_its_phases() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let text = steps("[[step]]\nmeasure = [\"save\", \"small\"]\nstate = \"new\"\n");
    let ran = ran_with(&text, MockWorld::default(), |request| {
        let file = crate::output::RunFile::new(&path, false).unwrap();
        request.output = Some(Arc::new(file));
    });
    let refreshed: Vec<_> =
        calls(&ran).into_iter().filter(|call| call.starts_with("refresh")).collect();
    assert_eq!(refreshed, ["refresh 1", "refresh 2"]);
    let stored = Run::from_json(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(stored.phases.len(), 2);
    assert_eq!(stored.status, RunStatus::Running { next_step: 2 });
    assert_eq!(Some(stored.lag), stored.phases[0].lag, "the lag of all saves");
    assert!(stored.findings.is_some());
}

#[test]
fn writing_the_file_under_test_is_announced_where_it_is_written() {
    let text = steps("[[step]]\nmeasure = [\"small\", \"read\"]\nstate = \"new\"\n");
    let announced = |ran: &Ran| {
        let said = ran.listener.preparing.iter();
        said.filter(|said| *said == "writing the file under test").count()
    };
    assert_eq!(announced(&ran(&text, MockWorld::default())), 1, "the second test finds it");
    let fresh = text.replacen("bytes = \"64KiB\"", "bytes = \"64KiB\"\nfresh = true", 1);
    let again = fresh.replacen("[\"small\", \"read\"]", "[\"small\", \"small\"]", 1);
    assert_eq!(announced(&ran(&again, MockWorld::default())), 2, "each wants a new one");
}

#[test]
fn a_file_that_grew_is_another_than_the_file_under_test_and_as_large_as_its_largest_test_needs() {
    let mut text = steps("[[step]]\nmeasure = [\"read\", \"small\", \"grown\"]\nstate = \"new\"\n");
    for (name, span) in [("grown", "32KiB"), ("more", "64KiB")] {
        text += &format!(
            "[[io]]\nname = \"{name}\"\noperation = \"read\"\npattern = \"random\"\nblock = \"4KiB\"\n\
             span = \"{span}\"\nbytes = \"32KiB\"\ngrown = true\n"
        );
    }
    text += "[[step]]\nmeasure = [\"more\"]\nstate = \"new\"\n";
    let ran = ran(&text, MockWorld::default());
    let laid_out: Vec<_> =
        calls(&ran).into_iter().filter(|call| call.starts_with("lay out")).collect();
    assert_eq!(
        laid_out,
        ["lay out Test 1.0 MB", "lay out Background 2.1 MB", "lay out Grown 66 kB"]
    );
    let said = &ran.listener.preparing;
    assert!(
        said.contains(&"growing the file under test, alternating with a second file".to_owned()),
        "{said:?}"
    );
    let files = (1 << 20) + (2 << 20) + 2 * 65_536;
    let small = 65_536;
    let beside = ran.run.wear.written_bytes.0 - files - small;
    assert_eq!(beside, Bytes::from_mib(3).0, "what ran beside the reads");
}

#[test]
fn before_a_fill_only_files_that_a_test_needs_are_laid_out() {
    let fill = "[[step]]\nfill = \"large\"\n";
    let alone = ran(&steps(fill), MockWorld::default());
    assert!(!calls(&alone).iter().any(|call| call.starts_with("lay out")), "{:?}", calls(&alone));
    let text = format!("{fill}[[step]]\nmeasure = [\"small\"]\nstate = \"filled\"\n");
    let calls = calls(&ran(&steps(&text), MockWorld::default()));
    let laid_out: Vec<_> = calls.iter().filter(|call| call.starts_with("lay out")).collect();
    assert_eq!(laid_out, ["lay out Test 1.0 MB"]);
}

#[test]
fn a_fills_phase_has_the_size_of_its_files() {
    let ran = ran(&steps("[[step]]\nfill = \"large\"\n"), MockWorld::default());
    assert_eq!(ran.run.phases[0].span_bytes, Bytes::from_mib(64 - 16));
}

#[test]
fn each_half_of_a_mixed_test_is_an_operation_of_its_own_beside_the_other() {
    let durable = "read_percent = 50\ndurable = \"fdatasync\"";
    let text = measure("mixed").replacen("read_percent = 50", durable, 1);
    let ran = ran(&text, MockWorld::default());
    let [reads, writes] = ran.run.phases.as_slice() else { panic!() };
    assert_eq!((reads.durable, writes.durable), (Durability::None, Durability::Fdatasync));
    assert_eq!(reads.operation, Operation::RandomRead);
    assert_eq!(writes.operation, Operation::RandomWrite);
    assert_eq!(reads.background.as_deref(), Some("mixed_write"));
    assert_eq!(writes.background.as_deref(), Some("mixed_read"));
    for half in [reads, writes] {
        assert_eq!(half.mixed.map(|mixed| mixed.read_percent), Some(50));
    }
}

#[test]
fn what_was_read_back_is_summed_over_tests_and_the_first_wrong_block_is_kept_with_its_phase() {
    let text = steps("[[step]]\nmeasure = [\"small\"]\nstate = \"new\"\nrepeat = 2\n");
    let gone = DeviceError::os("read", "mock/test.dat", None, rustix::io::Errno::IO);
    let found = Verification {
        blocks: 10,
        mismatches: 2,
        unreadable: 3,
        error: Some(gone),
        ..Verification::default()
    };
    let world = MockWorld { reads_back: Some(found), ..MockWorld::default() };
    let mut work = work(&text, world, |request| request.verify = true);
    let scenario = work.request.scenario.clone();
    work.go_through(&tasks(&scenario), 0, &mut Listener::default()).unwrap();
    let kept = work.evidence.verified.unwrap();
    assert_eq!((kept.bytes, kept.wrong_blocks), (Bytes(2 * 10 * 4096), 2 * (2 + 3)));
    let first = kept.first_wrong.unwrap();
    assert!(first.starts_with("new: small: ") && first.contains("mock/test.dat"), "{first}");
    let unread = ran(&measure("small"), MockWorld::default());
    assert_eq!(unread.verified, None);
}

#[test]
fn a_test_ends_when_it_is_steady_only_where_it_was_to_run_until_then() {
    let limited = "operation = \"write\"\npattern = \"random\"\nblock = \"4KiB\"\nspan = \"1MiB\"\n\
                   time = \"60s\"\n";
    let ran_of = |until: &str| {
        let text = format!(
            "name = \"x\"\n[[io]]\nname = \"t\"\n{limited}{until}[[step]]\nmeasure = [\"t\"]\n"
        );
        ran(&text, MockWorld::default()).run.phases.remove(0)
    };
    let whole = ran_of("");
    assert!(whole.elapsed_ns >= Nanos::from_secs(60), "{}", whole.elapsed_ns);
    // Five rounds of 5 s are as even as can be.
    let steady = ran_of("until = \"steady\"\n");
    assert!((25..30).contains(&(steady.elapsed_ns.0 / 1_000_000_000)), "{}", steady.elapsed_ns);
    assert_eq!(steady.changes[0].kind, ChangeKind::SteadyState);
    // Rounds of 5 s if the test waits for a steady state, otherwise of a twentieth of the phase.
    let rounds = |phase: &flashlag_schema::Phase| phase.changes[0].detail.clone();
    assert!(rounds(&steady).contains("rounds of 5.0 s"), "{}", rounds(&steady));
    assert!(rounds(&whole).contains("rounds of 3.0 s"), "{}", rounds(&whole));
    // The phase may not end before it has moved this much: 128 MiB in blocks of 4 KiB take 32 s at
    // 1,000 operations a second.
    let more = ran_of("until = \"steady\"\nat_least = \"128MiB\"\n");
    assert!(more.elapsed_ns >= Nanos::from_secs(32), "{}", more.elapsed_ns);
    assert!(more.elapsed_ns < Nanos::from_secs(40), "{}", more.elapsed_ns);
}

#[test]
fn an_open_loop_has_responses_and_missed_slots_a_closed_one_has_none() {
    let closed = ran(&measure("small"), MockWorld::default()).run.phases.remove(0);
    assert!(closed.closed_loop && closed.response_ns.is_none() && closed.missed_slots.is_none());
    assert!(closed.response_histogram.is_none());
    let paced = measure("small").replacen(
        "bytes = \"64KiB\"",
        "bytes = \"64KiB\"\narrivals = { per_second = 100.0 }",
        1,
    );
    let open = ran(&paced, MockWorld::default()).run.phases.remove(0);
    assert!(!open.closed_loop && open.response_ns.is_some());
    assert_eq!(open.missed_slots, Some(0));
    let responses = open.response_histogram.unwrap().restore().unwrap();
    assert_eq!(responses.count(), open.ops);
}

#[test]
fn tests_of_one_state_that_are_skipped_for_different_reasons_are_each_named() {
    let text = steps("[[step]]\nmeasure = [\"small\", \"large\"]\nstate = \"new\"\n");
    let ran = ran_with(&text, MockWorld::default(), |request| {
        request.budget = Some(Bytes(4096));
    });
    assert_eq!(ran.run.skipped.len(), 2);
    assert_ne!(ran.run.skipped[0].reason, ran.run.skipped[1].reason);
    let said = ran.listener.notes.iter().filter(|note| note.contains("new tests skipped"));
    assert_eq!(said.count(), 2, "{:?}", ran.listener.notes);
}

#[test]
fn every_written_block_is_read_back_where_that_was_asked_for() {
    let world = MockWorld::default();
    let ran = ran_with(&measure("small"), world, |request| request.verify = true);
    let verified = ran.verified.expect("it was read back");
    // 16 random writes of 4 KiB, some of them to the same block.
    assert!((10..=16).contains(&(verified.bytes.0 / 4096)), "{}", verified.bytes);
    assert_eq!((verified.wrong_blocks, verified.first_wrong), (0, None));
}

#[test]
fn waits_as_long_as_all_others_are_no_stalls_and_an_interval_is_a_quarter_of_a_second() {
    let slow = MockWorld { service: Nanos::from_millis(25), ..MockWorld::default() };
    let phase = ran(&measure("small"), slow).run.phases.remove(0);
    assert_eq!((phase.ops, phase.stalls_seen), (16, 0));
    assert_eq!(phase.stall_over_ns, Nanos::from_millis(250), "ten times the median");
    let ends: Vec<u64> =
        phase.intervals.iter().map(|interval| interval.t_ns.0 / 1_000_000).collect();
    assert_eq!(ends, [250, 400], "of 400 ms, before the flush at the end");
}

#[test]
fn think_times_are_stored_beside_the_elapsed_time_that_contains_them() {
    let think = "bytes = \"64KiB\"\nthink = \"3ms\"";
    let text = steps("[[step]]\nmeasure = [\"small\"]\nstate = \"new\"\n");
    let ran = ran(&text.replacen("bytes = \"64KiB\"", think, 1), MockWorld::default());
    let phase = &ran.run.phases[0];
    let (each_ns, total_ns) = (Nanos::from_millis(3), Nanos::from_millis(15 * 3));
    assert_eq!(phase.think, Some(Think { each_ns, total_ns }));
    // Sixteen operations, a rest between each two, and the flush.
    assert_eq!(phase.elapsed_ns, Nanos(SERVICE.0 * 17).plus(total_ns));
    assert_eq!(phase.served_per_sec(), 16.0 / 0.017);
    assert!((phase.ops_per_sec - 16.0 / 0.062).abs() < 1e-9, "{}", phase.ops_per_sec);
    let said = "3.0 ms of think time after each operation, 45 ms together";
    assert!(phase.notes.iter().any(|note| note.contains(said)), "{:?}", phase.notes);
}

#[test]
fn a_phase_is_stored_with_its_io_as_that_was_really_done() {
    let how = Access {
        engine: EngineKind::Psync,
        direct: true,
        durable: Durability::Fdatasync,
        queue_depth: 3,
    };
    let world = || MockWorld { falls_back_to: Some(how), ..MockWorld::default() };
    let done = &ran(&measure("small"), world()).run.phases[0];
    assert_eq!((done.engine, done.direct), (how.engine, how.direct));
    assert_eq!((done.durable, done.queue_depth), (how.durable, how.queue_depth));
    let other = Access { engine: EngineKind::IoUring, direct: false, ..how };
    let world = MockWorld { falls_back_to: Some(other), ..MockWorld::default() };
    let done = &ran(&measure("small"), world).run.phases[0];
    assert_eq!((done.engine, done.direct), (EngineKind::IoUring, false));
}

#[test]
fn saves_are_stored_with_the_size_of_their_database_and_its_log() {
    let ran = ran(&measure("save"), MockWorld::default());
    let span = ran.run.phases[0].span_bytes;
    // Pages of 4 KiB, a header of 32 bytes, and frames of a page with 24 bytes each
    // (sqlite.org/fileformat2.html, section 4.1).
    let log = span.saturating_minus(Bytes(2 * 4096 + 32));
    assert!(log > Bytes::ZERO && log.0.is_multiple_of(4096 + 24), "{} bytes", span.0);
}

#[test]
fn a_save_of_several_statements_by_fsync_is_stored_as_one() {
    let changed = "statement = \"insert\"\nstatements = 4\nsync_call = \"fsync\"\nthink = \"1ms\"";
    let text = steps("[[step]]\nmeasure = [\"save\"]\nstate = \"new\"\n");
    let ran = ran(&text.replacen("statement = \"insert\"", changed, 1), MockWorld::default());
    let phase = &ran.run.phases[0];
    assert_eq!((phase.ops, phase.durable), (5, Durability::Fsync));
    assert_eq!(phase.bytes, Bytes(5 * 4 * 100));
    assert!(phase.thought() >= Nanos::from_millis(4), "SQLite is real here, and so is its clock");
}
