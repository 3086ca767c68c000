//! Runs that a fit refuses, and devices far from the size of the starting profile.

use std::sync::OnceLock;

use crate::common::{ClosedForm, lifecycle, on_ext4, profile};
use flashlag_predict::fit::{Fit, FitOptions, FitRequest, fit};
use flashlag_predict::{PredictError, Simulation, Simulator};
use flashlag_runner::sim::{builtin_profile, profile_names};
use flashlag_runner::{Event, Observer, Request, SimTarget, Target};
use flashlag_schema::{Run, RunStatus};
use flashlag_spec::profile::Profile;
use flashlag_spec::scenario::Scenario;
use flashlag_spec::target::{Kind, MountSpec};
use flashlag_units::Bytes;

fn measured() -> Run {
    let (profile, scenario) = (profile(), lifecycle());
    let simulation = on_ext4(&profile, &scenario, 1, Bytes::from_mb(300));
    ClosedForm::default().simulate(&simulation).unwrap()
}

fn fitted(
    run: &Run,
    start: &Profile,
    simulator: &dyn Simulator,
    force: bool,
) -> Result<Fit, PredictError> {
    let options = FitOptions { simulations: 4, starts: 1, ..FitOptions::default() };
    let request =
        FitRequest { run, run_name: "RUN.json", start, name: "fitted", mount: None, force };
    fit(&request, simulator, &options)
}

fn paced(option: &str) -> Run {
    let mut run = measured();
    run.target.profile.as_mut().unwrap().device_options = vec![option.to_owned()];
    run
}

#[test]
fn a_run_whose_device_or_fills_went_faster_than_they_would_is_refused() {
    let refused = |option: &str| {
        let start = profile();
        let fit = fitted(&paced(option), &start, &ClosedForm::default(), false);
        fit.err().map(|error| error.to_string())
    };
    let fills = refused("fill-time-scale=100").unwrap();
    assert!(fills.contains("clock ran 100 times as fast as real time during fills"), "{fills}");
    let all = refused("time-scale=10").unwrap();
    assert!(all.contains("clock ran 10 times as fast as real time"), "{all}");
    for real in ["fill-time-scale=1", "time-scale=1", "state=full"] {
        assert_eq!(refused(real), None, "{real}");
    }
}

#[test]
fn a_forced_fit_leaves_the_faster_fills_out_and_says_so() {
    let start = profile();
    let forced = |run: &Run| fitted(run, &start, &ClosedForm::default(), true).unwrap();
    let fit = forced(&paced("fill-time-scale=100"));
    let doubts = &fit.profile.fitted_from.as_ref().unwrap().warnings();
    assert!(doubts.iter().any(|doubt| doubt.contains("fill-time-scale")), "{doubts:?}");
    // The closed form's fills are no phases; a phase of that name is one.
    let mut run = paced("fill-time-scale=100");
    let mut filled = run.phases[0].clone();
    let (_, after) = run.scenario.text.split_once("fill = \"").unwrap();
    filled.name = after.split('"').next().unwrap().to_owned();
    run.phases.push(filled);
    let fit = forced(&run);
    let left_out = fit.lacks.iter().find(|lack| lack.contains("left out"));
    assert!(left_out.is_some_and(|lack| lack.contains("100 times")), "{:?}", fit.lacks);
}

struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: Event<'_>) {}
}

const TINY: &str = "name = \"tiny\"\n[[io]]\nname = \"w\"\noperation = \"write\"\n\
    pattern = \"random\"\nblock = \"4KiB\"\nspan = \"1MiB\"\nbytes = \"64KiB\"\n\
    [[step]]\nmeasure = [\"w\"]\n";

/// Whether a device can be made and written to.
fn works(profile: &Profile) -> Result<(), String> {
    let mount = MountSpec::parse(Kind::Sim, "raw").unwrap();
    let target = SimTarget { text: "sim:sized+raw".to_owned(), ..SimTarget::new(profile, &mount) };
    let scenario = Scenario::parse(TINY, &[]).unwrap();
    let request = Request::new(scenario, Target::Simulated(target), 1);
    let run = flashlag_runner::run(request, &mut Silent).map_err(|error| error.to_string())?;
    match run.status {
        RunStatus::Complete => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

#[test]
fn a_fit_begins_with_any_profile_on_a_device_of_half_a_gigabyte() {
    let mut run = measured();
    run.environment.device.size_bytes = flashlag_spec::Reading::Value(Bytes::from_mib(512));
    for name in profile_names() {
        let start = Profile::parse(builtin_profile(name).unwrap()).unwrap();
        let first: OnceLock<Profile> = OnceLock::new();
        let simulator = |simulation: &Simulation<'_>| {
            first.get_or_init(|| simulation.profile.clone());
            ClosedForm::default().simulate(simulation)
        };
        let made = fitted(&run, &start, &simulator, false);
        if start.is_zoned() {
            let refused = made.err().unwrap_or_else(|| panic!("{name} is fitted")).to_string();
            assert!(refused.contains("zoned profiles are not fitted"), "{refused}");
            continue;
        }
        let first = first.into_inner().unwrap_or_else(|| panic!("{name}: nothing was simulated"));
        let capacity = first.model().unwrap().map.capacity.0;
        assert_eq!(capacity, Bytes::from_mib(512), "{name}");
        works(&first).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}
