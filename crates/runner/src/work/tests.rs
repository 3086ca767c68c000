//! Tests the recipes on a mock world: the order of actions, and what is counted.

mod kept;
mod stored;

use std::sync::Arc;

use flashlag_device::DeviceError;
use flashlag_schema::{Run, RunStatus};
use flashlag_spec::State;
use flashlag_stats::Stop;
use flashlag_units::{Bytes, Nanos};

use super::Trimmed;
use super::mock::{Listener, MockWorld, SERVICE, work};
use crate::request::Request;
use crate::task::tasks;

const TESTS: &str = r#"
name = "mock"

[[io]]
name = "small"
operation = "write"
pattern = "random"
block = "4KiB"
span = "1MiB"
bytes = "64KiB"

[[io]]
name = "large"
operation = "write"
pattern = "sequential"
block = "64KiB"
span = "8MiB"
bytes = "640KiB"

[[io]]
name = "mixed"
operation = "mixed"
read_percent = 50
pattern = "random"
block = "4KiB"
span = "1MiB"
bytes = "256KiB"

[[io]]
name = "stream"
operation = "write"
pattern = "sequential"
block = "64KiB"
span = "2MiB"

[[io]]
name = "read"
operation = "read"
pattern = "random"
block = "4KiB"
span = "1MiB"
bytes = "64KiB"
background = "stream"

[[save]]
name = "save"
statement = "insert"
journal = "wal"
rows = 10
saves = 5
background = "stream"

"#;

fn measure(test: &str) -> String {
    format!("{TESTS}[[step]]\nmeasure = [\"{test}\"]\nstate = \"new\"\n")
}

fn steps(steps: &str) -> String {
    format!("{TESTS}{steps}")
}

struct Ran {
    run: Run,
    world: MockWorld,
    listener: Listener,
    /// Whether counters at both edges are kept, phase by phase.
    edges: Vec<bool>,
    fills: Vec<flashlag_trust::Fill>,
    verified: Option<flashlag_trust::Verification>,
}

fn ran_with(scenario: &str, world: MockWorld, change: impl FnOnce(&mut Request)) -> Ran {
    let mut work = work(scenario, world, change);
    let mut listener = Listener::default();
    let scenario = work.request.scenario.clone();
    let status = work.go_through(&tasks(&scenario), 0, &mut listener).unwrap();
    work.run.status = status;
    let edges = work.evidence.phases.iter().map(Option::is_some).collect();
    let (fills, verified) = (work.evidence.fills, work.evidence.verified);
    Ran { run: work.run, world: work.world, listener, edges, fills, verified }
}

fn ran(scenario: &str, world: MockWorld) -> Ran {
    ran_with(scenario, world, |_| {})
}

fn calls(ran: &Ran) -> Vec<String> {
    ran.world.calls.borrow().clone()
}

#[test]
fn a_test_is_laid_out_opened_and_driven_between_two_readings_of_the_counters() {
    let ran = ran(&measure("read"), MockWorld::default());
    assert_eq!(
        calls(&ran),
        [
            "lay out Test 1.0 MB",
            "open",
            "lay out Background 2.1 MB",
            "start background stream",
            "begin new: read",
            "counters Begin",
            "drive read",
            "counters End",
            "end background",
        ]
    );
    assert_eq!(ran.run.status, RunStatus::Complete);
    assert_eq!(ran.listener.beside, 1, "its progress is shown");
}

#[test]
fn databases_are_made_before_the_background_starts_and_counters_are_read_before_they_are_closed() {
    let ran = ran(&measure("save"), MockWorld::default());
    assert_eq!(
        calls(&ran),
        [
            "make databases",
            "lay out Background 2.1 MB",
            "start background stream",
            "begin new: save",
            "counters Begin",
            "counters End",
            "end background",
            "remove databases",
        ]
    );
    let [phase] = ran.run.phases.as_slice() else { panic!("{:?}", ran.run.phases.len()) };
    assert_eq!(phase.ops, 5);
    assert!(phase.notes.iter().any(|note| note.contains("the background moved 3.1 MB")));
}

#[test]
fn what_is_laid_out_measured_and_moved_in_the_background_counts_as_written() {
    let ran = ran(&measure("read"), MockWorld::default());
    // Reads write nothing: the file under test, the background's file and what the background moved.
    let laid_out = Bytes::from_mib(1).plus(Bytes::from_mib(2));
    assert_eq!(ran.run.wear.written_bytes, laid_out.plus(Bytes::from_mib(3)));
    let written = super::tests::ran(&measure("small"), MockWorld::default());
    let expected = Bytes::from_mib(1).plus(Bytes(64 << 10));
    assert_eq!(written.run.wear.written_bytes, expected);
    assert_eq!(written.listener.wrote.last(), Some(&expected), "the last sum that was reported");
}

