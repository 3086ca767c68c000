//! A profile against published rows that the closed form made itself, and against others.

use crate::common::{ClosedForm, LIFECYCLE, lifecycle, on_ext4, profile};
use flashlag_predict::check::{CheckOptions, CheckReport, Verdict, check, check_each, runs};
use flashlag_predict::{PredictError, ProtocolError, Simulation, SimulationError, Simulator};
use flashlag_spec::State;
use flashlag_spec::published::Published;
use flashlag_term::{Style, predict as draw};
use flashlag_units::Bytes;

/// Rows as the closed form has them, with `factor` on each.
fn published(factor: f64) -> Vec<Published> {
    let run = ClosedForm::default()
        .simulate(&on_ext4(&profile(), &lifecycle(), 1, Bytes::from_mb(100)))
        .unwrap();
    let condition = |state: State, run: u32| match state {
        State::New => "new".to_owned(),
        State::Filled => format!("filled-run-{run}"),
        State::Deleted => format!("after-delete-run-{run}"),
        State::Trimmed => "trimmed".to_owned(),
        State::Idle => "after-24h-idle-with-fstrim".to_owned(),
    };
    run.phases
        .iter()
        .map(|phase| Published {
            device: "small".to_owned(),
            condition: condition(phase.state, phase.run),
            workload: phase.name.clone(),
            metric: "throughput".to_owned(),
            value: phase.bytes_per_sec / 1e6 * factor,
            unit: "MB/s".to_owned(),
            source: "the closed form".to_owned(),
            ..Published::default()
        })
        .collect()
}

fn report(published: &[Published], options: &CheckOptions) -> CheckReport {
    let simulator = ClosedForm { scatter: 0.02, ..ClosedForm::default() };
    let scenario = |name: &str| (name == "lifecycle").then(|| LIFECYCLE.to_owned());
    let report = check(&profile(), published, &scenario, &simulator, options).unwrap();
    assert_eq!(simulator.runs(), runs(&profile(), options));
    report
}

#[test]
fn a_profile_passes_its_own_rows() {
    let report = report(&published(1.0), &CheckOptions::default());
    assert!(report.passed(), "{}", draw::check(&report, Style::PLAIN));
    assert_eq!(report.cells.len(), 36);
    let cell = &report.cells[3];
    assert_eq!(cell.fitted, ["nand.program"]);
    let simulated = cell.simulated.as_ref().unwrap();
    assert!(simulated.low < simulated.mean && simulated.mean < simulated.high);
    assert_eq!((report.overfitting.parameters, report.overfitting.fitted_cells), (2, 4));
    assert_eq!(report.overfitting.free_passed, report.overfitting.free_cells);
}

#[test]
fn rows_out_of_their_bars_fail_and_one_write_cell_is_let_through() {
    let mut rows = published(1.0);
    rows[1].value *= 1.4;
    let failed = report(&rows, &CheckOptions::default());
    assert_eq!(failed.cells[1].verdict, Verdict::Allowance);
    rows[3].value *= 1.4;
    let failed = report(&rows, &CheckOptions::default());
    assert_eq!(failed.cells[3].verdict, Verdict::Fail);
    rows[0].value *= 1.4;
    let failed = report(&rows, &CheckOptions::default());
    assert_eq!(failed.cells[0].verdict, Verdict::Fail, "no read cell may be further off");
    assert!(!failed.passed());
}

#[test]
fn a_column_in_the_wrong_order_is_reported() {
    let mut rows = published(1.0);
    let filled = rows.iter().position(|row| row.condition == "filled-run-1").unwrap() + 3;
    rows[filled].value = rows[3].value * 1.19;
    let report = report(&rows, &CheckOptions::default());
    let inversion = &report.inversions[0];
    assert_eq!((inversion.higher.as_str(), inversion.lower.as_str()), ("filled-run-1", "new"));
    assert!(inversion.simulated.0 < inversion.simulated.1);
}

