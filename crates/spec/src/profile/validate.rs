//! Refuses, by name, parameters that contradict each other.

use flashlag_units::{Bytes, Nanos};

use super::error::{ParameterFault, ProfileError};
use super::front::{SlcFull, SlcModel, SlcSpace};
use super::model::{GcPolicy, MapKind, Model};
use super::stack::StackModel;
use super::validate_zones::zones;

/// The largest device: its units must count in 32 bits.
const LARGEST: u64 = 1 << 44;

pub(super) fn validate(model: &Model) -> Result<(), ProfileError> {
    let wrong = |key, fault| Err(ProfileError::Fault { key, fault });
    let (nand, map, gc, host) = (&model.nand, &model.map, &model.gc, &model.host);
    let counts = [
        ("nand.channels", nand.channels, 64),
        ("nand.dies_per_channel", nand.dies_per_channel, 64),
        ("nand.planes", nand.planes, 16),
        ("nand.pages_per_block", nand.pages_per_block, 1 << 16),
        ("host.queue_depth", host.queue_depth, 1 << 10),
        ("host.packed", host.packed, 64),
        ("gc.low_water", gc.low_water, 1 << 16),
        ("map.entry", map.entry, 64),
    ];
    for (key, count, most) in counts {
        if count == 0 || count > most {
            return wrong(key, ParameterFault::Count { count, most });
        }
    }
    let sizes = [
        ("nand.page", nand.page.0),
        ("map.unit", map.unit.0),
        ("map.program_unit", map.program_unit.0),
    ];
    for (key, size) in sizes {
        if !size.0.is_power_of_two() && !size.0.is_multiple_of(4096) || size.0 < 512 {
            return wrong(key, ParameterFault::Size(size));
        }
    }
    let times = [
        ("nand.read", nand.read.0),
        ("nand.program", nand.program.0),
        ("nand.erase", nand.erase.0),
    ];
    for (key, time) in times {
        if time == Nanos::ZERO || time > Nanos::from_secs(10) {
            return wrong(key, ParameterFault::Time(time));
        }
    }
    if gc.slice.is_some_and(|slice| slice.0 == Nanos::ZERO || slice.0 > Nanos::from_secs(60)) {
        return wrong("gc.slice", ParameterFault::Slice);
    }
    let rates = [
        ("nand.bus_per_second", nand.bus_per_second.0),
        ("host.read_per_second", host.read_per_second.0),
        ("host.write_per_second", host.write_per_second.0),
    ];
    for (key, rate) in rates {
        if rate < Bytes(1000) {
            return wrong(key, ParameterFault::Rate);
        }
    }
    geometry(model)?;
    zones(model)?;
    delays(model)?;
    stack(&model.stack)?;
    shares(model)
}

/// Refuses impossible costs of the software above the device.
fn stack(stack: &StackModel) -> Result<(), ProfileError> {
    for (key, count, most) in [("stack.cores", stack.cores, 64), ("stack.tags", stack.tags, 1024)] {
        if let Some(count) = count.filter(|count| *count == 0 || *count > most) {
            return Err(ProfileError::Fault { key, fault: ParameterFault::Count { count, most } });
        }
    }
    if stack.largest.is_some_and(|most| most.0 < Bytes::from_kib(4)) {
        return Err(ProfileError::range("stack.largest", "4 KiB", "the device's largest request"));
    }
    for (key, speed) in [("stack.speed_min", stack.speed_min), ("stack.speed_max", stack.speed_max)]
    {
        if speed.is_some_and(|speed| !(0.001..=1.0).contains(&speed)) {
            return Err(ProfileError::range(key, "0.001", "1"));
        }
    }
    let shares = [("stack.boost", stack.boost), ("stack.preempted.share", stack.preempted.share)];
    for (key, share) in shares {
        if !(0.0..=1.0).contains(&share) {
            return Err(ProfileError::range(key, "0", "1"));
        }
    }
    if !(0.0..=2.0).contains(&stack.jitter) {
        return Err(ProfileError::range("stack.jitter", "0", "2"));
    }
    Ok(())
}

