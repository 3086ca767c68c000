//! Days of use that are simulated one by one, and those that are left out.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod sim_support;

use flashlag_runner::run;
use flashlag_runner::sim::{builtin_profile, simulate_days};
use flashlag_schema::Run;
use flashlag_schema::profile::Profile;
use flashlag_schema::scenario::Days;
use flashlag_schema::target::{Kind, MountSpec};
use sim_support::{Silent, request, small};

/// Four days, which begin with the steps 0, 3, 6 and 9, and what follows them.
fn life() -> (String, Days) {
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
    (text, Days { begin: vec![0, 3, 6, 9], end: 12, cycles: 0 })
}

fn lived(days: &Days, until: usize) -> (Run, usize) {
    let asked = request(&life().0, small("ext4", "512MiB"), 1);
    simulate_days(&asked, days, &mut Silent, &mut |_, lived| lived == until).unwrap()
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
fn cycles_that_are_behind_a_device_count_as_its_life() {
    let (text, days) = life();
    let profile = Profile::parse(builtin_profile("nexus7-2012").unwrap()).unwrap();
    let target = flashlag_runner::sim::SimTarget {
        text: "sim:worn+ext4".to_owned(),
        profile,
        mount: MountSpec::parse(Kind::Sim, "ext4").unwrap(),
    };
    let used = |cycles: u32| {
        let days = Days { cycles, ..days.clone() };
        let asked = request(&text, target.clone(), 1);
        let (run, _) = simulate_days(&asked, &days, &mut Silent, &mut |_, _| true).unwrap();
        *run.wear.life_percent.value().unwrap()
    };
    // Of 3000 rated ones.
    assert!((used(300) - used(0) - 10.0).abs() < 0.1, "{} {}", used(300), used(0));
}
