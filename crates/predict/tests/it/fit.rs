//! What a fit says of runs that tell less.

use crate::common::{ClosedForm, LIFECYCLE, PROFILE, QUICK, lifecycle, on_ext4, profile};
use flashlag_predict::change::{self, PredictOptions, Situation, situation_of};
use flashlag_predict::fit::{Fit, FitOptions, FitRequest, FitStage, LeftOut, fit, left_out, tune};
use flashlag_predict::nearest::nearest;
use flashlag_predict::{PredictError, Simulation, SimulationError, Simulator};
use flashlag_schema::{CheckStatus, Run};
use flashlag_spec::profile::Profile;
use flashlag_spec::published::Published;
use flashlag_spec::scenario::Scenario;
use flashlag_spec::{State, Verdict};
use flashlag_term::{Style, predict as draw};
use flashlag_units::{Bytes, Nanos};

fn quick() -> Scenario {
    Scenario::parse(QUICK, &[]).unwrap()
}

fn run(profile: &Profile, scenario: &Scenario) -> Run {
    let simulator = ClosedForm::default();
    simulator.simulate(&on_ext4(profile, scenario, 1, Bytes::from_mb(300))).unwrap()
}

fn fitted(run: &Run, start: &Profile, options: &FitOptions) -> Result<Fit, PredictError> {
    let request =
        FitRequest { run, run_name: "RUN.json", start, name: "fitted", mount: None, force: false };
    fit(&request, &ClosedForm::default(), options)
}

fn slower() -> Profile {
    let profile = profile().with("nand.program", "1100us").unwrap();
    profile.with("map.spare", "100MiB").unwrap()
}

#[test]
fn a_run_without_full_storage_leaves_spare_area_and_collection_alone() {
    let fit = fitted(&run(&slower(), &quick()), &profile(), &FitOptions::default()).unwrap();
    let of = |key: &str| fit.parameters.iter().find(|one| one.key == key).unwrap();
    for key in ["map.spare", "gc.low_water", "nand.erase"] {
        assert_eq!(of(key).before, of(key).after);
        assert_eq!(of(key).held.as_deref(), Some("no writes on full storage"));
    }
    assert!(fit.lacks.iter().any(|lack| lack.contains("full storage")), "{:?}", fit.lacks);
    assert!(fit.misfit < 0.02, "{}", fit.misfit);
}

#[test]
fn what_no_figure_depends_on_stays() {
    let fit = fitted(&run(&slower(), &lifecycle()), &profile(), &FitOptions::default()).unwrap();
    let fuse = fit.parameters.iter().find(|one| one.key == "stack.fuse_call").unwrap();
    assert_eq!(fuse.before, fuse.after);
    assert!(fuse.held.as_ref().unwrap().contains("no FUSE"), "{fuse:?}");
    let cipher =
        fit.parameters.iter().find(|one| one.key == "stack.encryption.read_per_kib").unwrap();
    assert_eq!(cipher.before, cipher.after);
    assert!(fit.identifiability.undetermined.contains(&cipher.key));
    let source = &fit.profile.parameters["nand.program"].source;
    assert!(source.contains("RUN.json") && source.contains("600us"), "{source}");
    assert!(fit.profile.parameters["nand.program"].fitted.iter().any(|row| row.contains("write")));
}

#[test]
fn units_are_found_by_their_pairs_alone_and_without_those_stay() {
    let text = PROFILE.replace(
        "unit = { value = \"4KiB\",",
        "unit = { value = \"4KiB\", range = [\"4KiB\", \"16KiB\"],",
    );
    let start = Profile::parse(&text).unwrap();
    let run = run(&start.with("map.unit", "16KiB").unwrap(), &quick());
    let unit = |more: &[FitStage]| {
        let without = [&[FitStage::Steps, FitStage::Changes, FitStage::Policies], more].concat();
        let options = FitOptions { without, ..FitOptions::default() };
        let fit = fitted(&run, &start, &options).unwrap();
        (fit.profile.model().unwrap().map.unit.0, fit.misfit)
    };
    let (found, misfit) = unit(&[]);
    assert_eq!(found, Bytes::from_kib(16));
    assert!(misfit < 0.02, "{misfit}");
    assert_eq!(unit(&[FitStage::Pairs]).0, Bytes::from_kib(4));
}

