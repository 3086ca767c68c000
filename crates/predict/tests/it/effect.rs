//! Effects of findings by forecasts on the closed form, whose figures are known.

use crate::common::{ClosedForm, QUICK, profile};
use flashlag_predict::effect::{Device, NoDevice, device_of, with_forecasts, without_forecasts};
use flashlag_predict::{Simulation, SimulationError, Simulator};
use flashlag_schema::finding::{Effect, EffectBasis, Finding, FindingId, ProfileOf};
use flashlag_schema::{Layer, LayerKind, Run};
use flashlag_spec::profile::{FittedFrom, Profile};
use flashlag_spec::scenario::Scenario;
use flashlag_spec::target::{Kind, MountSpec};
use flashlag_spec::{Reading, Verdict};
use flashlag_units::Bytes;

/// `quick` on the closed form with a filesystem, with its findings.
fn quick(filesystem: &str) -> Run {
    let scenario = Scenario::parse(QUICK, &[]).unwrap();
    let mount = MountSpec::parse(Kind::Sim, filesystem).unwrap();
    let profile = profile();
    let simulation =
        Simulation { profile: &profile, mount: &mount, scenario: &scenario, seed: 1, leave: None };
    ClosedForm::default().simulate(&simulation).unwrap()
}

fn device(run: &Run) -> Device {
    let list = flashlag_explain::findings(run).list;
    device_of(run, "run.json", &list, Some(&profile()), &[], &ClosedForm::default()).unwrap()
}

/// The findings of a run on which only the set-up speaks, with forecasts.
fn forecast(run: &Run) -> Vec<Finding> {
    let list = flashlag_explain::set_up(&run.environment);
    with_forecasts(run, list, &device(run), &ClosedForm::default())
}

fn effect(found: &[Finding], id: FindingId) -> &Effect {
    let finding = found.iter().find(|finding| finding.id == id).unwrap();
    finding.effect.value().unwrap_or_else(|| panic!("{finding:?}"))
}

fn measured(options: &[&str]) -> Run {
    let mut run = quick("ext4");
    run.target.profile = None;
    let filesystem = &mut run.environment.filesystem;
    filesystem.kind = Reading::Value("ext4".to_owned());
    filesystem.options = Reading::Value(options.iter().map(|one| (*one).to_owned()).collect());
    run
}

#[test]
fn what_barriers_would_cost_is_forecast_as_a_loss_of_time() {
    let found = forecast(&measured(&["nobarrier"]));
    let effect = effect(&found, FindingId::NoBarrier);
    let EffectBasis::Forecast { profile: name, of, change, size_bytes: None } = &effect.basis
    else {
        panic!("{effect:?}")
    };
    assert_eq!((name.as_str(), *of), (profile().name.as_str(), ProfileOf::Named));
    assert_eq!(change, "nobarrier=off");
    let (now, fixed) = (effect.now_ns.0 as f64, effect.fixed_ns.unwrap().0 as f64);
    assert!(now < fixed, "a flush takes time: {effect:?}");
    let cost = effect.cost_s_per_1000.value;
    assert!((cost - (now - fixed) / 1e6).abs() < 1e-5, "seconds for 1,000 of them: {effect:?}");
}

#[test]
fn fuse_costs_what_the_same_saves_would_not_wait_without() {
    let mut run = measured(&["rw"]);
    run.environment.layers =
        vec![Layer { kind: LayerKind::Fuse, name: "/storage".to_owned(), detail: None }];
    let found = forecast(&run);
    let effect = effect(&found, FindingId::FuseOnPath);
    assert!(effect.cost_s_per_1000.value > 0.0, "{effect:?}");
    assert!(effect.fixed_ns.unwrap() < effect.now_ns);
}

#[test]
fn a_measured_effect_stays_as_it_was_measured() {
    let run = quick("ext4");
    let list = flashlag_explain::findings(&run).list;
    let known: Vec<&Finding> = list.iter().filter(|one| one.effect.value().is_some()).collect();
    assert!(!known.is_empty());
    let found = with_forecasts(&run, list.clone(), &device(&run), &ClosedForm::default());
    for finding in known {
        assert!(found.contains(finding), "{finding:?}");
    }
}

