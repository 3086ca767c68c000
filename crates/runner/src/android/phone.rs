//! A run on one phone, from this machine.

use std::sync::atomic::AtomicBool;

use flashlag_android::protocol::{PhoneOrder, Prepared, RunState};
use flashlag_android::{
    Adb, Connected, Identity, PhoneError, RunOnPhone, chosen, program_for, the_phone,
};
use flashlag_engine::fill::FreeSpace;
use flashlag_schema::{Run, RunStatus, Target, TargetKind};
use flashlag_spec::target::{PhoneChoice, PhoneSpec};

use super::connection::patiently;
use super::follow::follow;
use super::order::{Next, next, order};
use crate::error::RunError;
use crate::estimate::Estimate;
use crate::events::{Event, Observer};
use crate::real::Cost;
use crate::request::Request;

/// A run on a phone that is ready to begin.
pub(crate) struct PhoneRun {
    on: RunOnPhone,
    order: PhoneOrder,
    /// The run without phases, and its cost; `None` if the run is in progress or has ended.
    fresh: Option<Box<(Run, Cost)>>,
    notes: Vec<String>,
}

impl std::fmt::Debug for PhoneRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PhoneRun").field("order", &self.order).finish_non_exhaustive()
    }
}

impl PhoneRun {
    /// The cost of the run; `None` if the run has begun already.
    pub(crate) fn cost(&self) -> Option<&Cost> {
        self.fresh.as_ref().map(|fresh| &fresh.1)
    }

    /// The run without phases; `None` if the run has begun already.
    pub(crate) fn frame(&self) -> Option<&Run> {
        self.fresh.as_ref().map(|fresh| &fresh.0)
    }

    /// Ends without running: removes what was put on the phone. A disconnected phone keeps the
    /// files until the next run or `flashlag clean`.
    pub(crate) fn abandon(self) {
        if self.fresh.is_some() {
            let _ = self.on.remove();
        }
    }
}

/// Connects, puts flashlag on the phone and has the phone add up the cost.
///
/// # Errors
/// No phone can be used, there is no program for it, or the run can't be made there.
pub(crate) fn prepare(request: &Request, spec: &PhoneSpec) -> Result<PhoneRun, RunError> {
    let refuse = |source: PhoneError| RunError::Phone { target: spec.to_string(), source };
    let (phone, way) = the_phone(&spec.choice).map_err(refuse)?;
    let on = RunOnPhone::new(way);
    let before = |error: PhoneError| {
        if error.is_of_the_cable() { PhoneError::BeforeRun(Box::new(error)) } else { error }
    };
    prepare_on(request, spec, &phone, on).map_err(before).map_err(refuse)
}

fn prepare_on(
    request: &Request,
    spec: &PhoneSpec,
    phone: &Connected,
    on: RunOnPhone,
) -> Result<PhoneRun, PhoneError> {
    let identity = on.place().identity()?;
    let mut notes = vec![about(phone, &identity)];
    let target = PhoneSpec { choice: PhoneChoice::Serial(phone.serial.clone()), ..spec.clone() };
    let mut order = order(request, &target.to_string(), spec.directory());
    let found = on.found()?;
    let found = found.as_ref().map(|(there, state)| (there, state));
    let has_run_file = found.is_some() && on.has_run_file()?;
    let next = next(request.resume.is_some(), &order, found, has_run_file)?;
    if let (Next::Follow, Some((there, state))) = (next, found) {
        notes.push(match state {
            RunState::UnderWay => "following the run in progress on the phone".to_owned(),
            _ => "fetching the run that has ended on the phone".to_owned(),
        });
        return Ok(PhoneRun { on, order: there.clone(), fresh: None, notes });
    }
    let program = program_for(identity.abi)?;
    let was_there = on.claim()?;
    if next == Next::Begin && found.is_some() {
        notes.push("removed what an earlier run left on the phone".to_owned());
    }
    order.resume = next == Next::Bring || next == Next::Continue && has_run_file;
    let brought = request.resume.as_deref().filter(|_| next == Next::Bring);
    // The measurements of a continued run stay on the phone.
    let empties = was_there && next != Next::Continue;
    let emptied = if empties { on.empty() } else { Ok(()) };
    match emptied.and_then(|()| ready(&on, &program, &order, brought)) {
        Ok(prepared) => {
            notes.extend(prepared.notes.iter().cloned());
            let fresh = Some(Box::new(fresh(prepared)));
            Ok(PhoneRun { on, order, fresh, notes })
        }
        Err(error) => {
            // A killed run's file stays for the next try. What can't be removed from a phone that is
            // gone is removed by the next run.
            match next {
                Next::Continue => on.release(),
                _ => drop(on.remove()),
            }
            Err(error)
        }
    }
}

