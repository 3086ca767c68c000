//! The host's own kernel instead of a guest's: fast, since no instruction is translated.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashlag_lab::{HostMount, LabError, Layout, LoopDevice, make_filesystem};
use flashlag_schema::{DeviceCount, Phase, Run};
use flashlag_serve::{OwnDirectory, Running, Settings, TimeScale};

use super::boot::{LabRun, NO_TIME, folder};
use super::floor::{lessen, put_floor};
use super::paces::{fills, pace_note};
use super::watch::{DeviceWatch, start};
use crate::error::RunError;
use crate::events::{Event, Observer};
use crate::output::RunFile;
use crate::real::{self, DirectoryRequest, Witness};
use crate::record::REVIEWERS_LEAVE;
use crate::request::Request;
use crate::target::LabTarget;

/// A device with its filesystem, mounted by the host. The fields are dropped in order, the mount
/// first.
struct MountedDevice {
    mounted: Option<HostMount>,
    attached: LoopDevice,
    at: PathBuf,
}

/// The device under test and the floor, mounted.
struct OnHost {
    flash: MountedDevice,
    floor: Option<MountedDevice>,
    watched: DeviceWatch,
    /// The floor's device, which ends with this value.
    _beside: Option<Running>,
    _folder: OwnDirectory,
}

/// Runs a scenario on the host's own kernel. Returns the run and the number of flushes that the
/// device took.
pub(super) fn run(asked: LabRun<'_>, observer: &mut dyn Observer) -> Result<(Run, u64), RunError> {
    let LabRun { request, target } = asked;
    let refuse = |error: LabError| target.failed(error);
    observer.event(Event::Preparing("mounting the virtual device"));
    let fills = fills(&request.scenario);
    let mut host = OnHost::start(target, request.seed, !fills.is_empty()).map_err(refuse)?;
    if !host.flash.attached.is_direct() {
        observer.event(Event::Note(
            "the loop device can't bypass the host's page cache: reads may come from memory",
        ));
    }
    let floor = host.floor(asked, observer)?;
    host.watched.paced(target.pace, fills);
    let mut failed = None;
    let witness =
        HostWitness { watched: &mut host.watched, failed: &mut failed, pace: TimeScale::default() };
    let on = Mount {
        at: &host.flash.at,
        output: request.output.clone(),
        least: false,
        witness: Some(Box::new(witness)),
    };
    let run = perform(asked, on, observer);
    if let Some(error) = failed {
        return Err(refuse(error));
    }
    let mut run = run?;
    put_floor(&mut run, &floor);
    let flushes = host.watched.flushes().map_err(refuse)?;
    host.end().map_err(refuse)?;
    Ok((run, flushes))
}

/// A mounted device to run a scenario on.
struct Mount<'a> {
    at: &'a Path,
    output: Option<Arc<RunFile>>,
    /// Whether each test is reduced to what the software's floor needs.
    least: bool,
    witness: Option<Box<dyn Witness + 'a>>,
}

fn perform(
    LabRun { request, target }: LabRun<'_>,
    on: Mount<'_>,
    observer: &mut dyn Observer,
) -> Result<Run, RunError> {
    let mut request = Request {
        leave: Some(request.leave.unwrap_or(REVIEWERS_LEAVE)),
        label: None,
        output: on.output,
        ..request.clone()
    };
    if on.least {
        lessen(&mut request.scenario);
    }
    let directory = DirectoryRequest {
        name: target.text.clone(),
        path: on.at.to_owned(),
        witness: on.witness,
        watches_stops: true,
        rootdir: target.spec.rootdir,
    };
    let (work, first_task, _) = real::prepare(request, directory)?;
    real::finish(work, first_task, observer)
}

impl OnHost {
    fn start(target: &LabTarget, seed: u64, fills: bool) -> Result<OnHost, LabError> {
        let folder = folder()?;
        let (flash, layout) =
            start_device(target, &target.spec.profile, seed, (folder.path(), fills))?;
        let watched = DeviceWatch::new(flash, layout, folder.path())?;
        let flash = MountedDevice::new(target, watched.device(), folder.path(), "flash")?;
        if target.profile.name == NO_TIME {
            return Ok(OnHost { flash, floor: None, watched, _beside: None, _folder: folder });
        }
        let (beside, _) = start_device(target, NO_TIME, seed, (folder.path(), false))?;
        let floor = MountedDevice::new(target, &beside, folder.path(), "floor")?;
        Ok(OnHost { flash, floor: Some(floor), watched, _beside: Some(beside), _folder: folder })
    }

    /// The software's floor, by test; empty if the device under test takes no time itself. Its device
    /// ends here, so that only the device under test uses the machine afterwards.
    fn floor(
        &mut self,
        asked: LabRun<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Phase>, RunError> {
        let Some(floor) = self.floor.take() else { return Ok(Vec::new()) };
        observer.event(Event::Preparing("measuring the software's own cost"));
        let on = Mount { at: &floor.at, output: None, least: true, witness: None };
        let run = perform(asked, on, &mut Silent)?;
        floor.end().map_err(|error| asked.target.failed(error))?;
        self._beside = None;
        Ok(run.phases)
    }

    fn end(self) -> Result<(), LabError> {
        self.flash.end()
    }
}

/// Starts a device with a new filesystem and reads the filesystem's layout. Each device gets a
/// filesystem of its own, since Btrfs refuses to mount two with the same id.
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
        // Data of a fill does not fit into memory.
        scratch: fills.then(|| folder.to_owned()),
        ..settings
    };
    let running = start(settings)?;
    // The device has loaded the image.
    drop(std::fs::remove_file(&image));
    Ok((running, layout))
}

impl MountedDevice {
    fn new(
        target: &LabTarget,
        device: &Running,
        folder: &Path,
        name: &str,
    ) -> Result<MountedDevice, LabError> {
        let at = folder.join(name);
        let own = folder.join(format!("{name}-device"));
        let attached = LoopDevice::attach(&device.uri(), &own)?;
        let mounted = HostMount::mount(&target.spec, attached.device(), &at, &own)?;
        Ok(MountedDevice { mounted: Some(mounted), attached, at })
    }

    fn end(mut self) -> Result<(), LabError> {
        self.mounted.take().map_or(Ok(()), HostMount::unmount)?;
        self.attached.detach()
    }
}

/// The device under test, whose counters are read at each edge of a phase.
#[derive(Debug)]
struct HostWitness<'a> {
    watched: &'a mut DeviceWatch,
    failed: &'a mut Option<LabError>,
    /// Pace of the current phase.
    pace: TimeScale,
}

impl Witness for HostWitness<'_> {
    fn phase_begins(&mut self, label: &str) {
        match self.watched.begins(label) {
            Ok(pace) => self.pace = pace,
            Err(error) => *self.failed = Some(error),
        }
    }

    fn count(&mut self) -> Option<DeviceCount> {
        self.watched.sample(None).map_err(|error| *self.failed = Some(error)).ok()
    }

    fn phase_note(&self) -> Option<String> {
        pace_note(self.pace)
    }
}

/// Runs of the floor are silent.
struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: Event<'_>) {}
}
