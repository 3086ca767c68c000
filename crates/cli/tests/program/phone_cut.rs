//! Cables that are pulled in each phase of a run on a stand-in phone, at each request, and at any byte: what
//! was measured is taken whole, and the phone is left clean.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on fails")]

use crate::support::phone::{Bench, pixel, programs, text};
use flashlag_standin::{Kind, Way};

/// Three tests of a moment each.
fn brief(bench: &Bench) {
    let text = crate::support::phone::SHORT.replace("\"2s\"", "\"100ms\"").replace("1MiB", "64KiB");
    std::fs::write(bench.home.path().join("brief.toml"), text).unwrap();
}

/// What the client asks of the phone in a run of which nothing is left from before, in this order: each is
/// one stream of the cable.
const REQUESTS: [&str; 14] = [
    "what the phone is",
    "whether there is a folder",
    "making the folder, and keeping it",
    "the program",
    "the right to run the program",
    "the program's version",
    "the order",
    "the cost",
    "the start",
    "the run's steps",
    "the run file",
    "what is in the folder, before it is removed",
    "the removal of the files",
    "the removal of the folder",
];
/// The first request after which a run is under way.
const START: usize = 8;

/// Makes a run whose cable is pulled at one message, and what has to be done after it. Returns whether the
/// cable was pulled.
fn pulled_at(bench: &Bench, kind: Kind, way: Way, index: usize) -> bool {
    let at = format!("{kind:?} {way:?} {index}: {}", REQUESTS.get(index).unwrap_or(&"nothing"));
    let _ = std::fs::remove_file(bench.output());
    let before = bench.phone.cuts();
    bench.phone.cut_at(kind, way, index as u64);
    let words = ["brief.toml", "--on", "adb:"];
    let code = bench.begin(&words).wait().unwrap().code();
    bench.phone.keep();
    bench.adb.connect(&bench.phone).unwrap();
    let said = bench.log();
    let run = if matches!(code, Some(0 | 3)) {
        bench.taken()
    } else {
        assert!(index < START, "{at}: a run that has begun is not given up: {said}");
        assert!(said.contains("run the command again"), "{at}: {said}");
        bench.complete(bench.begin(&words))
    };
    assert_eq!(run.phases.len(), 3, "{at}");
    bench.phone.cuts() > before
}

#[test]
fn a_cable_pulled_at_each_request_before_the_start_costs_the_same_command_again() {
    let Some(bench) = Bench::of(pixel()) else { return };
    brief(&bench);
    for index in 0..START {
        assert!(pulled_at(&bench, Kind::Open, Way::ToPhone, index), "no request {index}");
    }
}

#[test]
fn a_cable_pulled_at_each_request_from_the_start_on_loses_nothing() {
    let Some(bench) = Bench::of(pixel()) else { return };
    brief(&bench);
    for index in START..REQUESTS.len() {
        assert!(pulled_at(&bench, Kind::Open, Way::ToPhone, index), "no request {index}");
    }
    let more = pulled_at(&bench, Kind::Open, Way::ToPhone, REQUESTS.len());
    assert!(!more, "a request without a name: {REQUESTS:?}");
}

/// Answers after which the phone has changed, so that asking again finds the change made: the program, the
/// start, the removals. The request that keeps the folder ends last.
const CHANGES: [usize; 4] = [2, START - 1, 11, 12];

#[test]
fn an_answer_that_is_lost_with_the_cable_is_asked_for_again() {
    let Some(bench) = Bench::of(pixel()) else { return };
    brief(&bench);
    for index in CHANGES {
        assert!(pulled_at(&bench, Kind::Close, Way::FromPhone, index), "no answer {index}");
    }
}

#[test]
fn a_cable_pulled_in_each_phase_loses_no_phase() {
    let Some(bench) = Bench::of(pixel()) else { return };
    let child = bench.begin(&["short.toml", "--on", "adb:"]);
    for (pulled, phase) in ["4K rand write", "WAL save", "4K rand read"].into_iter().enumerate() {
        bench.wait_for(phase, 1);
        bench.phone.cut();
        assert_eq!(bench.phone.cuts(), pulled as u64 + 1);
    }
    let run = bench.complete(child);
    let ops: Vec<_> = run.phases.iter().map(|phase| phase.ops).collect();
    assert!(ops.len() == 3 && ops.iter().all(|ops| *ops > 0), "{ops:?}");
}

/// Anywhere from the first question to the removal: what is put on the phone first is the program,
/// tens of megabytes here, so that some cuts are within that and some within the rest.
#[test]
fn a_cable_pulled_at_any_byte_loses_nothing_and_leaves_nothing_for_good() {
    let Some(bench) = Bench::of(pixel()) else { return };
    brief(&bench);
    let seed: u64 = std::env::var("FLASHLAG_TEST_SEED").map_or(1, |seed| seed.parse().unwrap());
    let program = std::fs::metadata(programs().join("flashlag-x86_64")).unwrap().len();
    for (index, share) in [0.0001, 0.5, 1.0001, 1.0003, 1.001].into_iter().enumerate() {
        let bytes = (program as f64 * share) as u64 + seed * 997 + index as u64;
        let _ = std::fs::remove_file(bench.output());
        bench.phone.cut_after(bytes);
        let mut child = bench.begin(&["brief.toml", "--on", "adb:", "--force"]);
        let code = child.wait().unwrap().code();
        let said = bench.log();
        bench.phone.keep();
        let _ = bench.adb.connect(&bench.phone);
        if matches!(code, Some(0 | 3)) {
            assert_eq!(bench.stored().phases.len(), 3, "seed {seed}, {bytes} bytes");
        } else {
            assert!(
                said.contains("adb") || said.contains("phone"),
                "seed {seed}, {bytes} bytes: {said}"
            );
            let cleaned = bench.command(&["clean", "adb:"]).output().unwrap();
            assert!(cleaned.status.success(), "seed {seed}, {bytes} bytes: {}", text(&cleaned));
        }
        bench.is_clean();
    }
}
