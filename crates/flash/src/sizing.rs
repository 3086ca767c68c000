//! Devices of a size that differs from their profile's.

use flashlag_spec::profile::{Model, Profile, ProfileError};
use flashlag_units::{Bytes, Nanos, Text};
use thiserror::Error;

use crate::command::FlashError;
use crate::flash::SECTOR;
use crate::ftl::Ftl;

/// The unit of minimum sizes.
const STEP: Bytes = Bytes::from_mib(1);

/// What a small zoned device keeps of its conventional zones: F2FS begins each part of its metadata at a zone, so that
/// it does not shrink below that (`mkfs.f2fs`).
const LEAST_CONVENTIONAL_MIB: u64 = 512;

/// Why a profile makes no device of a size.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SizeError {
    #[error("profile {profile}: {source}")]
    Profile { profile: String, source: ProfileError },
    #[error("size={}: no multiple of 512 bytes", .0.0)]
    Sectors(Bytes),
    #[error("profile {profile}: {} MiB are too small: its blocks need {least_mib} MiB at least", size.0 / STEP.0)]
    TooSmall { profile: String, size: Bytes, least_mib: u64 },
    #[error("profile {profile}: no device of {size}{}", because(source.as_ref()))]
    Impossible { profile: String, size: Bytes, source: Option<FlashError> },
}

fn because(error: Option<&FlashError>) -> String {
    error.map_or_else(String::new, |error| format!(": {error}"))
}

/// A profile's model for a device of `size` (`None`: the profile's own): as many dies, blocks of
/// the same size, and the same share of spare area and of write cache, so that it behaves alike
/// when equally full. Fails for a profile without a model, or a size that its blocks can't have;
/// the message gives the smallest one.
pub fn model_of_size(profile: &Profile, size: Option<Bytes>) -> Result<Model, SizeError> {
    let name = || profile.name.clone();
    let model = profile.model().map_err(|source| SizeError::Profile { profile: name(), source })?;
    let Some(size) = size else {
        return Ok(model);
    };
    if size.0 % SECTOR.0 != 0 {
        return Err(SizeError::Sectors(size));
    }
    let sized = resized(&model, size);
    if is_possible(&sized) {
        return Ok(sized);
    }
    Err(match minimum_size(&model) {
        Some(least) if size < least => {
            let least_mib = least.0.div_ceil(STEP.0);
            SizeError::TooSmall { profile: name(), size, least_mib }
        }
        _ => SizeError::Impossible { profile: name(), size, source: Ftl::check(&sized).err() },
    })
}

/// The smallest size, in whole MiB, that a model's blocks allow; `None` if none up to 16 TiB does.
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
    model.map.capacity.0 >= STEP && Ftl::check(model).is_ok()
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
    if let Some(zones) = &mut sized.zones {
        let least = Bytes::from_mib(LEAST_CONVENTIONAL_MIB).min(zones.conventional.0);
        zones.conventional = Text(share(zones.conventional.0).0.max(least));
    }
    if let Some(slc) = &mut sized.slc {
        slc.fixed = share(slc.fixed.0);
    }
    sized
}

/// Whether a model's flash takes no time: a floor, on which only the software's time remains.
pub fn is_instant(model: &Model) -> bool {
    let (nand, host) = (&model.nand, &model.host);
    let longest = [nand.read.0, nand.program.0, nand.erase.0];
    let commands = [host.read_command.0, host.write_command.0, host.flush_command.0];
    longest.iter().chain(&commands).all(|time| *time <= Nanos(1))
}

#[cfg(test)]
mod tests {
    use flashlag_spec::profile::{builtin_profile, names};

    use super::*;
    use crate::flash::Flash;

    #[test]
    fn a_size_is_possible_where_a_device_of_it_can_be_made() {
        for name in names() {
            let model = Profile::parse(builtin_profile(name).unwrap()).unwrap().model().unwrap();
            for size in [0, 1, 7, 31, 64, 200, 512, 1500].map(Bytes::from_mib) {
                let sized = resized(&model, size);
                let (said, made) = (Ftl::check(&sized), Flash::new(&sized, 0).map(drop));
                assert_eq!(said, made, "{name} of {size}");
            }
        }
    }
}