#[test]
fn saves_count_what_sqlite_wrote_from_the_first_row_to_the_closed_database() {
    let ran = ran(&measure("save"), MockWorld::default());
    let beside = Bytes::from_mib(2).plus(Bytes::from_mib(3));
    let by_sqlite = ran.run.wear.written_bytes.saturating_minus(beside);
    let phase = &ran.run.phases[0];
    let in_phase = phase.ledger.syscall_bytes.value().copied().unwrap();
    // The database's first pages and the checkpoint at its end belong to no save.
    assert!(by_sqlite > in_phase, "{by_sqlite} of which {in_phase} in saves");
}

#[test]
fn every_test_finds_a_file_as_large_as_the_largest_test_needs_and_laid_out_once() {
    let text = steps("[[step]]\nmeasure = [\"small\", \"large\"]\nstate = \"new\"\nrepeat = 2\n");
    let laid_out: Vec<_> = calls(&ran(&text, MockWorld::default()))
        .into_iter()
        .filter(|call| call.starts_with("lay out"))
        .collect();
    assert_eq!(laid_out, ["lay out Test 8.4 MB"]);
}

#[test]
fn both_halves_of_a_mixed_test_are_phases_with_the_counters_of_one() {
    let ran = ran(&measure("mixed"), MockWorld::default());
    let names: Vec<_> = ran.run.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["mixed_read", "mixed_write"]);
    assert_eq!(ran.edges, [true, true]);
    let ops: u64 = ran.run.phases.iter().map(|phase| phase.ops).sum();
    assert_eq!(ops, 64);
    // The counters saw the whole test's writes; the write half moved exactly those.
    let writes = &ran.run.phases[1];
    assert_eq!(writes.ledger.block_bytes.value(), Some(&writes.bytes));
}

#[test]
fn a_phase_begins_when_its_first_operation_may_and_lasts_as_long_as_its_operations() {
    let text = steps("[[step]]\nmeasure = [\"small\", \"small\"]\nstate = \"new\"\n");
    let ran = ran(&text, MockWorld::default());
    let each = Nanos(SERVICE.0 * 16);
    let flush = SERVICE;
    let began: Vec<_> = ran.run.phases.iter().map(|phase| phase.began_ns).collect();
    assert_eq!(began, [Nanos::ZERO, each.plus(flush)]);
    assert!(ran.run.phases.iter().all(|phase| phase.elapsed_ns == each.plus(flush)));
    assert!(ran.run.phases.iter().all(|phase| phase.final_flush_ns == Some(flush)));
    let reason = "virtual time: nobody waits for a CPU";
    assert_eq!(ran.run.phases[0].time.reason(), Some(reason));
}

#[test]
fn a_task_has_the_same_seed_whatever_comes_before_it() {
    let alone = ran(&measure("mixed"), MockWorld::default());
    let text = steps("[[step]]\nmeasure = [\"read\", \"mixed\"]\nstate = \"new\"\n");
    let after = ran(&text, MockWorld::default());
    assert_eq!(alone.run.phases[0].ops, after.run.phases[1].ops, "which operations read is drawn");
    let [read, mixed] = after.world.seeds.take()[1..] else { panic!("a background and two tests") };
    assert_eq!(alone.world.seeds.take(), [mixed]);
    assert_ne!(read, mixed, "each task has its own");
    let other = ran_with(&measure("mixed"), MockWorld::default(), |request| request.seed = 8);
    assert_ne!(other.world.seeds.take(), [mixed], "and so has each run");
}

#[test]
fn where_the_budget_is_too_small_for_a_file_the_test_is_skipped_and_the_run_goes_on() {
    let text = steps("[[step]]\nmeasure = [\"large\", \"save\"]\nstate = \"new\"\n");
    let ran = ran_with(&text, MockWorld::default(), |request| {
        request.budget = Some(Bytes::from_mib(6));
    });
    let [skipped] = ran.run.skipped.as_slice() else { panic!("{:?}", ran.run.skipped) };
    assert!(skipped.reason.contains("--budget 6.3 MB is used up"), "{}", skipped.reason);
    assert!(skipped.reason.contains("the file under test takes 8.4 MB"), "{}", skipped.reason);
    assert_eq!(ran.run.phases.len(), 1, "the saves fit");
    assert_eq!(ran.run.status, RunStatus::Complete);
}

