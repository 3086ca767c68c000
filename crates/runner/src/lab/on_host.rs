//! The host's own kernel in the place of a guest's: fast, and no instruction is translated.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashlag_lab::protocol::DeviceCount;
use flashlag_lab::{Attached, LabError, Layout, Mounted, make_filesystem};
use flashlag_schema::{Phase, Run};
use flashlag_serve::{OwnDirectory, Running, Settings, TimeScale};

use super::boot::{NO_TIME, folder};
use super::floor::lessen;
use super::host::{LabRequest, fills, note_paces, put_floor};
use super::target::LabTarget;
use super::watch::{Watched, start};
use crate::error::RunError;
use crate::output::RunFile;
use crate::request::{Event, Observer, Request};
use crate::sim::REVIEWERS_LEAVE;
use crate::{execute, prepare};

/// A device with its filesystem, mounted by the host. It ends from above.
struct Place {
    mounted: Option<Mounted>,
    attached: Attached,
    at: PathBuf,
}

/// The device under test, the one that takes no time beside it, and where they are mounted.
struct OnHost {
    flash: Place,
    floor: Option<Place>,
    watched: Watched,
    /// It ends with this.
    _beside: Option<Running>,
    folder: OwnDirectory,
}

/// Runs a scenario on the host's own kernel; how many flushes the device took.
pub(super) fn run(
    request: &LabRequest,
    observer: &mut dyn Observer,
) -> Result<(Run, u64), RunError> {
    let refuse = |error: LabError| request.target.failed(error);
    flashlag_lab::check_host(&request.target.spec).map_err(refuse)?;
    observer.event(Event::Preparing("mounting the virtual device"));
    let fills = fills(&request.scenario);
    let mut host =
        OnHost::start(&request.target, request.seed, !fills.is_empty()).map_err(refuse)?;
    if !host.flash.attached.is_direct() {
        observer.event(Event::Note(
            "the loop device can't go past the host's page cache: reads may come from memory",
        ));
    }
    let floor = host.floor(request, observer)?;
    host.watched.paced(request.target.pace, fills);
    let mut counting = Counting {
        observer,
        watched: &mut host.watched,
        failed: None,
        pace: TimeScale::default(),
        paces: Vec::new(),
    };
    let run = perform(request, &host.flash.at, Arc::clone(&request.output), false, &mut counting);
    let (failed, paces) = (counting.failed.take(), std::mem::take(&mut counting.paces));
    let mut run = run?;
    note_paces(&mut run, &paces);
    if let Some(error) = failed {
        return Err(refuse(error));
    }
    put_floor(&mut run, &floor);
    let flushes = host.watched.flushes().map_err(refuse)?;
    host.end().map_err(refuse)?;
    Ok((run, flushes))
}

/// Does the scenario in a directory, or the least of each of its tests.
fn perform(
    request: &LabRequest,
    at: &Path,
    output: Arc<RunFile>,
    least: bool,
    observer: &mut dyn Observer,
) -> Result<Run, RunError> {
    let mut scenario = request.scenario.clone();
    if least {
        lessen(&mut scenario);
    }
    let prepared = prepare(Request {
        scenario,
        target: request.target.text.clone(),
        directory: at.to_owned(),
        seed: request.seed,
        leave: Some(request.leave.unwrap_or(REVIEWERS_LEAVE)),
        budget: request.budget,
        verify: request.verify,
        label: None,
        command: request.command.clone(),
        output,
        resume: None,
        stop: request.stop.clone(),
    })?;
    execute(prepared, observer)
}

impl OnHost {
    fn start(target: &LabTarget, seed: u64, fills: bool) -> Result<OnHost, LabError> {
        let folder = folder()?;
        let (flash, layout) =
            start_device(target, &target.spec.profile, seed, (folder.path(), fills))?;
        let watched = Watched::new(flash, layout, folder.path())?;
        let flash = Place::new(target, watched.device(), folder.path(), "flash")?;
        if target.profile.name == NO_TIME {
            return Ok(OnHost { flash, floor: None, watched, _beside: None, folder });
        }
        let (beside, _) = start_device(target, NO_TIME, seed, (folder.path(), false))?;
        let floor = Place::new(target, &beside, folder.path(), "floor")?;
        Ok(OnHost { flash, floor: Some(floor), watched, _beside: Some(beside), folder })
    }

    /// What the software takes, by test, where there is a device to measure that on. It is gone after
    /// that: nothing shares the machine with the device under test.
    fn floor(
        &mut self,
        request: &LabRequest,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Phase>, RunError> {
        let Some(floor) = self.floor.take() else { return Ok(Vec::new()) };
        observer.event(Event::Preparing("measuring what the software takes"));
        let output = Arc::new(RunFile::new(&self.folder.path().join("floor.json"), false)?);
        let run = perform(request, &floor.at, output, true, &mut Silent)?;
        floor.end().map_err(|error| request.target.failed(error))?;
        self._beside = None;
        Ok(run.phases)
    }

    fn end(self) -> Result<(), LabError> {
        self.flash.end()
    }
}

/// Starts a device that holds a new filesystem, and says where the filesystem keeps what. Each has a
/// filesystem of its own: Btrfs mounts no two that bear one name.
fn start_device(
    target: &LabTarget,
    profile: &str,
    seed: u64,
    (folder, fills): (&Path, bool),
) -> Result<(Running, Option<Layout>), LabError> {
    let image = folder.join("image");
    make_filesystem(&target.spec, &image, target.size)?;
    let layout = Layout::read(&target.spec, &image)?;
    let settings = match profile {
        NO_TIME => Settings { size: Some(target.size), seed, ..Settings::of(profile) },
        _ => target.settings(seed),
    };
    let settings = Settings {
        image: Some(image.clone()),
        // A fill would not fit into memory.
        scratch: fills.then(|| folder.to_owned()),
        ..settings
    };
    let running = start(settings)?;
    // The device has it by now.
    drop(std::fs::remove_file(&image));
    Ok((running, layout))
}

impl Place {
    fn new(
        target: &LabTarget,
        device: &Running,
        folder: &Path,
        name: &str,
    ) -> Result<Place, LabError> {
        let at = folder.join(name);
        let own = folder.join(format!("{name}-device"));
        let attached = Attached::attach(&device.uri(), &own)?;
        let mounted = Mounted::mount(&target.spec, attached.device(), &at, &own)?;
        Ok(Place { mounted: Some(mounted), attached, at })
    }

    fn end(mut self) -> Result<(), LabError> {
        self.mounted.take().map_or(Ok(()), Mounted::unmount)?;
        self.attached.detach()
    }
}

/// Passes on what a run tells, and asks the device at each edge of a phase.
struct Counting<'a> {
    observer: &'a mut dyn Observer,
    watched: &'a mut Watched,
    failed: Option<LabError>,
    /// Of the phase under way.
    pace: TimeScale,
    /// Of each phase that has ended.
    paces: Vec<TimeScale>,
}

impl Observer for Counting<'_> {
    fn event(&mut self, event: Event<'_>) {
        match &event {
            Event::PhaseStarted { label, .. } => match self.watched.begins(label) {
                Ok(pace) => self.pace = pace,
                Err(error) => self.failed = Some(error),
            },
            Event::PhaseFinished(_) => self.paces.push(self.pace),
            _ => {}
        }
        self.observer.event(event);
    }

    fn device_count(&mut self) -> Option<DeviceCount> {
        self.watched.sample(None).map_err(|error| self.failed = Some(error)).ok()
    }
}

/// Of the floor nothing is told but its figures.
struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: Event<'_>) {}
}
