//! Measures how many saves power cuts lose. The requests of a series of saves are recorded; the
//! recording gives the image that a cut at any moment would have left, and a guest mounts each
//! image and checks it. Then the filesystem's own tool repairs the image, and it is checked again.
//!
//! A save counts as acknowledged if the device's clock, read after the guest's report has arrived,
//! is at or before the cut. That is later than the truth, never earlier, so no loss is reported in
//! error.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flashlag_lab::protocol::{CrashCheck, FileOrder, Mount, Order, Report, SaveOrder};
use flashlag_lab::{LabError, Repair};
use flashlag_schema::Cuts;
use flashlag_serve::Recording;
use flashlag_spec::Reading;
use flashlag_spec::scenario::{JournalMode, Synchronous};
use flashlag_units::Nanos;

use super::boot::{CRASH, FLASH, Lab, Purpose, boot};
use super::taken::{Taken, add, add_repaired, nothing};
use super::watch::refuse;
use crate::error::RunError;
use crate::events::{Event, Observer};
use crate::target::LabTarget;

/// How often moments are drawn at most, if too few lie within the saves.
const DRAWS: u64 = 40;
/// Directory of the database.
const DIRECTORY: &str = "saves";

/// A series of power cuts to try.
#[derive(Clone, Debug)]
pub struct CutsRequest {
    pub target: LabTarget,
    /// The journal mode of the saves.
    pub journal: JournalMode,
    /// How a commit is made durable.
    pub synchronous: Synchronous,
    /// The file that is saved instead of a database; it uses the request's seed.
    pub file: Option<FileOrder>,
    pub saves: u64,
    pub cuts: usize,
    /// The seed of moments and contents.
    pub seed: u64,
    /// Raised by another thread to end the series.
    pub stop: Arc<AtomicBool>,
}

/// Tries a series of power cuts.
pub fn cut_in_lab(request: &CutsRequest, observer: &mut dyn Observer) -> Result<Cuts, RunError> {
    let refuse = |error: LabError| request.target.failed(error);
    let without = |what: &'static str| Err(refuse(LabError::CutsWithout(what)));
    if request.target.spec.encrypt.is_some() {
        return without("encryption");
    }
    if request.target.spec.host {
        return without("the host's kernel, which would hang or panic with it");
    }
    if request.target.zones.is_some() {
        return without("zones");
    }
    observer.event(Event::Preparing("booting a kernel on the virtual device"));
    let mut lab =
        boot(&request.target, request.seed, Purpose::Cuts, &request.stop).map_err(refuse)?;
    let acknowledged_at = save(&mut lab, request, observer).map_err(refuse)?;
    let cuts = try_all(&mut lab, request, &acknowledged_at, observer).map_err(refuse)?;
    lab.machine.power_off().map_err(refuse)?;
    Ok(cuts)
}

/// The directory of the database on a filesystem that is mounted there.
fn directory_of(request: &CutsRequest, mounted_at: &str) -> String {
    if request.target.spec.rootdir {
        mounted_at.to_owned()
    } else {
        format!("{mounted_at}/{DIRECTORY}")
    }
}

/// Has the guest save. Returns the device's time at each acknowledgement.
fn save(
    lab: &mut Lab,
    request: &CutsRequest,
    observer: &mut dyn Observer,
) -> Result<Vec<Nanos>, LabError> {
    observer.event(Event::Preparing("saving"));
    lab.machine.order(&Order::Save(SaveOrder {
        journal: request.journal,
        synchronous: request.synchronous,
        saves: request.saves,
        seed: request.seed,
        directory: directory_of(request, FLASH.1),
        file: request.file,
    }))?;
    let mut acknowledged_at = Vec::new();
    loop {
        match lab.machine.hear()? {
            Report::Acknowledged { saves } => {
                let now = lab.flash.now()?;
                acknowledged_at.resize(saves as usize, now);
            }
            Report::Saved => break,
            other => return Err(LabError::of_report(other, "saved")),
        }
    }
    lab.flash.stop_recording()?;
    Ok(acknowledged_at)
}

/// Moments within the saves, in ascending order.
fn moments(
    recording: &Path,
    request: &CutsRequest,
    acknowledged_at: &[Nanos],
) -> Result<Vec<Nanos>, LabError> {
    let (Some(first), Some(last)) = (acknowledged_at.first(), acknowledged_at.last()) else {
        return Err(LabError::NoSave);
    };
    let mut moments = Vec::new();
    for draw in 0..DRAWS {
        let seed = request.seed.wrapping_add(draw);
        let drawn = Recording::moments(recording, seed, request.cuts).map_err(refuse)?;
        moments.extend(drawn.into_iter().filter(|moment| (first..=last).contains(&moment)));
        if moments.len() >= request.cuts {
            break;
        }
    }
    moments.truncate(request.cuts);
    moments.sort_unstable();
    Ok(moments)
}

fn try_all(
    lab: &mut Lab,
    request: &CutsRequest,
    acknowledged_at: &[Nanos],
    observer: &mut dyn Observer,
) -> Result<Cuts, LabError> {
    let recording = lab.recording();
    let image: PathBuf = lab.folder().join("crashed");
    let repair = Repair::find(request.target.spec.filesystem);
    let mut cuts = nothing(&request.target.text, acknowledged_at.len() as u64, &repair);
    let moments = moments(&recording, request, acknowledged_at)?;
    for (index, moment) in moments.iter().enumerate() {
        if request.stop.load(Ordering::Relaxed) {
            return Err(LabError::Stopped);
        }
        observer.event(Event::Preparing(&format!("power cut {} of {}", index + 1, moments.len())));
        Recording::crash_image(&recording, *moment, Some(&lab.base()), &image).map_err(refuse)?;
        let acknowledged = acknowledged_at.partition_point(|at| at <= moment) as u64;
        let taken = Taken::of(acknowledged, check(lab, request, &image)?);
        if let (Ok(repair), Reading::Value(repairs)) = (&repair, &mut cuts.repair) {
            // The device holds a copy, which the check changed; the file is as the cut left it.
            let repaired = repair.run(&image)?;
            let after = Taken::of(acknowledged, check(lab, request, &image)?);
            add_repaired(repairs, *moment, (&taken, after), repaired);
        }
        add(&mut cuts, *moment, acknowledged, taken);
    }
    Ok(cuts)
}

/// Has the guest mount an image and check it.
fn check(lab: &mut Lab, request: &CutsRequest, image: &Path) -> Result<CrashCheck, LabError> {
    lab.load(image)?;
    let mount = crashed(request);
    let directory = directory_of(request, &mount.at);
    lab.machine.order(&Order::Check { mount, directory, file: request.file })?;
    match lab.machine.hear()? {
        Report::Checked(checked) => Ok(checked),
        other => Err(LabError::of_report(other, "checked a crash image")),
    }
}

fn crashed(request: &CutsRequest) -> Mount {
    let spec = &request.target.spec;
    Mount {
        serial: CRASH.0.to_owned(),
        filesystem: spec.filesystem.name().to_owned(),
        options: spec.mount_options().join(","),
        at: CRASH.1.to_owned(),
        above: spec.above.clone(),
        encrypt: None,
        zones: None,
        make: Vec::new(),
    }
}