#[test]
fn a_test_ends_where_its_next_write_would_exceed_the_budget_and_says_so() {
    let budget = Bytes::from_mib(1).plus(Bytes(10 * 4096));
    let ran = ran_with(&measure("small"), MockWorld::default(), |request| {
        request.budget = Some(budget);
    });
    let [phase] = ran.run.phases.as_slice() else { panic!("{:?}", ran.run.skipped) };
    assert_eq!((phase.ops, ran.run.wear.written_bytes), (10, budget));
    let note = "it ended early: --budget 1.1 MB was used up";
    assert!(phase.notes.iter().any(|kept| kept == note), "{:?}", phase.notes);
}

#[test]
fn a_budget_counts_what_an_earlier_process_wrote() {
    let mut earlier = ran(&measure("small"), MockWorld::default()).run;
    earlier.wear.written_bytes = Bytes::from_mib(5);
    let mut work = work(&measure("small"), MockWorld::default(), |request| {
        request.budget = Some(Bytes::from_mib(5));
    });
    work.run = earlier;
    let run = work.run.clone();
    let again = super::Work::new(work.request, run, work.world, work.estimate, Bytes::ZERO);
    assert_eq!(again.controls.budget.map(|budget| budget.left()), Some(Bytes::ZERO));
    assert_eq!(again.evidence.phases.len(), 1);
    assert!(again.evidence.phases[0].is_none(), "its counters died with that process");
}

#[test]
fn files_are_laid_out_before_a_fill_and_the_fill_is_evidence() {
    let text =
        steps("[[step]]\nfill = \"large\"\n[[step]]\nmeasure = [\"read\"]\nstate = \"filled\"\n");
    let ran = ran(&text, MockWorld::default());
    let calls = calls(&ran);
    let place = |call: &str| {
        calls.iter().position(|one| one == call).unwrap_or_else(|| panic!("{call}: {calls:?}"))
    };
    let fill = place("fill, leaving 17 MB");
    assert!(place("lay out Test 1.0 MB") < fill && place("lay out Background 2.1 MB") < fill);
    assert_eq!(ran.run.phases[0].label(), "filled 1: large");
    let [fill] = ran.fills.as_slice() else { panic!("{:?}", ran.fills) };
    assert!(!fill.no_space);
    assert_eq!(
        (fill.leave, fill.free),
        (Bytes::from_mib(16), Bytes::from_mib(64).saturating_minus(Bytes(640 << 10)))
    );
}

#[test]
fn a_fill_that_meets_full_storage_has_done_its_work_and_says_where() {
    let world = MockWorld { full_after: Some(Bytes(128 << 10)), ..MockWorld::default() };
    let ran = ran(&steps("[[step]]\nfill = \"large\"\n"), world);
    assert_eq!(ran.run.status, RunStatus::Complete);
    let [phase] = ran.run.phases.as_slice() else { panic!() };
    assert!(!phase.cut_short);
    assert!(phase.notes.iter().any(|note| note.contains("when no more could be written")));
    assert!(ran.fills[0].no_space);
}

fn trimmed(answer: Result<Trimmed, &'static str>) -> Ran {
    let text =
        steps("[[step]]\ntrim = true\n[[step]]\nmeasure = [\"small\"]\nstate = \"trimmed\"\n");
    ran(&text, MockWorld { trimmed: answer, ..MockWorld::default() })
}

#[test]
fn a_test_after_a_trim_is_measured_only_if_free_space_was_reported_to_the_device() {
    let bytes = |bytes, discards_at_once| Ok(Trimmed { bytes: Bytes(bytes), discards_at_once });
    assert_eq!(trimmed(bytes(1, false)).run.phases.len(), 1);
    let discarded = trimmed(bytes(0, true)).run;
    assert_eq!(discarded.phases.len(), 1);
    assert!(discarded.downgrades[0].effective.contains("discarded before"));
    for refused in [bytes(0, false), Err("no right to trim")] {
        let run = trimmed(refused).run;
        assert_eq!(run.phases.len(), 0);
        assert_eq!(run.skipped.len(), 2, "the trim, and the test after it: {:?}", run.skipped);
    }
}

#[test]
fn a_phase_on_files_that_are_gone_fails_and_is_done_again_by_a_continued_run() {
    let gone = DeviceError::os("find", "mock/test.dat", None, rustix::io::Errno::NOENT);
    let world = MockWorld { gone_after_phase: Some(gone), ..MockWorld::default() };
    let ran = ran(&measure("small"), world);
    let RunStatus::Failed { next_step: 0, error } = &ran.run.status else {
        panic!("{:?}", ran.run.status)
    };
    assert!(error.contains("mock/test.dat"), "{error}");
    assert!(ran.run.phases[0].cut_short);
}

