//! Devices of another size than their profile's.

use flashlag_flash::Flash;
use flashlag_schema::profile::{Model, Profile};
use flashlag_units::{Bytes, Nanos, Text};

use crate::error::ServeError;

/// What sizes are a multiple of.
const STEP: Bytes = Bytes::from_mib(1);

/// A profile's model for a device of another size: as many dies, blocks of the same size and the
/// same share of spare area and of write cache, so that it behaves alike where it is as full.
///
/// # Errors
/// A size below what the blocks need; the message says the least.
pub fn model_of_size(profile: &Profile, size: Option<Bytes>) -> Result<Model, ServeError> {
    let wrong = |reason: String| ServeError::Profile { name: profile.name.clone(), reason };
    let model = profile.model().map_err(|error| wrong(error.to_string()))?;
    let Some(size) = size else {
        return Ok(model);
    };
    if size.0 % 512 != 0 {
        return Err(ServeError::setting("size", &size.0.to_string(), "no multiple of 512 bytes"));
    }
    let sized = resized(&model, size);
    if is_possible(&sized) {
        return Ok(sized);
    }
    Err(match minimum_size(&model) {
        Some(least) if size < least => wrong(format!(
            "{} MiB are too small: its blocks need {} MiB at least",
            size.0 / STEP.0,
            least.0.div_ceil(STEP.0)
        )),
        _ => match Flash::new(&sized, 0) {
            Err(error) => wrong(format!("no device of {size}: {error}")),
            Ok(_) => wrong(format!("no device of {size}")),
        },
    })
}

/// The smallest size, in whole MiB, that a profile's blocks allow; `None` where none was found.
pub fn minimum_size(model: &Model) -> Option<Bytes> {
    let possible = |mib: u64| is_possible(&resized(model, Bytes::from_mib(mib)));
    let mut above = 1;
    while !possible(above) {
        above *= 2;
        if Bytes::from_mib(above).0 > 1 << 44 {
            return None;
        }
    }
    let mut below = above / 2;
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if possible(middle) { above = middle } else { below = middle }
    }
    Some(Bytes::from_mib(above))
}

fn is_possible(model: &Model) -> bool {
    model.map.capacity.0 >= STEP && Flash::new(model, 0).is_ok()
}

fn resized(model: &Model, size: Bytes) -> Model {
    let mut sized = model.clone();
    let whole = model.map.capacity.0;
    let share = |part: Bytes| {
        let part = u128::from(part.0) * u128::from(size.0) / u128::from(whole.0.max(1));
        Text(Bytes(u64::try_from(part).unwrap_or(u64::MAX)))
    };
    sized.map.capacity = Text(size);
    sized.map.spare = share(model.map.spare.0);
    if let Some(slc) = &mut sized.slc {
        slc.fixed = share(slc.fixed.0);
    }
    sized
}

/// Whether a model is of no device, only a floor: its flash takes no time worth waiting for.
pub fn is_instant(model: &Model) -> bool {
    let (nand, host) = (&model.nand, &model.host);
    let longest = [nand.read.0, nand.program.0, nand.erase.0];
    let commands = [host.read_command.0, host.write_command.0, host.flush_command.0];
    longest.iter().chain(&commands).all(|time| *time <= Nanos(1))
}
