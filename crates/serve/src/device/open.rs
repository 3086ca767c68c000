//! Making a device.

use std::fs::File;
use std::io::Read;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use flashlag_schema::profile::Profile;
use flashlag_stats::Histogram;
use flashlag_units::{Bytes, Nanos};

use super::Served;
use super::age::aged;
use super::clock::DeviceClock;
use super::core::{Core, Modelled};
use super::counts::Counts;
use crate::data::{Data, FileData, MemoryData};
use crate::error::ServeError;
use crate::settings::Settings;
use crate::sizing::{is_instant, model_of_size};

impl Served {
    /// Makes the device that the settings say.
    ///
    /// # Errors
    /// What is wrong with them, by name; a file that can't be used.
    pub fn open(settings: &Settings) -> Result<Served, ServeError> {
        if settings.profile.is_empty() {
            return Err(ServeError::setting("profile", "", "say which: profile=nexus5-2013"));
        }
        let refuse =
            |reason: String| ServeError::Profile { name: settings.profile.clone(), reason };
        let profile =
            Profile::find(&settings.profile).map_err(|error| refuse(error.to_string()))?;
        let model = model_of_size(&profile, settings.size)?;
        let size = model.map.capacity.0.round_down(Bytes(512));
        let data = match &settings.store {
            None => Data::Memory(MemoryData::new(size.0)),
            Some(path) => Data::File(FileData::new(sparse(path, size)?)),
        };
        let (flash, now) = if is_instant(&model) {
            (None, Nanos::ZERO)
        } else {
            let (flash, now) = aged(&model, settings.seed, settings.age)
                .map_err(|error| refuse(format!("state={}: {error}", settings.age)))?;
            (Some(Modelled::new(flash, model.trim.kind)), now)
        };
        let core = Core::new(DeviceClock::new(settings.time_scale, now), flash);
        let served = Served {
            settings: settings.clone(),
            profile: profile.name,
            size,
            data,
            counts: Counts::default(),
            plain: AtomicBool::new(core.is_plain()),
            core: Mutex::new(core),
            lateness: Mutex::new(Histogram::new()),
        };
        if let Some(image) = &settings.image {
            served.load(image)?;
        }
        Ok(served)
    }

    /// Stores what is to stay. Nothing may be asked of the device afterwards.
    ///
    /// # Errors
    /// A file that can't be written.
    pub fn close(&self) -> Result<(), ServeError> {
        let path = self.settings.store.clone().unwrap_or_default();
        let refuse = |error: std::io::Error| {
            ServeError::file("store in", &path, &error, "is there room on its disk?")
        };
        self.data.sync().map_err(refuse)
    }

    /// Holds what an image file holds, in no time; what is beyond the image stays.
    pub(super) fn load(&self, path: &std::path::Path) -> Result<(), ServeError> {
        const ADVICE: &str = "give an image that is no larger than the device";
        let refuse = |error: std::io::Error| ServeError::file("load", path, &error, ADVICE);
        let mut file = File::open(path).map_err(refuse)?;
        let length = file.metadata().map_err(refuse)?.len();
        if length > self.size.0 {
            let reason = format!("it has {length} bytes, the device {}", self.size.0);
            return Err(refuse(std::io::Error::other(reason)));
        }
        let mut piece = vec![0; 1 << 20];
        let mut offset = 0;
        while offset < length {
            let part = piece.len().min((length - offset) as usize);
            file.read_exact(&mut piece[..part]).map_err(refuse)?;
            let same = |data: &Data| {
                if piece[..part].iter().all(|byte| *byte == 0) {
                    data.clear(offset, part as u64)
                } else {
                    data.write(offset, &piece[..part])
                }
            };
            same(&self.data).map_err(refuse)?;
            offset += part as u64;
        }
        Ok(())
    }
}

/// A file of a device's size, made where it is not there.
fn sparse(path: &std::path::Path, size: Bytes) -> Result<File, ServeError> {
    const ADVICE: &str = "give a file of the device's size, or one that is not there";
    let refuse = |error: std::io::Error| ServeError::file("open", path, &error, ADVICE);
    let mut options = File::options();
    let file = options.read(true).write(true).create(true).truncate(false).open(path);
    let file = file.map_err(refuse)?;
    let length = file.metadata().map_err(refuse)?.len();
    if length == 0 {
        file.set_len(size.0).map_err(refuse)?;
    } else if length != size.0 {
        let reason = format!("it has {length} bytes, the device {}", size.0);
        return Err(refuse(std::io::Error::other(reason)));
    }
    Ok(file)
}