#[test]
fn a_row_that_no_run_has_is_listed_as_missing() {
    let mut rows = published(1.0);
    rows.truncate(4);
    rows[0].condition = "after-one-day-of-torture".to_owned();
    rows[1].workload = "rand_write_1m".to_owned();
    rows[2].condition = "filled-run-9".to_owned();
    let report = report(&rows, &CheckOptions::default());
    assert_eq!(report.cells.len(), 4);
    for cell in &report.cells[..3] {
        assert_eq!(cell.verdict, Verdict::Missing);
    }
    assert!(!report.passed());
    assert!(draw::check(&report, Style::PLAIN).contains("3 missing"));
}

#[test]
fn moving_a_parameter_moves_its_rows_and_no_others() {
    let options = CheckOptions { seeds: vec![1], sensitivity: true };
    let report = report(&published(1.0), &options);
    let program = report.sensitivity.iter().find(|one| one.key == "nand.program").unwrap();
    let up = program.up.cells.as_ref().unwrap();
    let at = |test: &str| {
        let place = report.cells.iter().position(|cell| cell.test == test).unwrap();
        up[place].unwrap()
    };
    assert_eq!(at("rand_read_4k"), 0.0);
    assert!(at("rand_write_4k") < -3.0);
}

#[test]
fn losses_are_held_against_a_second_filesystem_in_points() {
    let mut profile = profile();
    profile.checks[0].filesystem = Some("ext4,encrypt".to_owned());
    profile.checks[0].against = Some("ext4".to_owned());
    profile.checks[0].conditions = [("on against off".to_owned(), "new/1".to_owned())].into();
    let row = Published {
        device: "small".to_owned(),
        condition: "on against off".to_owned(),
        workload: "seq_read_256k".to_owned(),
        metric: "throughput change".to_owned(),
        value: -30.0,
        unit: "%".to_owned(),
        source: "test".to_owned(),
        ..Published::default()
    };
    let scenario = |_: &str| Some(LIFECYCLE.to_owned());
    let simulator = ClosedForm::default();
    let options = CheckOptions { seeds: vec![1], sensitivity: false };
    let report = check(&profile, &[row], &scenario, &simulator, &options).unwrap();
    let simulated = report.cells[0].simulated.as_ref().unwrap().mean;
    assert!((-60.0..-20.0).contains(&simulated), "{simulated}");
    assert_eq!(report.cells[0].error, Some(simulated + 30.0));
}

#[test]
fn profiles_side_by_side_have_the_reports_they_have_alone_in_their_order() {
    let mut profiles = vec![profile(), profile(), profile()];
    for (profile, program) in profiles.iter_mut().zip(["700us", "500us", "600us"]) {
        *profile = profile.with("nand.program", program).unwrap();
    }
    let rows = published(1.0);
    let scenario = |name: &str| (name == "lifecycle").then(|| LIFECYCLE.to_owned());
    let options = CheckOptions { seeds: vec![1, 2], sensitivity: true };
    let simulator = |threads| ClosedForm { threads, scatter: 0.02, ..ClosedForm::default() };
    let alone: Vec<CheckReport> = profiles
        .iter()
        .map(|profile| check(profile, &rows, &scenario, &simulator(1), &options).unwrap())
        .collect();
    assert_ne!(alone[0], alone[1]);
    for threads in [1, 4] {
        let (simulator, mut together) = (simulator(threads), Vec::new());
        check_each(&profiles, &rows, &scenario, &simulator, &options, |report| {
            together.push(report);
            Ok::<(), PredictError>(())
        })
        .unwrap();
        assert_eq!(together, alone, "{threads} threads");
    }
}

#[test]
fn the_first_error_by_order_ends_a_check_after_the_reports_before_it() {
    let mut profiles = vec![profile(), profile(), profile()];
    for (profile, name) in profiles.iter_mut().zip(["good", "bad", "worse"]) {
        profile.name = name.to_owned();
    }
    let rows = published(1.0);
    let scenario = |_: &str| Some(LIFECYCLE.to_owned());
    let simulator = |simulation: &Simulation<'_>| match simulation.profile.name.as_str() {
        "good" => ClosedForm::default().simulate(simulation),
        name => Err(SimulationError::refused(name)),
    };
    let (mut reported, options) = (Vec::new(), CheckOptions::default());
    let error = check_each(&profiles, &rows, &scenario, &simulator, &options, |report| {
        reported.push(report.profile);
        Ok::<(), PredictError>(())
    });
    let reason = SimulationError::refused("bad");
    assert!(
        matches!(error.as_ref().unwrap_err(), PredictError::Simulation { reason: first, .. } if *first == reason),
        "{error:?}"
    );
    assert_eq!(reported, ["good"]);
}

