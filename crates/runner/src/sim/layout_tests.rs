//! Checks that all targets have the same layout: names and sizes of files, byte by byte.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;

use flashlag_engine::FileSet;
use flashlag_spec::scenario::{Scenario, Test};
use flashlag_units::Bytes;

use super::{SimTarget, Simulation, prepare};
use crate::estimate::estimate;
use crate::real::Files;
use crate::request::Request;
use crate::target::Target;
use crate::work::{Controls, FillOrder, Role, Work, World};
use crate::{BUILTINS, builtin};

fn simulated(scenario: &Scenario, target: &str) -> Work<Simulation> {
    let target = SimTarget::parse(target).unwrap();
    let asked = Request::new(scenario.clone(), Target::Simulated(target.clone()), 1);
    prepare(asked, &target).unwrap()
}

fn controls() -> Controls {
    Controls { seed: 1, stop: Arc::default(), budget: None, verify: false }
}

/// Name and size of each file of a simulation's set.
fn in_simulation(work: &Work<Simulation>, role: Role) -> Vec<(String, u64)> {
    let Some(kept) = &work.world.laid_out[role as usize] else { return Vec::new() };
    let named = |name: String| {
        let file = work.world.stack.find(&name).unwrap();
        (name, work.world.stack.size(file).0)
    };
    let beside = work.world.grown_beside.iter().filter(|_| role == Role::Grown);
    let of = |files: &super::SimFiles| {
        (0..files.set.count()).map(|index| files.set.name(index)).collect()
    };
    let mut names: Vec<String> =
        beside.chain([kept]).flat_map(|files| -> Vec<String> { of(files) }).collect();
    names.sort();
    names.into_iter().map(named).collect()
}

/// Name and size of each file in a directory.
fn in_directory(directory: &Path) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(directory).unwrap().map(Result::unwrap);
    let mut found: Vec<(String, u64)> = entries
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len()))
        .collect();
    found.sort();
    found
}

#[test]
fn a_span_is_the_same_files_in_a_simulation_and_in_a_directory() {
    let quick = Scenario::parse(builtin("quick").unwrap().text(), &[]).unwrap();
    for span in [1, 4096, 5000, 1_000_000, 3 << 20].map(Bytes) {
        for role in Role::ALL {
            let parent = tempfile::tempdir().unwrap();
            let mut files = Files::create(parent.path(), None).unwrap();
            let mut work = simulated(&quick, "sim:nexus5-2013+ext4,size=1GiB");
            let (set, written) = files.lay_out(role, span, &controls()).unwrap();
            let (_, simulated) = work.world.lay_out(role, span, &controls()).unwrap();
            assert_eq!(in_simulation(&work, role), in_directory(set.directory()), "{span:?}");
            assert_eq!(simulated, written, "{span:?}");
            assert!(files.remove().is_empty());
        }
    }
}

#[test]
fn every_built_in_scenario_has_the_files_that_a_directory_has() {
    for scenario in &BUILTINS {
        let parsed = Scenario::parse(scenario.text(), &[]).unwrap();
        let needs = estimate(&parsed, Bytes::from_mb(1));
        for (role, span) in [(Role::Test, needs.test_file), (Role::Background, needs.beside_file)] {
            if span == Bytes::ZERO {
                continue;
            }
            let mut work = simulated(&parsed, "sim:nexus5-2013+f2fs");
            assert_eq!(
                work.estimate,
                estimate(&parsed, work.world.free_at(&()).saturating_minus(work.leave()))
            );
            work.world.lay_out(role, span, &controls()).unwrap();
            let set = FileSet::new(Path::new("any"), role.name(), span);
            let expected: Vec<(String, u64)> =
                (0..set.count()).map(|index| (set.name(index), set.length(index).0)).collect();
            assert_eq!(in_simulation(&work, role), expected, "{}", scenario.name);
        }
    }
}

#[test]
fn a_span_of_more_than_two_gib_lies_in_several_files() {
    let quick = Scenario::parse(builtin("quick").unwrap().text(), &[]).unwrap();
    let mut work = simulated(&quick, "sim:nexus5-2013+ext4");
    work.world.lay_out(Role::Test, Bytes((5 << 30) + 5000), &controls()).unwrap();
    let names = ["test-0000.dat", "test-0001.dat", "test-0002.dat"];
    let sizes = [2 << 30, 2 << 30, (1 << 30) + 4096];
    let expected: Vec<_> = names.map(str::to_owned).into_iter().zip(sizes).collect();
    assert_eq!(in_simulation(&work, Role::Test), expected);
}

#[test]
fn a_fill_lies_in_files_of_two_gib_like_one_of_a_directory_and_all_are_deleted() {
    let fill = Scenario::parse(builtin("lifecycle").unwrap().text(), &[]).unwrap();
    let mut work = simulated(&fill, "sim:nexus5-2013+f2fs,size=8GiB");
    let filling = fill.tests.values().find_map(|test| match test {
        Test::Io(io) if io.operation.writes() && io.block.0 >= Bytes::from_kib(256) => Some(io),
        _ => None,
    });
    let room = work.world.free_at(&());
    let leave = room.saturating_minus(Bytes(5 << 30));
    let order = FillOrder { io: filling.unwrap(), leave, seed: 1, live: Arc::default() };
    let filled = work.world.fill(&(), order, &controls()).unwrap();
    assert_eq!(filled.span, Bytes(5 << 30));
    for (name, size) in ["fill0-1-0000.dat", "fill0-1-0001.dat", "fill0-1-0002.dat"]
        .into_iter()
        .zip([2u64 << 30, 2 << 30, 1 << 30])
    {
        let file = work.world.stack.find(name).unwrap();
        assert_eq!(work.world.stack.size(file).0, size, "{name}");
    }
    assert!(work.world.stack.find("fill0-1-0003.dat").is_none());
    work.world.delete_fills().unwrap();
    assert!(work.world.stack.find("fill0-1-0000.dat").is_none());
    assert!(work.world.free_at(&()) >= room.saturating_minus(Bytes::from_mib(16)), "all is free");
}
