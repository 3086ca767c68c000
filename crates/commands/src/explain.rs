use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use flashlag_explain::{findings_of, set_up};
use flashlag_inspect::{Root, environment_with_names};
use flashlag_predict::effect::{device_of, with_forecasts, without_forecasts};
use flashlag_runner::android::explain_phone;
use flashlag_runner::{Event, Observer, Request, Target, sim};
use flashlag_schema::Run;
use flashlag_schema::finding::{Explained, Finding};
use flashlag_spec::profile::Profile;
use flashlag_spec::scenario::Scenario;
use flashlag_spec::target::{DeviceSpec, Kind, TargetSpec};

use crate::error::CommandError;
use crate::files::{run_from, scenario_text};
use crate::simulations::{Counting, Simulations};

/// The longest that forecasts may take. Those of a new device take a second, of a full one a minute.
const FORECASTS: Duration = Duration::from_secs(15);
/// The profile of a device that takes no time.
const NO_DEVICE: &str = "zero";
/// The scenario whose run explains a simulated device.
const QUICK: &str = "quick";

/// The subject of an explanation.
#[derive(Debug)]
pub enum Subject {
    /// What a directory or a phone's storage is made of; nothing was measured.
    SetUp(Box<Explained>),
    Run(Box<Run>),
}

impl Subject {
    /// A directory, a phone (`adb:`), a simulated device (`sim:PROFILE`, which is measured), or a run
    /// file.
    pub fn of(path: &Path) -> Result<Subject, CommandError> {
        let text = path.to_string_lossy();
        if path.is_dir() {
            return Ok(Subject::SetUp(Box::new(seen_from(path)?)));
        }
        Ok(match TargetSpec::parse(&text) {
            Ok(TargetSpec::Phone(phone)) => Subject::SetUp(Box::new(explain_phone(&phone)?)),
            Ok(TargetSpec::Device(DeviceSpec { kind: Kind::Sim, .. })) => {
                Subject::Run(Box::new(simulated(&text)?))
            }
            Ok(TargetSpec::Device(_)) => {
                Target::parse(&text)?;
                return Err(CommandError::Impossible(format!(
                    "{text} has to be measured first: `flashlag run quick --on {text} -o RUN.json`, then \
                     `flashlag explain RUN.json`"
                )));
            }
            Ok(TargetSpec::Directory(_)) if path.exists() => {
                Subject::Run(Box::new(run_from(path)?))
            }
            // Nothing has that name: a target is misspelt, or a file is missing.
            _ => {
                Target::parse(&text)?;
                Subject::Run(Box::new(run_from(path)?))
            }
        })
    }
}

/// Forecasts of the effects that a run does not show.
pub struct Forecasts<'a> {
    /// The profile that stands for the device; `None` for the nearest built-in one.
    pub profile: Option<&'a str>,
    /// Raised to end them.
    pub stop: &'a Arc<AtomicBool>,
    /// The display that counts the simulations.
    pub counting: Box<dyn Counting>,
}

/// The findings of a run, with the effects that it leaves to forecasts, if those are asked for. `subject`
/// is what was typed.
pub fn explained(
    run: &Run,
    subject: &str,
    forecasts: Option<Forecasts<'_>>,
) -> Result<Explained, CommandError> {
    let stored = findings_of(run).into_owned();
    let found = stored.list.clone();
    let findings = match forecasts {
        Some(forecasts) => with_effects(run, subject, found, forecasts)?,
        None => without_forecasts(found, run, "none was asked for"),
    };
    let (subject, environment) = (subject.to_owned(), run.environment.clone());
    Ok(Explained { subject, environment, findings, run: Some(stored) })
}

/// The findings with forecasts, which take 15 s at most.
fn with_effects(
    run: &Run,
    name: &str,
    found: Vec<Finding>,
    forecasts: Forecasts<'_>,
) -> Result<Vec<Finding>, CommandError> {
    let Forecasts { profile, stop, counting } = forecasts;
    let named = profile.map(sim::profile).transpose()?;
    let simulations = Simulations::new(Arc::clone(stop), counting, "forecasting effects", None);
    let (done, waited) = channel::<()>();
    let stop = Arc::clone(stop);
    std::thread::spawn(move || {
        if waited.recv_timeout(FORECASTS) == Err(RecvTimeoutError::Timeout) {
            stop.store(true, Ordering::Relaxed);
        }
    });
    let profiles: Vec<Profile> = sim::profile_names()
        .filter(|name| *name != NO_DEVICE)
        .map(sim::profile)
        .collect::<Result<_, _>>()?;
    let device = device_of(run, name, &found, named.as_ref(), &profiles, &simulations);
    let found = match device {
        Ok(device) => with_forecasts(run, found, &device, &simulations),
        Err(why) => without_forecasts(found, run, &why.to_string()),
    };
    drop(done);
    simulations.clear();
    Ok(found)
}

/// The built-in scenario `quick` on a simulated device, which takes a second.
fn simulated(target: &str) -> Result<Run, CommandError> {
    let scenario = Scenario::parse(&scenario_text(QUICK)?, &[]).map_err(|source| {
        CommandError::Scenario { name: QUICK.to_owned(), source: Box::new(source) }
    })?;
    let request = Request::new(scenario, Target::parse(target)?, 1);
    Ok(flashlag_runner::run(request, &mut Unobserved)?)
}

struct Unobserved;

impl Observer for Unobserved {
    fn event(&mut self, _: Event<'_>) {}
}

/// The layers below a directory, with its whole path.
fn seen_from(directory: &Path) -> Result<Explained, CommandError> {
    let whole = directory
        .canonicalize()
        .map_err(|source| CommandError::Directory { path: directory.to_owned(), source })?;
    if !flashlag_runner::is_on_storage(&whole) {
        return Err(CommandError::Impossible(format!(
            "{} is on no storage: its filesystem is made up by the kernel (name a directory on the storage, a \
             phone or a run file)",
            whole.display()
        )));
    }
    let environment = environment_with_names(&Root::system(), &whole);
    let findings = set_up(&environment);
    Ok(Explained { subject: whole.display().to_string(), environment, findings, run: None })
}