#[test]
fn moments_in_which_the_process_stood_still_are_summed_in_the_phase_they_fall_in() {
    let stop = |from, to| Stop { from: Nanos::from_millis(from), to: Nanos::from_millis(to) };
    let world =
        MockWorld { stops: Some(vec![stop(2, 5), stop(90_000, 91_000)]), ..MockWorld::default() };
    let ran = ran(&measure("small"), world);
    assert_eq!(ran.run.phases[0].stopped_ns, Some(Nanos::from_millis(3)));
    let unknown = super::tests::ran(&measure("small"), MockWorld::default());
    assert_eq!(unknown.run.phases[0].stopped_ns, None);
}

#[test]
fn a_worlds_note_is_in_every_phase() {
    let noted = || MockWorld { phase_note: Some("10 times".to_owned()), ..MockWorld::default() };
    for test in ["small", "save", "mixed"] {
        let run = ran(&measure(test), noted()).run;
        let has = |notes: &[String]| notes.iter().any(|note| note == "10 times");
        assert!(run.phases.iter().all(|phase| has(&phase.notes)), "{test}");
    }
}

#[test]
fn a_stop_between_tasks_keeps_what_was_done_and_names_the_next_step() {
    let text = steps("[[step]]\nmeasure = [\"small\", \"large\"]\nstate = \"new\"\n");
    let mut work = work(&text, MockWorld::default(), |_| {});
    let stop_after = Some((1, Arc::clone(&work.request.stop)));
    let mut listener = Listener { stop_after, ..Listener::default() };
    let scenario = work.request.scenario.clone();
    let status = work.go_through(&tasks(&scenario), 0, &mut listener).unwrap();
    assert_eq!(status, RunStatus::Interrupted { next_step: 1 });
    assert_eq!(listener.finished, ["new: small"]);
}

#[test]
fn a_stop_within_a_phase_keeps_the_phase_which_a_continued_run_does_again() {
    let mut work = work(&measure("large"), MockWorld::default(), |_| {});
    let stop_within = Some(Arc::clone(&work.request.stop));
    let mut listener = Listener { stop_within, ..Listener::default() };
    let scenario = work.request.scenario.clone();
    let status = work.go_through(&tasks(&scenario), 0, &mut listener).unwrap();
    assert_eq!(status, RunStatus::Interrupted { next_step: 0 });
    assert!(work.run.phases.iter().all(|phase| phase.cut_short && phase.ops < 10));
    assert_eq!(work.run.phases.len(), 1);
}

#[test]
fn an_idle_wait_that_ends_early_reaches_no_idle_state() {
    let text = steps("[[step]]\nidle = \"1h\"\n");
    let world = MockWorld { idle_ends_early: true, ..MockWorld::default() };
    assert!(ran(&text, world).run.skipped[0].reason.contains("stopped before"));
    let waited = ran(&text, MockWorld::default());
    assert!(waited.run.skipped.is_empty());
    assert_eq!(super::World::now(&waited.world), Nanos::from_secs(3600));
}

#[test]
fn tests_of_a_state_that_are_skipped_for_one_reason_are_named_once_and_all_recorded() {
    let text = steps("[[step]]\nmeasure = [\"small\", \"large\"]\nstate = \"idle\"\n");
    let ran = ran(&text, MockWorld::default());
    assert_eq!(ran.run.skipped.len(), 2);
    assert!(ran.run.skipped.iter().all(|skipped| skipped.state == State::Idle));
    let said = ran.listener.notes.iter().filter(|note| note.contains("idle tests skipped"));
    assert_eq!(said.count(), 1, "{:?}", ran.listener.notes);
}

#[test]
fn a_continued_run_fills_the_storage_again_without_a_phase_of_it() {
    let text =
        steps("[[step]]\nfill = \"large\"\n[[step]]\nmeasure = [\"small\"]\nstate = \"filled\"\n");
    let mut work = work(&text, MockWorld::default(), |_| {});
    let scenario = work.request.scenario.clone();
    let tasks = tasks(&scenario);
    let mut listener = Listener::default();
    assert_eq!(work.fill_again(&tasks[..1], &mut listener).unwrap(), None);
    assert_eq!((work.run.phases.len(), work.evidence.phases.len()), (0, 0));
    assert!(listener.notes[0].contains("filling the storage again"));
    assert_eq!(work.go_through(&tasks, 1, &mut listener).unwrap(), RunStatus::Complete);
    assert_eq!(work.run.phases.len(), 1);
    // After a delete there is nothing to fill again.
    let deleted = steps("[[step]]\nfill = \"large\"\n[[step]]\ndelete = true\n");
    let mut work = super::mock::work(&deleted, MockWorld::default(), |_| {});
    let scenario = work.request.scenario.clone();
    let both = crate::task::tasks(&scenario);
    assert_eq!(work.fill_again(&both, &mut listener).unwrap(), None);
    assert!(work.world.calls.borrow().is_empty());
}
