//! Checks what is stored about tasks: skips with their state, seeds, temperatures, durability.

use flashlag_spec::scenario::Durability;

use super::*;

#[test]
fn a_trim_that_is_refused_is_a_skip_of_the_trimmed_state_by_its_own_name() {
    let run = trimmed(Err("no right to trim"));
    let trim = &run.run.skipped[0];
    assert_eq!((trim.state, trim.step.as_str()), (State::Trimmed, "trim"));
    let said = &run.listener.notes;
    assert!(said.iter().any(|note| note == "trim skipped: no right to trim"), "{said:?}");
    assert!(run.run.skipped.iter().all(|skipped| skipped.state == State::Trimmed));
}

#[test]
fn a_test_has_another_seed_each_time_that_its_label_comes_again() {
    let again = "[[step]]\nmeasure = [\"small\"]\nstate = \"new\"\n".repeat(4);
    let ran = ran(&steps(&again), MockWorld::default());
    let mut seeds = ran.world.seeds.borrow().clone();
    assert_eq!(seeds.len(), 4);
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 4, "each writes other addresses");
}

#[test]
fn the_storages_temperature_is_in_each_interval() {
    let text = measure("small").replacen("bytes = \"64KiB\"", "bytes = \"4MiB\"", 1);
    let of = |temperature: Option<i64>| {
        let world = MockWorld { temperature, ..MockWorld::default() };
        let series = ran(&text, world).run.phases[0].intervals.clone();
        assert!(series.len() > 2, "a second of operations");
        series.iter().map(|interval| interval.temperature_millicelsius).collect::<Vec<_>>()
    };
    assert!(of(Some(41_500)).contains(&Some(41_500)));
    assert!(of(None).iter().all(Option::is_none));
}

#[test]
fn a_save_in_wal_mode_is_durable_by_itself_only_where_sqlite_syncs_each() {
    let with = |journal: &str, synchronous: &str| {
        let changed = format!("journal = \"{journal}\"\nsynchronous = \"{synchronous}\"");
        let text = measure("save").replacen("journal = \"wal\"", &changed, 1);
        ran(&text, MockWorld::default()).run.phases[0].durable
    };
    assert_eq!(with("wal", "normal"), Durability::None);
    assert_eq!(with("wal", "full"), Durability::Fdatasync);
    assert_eq!(with("delete", "normal"), Durability::Fdatasync);
}

#[test]
fn a_think_time_of_nothing_is_none() {
    let text =
        measure("small").replacen("bytes = \"64KiB\"", "bytes = \"64KiB\"\nthink = \"0s\"", 1);
    let phase = &ran(&text, MockWorld::default()).run.phases[0];
    assert_eq!(phase.think, None);
    assert!(phase.notes.iter().all(|note| !note.contains("think")), "{:?}", phase.notes);
}

#[test]
fn bytes_that_are_read_are_not_counted_as_written_and_written_ones_are() {
    let text = measure("small").replacen("operation = \"write\"", "operation = \"read\"", 1);
    let file = 1 << 20;
    assert_eq!(ran(&text, MockWorld::default()).run.wear.written_bytes.0, file);
    let written = ran(&measure("small"), MockWorld::default()).run.wear.written_bytes.0;
    assert_eq!(written, file + 64 * 1024);
}

#[test]
fn a_fill_that_can_not_be_made_again_is_an_error_of_the_continued_run() {
    let text = steps("[[step]]\nfill = \"large\"\n");
    let gone = DeviceError::os("find", "mock/fill-1", None, rustix::io::Errno::NOENT);
    let world = MockWorld { fill_fails: Some(gone), ..MockWorld::default() };
    let mut work = work(&text, world, |_| {});
    let scenario = work.request.scenario.clone();
    let error = work.fill_again(&tasks(&scenario), &mut Listener::default()).unwrap();
    assert!(error.as_ref().is_some_and(|error| error.contains("mock/fill-1")), "{error:?}");
}

#[test]
fn the_progress_of_a_phase_can_be_followed_while_the_phase_goes_on() {
    let text = measure("small").replacen("bytes = \"64KiB\"", "bytes = \"4MiB\"", 1);
    let ran = ran(&text, MockWorld::default());
    let progress = ran.listener.lives[0].snapshot();
    let done = &ran.run.phases[0];
    assert!(progress.ops > done.ops / 2 && progress.ops <= done.ops, "{}", progress.ops);
    assert_eq!(progress.bytes.0, 4096 * progress.ops);
}
