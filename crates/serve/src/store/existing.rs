//! Checks the settings against an existing store, and refuses contradictions.

use std::io;
use std::path::Path;

use flashlag_units::Bytes;

use super::header::{ExpectedDevice, beside};
use super::snapshot;
use crate::error::ServeError;
use crate::settings::Settings;

/// Refuses settings that contradict a store, or that would overwrite it.
pub(crate) fn check_store(
    settings: &Settings,
    profile: &str,
    size: Bytes,
    is_instant: bool,
) -> Result<(), ServeError> {
    let Some(data) = &settings.store else { return Ok(()) };
    let length = length(data)?;
    let path = beside(data, ".flash");
    let header = snapshot::header(&path)?;
    let refuse = |path: &Path, reason: String, advice: String| {
        Err(ServeError::File {
            operation: "use",
            path: path.to_owned(),
            reason,
            advice: advice.into(),
        })
    };
    if let Some(header) = &header {
        let is = &header.profile;
        if is_instant && is == profile {
            let reason = "it is the state of a flash, and this profile models none".to_owned();
            return refuse(&path, reason, "choose another --store".to_owned());
        }
        header.check(&path, &ExpectedDevice { profile, size, seed: settings.seed })?;
        if length == 0 {
            let reason = format!("its data is gone, but {} exists", path.display());
            let advice = "put it back, or remove the files beside it that end in .flash and .log, \
                          to begin with an empty device";
            return refuse(data, reason, advice.to_owned());
        }
        if settings.age.is_some() {
            return refuse(data, contradiction("--state"), begin_anew("--state"));
        }
    }
    if length > 0 && length != size.0 {
        let reason = format!("it has {length} bytes, the device {}", size.0);
        let advice = format!(
            "give --size {length}B, or choose another --store; a start that was cut short leaves \
             less than the device's size: remove it then"
        );
        return refuse(data, reason, advice);
    }
    if length > 0 && settings.image.is_some() {
        return refuse(data, contradiction("--image"), begin_anew("--image"));
    }
    Ok(())
}

fn contradiction(option: &str) -> String {
    format!("it already holds a device, and {option} applies only to a new one")
}

fn begin_anew(option: &str) -> String {
    format!(
        "leave out {option} to go on with that device; to begin anew, choose another --store or \
         remove this file and those beside it that end in .flash and .log"
    )
}

/// Length of a file; 0 if it does not exist.
fn length(path: &Path) -> Result<u64, ServeError> {
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(metadata.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(ServeError::file("open", path, &error, "choose another --store")),
    }
}