#[test]
fn a_check_that_names_no_scenario_says_so() {
    let none = |_: &str| None;
    let simulator = ClosedForm::default();
    let error = check(&profile(), &[], &none, &simulator, &CheckOptions::default());
    let PredictError::Protocol { reason, .. } = error.unwrap_err() else { panic!() };
    assert_eq!(reason, ProtocolError::UnknownScenario { name: "lifecycle".to_owned() });
}

#[test]
fn a_report_fits_a_terminal() {
    let options = CheckOptions { seeds: vec![1, 2, 3], sensitivity: true };
    let text = draw::check(&report(&published(1.25), &options), Style::PLAIN);
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(text.contains("nand.program"), "{text}");
}

/// A check's rows of one metric of one test, in milliseconds.
fn latency_row(metric: &str, value: f64) -> Published {
    Published {
        device: "small".to_owned(),
        condition: "another host".to_owned(),
        workload: "rand_write_4k".to_owned(),
        metric: metric.to_owned(),
        value,
        unit: "ms".to_owned(),
        source: "test".to_owned(),
        ..Published::default()
    }
}

fn checked_with(model: &str, rows: &[Published]) -> CheckReport {
    let mut profile = profile();
    let only = &mut profile.checks[0];
    only.conditions = [("another host".to_owned(), "new/1".to_owned())].into();
    only.model = model.parse::<toml::Table>().unwrap().into_iter().collect();
    let scenario = |_: &str| Some(LIFECYCLE.to_owned());
    let options = CheckOptions { seeds: vec![1], sensitivity: false };
    check(&profile, rows, &scenario, &ClosedForm::default(), &options).unwrap()
}

#[test]
fn a_check_simulates_the_device_that_its_model_makes() {
    let row = [latency_row("latency mean", 1.0)];
    let mean = |model: &str| checked_with(model, &row).cells[0].simulated.clone().unwrap().mean;
    let before = mean("");
    let by = mean("\"stack.call\" = \"140us\"") - before;
    assert!((by - 0.1).abs() < 1e-4, "a call of 100 us more took {by} ms more");
    // A word, and a parameter that the profile lacks.
    let same = mean("\"gc.policy\" = \"fifo\"\n\"stack.fuse_per_kib\" = \"1us\"");
    assert!((same - before).abs() < 1e-9, "{same} {before}");
}

#[test]
fn each_metric_has_its_own_bar_and_a_check_may_only_narrow_it() {
    for (metric, usual) in [("latency p50", 15.0), ("latency p90", 20.0), ("latency p99", 25.0)] {
        let exact = checked_with("", &[latency_row(metric, 1.0)]).cells[0].simulated.clone();
        let within = exact.unwrap().mean / (1.0 + (usual - 0.1) / 100.0);
        let beyond = within / 1.01;
        for (value, verdict) in [(within, Verdict::Pass), (beyond, Verdict::Fail)] {
            let report = checked_with("", &[latency_row(metric, value)]);
            assert_eq!(report.cells[0].verdict, verdict, "{metric} {value}");
        }
        for (own, verdict) in [(usual + 5.0, Verdict::Fail), (5.0, Verdict::Fail)] {
            let mut profile = profile();
            let only = &mut profile.checks[0];
            only.conditions = [("another host".to_owned(), "new/1".to_owned())].into();
            only.bars = [(metric.to_owned(), own)].into();
            let scenario = |_: &str| Some(LIFECYCLE.to_owned());
            let options = CheckOptions { seeds: vec![1], sensitivity: false };
            // Beyond the usual bar; then within the usual one and beyond the check's own.
            let value = if own > usual { beyond } else { within };
            let row = [latency_row(metric, value)];
            let simulator = &ClosedForm::default();
            let report = check(&profile, &row, &scenario, simulator, &options).unwrap();
            assert_eq!(report.cells[0].verdict, verdict, "{metric} {own}");
        }
    }
}
