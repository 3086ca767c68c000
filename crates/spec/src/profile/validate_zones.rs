//! Refuses, by name, parameters that make no zoned device.

use flashlag_units::Bytes;

use super::error::{ParameterFault, ProfileError};
use super::front::{SlcFull, SlcModel, SlcSpace, TrimKind};
use super::model::{MapKind, Model};

/// Most zones that can be open at once.
const MOST_OPEN: u32 = 1 << 10;

pub(super) fn zones(model: &Model) -> Result<(), ProfileError> {
    let wrong = |key, fault| Err(ProfileError::Fault { key, fault });
    let is_zoned = model.map.kind == MapKind::Zoned;
    let Some(zones) = &model.zones else {
        let missing = ParameterFault::Without("[zones]");
        return if is_zoned { wrong("map.kind", missing) } else { Ok(()) };
    };
    if !is_zoned {
        return wrong("zones.size", ParameterFault::Without("map.kind = \"zoned\""));
    }
    if zones.open == 0 || zones.open > MOST_OPEN {
        return wrong("zones.open", ParameterFault::Count { count: zones.open, most: MOST_OPEN });
    }
    let (unit, capacity) = (model.map.unit.0.0, model.map.capacity.0.0);
    let size = zones.size.0.0;
    if size < model.map.program_unit.0.0.max(unit) || !size.is_multiple_of(unit) {
        return wrong("zones.size", ParameterFault::Zone { unit: Bytes(unit) });
    }
    let whole = zones.conventional.0.0.checked_add(size).is_some_and(|least| least <= capacity);
    if !whole || !capacity.is_multiple_of(unit) {
        return wrong("zones.conventional", ParameterFault::NoZone);
    }
    match &model.buffer {
        Some(buffer) if buffer.size.0.0 >= 2 * model.map.program_unit.0.0 => {}
        _ => return wrong("buffer.size", ParameterFault::ZoneBuffer),
    }
    if model.trim.kind == TrimKind::Ignored {
        return wrong("trim.kind", ParameterFault::ZonesReset);
    }
    match &model.slc {
        Some(slc) => cells(slc),
        None => wrong("map.kind", ParameterFault::Without("[slc]")),
    }
}

/// A zoned device has no write cache: of `[slc]`, only what the blocks themselves need.
fn cells(slc: &SlcModel) -> Result<(), ProfileError> {
    let given = [
        ("slc.dynamic", slc.dynamic > 0.0),
        ("slc.fold_after", slc.fold_after.is_some()),
        ("slc.full", slc.full == SlcFull::Fold),
        ("slc.pack", slc.pack),
        ("slc.fold_whole", slc.fold_whole),
        ("slc.reserve", slc.reserve.is_some()),
        ("slc.space", slc.space == SlcSpace::Shared),
        ("slc.fold_streams", slc.fold_streams > 1),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        Some((key, _)) => Err(ProfileError::Fault { key, fault: ParameterFault::NoCacheOfZones }),
        None => Ok(()),
    }
}