fn ready(
    on: &RunOnPhone,
    program: &std::path::Path,
    order: &PhoneOrder,
    brought: Option<&Run>,
) -> Result<Prepared, PhoneError> {
    on.place().install(program, &order.program)?;
    if let Some(earlier) = brought {
        on.bring(earlier)?;
    }
    on.give(order)?;
    on.prepare()
}

/// `Google Pixel 4 (0A1B2C), Android 13`.
pub(super) fn about(phone: &Connected, identity: &Identity) -> String {
    let Identity { model, release, .. } = identity;
    format!("{model} ({}), Android {release}", phone.serial)
}

fn fresh(prepared: Prepared) -> (Run, Cost) {
    let [total, free, available] = prepared.storage;
    let estimate =
        Estimate { written: prepared.written, time: prepared.time_ns, ..Estimate::default() };
    let cost = Cost {
        estimate,
        cleaned: Vec::new(),
        free: FreeSpace { total, free, available, block: prepared.block },
        leave: (prepared.leave, prepared.leave_reason),
    };
    (*prepared.run, cost)
}

/// Makes the run on the phone, or continues the one there, fetches its result and removes
/// everything from the phone. Fails if the phone does not come back, the run ends without a result,
/// or its file can't be written here.
pub(crate) fn run(
    request: &Request,
    phone: PhoneRun,
    observer: &mut dyn Observer,
) -> Result<Run, RunError> {
    let target = phone.order.run.target.clone();
    let refuse = |source: PhoneError| RunError::Phone { target: target.clone(), source };
    let PhoneRun { on, order, fresh, notes } = phone;
    notes.iter().for_each(|note| observer.event(Event::Note(note)));
    let begins = fresh.is_some();
    if let (Some(fresh), Some(output)) = (fresh, &request.output) {
        // The file is stored before the run begins, so that there is one to resume.
        let mut frame = fresh.0;
        complete(&mut frame, &order);
        output.store(&mut frame)?;
    }
    let stop = &request.stop;
    if begins {
        start(&on, stop, observer).map_err(refuse)?;
    }
    let end = follow(&on, stop, observer).map_err(refuse)?;
    let mut run = match end.outcome.error {
        None => {
            observer.event(Event::Preparing("fetching the run from the phone"));
            patiently(&on, stop, observer, || on.take()).map_err(refuse)?
        }
        Some(error) => match rescued(&on, end.unstored, &error) {
            Some(run) => run,
            None => {
                patiently(&on, stop, observer, || on.remove()).map_err(refuse)?;
                return Err(refuse(PhoneError::Reported(error)));
            }
        },
    };
    complete(&mut run, &order);
    match &request.output {
        Some(output) => output.store(&mut run)?,
        None => run.seal(),
    }
    // The phone's files are removed only now: until the run was stored here, they were the only
    // copy.
    match patiently(&on, stop, observer, || on.remove()) {
        // The run was fetched; files that are not flashlag's stay where they are.
        Err(error @ PhoneError::Foreign { .. }) => {
            observer.event(Event::Note(&error.to_string()));
        }
        removed => drop(removed.map_err(refuse)?),
    }
    Ok(run)
}

/// The measurements of a run that ended without a run file: either sent by the program on the
/// phone, or read from its file as it was before the last write failed. `None` if nothing was
/// measured.
fn rescued(on: &RunOnPhone, unstored: Option<Box<Run>>, error: &str) -> Option<Run> {
    let run = unstored.map(|run| *run).or_else(|| on.take().ok());
    let mut run = run.filter(|run| !run.phases.is_empty())?;
    let next_step = match run.status {
        RunStatus::Complete => return Some(run),
        RunStatus::Running { next_step }
        | RunStatus::Interrupted { next_step }
        | RunStatus::Failed { next_step, .. } => next_step,
    };
    run.status = RunStatus::Failed { next_step, error: format!("on the phone: {error}") };
    Some(run)
}

/// Begins the run. If the phone was disconnected meanwhile, it is asked afterwards whether the run
/// had begun.
fn start(
    on: &RunOnPhone,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<(), PhoneError> {
    let mut is_first = true;
    patiently(on, stop, observer, || {
        if !std::mem::take(&mut is_first) && on.state()? != RunState::Dead {
            return Ok(());
        }
        on.start()
    })
}

/// Adds the facts that only this machine knows.
fn complete(run: &mut Run, order: &PhoneOrder) {
    run.target = Target {
        kind: TargetKind::Phone,
        name: order.run.target.clone(),
        directory: Some(order.run.at.clone()),
        profile: None,
    };
    run.label.clone_from(&order.label);
}

/// The phones that a target means.
pub fn phones(spec: &PhoneSpec) -> Result<Vec<Connected>, RunError> {
    let refuse = |source: PhoneError| RunError::Phone { target: spec.to_string(), source };
    let connected = Adb::find().and_then(|adb| adb.connected()).map_err(refuse)?;
    chosen(&connected, &spec.choice).map_err(refuse)
}
