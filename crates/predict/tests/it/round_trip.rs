//! Hidden parameters are found again: devices whose parameters nobody tells are run, fitted from
//! their runs alone, and the fitted profile foretells what was not measured.

use crate::common::{ClosedForm, lifecycle, on_ext4, profile};
use flashlag_predict::Simulator;
use flashlag_predict::fit::{Fit, FitOptions, FitRequest, fit};
use flashlag_schema::Run;
use flashlag_spec::State;
use flashlag_spec::profile::Profile;
use flashlag_spec::scenario::Scenario;
use flashlag_units::Bytes;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// What is hidden: anywhere between these shares of the logarithm of its range.
const HIDDEN: [&str; 8] = [
    "nand.read",
    "nand.program",
    "nand.erase",
    "host.read_command",
    "host.write_command",
    "host.flush_command",
    "map.spare",
    "stack.sync_call",
];

fn hidden(number: u64) -> Profile {
    let mut random = Pcg64Mcg::seed_from_u64(number);
    let mut profile = profile();
    for key in HIDDEN {
        let parameter = &profile.parameters[key];
        let (low, high) = parameter.bounds().unwrap();
        let share = 0.1 + 0.8 * random.random::<f64>();
        let value = low * (high / low).powf(share);
        let text = parameter.spell(value);
        profile = profile.with(key, &text).unwrap();
    }
    profile
}

fn run(profile: &Profile, scenario: &Scenario, seed: u64, leave: Bytes) -> Run {
    let simulator = ClosedForm { scatter: 0.01, ..ClosedForm::default() };
    simulator.simulate(&on_ext4(profile, scenario, seed, leave)).unwrap()
}

fn fitted(run: &Run, start: &Profile) -> Fit {
    fitted_by(run, start, &ClosedForm::default())
}

fn fitted_by(run: &Run, start: &Profile, simulator: &ClosedForm) -> Fit {
    // Enough for a device as simple as this one, and no more: each is fitted many times.
    let options = FitOptions { simulations: 600, ..FitOptions::default() };
    fit(&request(run, start), simulator, &options).unwrap()
}

fn request<'a>(run: &'a Run, start: &'a Profile) -> FitRequest<'a> {
    FitRequest { run, run_name: "RUN.json", start, name: "fitted", mount: None, force: false }
}

/// p50 and p99 of durable writes at 90 % full.
fn at_ninety(profile: &Profile) -> [f64; 2] {
    let capacity = profile.model().unwrap().map.capacity.0;
    let run = run(profile, &lifecycle(), 5, Bytes(capacity.0 / 10));
    let phase = run
        .phases
        .iter()
        .find(|phase| phase.state == State::Filled && phase.name == "rand_write_4k")
        .unwrap();
    [phase.latency_ns.p50, phase.latency_ns.p99].map(|one| one.unwrap().as_secs_f64())
}

#[test]
fn twenty_hidden_devices_are_forecast_at_90_percent_full() {
    let mut worst = 0.0_f64;
    for number in 0..20 {
        let hidden = hidden(number);
        let measured = run(&hidden, &lifecycle(), number, Bytes::from_mb(300));
        let fit = fitted(&measured, &profile());
        for (forecast, true_one) in at_ninety(&fit.profile).iter().zip(at_ninety(&hidden)) {
            worst = worst.max((forecast / true_one - 1.0).abs());
        }
        assert!(fit.misfit < 0.03, "device {number}: {} after {}", fit.misfit, fit.misfit_before);
    }
    assert!(worst < 0.05, "p50 or p99 is off by {worst}");
}

#[test]
fn chance_in_every_phase_leaves_the_forecast_within_15_percent() {
    let mut worst = 0.0_f64;
    for number in 20..26 {
        let hidden = hidden(number);
        let jitter = 0.03;
        let noisy = ClosedForm { jitter, ..ClosedForm::default() };
        let measured =
            noisy.simulate(&on_ext4(&hidden, &lifecycle(), number, Bytes::from_mb(300))).unwrap();
        let fit = fitted_by(&measured, &profile(), &noisy);
        for (forecast, true_one) in at_ninety(&fit.profile).iter().zip(at_ninety(&hidden)) {
            worst = worst.max((forecast / true_one - 1.0).abs());
        }
    }
    assert!(worst < 0.15, "p50 or p99 is off by {worst}");
}

#[test]
fn what_the_figures_tell_apart_is_found_itself() {
    let hidden = hidden(3);
    let fit = fitted(&run(&hidden, &lifecycle(), 1, Bytes::from_mb(300)), &profile());
    for key in ["nand.program", "map.spare", "nand.erase"] {
        let number = |profile: &Profile| profile.parameters[key].number().unwrap();
        let ratio = number(&fit.profile) / number(&hidden);
        assert!((0.9..1.1).contains(&ratio), "{key}: {ratio}");
    }
    let alike = |one: &str, other: &str| {
        fit.identifiability.confounded.iter().any(|pair| {
            pair.keys.iter().any(|key| key == one) && pair.keys.iter().any(|key| key == other)
        })
    };
    assert!(
        alike("host.flush_command", "stack.sync_call"),
        "{:?} {:?}",
        fit.identifiability,
        fit.parameters
    );
}

#[test]
fn the_same_run_gives_the_same_profile() {
    let measured = run(&hidden(7), &lifecycle(), 7, Bytes::from_mb(300));
    let (one, other) = (fitted(&measured, &profile()), fitted(&measured, &profile()));
    assert_eq!(one, other);
    assert_eq!(Profile::parse(&one.profile.to_toml()).unwrap(), one.profile);
}

#[test]
fn the_number_of_threads_changes_no_fit() {
    let measured = run(&hidden(11), &lifecycle(), 11, Bytes::from_mb(300));
    // Ends in the middle of a stage, or has what every stage wants.
    for simulations in [60, 250] {
        let fitted = |threads: usize| {
            let simulator = ClosedForm { threads, scatter: 0.01, ..ClosedForm::default() };
            let options = FitOptions { simulations, ..FitOptions::default() };
            let fit = fit(&request(&measured, &profile()), &simulator, &options).unwrap();
            assert!(fit.simulations <= simulations, "{}", fit.simulations);
            fit
        };
        let one = fitted(1);
        for threads in [2, 5] {
            assert_eq!(fitted(threads), one, "{threads} threads, {simulations} simulations");
        }
    }
}
