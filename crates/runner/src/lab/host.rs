//! On the host: boots, orders, passes on what the guest tells, and completes the run file.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flashlag_lab::LabError;
use flashlag_lab::protocol::{Order, Report, RunOrder};
use flashlag_schema::scenario::{Scenario, Test};
use flashlag_schema::{Floor, Phase, ProfileRecord, Reading, Run, Target, TargetKind};
use flashlag_serve::TimeScale;
use flashlag_stats::live::Live;
use flashlag_units::Bytes;

use super::boot::{FLASH, FLOOR, Lab, Purpose, boot};
use super::on_host;
use super::target::LabTarget;
use super::trust;
use crate::error::RunError;
use crate::output::RunFile;
use crate::request::{Event, Observer};
use crate::sim::REVIEWERS_LEAVE;
use crate::task::{Task, tasks};

/// A run to be made in the lab.
#[derive(Clone, Debug)]
pub struct LabRequest {
    /// What is done.
    pub scenario: Scenario,
    /// What `--set` said.
    pub settings: Vec<(String, String)>,
    /// On what.
    pub target: LabTarget,
    /// What every random choice follows from.
    pub seed: u64,
    /// What a fill spares; the reviewers' 300 MB where it is not said.
    pub leave: Option<Bytes>,
    /// The most that may be written.
    pub budget: Option<Bytes>,
    /// Whether every byte is read back.
    pub verify: bool,
    /// What the user calls the device under test.
    pub label: Option<String>,
    /// The command line.
    pub command: Vec<String>,
    /// Where the run file goes.
    pub output: Arc<RunFile>,
    /// Set from outside when the run has to end.
    pub stop: Arc<AtomicBool>,
}

/// Runs a scenario in a guest, or on the host's own kernel.
///
/// # Errors
/// What the lab needs is not there, the guest does not come up or goes away, or the run file can't be
/// written.
pub fn run_in_lab(request: &LabRequest, observer: &mut dyn Observer) -> Result<Run, RunError> {
    let (mut run, flushes) = match request.target.spec.host {
        true => on_host::run(request, observer)?,
        false => in_guest(request, observer)?,
    };
    complete(&mut run, request, flushes);
    request.output.store(&mut run)?;
    Ok(run)
}

/// Runs it in a guest; how many flushes the device took.
fn in_guest(request: &LabRequest, observer: &mut dyn Observer) -> Result<(Run, u64), RunError> {
    let refuse = |error: LabError| request.target.failed(error);
    observer.event(Event::Preparing("booting a kernel on the virtual device"));
    let fills = fills(&request.scenario);
    let purpose = if fills.is_empty() { Purpose::Measuring } else { Purpose::Filling };
    let mut lab = boot(&request.target, request.seed, purpose, &request.stop).map_err(refuse)?;
    lab.flash.paced(request.target.pace, fills);
    observer.event(Event::Note(&format!("the guest is {}", lab.machine.kernel)));
    let floor = floor(&mut lab, request, observer).map_err(refuse)?;
    let order = order(request, FLASH.1, false);
    let mut run = perform(&mut lab, order, request, observer).map_err(refuse)?;
    put_floor(&mut run, &floor);
    let flushes = lab.flash.flushes().map_err(refuse)?;
    lab.machine.power_off().map_err(refuse)?;
    let software = &mut run.environment.software;
    software.machine = Reading::Value("a guest of QEMU, its instructions translated".to_owned());
    software.virtualized = Reading::Value(true);
    Ok((run, flushes))
}

/// What fills, and tests that only prepare, are called when they begin.
pub(super) fn fills(scenario: &Scenario) -> Vec<String> {
    let prepares = |task: &&Task<'_>| match task {
        Task::Fill { .. } => true,
        Task::Measure { test: Test::Io(io), .. } => io.prepares,
        _ => false,
    };
    tasks(scenario).iter().filter(prepares).map(Task::label).collect()
}

fn order(request: &LabRequest, at: &str, floor: bool) -> Order {
    Order::Run(Box::new(RunOrder {
        scenario: request.scenario.text.clone(),
        settings: request.settings.clone(),
        seed: request.seed,
        leave: request.leave.unwrap_or(REVIEWERS_LEAVE),
        budget: request.budget,
        verify: request.verify,
        at: at.to_owned(),
        target: request.target.text.clone(),
        command: request.command.clone(),
        floor,
    }))
}

