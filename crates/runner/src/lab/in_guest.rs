//! A run in a guest, from the host's side: boots it, gives orders, and passes on its reports.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use flashlag_lab::LabError;
use flashlag_lab::protocol::{Order, Report};
use flashlag_schema::remote::{Progress, RunOrder};
use flashlag_schema::{Phase, Run};
use flashlag_spec::Reading;
use flashlag_stats::live::Live;

use super::boot::{FLASH, FLOOR, Lab, LabRun, Purpose, boot};
use super::floor::{has_floor, put_floor};
use super::paces::{fills, note_paces};
use crate::error::RunError;
use crate::events::{Event, Observer};
use crate::record::REVIEWERS_LEAVE;
use crate::remote::pass_on;
use crate::replays::sent;

/// Runs a scenario in a guest. Returns the run and the number of flushes that the device took.
pub(super) fn run(asked: LabRun<'_>, observer: &mut dyn Observer) -> Result<(Run, u64), RunError> {
    let LabRun { request, target } = asked;
    let refuse = |error: LabError| target.failed(error);
    observer.event(Event::Preparing("booting a kernel on the virtual device"));
    let fills = fills(&request.scenario);
    let purpose = if fills.is_empty() { Purpose::Measuring } else { Purpose::Filling };
    let mut lab = boot(target, request.seed, purpose, &request.stop).map_err(refuse)?;
    lab.flash.paced(target.pace, fills);
    observer.event(Event::Note(&format!("the guest is {}", lab.machine.kernel)));
    let floor = floor(&mut lab, asked, observer).map_err(refuse)?;
    let order = order(asked, FLASH.1, false);
    let mut run = perform(&mut lab, order, asked, observer).map_err(refuse)?;
    put_floor(&mut run, &floor);
    let flushes = lab.flash.flushes().map_err(refuse)?;
    lab.machine.power_off().map_err(refuse)?;
    let software = &mut run.environment.software;
    software.machine = Reading::Value("a guest of QEMU, its instructions translated".to_owned());
    software.virtualized = Reading::Value(true);
    Ok((run, flushes))
}

fn order(LabRun { request, target }: LabRun<'_>, at: &str, floor: bool) -> Order {
    let settings = &request.scenario.settings;
    Order::Run(Box::new(RunOrder {
        scenario: request.scenario.text.clone(),
        settings: settings.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        seed: request.seed,
        leave: Some(request.leave.unwrap_or(REVIEWERS_LEAVE)),
        budget: request.budget,
        verify: request.verify,
        limits: request.limits,
        at: at.to_owned(),
        rootdir: target.spec.rootdir,
        target: target.text.clone(),
        command: request.command.clone(),
        floor,
        // A replay has no floor: its operations are those of the trace.
        replays: if floor { BTreeMap::new() } else { sent(&request.replays) },
    }))
}

/// The software's floor, by test; empty if the device under test takes no time itself.
fn floor(
    lab: &mut Lab,
    asked: LabRun<'_>,
    observer: &mut dyn Observer,
) -> Result<Vec<Phase>, LabError> {
    if !lab.has_floor() || !has_floor(&asked.request.scenario) {
        return Ok(Vec::new());
    }
    observer.event(Event::Preparing("measuring the software's own cost"));
    let order = order(asked, FLOOR.1, true);
    let run = perform(lab, order, asked, observer)?;
    // From here on only the device under test uses the machine.
    Ok(run.phases)
}

/// Has the guest run a scenario and passes on its reports.
fn perform(
    lab: &mut Lab,
    order: Order,
    asked: LabRun<'_>,
    observer: &mut dyn Observer,
) -> Result<Run, LabError> {
    let live = Arc::new(Live::default());
    lab.machine.order(&order)?;
    let mut stopping = false;
    let mut pace = Default::default();
    let mut paces = Vec::new();
    loop {
        if asked.request.stop.load(Ordering::Relaxed) && !stopping {
            stopping = true;
            lab.machine.order(&Order::Stop)?;
        }
        match lab.machine.hear()? {
            Report::Sample { segments } => {
                let counted = lab.flash.sample(segments.as_deref())?;
                lab.machine.order(&Order::Sampled(counted))?;
            }
            Report::Progress(progress) => {
                match &progress {
                    Progress::PhaseStarted { label, .. } => pace = lab.flash.begins(label)?,
                    Progress::PhaseFinished { .. } => paces.push(pace),
                    _ => {}
                }
                pass_on(&progress, &live, observer);
            }
            Report::Ran { mut run } => {
                note_paces(&mut run, &paces);
                return Ok(*run);
            }
            Report::Alive => {}
            other => return Err(LabError::of_report(other, "ran a scenario")),
        }
    }
}
