//! Making a device.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Condvar, Mutex};

use flashlag_device::ZoneGeometry;
use flashlag_flash::Command;
use flashlag_spec::profile::{Model, Profile};
use flashlag_stats::Histogram;
use flashlag_units::{Bytes, Nanos};
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::clock::DeviceClock;
use super::core::Core;
use super::counts::Counts;
use super::{ModelledFlash, ServedDevice};
use crate::data::{Data, FileData, MemoryData};
use crate::error::{ServeError, plain};
use crate::settings::Settings;
use crate::store::{DataFile, Store, StoredState, check_store};
use flashlag_flash::{SECTOR, aged, is_instant, model_of_size, zone_geometry};

/// Bytes that are loaded at a time.
const PIECE: u64 = 64 << 10;

/// The zones of a device for a client that makes zones of its addresses; `None` without zones.
///
/// # Errors
/// The settings do not say that the client does: NBD has no zones. Nor does it say how far a zone is written, so that
/// one that already holds something is refused.
pub(crate) fn zones_of(
    settings: &Settings,
    profile: &Profile,
    model: &Model,
) -> Result<Option<ZoneGeometry>, ServeError> {
    let refuse = |reason: &str| {
        let reason = reason.to_owned();
        Err(ServeError::Profile { name: profile.name.clone(), reason })
    };
    match zone_geometry(model) {
        None => Ok(None),
        Some(_) if !settings.zoned => refuse(
            "it is zoned, and NBD has no zones: take it as sim: or lab:, or choose a profile without \
             zones",
        ),
        Some(_) if settings.store.is_some() || settings.image.is_some() => {
            refuse("it is zoned, and begins empty: leave out store and image")
        }
        zones => Ok(zones),
    }
}

impl ServedDevice {
    /// Opens the device that the settings describe.
    ///
    /// # Errors
    /// A setting is invalid, which the error names, or a file can't be used.
    pub fn open(settings: &Settings) -> Result<ServedDevice, ServeError> {
        if settings.profile.is_empty() {
            return Err(ServeError::setting("profile", "", "say which: profile=nexus5-2013"));
        }
        let refuse =
            |reason: String| ServeError::Profile { name: settings.profile.clone(), reason };
        let profile =
            Profile::find(&settings.profile).map_err(|error| refuse(error.to_string()))?;
        let model = model_of_size(&profile, settings.size)?;
        let zones = zones_of(settings, &profile, &model)?;
        let size = model.map.capacity.0.round_down(SECTOR);
        let check = || check_store(settings, &profile.name, size, is_instant(&model));
        check()?;
        let file = settings.store.as_deref().map(|path| DataFile::open(path, size)).transpose()?;
        // Another server may have created it in the meantime.
        check()?;
        let opened = ServedDevice::begin(settings, (&profile, &model, zones), size, file.as_ref());
        if let (Err(_), Some(file)) = (&opened, &file) {
            file.undo();
        }
        opened
    }

    fn begin(
        settings: &Settings,
        (profile, model, zones): (&Profile, &Model, Option<ZoneGeometry>),
        size: Bytes,
        file: Option<&DataFile>,
    ) -> Result<ServedDevice, ServeError> {
        let was_there = file.is_some_and(|file| file.was_there);
        let core = if is_instant(model) {
            Core::new(DeviceClock::new(settings.time_scale, Nanos::ZERO), None, None)
        } else {
            make_core(settings, profile, model)?
        };
        let served = ServedDevice {
            settings: settings.clone(),
            profile: plain(&profile.name),
            size,
            zones,
            data: data(settings, size, file)?,
            counts: Counts::default(),
            plain: AtomicBool::new(core.is_plain()),
            core: Mutex::new(core),
            changed: Condvar::new(),
            lateness: Mutex::new(Histogram::new()),
        };
        served.fill(was_there)?;
        if let Some(file) = file {
            file.finish()?;
            served.core().begin_store(settings, profile, model)?;
        }
        Ok(served)
    }

    /// Loads the first content: an image, or the data file if no flash state is stored beside it.
    fn fill(&self, was_there: bool) -> Result<(), ServeError> {
        let mut core = self.core();
        if let Some(image) = &self.settings.image {
            self.load(&mut core, image)?;
        } else if was_there && core.is_fresh() {
            self.absorb(&mut core, 0, self.size.0)?;
        }
        Ok(())
    }

    /// Stores the device's state and refuses requests from then on.
    pub fn close(&self) -> Result<(), ServeError> {
        let mut core = self.core();
        self.shut(&mut core)
    }

    pub(super) fn shut(&self, core: &mut Core) -> Result<(), ServeError> {
        let path = self.settings.store.clone().unwrap_or_default();
        let refuse = |error: io::Error| {
            ServeError::file("store in", &path, &error, "is there room on its disk?")
        };
        if std::mem::replace(&mut core.closed, true) {
            return Ok(());
        }
        self.set_plain(core);
        if let Some(recorder) = core.recorder.take() {
            recorder.finish().map_err(refuse)?;
        }
        let saved = core.save();
        self.data.sync().map_err(refuse)?;
        saved
    }

