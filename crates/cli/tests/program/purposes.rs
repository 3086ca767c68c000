//! `flashlag run --for`: every purpose that is built in can be run and judged, each limit names who published it, and
//! the answer is in what is printed and in the exit status.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

use flashlag_runner::{PURPOSES, measured};
use flashlag_schema::Run;
use flashlag_spec::scenario::Scenario;
use flashlag_views::{PhaseName, Requires, Threshold, good_enough, other_purposes};

#[test]
fn every_purpose_requires_figures_that_its_own_tests_have_and_names_their_source() {
    for purpose in &PURPOSES {
        let scenario = Scenario::parse(purpose.text(), &[])
            .unwrap_or_else(|e| panic!("{}: {e}", purpose.name));
        assert_eq!(scenario.name, purpose.name);
        assert!(!scenario.requirements.is_empty(), "{}", purpose.name);
        let phases: Vec<PhaseName> = measured(&scenario)
            .into_iter()
            .map(|(state, run, test)| PhaseName { state, run, test })
            .collect();
        for requirement in &scenario.requirements {
            let named = format!("{}: {}", purpose.name, requirement.figure);
            let threshold = Threshold::of(requirement).unwrap_or_else(|e| panic!("{named}: {e}"));
            threshold.check(&phases).unwrap_or_else(|e| panic!("{named}: {e}"));
            assert!(requirement.source.len() > 10, "{named}: no source");
        }
    }
}

/// A run for a purpose, its exit status, and what was printed.
fn run_for(purpose: &str, on: &str) -> (Run, Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_flashlag"))
        .args(["run", "--for", purpose, "--on", on, "-o", "run.json"])
        .current_dir(&folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let stored = std::fs::read_to_string(folder.path().join("run.json"));
    let stored = stored.unwrap_or_else(|e| panic!("{e}: {said}"));
    (Run::from_json(&stored).unwrap(), output.status.code(), said.into_owned())
}

#[test]
fn a_storage_is_good_enough_or_not_by_the_published_limit_and_the_exit_status_says_so() {
    let (class, status, said) = run_for("sd-a1", "sim:sd-a1");
    assert_eq!(good_enough(&class).unwrap().verdict, Requires::Met, "{said}");
    assert_eq!(status, Some(0), "{said}");
    // Its figures answer for others, by their own limits.
    let rate = |name: &str| {
        let phase = class.phases.iter().find(|phase| phase.name == name).unwrap();
        phase.ops as f64 / phase.elapsed_ns.as_secs_f64()
    };
    let (reads, writes) = (rate("rand_read_4k"), rate("rand_write_4k"));
    let judged = other_purposes(&class).judged;
    for (purpose, least) in [("postgres", [1500.0, 1500.0]), ("sd-a2", [4000.0, 2000.0])] {
        let verdict = judged.iter().find(|one| one.purpose == purpose).unwrap().verdict;
        let is_less = reads < least[0] || writes < least[1];
        assert_eq!(verdict == Requires::NotMet, is_less, "{purpose}: {reads}, {writes}");
    }
    assert!(said.contains("By purpose: "), "{said}");
    // A card of another class, and an old tablet.
    for (purpose, on, figure) in [
        ("sd-a1", "sim:sd-c10", "4K rand write: rate is "),
        ("etcd", "sim:nexus7-2012", "append: p99 is "),
    ] {
        let (run, status, said) = run_for(purpose, on);
        assert_eq!(good_enough(&run).unwrap().verdict, Requires::NotMet, "{said}");
        assert_eq!(status, Some(1), "{said}");
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("Not good enough for {purpose}: {figure}")), "{words}");
        let source = &good_enough(&run).unwrap().requirements[0].source;
        assert!(words.contains(source.as_str()), "the source of the limit: {words}");
    }
}

/// What people run into: the class says nothing of the longest waits, which decide for etcd.
#[test]
fn a_card_that_reaches_its_class_stalls_etcd() {
    let (class, status, said) = run_for("sd-a1", "sim:sd-a1");
    assert_eq!(good_enough(&class).unwrap().verdict, Requires::Met, "{said}");
    assert_eq!(status, Some(0), "{said}");
    let (run, status, said) = run_for("etcd", "sim:sd-a1");
    assert_eq!(status, Some(1), "{said}");
    let answer = good_enough(&run).unwrap();
    let verdict = |figure: &str| {
        let required = answer.requirements.iter().find(|required| required.figure == figure);
        required.unwrap_or_else(|| panic!("{figure}: {answer:?}")).verdict
    };
    // Fast enough on average: it is the hundredth save that is late, by the card's own work.
    assert_eq!(verdict("append: rate"), Requires::Met, "{said}");
    assert_eq!(verdict("append: p99"), Requires::NotMet, "{said}");
    let phase = run.phases.iter().find(|phase| phase.name == "append").unwrap();
    let [p50, p99] = [phase.latency_ns.p50, phase.latency_ns.p99].map(|at| at.unwrap().0);
    assert!(p50 < 5_000_000 && p99 > 2 * p50, "{p50} ns, {p99} ns");
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Not good enough for etcd: append: p99 is "), "{words}");
}

#[test]
fn a_purpose_that_there_is_not_is_refused_with_those_that_there_are() {
    let output = Command::new(env!("CARGO_BIN_EXE_flashlag"))
        .args(["run", "--for", "etdc"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("home-assistant") && said.contains("'etcd'"), "{said}");
}

#[test]
fn of_a_directory_nothing_was_measured_so_every_purpose_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_flashlag"))
        .arg("explain")
        .arg(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let (names, _) = said.split_once(" is unknown: that was not measured").expect(&said);
    for purpose in &PURPOSES {
        assert!(names.contains(purpose.name), "{}: {said}", purpose.name);
    }
    assert!(said.contains("`flashlag run --for NAME`"), "{said}");
}