/// What the software takes, by test: measured on a device that takes no time, if this is none.
fn floor(
    lab: &mut Lab,
    request: &LabRequest,
    observer: &mut dyn Observer,
) -> Result<Vec<Phase>, LabError> {
    if !lab.has_floor() {
        return Ok(Vec::new());
    }
    observer.event(Event::Preparing("measuring what the software takes"));
    let order = order(request, FLOOR.1, true);
    let run = perform(lab, order, request, observer)?;
    // From here on nothing shares the machine with the device under test.
    Ok(run.phases)
}

pub(super) fn put_floor(run: &mut Run, floor: &[Phase]) {
    for phase in &mut run.phases {
        let same = floor.iter().find(|floor| floor.name == phase.name);
        phase.floor = same.map(|floor| Floor {
            ops: floor.ops,
            latency_ns: floor.latency_ns.clone(),
            histogram: floor.histogram.clone(),
        });
    }
}

/// Has the guest do it.
fn perform(
    lab: &mut Lab,
    order: Order,
    request: &LabRequest,
    observer: &mut dyn Observer,
) -> Result<Run, LabError> {
    let live = Arc::new(Live::default());
    lab.machine.order(&order)?;
    let mut stopping = false;
    let mut pace = TimeScale::default();
    let mut paces = Vec::new();
    loop {
        if request.stop.load(Ordering::Relaxed) && !stopping {
            stopping = true;
            lab.machine.order(&Order::Stop)?;
        }
        match lab.machine.hear()? {
            Report::Sample { segments } => {
                let counted = lab.flash.sample(segments.as_deref())?;
                lab.machine.order(&Order::Sampled(counted))?;
            }
            Report::Preparing { text } => observer.event(Event::Preparing(&text)),
            Report::PhaseStarted { label, expected, limit } => {
                live.reset();
                pace = lab.flash.begins(&label)?;
                let (label, live) = (label.as_str(), &live);
                observer.event(Event::PhaseStarted { label, expected, limit, live });
            }
            Report::PhaseFinished { phase } => {
                paces.push(pace);
                observer.event(Event::PhaseFinished(&phase));
            }
            Report::Wrote { bytes } => observer.event(Event::Wrote(bytes)),
            Report::Filling { storage } => observer.event(Event::Filling(storage)),
            Report::Note { text } => observer.event(Event::Note(&text)),
            Report::Ran { mut run } => {
                note_paces(&mut run, &paces);
                return Ok(*run);
            }
            Report::Failed { error } => return Err(LabError::Said(error)),
            Report::Alive => {}
            other => return Err(LabError::Said(format!("{other:?}, while it ran a scenario"))),
        }
    }
}

/// A phase in which the device lived faster than it would says so: its times are not a phone's.
pub(super) fn note_paces(run: &mut Run, paces: &[TimeScale]) {
    for (phase, pace) in run.phases.iter_mut().zip(paces) {
        if *pace != TimeScale::default() {
            phase.notes.push(format!(
                "the device lived {pace} times as fast as it would: its part of these times is as \
                 much too short"
            ));
        }
    }
}

/// What only the host knows: which device it was, and that it took the flushes.
fn complete(run: &mut Run, request: &LabRequest, flushes: u64) {
    trust::believe_flushes(run, flushes);
    let target = &request.target;
    run.target = Target {
        kind: TargetKind::Lab,
        name: target.text.clone(),
        directory: None,
        profile: Some(ProfileRecord {
            name: target.profile.name.clone(),
            about: target.profile.about.clone(),
            filesystem: target.spec.stack(),
            text: target.profile.to_toml(),
            device_options: target.spec.device_options(),
        }),
    };
    run.label = request.label.clone();
    run.options.leave_reason = match request.leave {
        Some(_) => "given by --leave".to_owned(),
        None => "what the reviewers' fills left".to_owned(),
    };
    run.environment.device.model = Reading::Value(target.profile.about.clone());
}