/// Sleep, suspension and stops.
fn delays(model: &Model) -> Result<(), ProfileError> {
    let wrong = |key, fault| Err(ProfileError::Fault { key, fault });
    let (nand, host) = (&model.nand, &model.host);
    if !host.rests.is_empty() {
        if host.sleep_after.is_some() {
            return wrong("host.rests", ParameterFault::Instead("host.sleep_after"));
        }
        if host.rests.len() > 8 || !host.rests.is_sorted_by(|a, b| a.after.0 < b.after.0) {
            return wrong("host.rests", ParameterFault::Rests);
        }
        if host.rests.iter().any(|level| level.wake.0 > Nanos::from_secs(10)) {
            return wrong("host.rests", ParameterFault::Wake);
        }
    }
    let limits = [
        ("nand.suspend_most", nand.suspend_most.is_some()),
        ("nand.suspend_progress", nand.suspend_progress.is_some()),
        ("nand.suspend_least", nand.suspend_least.is_some()),
        ("nand.suspend_erase", nand.suspend_erase.is_some()),
    ];
    if let Some((key, _)) = limits.into_iter().find(|(_, given)| *given)
        && nand.suspend.is_none()
    {
        return wrong(key, ParameterFault::Without("nand.suspend"));
    }
    if nand.suspend_most.is_some_and(|most| most == 0 || most > 1000) {
        return Err(ProfileError::range("nand.suspend_most", "1", "1000"));
    }
    if nand.read_types.len() > 16 || nand.read_types.iter().any(|f| !(0.1..=10.0).contains(f)) {
        return wrong("nand.read_types", ParameterFault::PageTypes);
    }
    if model.map.journal.is_some_and(|every| every == 0) {
        return wrong("map.journal", ParameterFault::NoCommands);
    }
    housekeeping(model)
}

/// Work of the controller's own.
fn housekeeping(model: &Model) -> Result<(), ProfileError> {
    let key = "host.housekeeping";
    let wrong = |fault| Err(ProfileError::Fault { key, fault });
    let kinds = &model.host.housekeeping;
    if kinds.len() > 8 {
        return wrong(ParameterFault::Count { count: kinds.len() as u32, most: 8 });
    }
    for kind in kinds {
        let bytes = kind.bytes.map(|bytes| bytes.0.0);
        if kind.writes.is_some() == bytes.is_some() || kind.writes == Some(0) || bytes == Some(0) {
            return wrong(ParameterFault::Interval);
        }
        if kind.full && (bytes.is_none() || model.slc.is_none()) {
            return wrong(ParameterFault::Full);
        }
        if kind.mean.0 == Nanos::ZERO || kind.mean.0 > Nanos::from_secs(10) {
            return wrong(ParameterFault::Time(kind.mean.0));
        }
        if !(0.0..=2.0).contains(&kind.spread) {
            return Err(ProfileError::range("host.housekeeping.spread", "0", "2"));
        }
    }
    Ok(())
}