#[test]
fn few_simulations_are_kept_to_and_reported() {
    let options = FitOptions { simulations: 25, ..FitOptions::default() };
    let simulator = ClosedForm::default();
    let measured = run(&slower(), &lifecycle());
    let start = profile();
    let request = FitRequest {
        run: &measured,
        run_name: "RUN.json",
        start: &start,
        name: "fitted",
        mount: None,
        force: false,
    };
    let fit = fit(&request, &simulator, &options).unwrap();
    // Those of new storage alone count as the part of the tests that they make.
    let whole = measured.phases.len();
    assert!(fit.simulations <= 25, "{}", fit.simulations);
    assert_eq!(fit.simulations, simulator.measured() / whole);
    assert!(simulator.runs() > fit.simulations, "{}", simulator.runs());
}

#[test]
fn the_storage_keeps_its_measured_size() {
    let big = profile().with("map.capacity", "16GiB").unwrap();
    let fit = fitted(&run(&big, &quick()), &profile(), &FitOptions::default()).unwrap();
    let model = fit.profile.model().unwrap();
    assert_eq!(model.map.capacity.0, Bytes(16 << 30));
    assert_eq!(model.map.spare.0, Bytes(600 << 20), "the spare area goes with it");
}

#[test]
fn the_nearest_profile_comes_first() {
    let measured = run(&profile().with("host.flush_command", "4ms").unwrap(), &quick());
    let mut all = vec![profile(), profile(), profile()];
    for (profile, flush) in all.iter_mut().zip(["200us", "3ms", "1ms"]) {
        *profile = profile.with("host.flush_command", flush).unwrap();
    }
    let ranked = nearest(&measured, "RUN.json", &all, &ClosedForm::default()).unwrap();
    let order: Vec<usize> = ranked.iter().map(|one| one.index).collect();
    assert_eq!(order, [1, 2, 0]);
}

#[test]
fn a_run_without_a_scenario_or_figures_says_what_to_do() {
    let mut imported = run(&profile(), &quick());
    imported.scenario.text = String::new();
    let error = fitted(&imported, &profile(), &FitOptions::default()).unwrap_err().to_string();
    assert!(error.contains("flashlag run lifecycle"), "{error}");
    imported.phases.clear();
    let error = fitted(&imported, &profile(), &FitOptions::default()).unwrap_err().to_string();
    assert!(error.contains("flashlag run lifecycle"), "{error}");
}