#[test]
fn the_device_is_the_run_s_own_one_that_was_fitted_one_that_was_named_or_none() {
    let simulator = ClosedForm::default();
    let of = |run: &Run, named: Option<&flashlag_spec::profile::Profile>, profiles: &[_]| {
        let list = flashlag_explain::set_up(&run.environment);
        device_of(run, "here/run.json", &list, named, profiles, &simulator)
    };
    let seen = measured(&["rw"]);
    let mut fitted = profile();
    fitted.fitted_from = Some(FittedFrom {
        run: "elsewhere/run.json".to_owned(),
        verdict: Verdict::Trusted,
        doubts: Vec::new(),
        forced: false,
        misfit_percent: 3.0,
    });
    assert_eq!(of(&seen, Some(&fitted), &[]).unwrap().of, ProfileOf::Fitted);
    fitted.fitted_from.as_mut().unwrap().run = "other.json".to_owned();
    assert_eq!(of(&seen, Some(&fitted), &[]).unwrap().of, ProfileOf::Named);
    assert_eq!(of(&seen, None, &[profile()]).unwrap().of, ProfileOf::Nearest);
    let mut slow = profile();
    for key in ["nand.program", "nand.read"] {
        slow = slow.with(key, "90ms").unwrap();
    }
    let far = of(&seen, None, &[slow]).unwrap_err();
    assert!(far.to_string().contains("flashlag fit"), "{far}");
    let mut virtual_disk = seen.clone();
    virtual_disk.environment.device.kind = Reading::Value("virtio".to_owned());
    let hidden = of(&virtual_disk, None, &[profile()]).unwrap_err();
    assert!(matches!(hidden, NoDevice::Hidden), "{hidden:?}");
}

/// A simulator whose time is up.
struct Late;

impl Simulator for Late {
    fn simulate(&self, _: &Simulation<'_>) -> Result<Run, SimulationError> {
        Err(SimulationError::Stopped)
    }
}

#[test]
fn a_forecast_that_is_not_done_in_time_or_not_asked_for_says_so() {
    let run = measured(&["nobarrier"]);
    let list = flashlag_explain::set_up(&run.environment);
    let found = with_forecasts(&run, list.clone(), &device(&run), &Late);
    assert_eq!(found.len(), list.len(), "nothing is found by a forecast that was not made");
    assert!(found[0].effect.reason().unwrap().contains("not done in time"), "{found:?}");
    let (journal, changes) = ("journal=delete", "nobarrier=on,nobarrier=off");
    let command =
        format!("flashlag predict PROFILE.toml --fs ext4,nobarrier --change {journal},{changes}");
    assert_eq!(found[0].commands, [command], "it says how to have the forecast");
    let found = without_forecasts(list, &run, "none was asked for");
    assert!(found[0].effect.reason().unwrap().ends_with("no forecast: none was asked for"));
}

/// The closed form, on which ext4 saves many times faster than it does.
struct FasterOnExt4;

impl Simulator for FasterOnExt4 {
    fn simulate(&self, simulation: &Simulation<'_>) -> Result<Run, SimulationError> {
        let mut run = ClosedForm::default().simulate(simulation)?;
        if simulation.mount.filesystem == flashlag_spec::target::FilesystemKind::Ext4 {
            for phase in &mut run.phases {
                phase.ops_per_sec *= 4.0;
            }
        }
        Ok(run)
    }
}

#[test]
fn another_filesystem_is_found_where_saves_would_wait_a_tenth_less() {
    let mut run = measured(&["rw"]);
    run.environment.filesystem.kind = Reading::Value("f2fs".to_owned());
    let found = with_forecasts(&run, Vec::new(), &device(&run), &FasterOnExt4);
    let effect = effect(&found, FindingId::OtherFilesystem);
    assert!(effect.fixed_ns.unwrap().0 * 10 < effect.now_ns.0 * 9, "{effect:?}");
    assert_eq!(found[0].evidence[0].value, "f2fs, not ext4");
    run.environment.filesystem.kind = Reading::Value("ext4".to_owned());
    let found = with_forecasts(&run, Vec::new(), &device(&run), &FasterOnExt4);
    assert_eq!(found, [], "the other one would wait longer");
}

/// The closed form, whose devices can be had in every size with an equal share of spare area.
struct OfAnySize;

impl Simulator for OfAnySize {
    fn simulate(&self, simulation: &Simulation<'_>) -> Result<Run, SimulationError> {
        ClosedForm::default().simulate(simulation)
    }

