//! Thresholds: what is accepted, what is decided, and that nothing absent ever passes.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use flashlag_schema::Run;
use flashlag_spec::State;
use flashlag_testing::sample;
use flashlag_views::{PhaseName, Threshold, ThresholdError};

fn outcome(run: &Run, text: &str) -> (bool, String) {
    let outcome = text.parse::<Threshold>().unwrap().evaluate(run).unwrap();
    (outcome.crossed, outcome.message)
}

fn error(text: &str) -> String {
    match text.parse::<Threshold>() {
        Err(error) => error.to_string(),
        Ok(threshold) => threshold.evaluate(&sample::quick()).unwrap_err().to_string(),
    }
}

#[test]
fn a_test_name_means_every_stage_of_it() {
    let run = sample::lifecycle();
    let (crossed, message) = outcome(&run, "rand_write_4k.p99>100ms");
    assert!(crossed);
    assert_eq!(message.lines().count(), 7, "{message}");
    assert!(message.starts_with("filled 1: rand_write_4k: p99 is "), "{message}");
    assert!(message.contains("above the limit of 100 ms"), "{message}");
    assert!(message.ends_with("not above 100 ms"), "{message}");
}

#[test]
fn a_stage_can_be_named_as_in_the_file_or_with_dots() {
    let run = sample::lifecycle();
    for phase in ["filled 2: rand_write_4k", "filled.2.rand_write_4k"] {
        let (_, message) = outcome(&run, &format!("{phase}.p50>1ms"));
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.starts_with("filled 2: rand_write_4k: p50 is "), "{message}");
    }
    // A run of one stage names its tests alone.
    let quick = outcome(&sample::quick(), "new: rand_write_4k.p50>1ms").1;
    assert!(quick.starts_with("rand_write_4k: p50 is "), "{quick}");
    for phase in ["new: rand_write_4k", "new.rand_write_4k"] {
        assert!(!outcome(&run, &format!("{phase}.p99<1us")).0);
    }
    assert_eq!(outcome(&run, "filled.rand_write_4k.p50>1s").1.lines().count(), 3);
}

#[test]
fn every_metric_has_its_unit() {
    let run = sample::lifecycle();
    for (threshold, crossed) in [
        ("rand_read_4k.ops_per_sec<100", false),
        ("rand_read_4k.ops_per_sec>100", true),
        ("seq_read_256k.bytes_per_sec<1GB", true),
        ("seq_read_256k.bytes_per_sec<1MB/s", false),
        ("filled.3.save_delete.over_60hz>50%", true),
        ("filled.3.save_delete.over_60hz > 0.99", false),
        ("new.save_wal.p99.9>10s", false),
        ("new.save_wal.max<10s", true),
        ("new.save_wal.mean > 1 ms", true),
    ] {
        assert_eq!(outcome(&run, threshold).0, crossed, "{threshold}");
    }
}

#[test]
fn mistakes_name_what_is_allowed() {
    for (threshold, expected) in [
        ("rand_write_4k", "PHASE.METRIC>VALUE"),
        ("rand_write_4k>20ms", "no metric"),
        ("rand_write_4k.p98>20ms", "p50, p90, p99, p999"),
        ("rand_write_4k.p99>20", "no unit"),
        ("rand_write_4k.p99>=20ms", "without ="),
        ("rand_write_4k.over_60hz>150%", "not a share"),
        ("rand_write_4k.ops_per_sec>lots", "not a number"),
        ("rand_write_4k.ops_per_sec>inf", "not a number"),
        ("fulled 2: rand_write_4k.p99>20ms", "new, filled, deleted, trimmed, idle"),
        ("filled x: rand_write_4k.p99>20ms", "no run"),
        (".p99>20ms", "no phase"),
        ("rand_wirte_4k.p99>20ms", "it has seq_read_256k, "),
    ] {
        let message = error(threshold);
        assert!(message.contains(expected), "{threshold}: {message}");
        assert!(message.contains(threshold), "{message}");
    }
}

#[test]
fn an_absent_percentile_is_an_error_not_a_pass() {
    let run = sample::sqlite();
    let threshold: Threshold = "insert_wal_full.p999>10s".parse().unwrap();
    let error = threshold.evaluate(&run).unwrap_err();
    assert!(matches!(error, ThresholdError::Absent { .. }));
    let text = error.to_string();
    assert!(text.contains("n = 2,000") && text.contains("needs 10,000"), "{text}");
}

#[test]
fn an_open_loop_counts_from_the_intended_start() {
    let run = sample::quick();
    let busy = run.phases.iter().find(|phase| phase.name == "save_busy").unwrap();
    let latency = busy.latency_ns.p99.unwrap();
    let response = busy.response_ns.as_ref().unwrap().p99.unwrap();
    assert!(response > latency);
    assert!(outcome(&run, &format!("save_busy.p99>{}ns", (latency.0 + response.0) / 2)).0);
}

#[test]
fn a_phase_that_no_run_of_the_scenario_has_is_found_before_the_run() {
    let names = |all: &[(State, u32, &str)]| -> Vec<PhaseName> {
        let name = |(state, run, test): &(State, u32, &str)| PhaseName {
            state: *state,
            run: *run,
            test: (*test).to_owned(),
        };
        all.iter().map(name).collect()
    };
    let planned = names(&[
        (State::New, 1, "rand_write_4k"),
        (State::Filled, 1, "rand_write_4k"),
        (State::Filled, 2, "rand_write_4k"),
        (State::New, 1, "save_wal"),
    ]);
    let check = |text: &str| text.parse::<Threshold>().unwrap().check(&planned);
    for text in ["rand_write_4k.p99>20ms", "filled 2: rand_write_4k.p99>20ms", "save_wal.max>1s"] {
        assert_eq!(check(text), Ok(()), "{text}");
    }
    let error = check("rand_wrte_4k.p99>20ms").unwrap_err().to_string();
    assert!(error.contains("did you mean `rand_write_4k`?"), "{error}");
    for text in ["filled 3: rand_write_4k.p99>20ms", "trimmed.rand_write_4k.p99>20ms"] {
        let error = check(text).unwrap_err().to_string();
        assert!(error.contains("filled 2: rand_write_4k") && !error.contains("mean"), "{error}");
    }
}