#[test]
fn a_report_of_a_fit_fits_a_terminal() {
    let fit = fitted(&run(&slower(), &quick()), &profile(), &FitOptions::default()).unwrap();
    let text = draw::fit(&fit, Style::PLAIN);
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for wanted in ["nand.program", "no writes on full storage", "rand_write_4k", "RUN.json"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

#[test]
fn what_may_not_move_stays_and_what_may_must_have_a_range() {
    let options = FitOptions { only: vec!["nand.program".to_owned()], ..FitOptions::default() };
    let fit = fitted(&run(&slower(), &lifecycle()), &profile(), &options).unwrap();
    let moved: Vec<&str> = fit
        .parameters
        .iter()
        .filter(|one| one.before != one.after)
        .map(|one| one.key.as_str())
        .collect();
    assert_eq!(moved, ["nand.program"]);
    for key in ["nand.channels", "nand.nothing"] {
        let options = FitOptions { only: vec![key.to_owned()], ..FitOptions::default() };
        let error = fitted(&run(&slower(), &lifecycle()), &profile(), &options).unwrap_err();
        assert!(error.to_string().contains(key), "{error}");
    }
}

/// The throughput of each test of a device's new and filled storage, as if it was published.
fn published_of(device: &Profile) -> Vec<Published> {
    let wanted = ClosedForm::default()
        .simulate(&on_ext4(device, &lifecycle(), 1, Bytes::from_mb(100)))
        .unwrap();
    wanted
        .phases
        .iter()
        .filter(|phase| matches!(phase.state, State::New | State::Filled))
        .map(|phase| Published {
            device: "small".to_owned(),
            condition: match phase.state {
                State::New => "new".to_owned(),
                _ => format!("filled-run-{}", phase.run),
            },
            workload: phase.name.clone(),
            metric: "throughput".to_owned(),
            value: phase.bytes_per_sec / 1e6,
            unit: "MB/s".to_owned(),
            source: "the closed form".to_owned(),
            ..Published::default()
        })
        .collect()
}

fn left_out_of(profile: &Profile, device: &Profile) -> LeftOut {
    let scenario = |name: &str| (name == "lifecycle").then(|| LIFECYCLE.to_owned());
    let profiles = std::slice::from_ref(profile);
    let found = left_out(profiles, &published_of(device), &scenario, &ClosedForm::default());
    found.unwrap().remove(0)
}

#[test]
fn a_row_that_is_left_out_is_forecast_by_the_others_if_they_decide_its_parameter() {
    let mut profile = profile();
    for (key, parameter) in &mut profile.parameters {
        parameter.fitted = match key.as_str() {
            "nand.program" => {
                ["new/rand_write_4k", "new/seq_write_256k"].map(str::to_owned).to_vec()
            }
            _ => Vec::new(),
        };
    }
    let mut device = profile.clone();
    device = device.with("nand.program", "900us").unwrap();
    let left = left_out_of(&profile, &device);
    assert_eq!(left.parameters, ["nand.program"]);
    assert!(left.rows.len() >= 2, "{left:?}");
    for row in &left.rows {
        assert!(row.own > 15.0, "its own program is too quick: {row:?}");
        assert!(row.error.abs() < 6.0, "{row:?}");
    }
    let (median, worst) = left.median_and_worst().unwrap();
    assert!(median <= worst && worst < 6.0, "{median} {worst}");
}

#[test]
fn a_row_that_no_other_decides_is_forecast_from_the_middle_of_the_plausible_range() {
    let profile = profile();
    let left = left_out_of(&profile, &profile);
    assert_eq!(left.parameters, ["map.spare", "nand.program"]);
    // Its own spare area fits to the row that it was fitted to, and to no other.
    let filled: Vec<_> =
        left.rows.iter().filter(|row| row.label == "filled/rand_write_4k").collect();
    assert!(!filled.is_empty(), "{left:?}");
    let middle = (30.0_f64 * 1024.0).sqrt();
    let middle = profile.with("map.spare", &format!("{middle:.0}MiB")).unwrap();
    let wanted = published_of(&middle);
    for row in filled {
        assert!(row.own.abs() < 0.1, "{row:?}");
        let found = wanted.iter().find(|one| {
            (&one.condition, &one.workload) == (&row.published.condition, &row.published.workload)
        });
        let expected = (found.unwrap().value / row.published.value - 1.0) * 100.0;
        assert!(expected.abs() > 5.0 && (row.error - expected).abs() < 3.0, "{row:?} {expected}");
    }
}

#[test]
fn a_row_that_no_other_decides_is_forecast_from_its_family() {
    let alone = profile();
    let mut kin = alone.clone();
    kin.name = "kin".to_owned();
    kin.checks.iter_mut().for_each(|check| check.device = "kin".to_owned());
    let own = published_of(&alone);
    let of_kin = own.iter().map(|row| Published { device: "kin".to_owned(), ..row.clone() });
    let rows: Vec<Published> = own.iter().cloned().chain(of_kin).collect();
    let scenario = |name: &str| (name == "lifecycle").then(|| LIFECYCLE.to_owned());
    let forecast = |profiles: &[Profile], rows: &[Published]| {
        let found = left_out(profiles, rows, &scenario, &ClosedForm::default()).unwrap();
        let names: Vec<String> = found.iter().map(|one| one.profile.clone()).collect();
        assert_eq!(names.len(), profiles.len(), "{names:?}");
        let row = found[0].rows.iter().find(|row| row.label == "filled/rand_write_4k");
        row.unwrap().error.abs()
    };
    let pair = [alone.clone(), kin];
    let (without, with) = (forecast(&pair[..1], &rows), forecast(&pair, &rows));
    assert!(without > 5.0 && with < without / 2.0, "{without} alone, {with} with its family");
    // The same row under both names is left out of both.
    let mut twice = alone.clone();
    twice.name = "twice".to_owned();
    let leaked = forecast(&[alone, twice], &rows);
    assert!((leaked - without).abs() < 1.0, "{leaked} {without}");
}

#[test]
fn a_profile_is_tuned_to_its_published_rows() {
    let rows = published_of(&slower());
    let scenario = |name: &str| (name == "lifecycle").then(|| LIFECYCLE.to_owned());
    let options = FitOptions {
        only: ["nand.program", "map.spare"].map(str::to_owned).to_vec(),
        ..FitOptions::default()
    };
    let simulator = ClosedForm::default();
    let tuned = tune(&profile(), &rows, &scenario, &[1, 2], &simulator, &options).unwrap();
    assert_eq!(tuned.simulations, simulator.runs());
    assert!(tuned.parameters.iter().any(|one| one.key == "map.spare"), "{tuned:?}");
    assert!(tuned.misfit < 0.01 && tuned.misfit_before > 0.1, "{tuned:?}");
    let ratio = |key: &str| {
        let number = |profile: &Profile| profile.parameters[key].number().unwrap();
        number(&tuned.profile) / number(&slower())
    };
    for key in ["nand.program", "map.spare"] {
        assert!((0.97..1.03).contains(&ratio(key)), "{key}: {}", ratio(key));
    }
}

fn untrusted(mut run: Run) -> Run {
    run.trust.checks[0].status = CheckStatus::Fail;
    run.trust.checks[0].claim = "The CPU was free".to_owned();
    run.trust.verdict = Verdict::Untrusted;
    run
}

fn with_few_values(mut run: Run) -> Run {
    run.phases.iter_mut().for_each(|phase| phase.latency_ns.p99 = None);
    run
}

/// Few simulations: what is fitted does not matter here.
const FEW: usize = 20;

fn forced(run: &Run) -> Fit {
    let start = profile();
    let request = FitRequest {
        run,
        run_name: "RUN.json",
        start: &start,
        name: "fitted",
        mount: None,
        force: true,
    };
    let options = FitOptions { simulations: FEW, ..FitOptions::default() };
    fit(&request, &ClosedForm::default(), &options).unwrap()
}

#[test]
fn there_is_no_way_to_fit_or_forecast_from_a_run_in_doubt_but_by_force() {
    let good = run(&slower(), &quick());
    let mut nobody_checked = good.clone();
    nobody_checked.trust = Default::default();
    let mut imported = nobody_checked.clone();
    imported.target.kind = flashlag_schema::TargetKind::Imported;
    let cases = [
        (good.clone(), ""),
        (untrusted(good.clone()), "The CPU was free"),
        (with_few_values(good.clone()), "1,000 operations"),
        (with_few_values(untrusted(good.clone())), "1,000 operations"),
        (nobody_checked, "no trust check"),
        (imported, "no trust check"),
    ];
    let options = FitOptions { simulations: FEW, ..FitOptions::default() };
    for (run, doubt) in cases {
        let (fit, forecast) =
            (fitted(&run, &profile(), &options), situation_of(&run, "RUN.json", false));
        if doubt.is_empty() {
            let from = fit.unwrap().profile.fitted_from.unwrap();
            assert!(!from.forced && from.verdict == Verdict::Trusted, "{from:?}");
            assert!(forecast.is_ok());
            continue;
        }
        for error in [fit.unwrap_err(), forecast.unwrap_err()] {
            let said = error.to_string();
            assert!(matches!(error, PredictError::Untrusted { .. }), "{said}");
            assert!(said.contains(doubt) && said.contains("--force"), "{said}");
        }
        assert!(situation_of(&run, "RUN.json", true).is_ok());
    }
}

#[test]
fn a_forced_profile_stores_the_verdict_and_every_forecast_with_it_says_so() {
    let profile = forced(&untrusted(run(&slower(), &quick()))).profile;
    let stored = Profile::parse(&profile.to_toml()).unwrap();
    let from = stored.fitted_from.clone().unwrap();
    assert_eq!(
        (from.run.as_str(), from.verdict, from.forced),
        ("RUN.json", Verdict::Untrusted, true)
    );
    let start = Situation::new(&stored, "ext4").unwrap();
    let simulator = ClosedForm::default();
    let changes = change::parse("fs=f2fs").unwrap();
    let options = PredictOptions::default();
    let forecast = change::predict(&start, &changes, &[], &simulator, &options).unwrap();
    let levels = [0.1, 0.5];
    let sweep = change::sweep(&start, &levels, &[], &simulator, &options).unwrap();
    for said in [draw::forecast(&forecast, Style::PLAIN), draw::sweep(&sweep, Style::PLAIN)] {
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let warning = "Warning: The profile was fitted by --force to RUN.json, although a trust \
                       check failed (The CPU was free).";
        assert!(said.contains(warning), "{said}");
    }
}

#[test]
fn a_fit_that_is_far_off_warns_and_so_do_its_forecasts() {
    // A device a hundred times slower than any value within the ranges.
    let mut measured = run(&slower(), &quick());
    for phase in &mut measured.phases {
        let times = |value: Option<Nanos>| value.map(|value| Nanos(value.0 * 100));
        let latency = &mut phase.latency_ns;
        (latency.p50, latency.p99) = (times(latency.p50), times(latency.p99));
        phase.ops_per_sec /= 100.0;
        phase.bytes_per_sec /= 100.0;
    }
    let fit = forced(&measured);
    assert!(fit.misfit > 0.5, "{}", fit.misfit);
    let said = draw::fit(&fit, Style::PLAIN);
    assert!(said.contains("Warning: The profile is no model of what was measured"), "{said}");
    let start = Situation::new(&fit.profile, "ext4").unwrap();
    let changes = change::parse("fs=f2fs").unwrap();
    let simulator = ClosedForm::default();
    let options = PredictOptions::default();
    let forecast = change::predict(&start, &changes, &[], &simulator, &options).unwrap();
    assert_eq!(forecast.warnings.len(), 1, "{:?}", forecast.warnings);
}

#[test]
fn parameters_that_were_never_moved_are_not_said_to_have_no_effect() {
    let options = FitOptions { simulations: 3, ..FitOptions::default() };
    let fit = fitted(&run(&slower(), &quick()), &profile(), &options).unwrap();
    assert!(fit.exhausted);
    let read = fit.parameters.iter().find(|one| one.key == "nand.read").unwrap();
    let held = read.held.as_deref().unwrap();
    assert!(held.contains("simulations ran out"), "a random read was measured: {held}");
}

#[test]
fn a_stop_ends_a_fit_and_the_search_for_the_nearest_profile() {
    let measured = run(&slower(), &quick());
    let start = profile();
    for after in [0, 1, 9] {
        let form = ClosedForm::default();
        let stopped = |simulation: &Simulation<'_>| {
            if form.runs() < after {
                form.simulate(simulation)
            } else {
                Err(SimulationError::Stopped)
            }
        };
        let request = FitRequest {
            run: &measured,
            run_name: "RUN.json",
            start: &start,
            name: "fitted",
            mount: None,
            force: false,
        };
        let is_stop = |error: PredictError| {
            matches!(error, PredictError::Simulation { reason: SimulationError::Stopped, .. })
        };
        let fitted = fit(&request, &stopped, &FitOptions::default());
        assert!(is_stop(fitted.unwrap_err()), "after {after}");
        assert_eq!(form.runs(), after, "no simulation after a stop");
        let ranked = nearest(&measured, "RUN.json", &[profile(), profile()], &stopped);
        assert!(is_stop(ranked.unwrap_err()), "after {after}");
    }
}
