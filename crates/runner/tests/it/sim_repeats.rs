//! Repeated parts of a scenario: those that are simulated one by one, and those that are left out.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use crate::sim_support::{Silent, request, small};
use flashlag_runner::sim::{builtin_profile, simulate_repeats};
use flashlag_runner::{Request, RunFile, run};
use flashlag_schema::Run;
use flashlag_spec::profile::Profile;
use flashlag_spec::scenario::{After, Stretch};
use flashlag_spec::target::{Kind, MountSpec};

const END: After = After::End { cycles: 0 };

/// Four days, which begin with the steps 0, 3, 6 and 9, and what follows them.
fn life() -> (String, [Stretch; 1]) {
    let mut text = "name = \"days\"\nabout = \"\"\n\
         [[io]]\nname = \"w\"\noperation = \"write\"\npattern = \"random\"\nblock = \"4KiB\"\n\
         span = \"64MiB\"\nbytes = \"4MiB\"\n"
        .to_owned();
    for _ in 0..4 {
        text.push_str(
            "[[step]]\nmeasure = [\"w\"]\nstate = \"filled\"\nrepeat = 2\n\
             [[step]]\nidle = \"1h\"\n[[step]]\ntrim = true\n",
        );
    }
    text.push_str("[[step]]\nmeasure = [\"w\"]\nstate = \"new\"\n");
    let days = Stretch { begin: vec![0, 3, 6, 9], end: 12, scatter: false };
    (text, [days])
}

fn lived(days: &[Stretch], until: usize) -> (Run, usize) {
    let asked = request(&life().0, small("ext4", "512MiB"), 1);
    let mut follow = |_: &Run, _: usize, lived: usize| {
        if lived == until { After::End { cycles: 0 } } else { After::Next }
    };
    let (run, counts) = simulate_repeats(&asked, days, &mut Silent, &mut follow).unwrap();
    (run, counts[0])
}

#[test]
fn days_of_which_none_is_left_out_are_the_whole_run() {
    let (text, days) = life();
    let whole = run(request(&text, small("ext4", "512MiB"), 1), &mut Silent).unwrap();
    let (run, count) = lived(&days, usize::MAX);
    assert_eq!(count, 4);
    assert!(run.phases == whole.phases, "other figures");
    assert_eq!(run.status, whole.status);
}

#[test]
fn days_that_are_left_out_leave_those_before_them_as_they_were() {
    let (_, days) = life();
    let (whole, _) = lived(&days, usize::MAX);
    let (run, count) = lived(&days, 2);
    assert_eq!((count, run.phases.len()), (2, 5));
    assert!(run.phases[..4] == whole.phases[..4], "other figures");
    assert_eq!(run.phases[4].state, whole.phases[8].state, "what follows the days is done");
}

#[test]
fn a_life_that_is_simulated_is_not_stored() {
    let (text, days) = life();
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("run.json");
    let asked = Request {
        output: Some(Arc::new(RunFile::new(&output, false).unwrap())),
        ..request(&text, small("ext4", "512MiB"), 1)
    };
    let (run, _) = simulate_repeats(&asked, &days, &mut Silent, &mut |_, _, _| END).unwrap();
    assert_eq!(run.phases.len(), 3);
    assert!(!output.exists());
}

#[test]
fn cycles_of_the_parts_left_out_count_as_life_of_a_map_of_pages_and_of_log_blocks() {
    let (text, days) = life();
    // The card with a rating, as it has none of its own.
    let rated = "[wear]\nendurance = { value = 3000, source = \"assumed\" }\n";
    let card = builtin_profile("sd-c10").unwrap().to_owned();
    let card = if card.contains("\n[wear]\n") { card } else { card + "\n" + rated };
    for text_of in [builtin_profile("nexus7-2012").unwrap().to_owned(), card] {
        let profile = Profile::parse(&text_of).unwrap();
        let rated = f64::from(profile.model().unwrap().wear.endurance.unwrap());
        let mount = MountSpec::parse(Kind::Sim, "ext4").unwrap();
        let target = flashlag_runner::sim::SimTarget {
            text: "sim:worn+ext4".to_owned(),
            ..flashlag_runner::sim::SimTarget::new(&profile, &mount)
        };
        let used = |cycles: u32| {
            let asked = request(&text, target.clone(), 1);
            let mut follow = |_: &Run, _: usize, _: usize| After::End { cycles };
            let (run, _) = simulate_repeats(&asked, &days, &mut Silent, &mut follow).unwrap();
            *run.wear.life_percent.value().unwrap()
        };
        let (worn, new) = (used(300), used(0));
        assert!((worn - new - 100.0 * 300.0 / rated).abs() < 0.1, "{worn} {new}");
    }
}

/// A file of 7/8 of a device, and rounds of random writes to it that never end early.
#[test]
fn a_stretch_that_begins_scattered_costs_from_the_start_what_it_costs_in_the_end() {
    let rounds = 32;
    let mut text = "name = \"rounds\"\nabout = \"\"\n\
         [[io]]\nname = \"w\"\noperation = \"write\"\npattern = \"random\"\nblock = \"4KiB\"\n\
         span = \"448MiB\"\nbytes = \"16MiB\"\n"
        .to_owned();
    for _ in 0..rounds {
        text.push_str("[[step]]\nmeasure = [\"w\"]\nstate = \"filled\"\n");
    }
    let amplification = |scatter: bool| -> Vec<f64> {
        let stretch = Stretch { begin: (1..rounds).collect(), end: rounds, scatter };
        let target = flashlag_runner::sim::SimTarget::parse("nexus5-2013+raw,size=512MiB").unwrap();
        let asked = request(&text, target, 1);
        let (run, counts) =
            simulate_repeats(&asked, &[stretch], &mut Silent, &mut |_, _, _| After::Next).unwrap();
        assert_eq!(counts, [rounds - 1]);
        let written = |phase: &flashlag_schema::Phase| {
            let ledger = &phase.ledger;
            let device = ledger.device_bytes.value().unwrap().0 as f64;
            device / ledger.block_bytes.value().unwrap().0 as f64
        };
        run.phases.iter().skip(1).map(written).collect()
    };
    let (long, short) = (amplification(false), amplification(true));
    let end = long.last().unwrap();
    assert!(long[0] < 0.8 * end, "no state to come to: {long:.2?}");
    let all = short.iter().chain([end]).copied();
    let (least, most) =
        all.fold((f64::MAX, 0.0_f64), |(least, most), cost| (least.min(cost), most.max(cost)));
    assert!(most / least < 1.1, "{short:.2?} beside {end:.2}");
}
