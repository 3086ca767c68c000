//! Many commands at once are what one after another is.

use std::num::NonZeroUsize;

use flashlag_flash::{Batch, Command, Flash, FlashError, Operation, model_of_size};
use flashlag_spec::profile::{Profile, builtin_profile};
use flashlag_units::{Bytes, Nanos};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

const PAGE: u64 = 4096;

fn flash() -> Flash {
    let profile = Profile::parse(builtin_profile("nexus5-2013").unwrap()).unwrap();
    let model = model_of_size(&profile, Some(Bytes::from_mib(512))).unwrap();
    Flash::new(&model, 1).unwrap()
}

fn operations(count: u64, pages: u64) -> Vec<Operation> {
    let mut random = Pcg64Mcg::seed_from_u64(5);
    let one = |number| {
        let offset = Bytes(random.random_range(0..pages) * PAGE);
        let length = Bytes(PAGE);
        let command = match random.random_range(0..8) {
            0 => Command::Read { offset, length },
            1 => Command::Flush,
            2 => Command::Discard { offset, length },
            _ => Command::Write { offset, length, fua: number % 5 == 0 },
        };
        Operation { command, at: Nanos(number * 100_000) }
    };
    (0..count).map(one).collect()
}

fn closed(depth: usize) -> Batch {
    Batch::Closed(NonZeroUsize::new(depth).unwrap())
}

fn all(flash: &mut Flash, batch: Batch, operations: &[Operation]) -> (Vec<Nanos>, Nanos) {
    let mut latencies = Vec::new();
    let ended = flash.submit_all(Nanos(7), batch, operations, &mut latencies).unwrap();
    (latencies, ended)
}

#[test]
fn a_closed_batch_of_depth_one_is_a_loop_that_waits_for_each_command() {
    let (mut one, mut other) = (flash(), flash());
    let operations = operations(20_000, 20_000);
    let (latencies, ended) = all(&mut one, closed(1), &operations);
    let mut at = Nanos(7);
    for (operation, latency) in operations.iter().zip(&latencies) {
        let end = other.submit(at, operation.command).unwrap().ended;
        assert_eq!(end.since(at), *latency);
        at = end;
    }
    assert_eq!((latencies.len(), ended), (20_000, at));
    assert_eq!(one.stats(), other.stats());
}

#[test]
fn never_more_than_the_depth_are_in_flight_and_a_place_that_is_free_is_taken_at_once() {
    let operations = operations(3_000, 20_000);
    let depth = 4;
    let mut other = flash();
    let (latencies, _) = all(&mut flash(), closed(depth), &operations);
    // The same by a list of ends that is searched anew for each command.
    let mut ends: Vec<Nanos> = Vec::new();
    let mut at = Nanos(7);
    for (operation, latency) in operations.iter().zip(&latencies) {
        if ends.len() == depth {
            let first = ends.iter().copied().min().unwrap();
            ends.remove(ends.iter().position(|end| *end == first).unwrap());
            at = at.max(first);
        }
        let end = other.submit(at, operation.command).unwrap().ended;
        assert_eq!(end.since(at), *latency);
        ends.push(end);
    }
}

#[test]
fn of_a_schedule_each_command_comes_at_its_time_and_waits_count_from_then() {
    let operations = operations(3_000, 20_000);
    let (latencies, _) = all(&mut flash(), Batch::Scheduled, &operations);
    let mut other = flash();
    for (operation, latency) in operations.iter().zip(&latencies) {
        let at = operation.at.max(Nanos(7));
        assert_eq!(other.submit(at, operation.command).unwrap().ended.since(at), *latency);
    }
}

#[test]
fn a_command_that_fails_ends_the_batch_with_its_index_and_those_before_it_count() {
    let mut flash = flash();
    let mut operations = operations(100, 20_000);
    let (offset, length) = (flash.capacity(), Bytes(PAGE));
    operations[70].command = Command::Read { offset, length };
    let mut latencies = Vec::new();
    let refused = flash.submit_all(Nanos::ZERO, closed(1), &operations, &mut latencies);
    let error = refused.unwrap_err();
    assert_eq!((error.index, latencies.len()), (70, 70));
    assert!(matches!(error.source, FlashError::Range { operation: "read", .. }), "{error}");
    assert!(error.to_string().starts_with("operation 70: read of 4096 bytes"), "{error}");
}