/// Sizes that must be consistent, and the parameters that each kind of map and of garbage
/// collection needs.
fn geometry(model: &Model) -> Result<(), ProfileError> {
    let wrong = |key, fault| Err(ProfileError::Fault { key, fault });
    let (nand, map, gc) = (&model.nand, &model.map, &model.gc);
    if map.spare.0 == Bytes::ZERO {
        return wrong("map.spare", ParameterFault::NoSpare);
    }
    if map.capacity.0 < Bytes::from_mib(1) || map.capacity.0.0 > LARGEST {
        return wrong("map.capacity", ParameterFault::Capacity);
    }
    let block = nand.page.0.0 * u64::from(nand.pages_per_block);
    if map.unit.0.0 > block || map.program_unit.0.0 > block * u64::from(nand.planes) {
        return wrong("map.unit", ParameterFault::LargerThanBlock(Bytes(block)));
    }
    if map.kind == MapKind::CachedPage && map.cache.is_none_or(|cache| cache.0 < Bytes(4096)) {
        return wrong("map.cache", ParameterFault::MapCache);
    }
    if map.slc && map.kind != MapKind::CachedPage {
        return wrong("map.slc", ParameterFault::Without("map.kind = \"cached_page\""));
    }
    if map.slc && model.slc.is_none() {
        return wrong("map.slc", ParameterFault::Without("[slc]"));
    }
    if map.hpb.is_some() && map.kind != MapKind::CachedPage {
        return wrong("map.hpb", ParameterFault::Without("map.kind = \"cached_page\""));
    }
    if map.hpb_reads == 0 || map.hpb_reads > 255 {
        let fault = ParameterFault::Count { count: map.hpb_reads, most: 255 };
        return wrong("map.hpb_reads", fault);
    }
    if map.kind == MapKind::Fast && map.log_blocks.is_none_or(|blocks| blocks < 2) {
        return wrong("map.log_blocks", ParameterFault::LogBlocks);
    }
    let logs = map.log_blocks.filter(|_| map.kind == MapKind::Fast).unwrap_or(u32::MAX);
    if map.sequential_logs == 0 || map.sequential_logs >= logs {
        return wrong("map.sequential_logs", ParameterFault::SequentialLogs);
    }
    if let Some(slc) = &model.slc {
        let (unit, stripe) = (map.unit.0.0, nand.page.0.0 * u64::from(nand.planes));
        let page = slc.program_page.map_or(stripe, |page| page.0.0);
        if slc.program_page.is_some()
            && (page < unit || !page.is_multiple_of(unit) || !stripe.is_multiple_of(page))
        {
            let (page, unit, stripe) = (Bytes(page), Bytes(unit), Bytes(stripe));
            let fault = ParameterFault::ProgramPage { page, unit, stripe };
            return wrong("slc.program_page", fault);
        }
        if slc.flush_pages > 64 {
            return Err(ProfileError::range("slc.flush_pages", "0", "64"));
        }
        write_booster(slc)?;
        if slc.reserve.is_some() && slc.full == SlcFull::Fold {
            return wrong("slc.reserve", ParameterFault::Without("slc.full = \"direct\""));
        }
    }
    if map.open_units == Some(0) {
        return wrong("map.open_units", ParameterFault::OpenUnits);
    }
    if gc.policy == GcPolicy::DChoices && gc.choices.is_none_or(|choices| choices == 0) {
        return wrong("gc.choices", ParameterFault::Choices);
    }
    Ok(())
}

/// The times when a write cache is emptied, and where its room is.
fn write_booster(slc: &SlcModel) -> Result<(), ProfileError> {
    let wrong = |key, fault| Err(ProfileError::Fault { key, fault });
    if slc.space == SlcSpace::Shared && slc.dynamic > 0.0 {
        return wrong("slc.space", ParameterFault::Instead("slc.dynamic"));
    }
    if slc.fold_streams == 0 || slc.fold_streams > 64 {
        let fault = ParameterFault::Count { count: slc.fold_streams, most: 64 };
        return wrong("slc.fold_streams", fault);
    }
    if !(0.0..=1.0).contains(&slc.fold_below) {
        return Err(ProfileError::range("slc.fold_below", "0", "1"));
    }
    match (slc.fold_after, slc.fold_until) {
        (_, None) if slc.fold_below > 0.0 => {
            wrong("slc.fold_below", ParameterFault::Without("slc.fold_until"))
        }
        (None, Some(_)) => wrong("slc.fold_until", ParameterFault::Without("slc.fold_after")),
        (Some(after), Some(until)) if until.0 <= after.0 => {
            wrong("slc.fold_until", ParameterFault::NotAfter("slc.fold_after"))
        }
        _ => Ok(()),
    }
}

fn shares(model: &Model) -> Result<(), ProfileError> {
    let dynamic = model.slc.as_ref().map_or(0.0, |slc| slc.dynamic);
    let shares = [
        ("nand.bad_blocks", model.nand.bad_blocks),
        ("slc.dynamic", dynamic),
        ("host.passed_over", model.host.passed_over),
        ("nand.read_spread", model.nand.read_spread),
        ("nand.program_spread", model.nand.program_spread),
        ("nand.erase_spread", model.nand.erase_spread),
    ];
    let spreads = [
        ("host.command_spread", model.host.command_spread),
        ("host.flush_spread", model.host.flush_spread),
    ];
    for (key, spread) in spreads {
        if !(0.0..=2.0).contains(&spread) {
            return Err(ProfileError::range(key, "0", "2"));
        }
    }
    for (key, share) in shares {
        if !(0.0..=0.5).contains(&share) {
            let fault = ParameterFault::Share(share.to_string());
            return Err(ProfileError::Fault { key, fault });
        }
    }
    let retries = [("wear.retries", model.wear.retries), ("wear.retention", model.wear.retention)];
    for (key, retries) in retries {
        if !(0.0..=1000.0).contains(&retries) {
            return Err(ProfileError::Fault { key, fault: ParameterFault::Retries });
        }
    }
    Ok(())
}