    fn of_size(&self, profile: &Profile, size: Bytes) -> Option<Profile> {
        let model = profile.model().ok()?.map;
        let spare = model.spare.0.0 * size.0 / model.capacity.0.0;
        let sized = profile.with("map.capacity", &format!("{}B", size.0)).ok()?;
        sized.with("map.spare", &format!("{spare}B")).ok()
    }
}

#[test]
fn a_full_device_is_simulated_as_a_smaller_one_that_is_as_full_and_says_so() {
    let mut run = measured(&["rw"]);
    run.environment.device.kind = Reading::Value("emmc".to_owned());
    run.environment.filesystem.total_bytes = Reading::Value(Bytes::from_mib(8000));
    run.environment.filesystem.free_bytes = Reading::Value(Bytes::from_mib(400));
    let list = flashlag_explain::set_up(&run.environment);
    assert_eq!(list[0].id, FindingId::NearlyFull);
    let with = |simulator: &dyn Simulator| {
        let found = with_forecasts(&run, list.clone(), &device(&run), simulator);
        effect(&found, FindingId::NearlyFull).clone()
    };
    let (small, whole) = (with(&OfAnySize), with(&ClosedForm::default()));
    let size = |effect: &Effect| match &effect.basis {
        EffectBasis::Forecast { change, size_bytes, .. } => (change.clone(), *size_bytes),
        other => panic!("{other:?}"),
    };
    assert_eq!(size(&whole), ("full=50%".to_owned(), None));
    // The profile has 8 GiB: an eighth of it is less than the smallest that stands for others.
    assert_eq!(size(&small), ("full=50%".to_owned(), Some(Bytes(2 << 30))));
    let off = small.cost_s_per_1000.value / whole.cost_s_per_1000.value - 1.0;
    assert!(whole.cost_s_per_1000.value > 0.0 && off.abs() < 0.02, "{off}: {small:?} {whole:?}");
}

#[test]
fn what_the_model_lacks_is_said_with_or_without_forecasts() {
    let mut run = measured(&["data=journal"]);
    run.environment.device.kind = Reading::Value("nvme".to_owned());
    run.environment.device.queue.scheduler = Reading::Value("bfq".to_owned());
    run.environment.layers = vec![Layer {
        kind: LayerKind::Stacked,
        name: "/".to_owned(),
        detail: Some("overlay".to_owned()),
    }];
    let list = flashlag_explain::set_up(&run.environment);
    let kinds = [FindingId::DataJournal, FindingId::Scheduler, FindingId::Overlay];
    for found in [forecast(&run), without_forecasts(list, &run, "none was asked for")] {
        for id in kinds {
            let finding = found.iter().find(|one| one.id == id).unwrap();
            assert!(finding.effect.reason().unwrap().contains("the model has no "), "{finding:?}");
            assert_eq!(finding.commands.last().unwrap(), "flashlag compare with.json without.json");
        }
    }
}

#[test]
fn fast_commits_are_a_finding_where_a_forecast_without_them_is_shorter_and_else_none() {
    use flashlag_schema::finding::Severity;
    let mut run = measured(&["rw"]);
    run.environment.filesystem.kind = Reading::Value("ext4".to_owned());
    let planted = || {
        let reason = Reading::unavailable("nothing was measured");
        vec![flashlag_explain::finding(
            FindingId::FastCommit,
            Severity::Minor,
            "",
            Vec::new(),
            reason,
        )]
    };
    let without = |times: f64| {
        let found = with_forecasts(&run, planted(), &device(&run), &WithoutFastCommits(times));
        found.into_iter().find(|finding| finding.id == FindingId::FastCommit)
    };
    let found = without(1.2).unwrap();
    let effect = found.effect.value().unwrap();
    let ratio = effect.now_ns.0 as f64 / effect.fixed_ns.unwrap().0 as f64;
    assert!((ratio - 1.2).abs() < 1e-3, "{effect:?}");
    assert_eq!((without(1.01), without(0.8)), (None, None));
}

/// The closed form, whose rates are multiplied by this without fast commits.
struct WithoutFastCommits(f64);

impl Simulator for WithoutFastCommits {
    fn simulate(&self, simulation: &Simulation<'_>) -> Result<Run, SimulationError> {
        let mut run = ClosedForm::default().simulate(simulation)?;
        let on = flashlag_spec::target::TargetOption::FastCommit;
        if !simulation.mount.options.contains(&on) {
            run.phases.iter_mut().for_each(|phase| phase.ops_per_sec *= self.0);
        }
        Ok(run)
    }
}