    /// Loads an image file in no time of the host's clock; data beyond the image stays.
    pub(super) fn load(&self, core: &mut Core, path: &Path) -> Result<(), ServeError> {
        let refuse = |error: io::Error| {
            ServeError::file("load", path, &error, "give an image no larger than the device")
        };
        let image = File::open(path).map_err(refuse)?;
        let length = image.metadata().map_err(refuse)?.len();
        if length > self.size.0 {
            let reason = format!("it has {length} bytes, the device {}", self.size.0);
            return Err(refuse(io::Error::other(reason)));
        }
        self.data.clear(0, length).map_err(refuse)?;
        let image = FileData::new(image);
        let mut piece = vec![0; PIECE as usize];
        let mut at = 0;
        while let Some((start, held)) = image.next_held(at, length).map_err(refuse)? {
            let part = &mut piece[..held.min(PIECE) as usize];
            image.read(start, part).map_err(refuse)?;
            if part.iter().any(|byte| *byte != 0) {
                self.data.write(start, part).map_err(refuse)?;
            }
            at = start + part.len() as u64;
        }
        self.absorb(core, 0, length)
    }

    /// Brings the flash into line with the data, as if it were written from the start and flushed,
    /// in no time of the host's clock.
    fn absorb(&self, core: &mut Core, offset: u64, end: u64) -> Result<(), ServeError> {
        let refuse = |reason: String| ServeError::Profile {
            name: self.settings.profile.clone(),
            reason: format!("its initial content: {reason}"),
        };
        let Some(modelled) = &mut core.flash else { return Ok(()) };
        let mut now = core.clock.now();
        let mut at = offset;
        let next = |at| self.data.next_held(at, end).map_err(|error| refuse(error.to_string()));
        while let Some((start, held)) = next(at)? {
            let (start, length) =
                (start - start % SECTOR.0, held.min(PIECE).next_multiple_of(SECTOR.0));
            let (offset, length) = (Bytes(start), Bytes(length.min(self.size.0 - start)));
            let write = Command::Write { offset, length, fua: false };
            let timing = modelled.flash.submit(now, write);
            now = timing.map_err(|error| refuse(error.to_string()))?.ended;
            at = start + length.0;
        }
        let flushed = modelled.flash.submit(now, Command::Flush);
        now = flushed.map_err(|error| refuse(error.to_string()))?.ended;
        core.clock = DeviceClock::new(core.clock.scale(), now);
        core.save()
    }
}

impl Core {
    /// Stores a flash for the first time, if the device has a store.
    fn begin_store(
        &mut self,
        settings: &Settings,
        profile: &Profile,
        model: &Model,
    ) -> Result<(), ServeError> {
        if let (Some(path), Some(modelled), None) = (&settings.store, &self.flash, &self.store) {
            let flash = (&modelled.flash, self.clock.now());
            self.store = Some(Store::begin(path, &profile.name, model, settings.seed, flash)?);
        }
        Ok(())
    }
}

/// The data of a device.
fn data(settings: &Settings, size: Bytes, file: Option<&DataFile>) -> Result<Data, ServeError> {
    if let Some(file) = file {
        let opened = file.file.try_clone();
        let path = settings.store.clone().unwrap_or_default();
        let advice = "are too many files open?";
        let opened = opened.map_err(|error| ServeError::file("open", &path, &error, advice))?;
        return Ok(Data::File(FileData::new(opened)));
    }
    Ok(match &settings.scratch {
        Some(folder) => Data::File(FileData::new(nameless(folder, size)?)),
        None => Data::Memory(MemoryData::new(size.0)),
    })
}

/// A sparse file without a name, which the kernel deletes when it is closed.
fn nameless(folder: &Path, size: Bytes) -> Result<File, ServeError> {
    let refuse = |error: io::Error| {
        ServeError::file("make a file in", folder, &error, "name a folder on another filesystem")
    };
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    let file = openat(CWD, folder, flags, Mode::RUSR | Mode::WUSR);
    let file = File::from(file.map_err(|errno| refuse(errno.into()))?);
    file.set_len(size.0).map_err(refuse)?;
    Ok(file)
}

/// The flash of a device, new or as it was stored.
fn make_core(settings: &Settings, profile: &Profile, model: &Model) -> Result<Core, ServeError> {
    let Settings { seed, time_scale, .. } = *settings;
    let core = |flash, now, store| {
        let modelled = ModelledFlash::new(flash, model.trim.kind);
        Core::new(DeviceClock::new(time_scale, now), Some(modelled), store)
    };
    if let Some(path) = &settings.store
        && let Some(restored) = Store::restore(path, &profile.name, model, seed)?
    {
        let StoredState { store, mut flash, now } = restored;
        // Data in the file is durable: make it so in the flash, too, lest a later cut lose it.
        let flushed = flash.submit(now, Command::Flush).map_or(now, |timing| timing.ended);
        let mut core = core(flash, flushed, Some(store));
        core.save()?;
        return Ok(core);
    }
    let age = settings.age.unwrap_or_default();
    let (flash, now) = aged(model, seed, age).map_err(|error| ServeError::Profile {
        name: settings.profile.clone(),
        reason: format!("state={age}: {error}"),
    })?;
    Ok(core(flash, now, None))
}
