//! Stalls that a device below the kernel explains: its slow requests, matched by time.

use flashlag_schema::{CauseBasis, StallCause, StallRecord, WaitPart};
use flashlag_units::{InOrder, Nanos};

/// A slow request at the device, on the machine's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeviceWait {
    /// When it came.
    pub from: Nanos,
    /// When it ended.
    pub to: Nanos,
    /// The largest error of both times: the device has a clock of its own.
    pub within: Nanos,
    /// What it waited for: the parts add up to its length in the device's own time.
    pub waited: Vec<WaitPart>,
}

/// If the error of requests' times is more than a stall's length divided by this, they say nothing
/// about the stall.
const NEAR: u64 = 4;

/// Assigns to a stall from `from` to `to` what the device's requests waited for meanwhile, if that
/// is more than half of it. The unexplained part is unknown. A device does not know whose requests
/// another one waits behind: without a parallel writer or reader (`beside`) they are the test's
/// own, and waiting for them is the device's plain work.
pub(crate) fn report(
    stall: &mut StallRecord,
    (from, to): (Nanos, Nanos),
    waits: &[DeviceWait],
    beside: bool,
) {
    let blocked = match stall.time {
        Some(time) if StallCause::of(&time) != StallCause::Storage => return,
        Some(time) => time.blocked_ns,
        None => stall.ns,
    };
    let is_near = |wait: &DeviceWait| wait.within.0 <= stall.ns.0 / NEAR;
    let mut parts: Vec<WaitPart> = Vec::new();
    let mut until = from;
    let mut sorted: Vec<&DeviceWait> =
        waits.iter().filter(|wait| wait.to > from && wait.from < to && is_near(wait)).collect();
    sorted.order_by_key(|wait| (wait.from, wait.to));
    for wait in sorted {
        // Among overlapping requests, each counts for the time that those before it did not cover.
        let begins = wait.from.max(until);
        let covered = wait.to.min(to).saturating_since(begins);
        until = until.max(wait.to);
        add(&mut parts, &wait.waited, covered);
    }
    if !beside {
        others_are_own(&mut parts);
    }
    parts.retain(|part| part.ns > Nanos::ZERO);
    let known = sum(&parts);
    if known.0 <= stall.ns.0 / 2 || known > blocked.plus(Nanos(stall.ns.0 / 10)) {
        return;
    }
    let rest = stall.ns.saturating_since(known);
    if rest > Nanos::ZERO {
        parts.push(WaitPart { cause: StallCause::Unknown, ns: rest });
    }
    let cause = StallCause::known(&parts, None);
    if cause != StallCause::Unknown {
        (stall.cause, stall.cause_basis, stall.waited) = (cause, CauseBasis::Reported, parts);
    }
}

/// Counts waits for other requests as plain work of the device.
fn others_are_own(parts: &mut Vec<WaitPart>) {
    let Some(index) = parts.iter().position(|part| part.cause == StallCause::OtherIo) else {
        return;
    };
    let ns = parts.swap_remove(index).ns;
    match parts.iter_mut().find(|part| part.cause == StallCause::Storage) {
        Some(storage) => storage.ns = storage.ns.plus(ns),
        None => parts.push(WaitPart { cause: StallCause::Storage, ns }),
    }
}

/// Adds parts, scaled to a time.
fn add(parts: &mut Vec<WaitPart>, more: &[WaitPart], time: Nanos) {
    let whole = u128::from(sum(more).0);
    if whole == 0 {
        return;
    }
    let mut left = time;
    for (index, part) in more.iter().enumerate() {
        let scaled = (u128::from(part.ns.0) * u128::from(time.0) / whole) as u64;
        // The last part takes what division left over.
        let ns = if index + 1 == more.len() { left } else { Nanos(scaled).min(left) };
        left = left.saturating_since(ns);
        match parts.iter_mut().find(|one| one.cause == part.cause) {
            Some(one) => one.ns = one.ns.plus(ns),
            None => parts.push(WaitPart { cause: part.cause, ns }),
        }
    }
}

fn sum(parts: &[WaitPart]) -> Nanos {
    parts.iter().fold(Nanos::ZERO, |sum, part| sum.plus(part.ns))
}

#[cfg(test)]
mod tests {
    use flashlag_schema::Time;

    use super::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    fn stall(blocked: u64, runnable: u64) -> StallRecord {
        let time = Time { blocked_ns: MS(blocked), runnable_ns: MS(runnable), ..Time::default() };
        let cause = StallCause::of(&time);
        StallRecord {
            ns: MS(blocked + runnable),
            cause,
            time: Some(time),
            ..StallRecord::default()
        }
    }

    fn wait(from: u64, to: u64, parts: &[(StallCause, u64)]) -> DeviceWait {
        let part = |(cause, ms): &(StallCause, u64)| WaitPart { cause: *cause, ns: MS(*ms) };
        let waited = parts.iter().map(part).collect();
        DeviceWait { from: MS(from), to: MS(to), within: Nanos::ZERO, waited }
    }

    fn reported(mut stall: StallRecord, waits: &[DeviceWait]) -> StallRecord {
        let to = MS(1000).plus(stall.ns);
        report(&mut stall, (MS(1000), to), waits, true);
        stall
    }

    #[test]
    fn requests_before_are_anothers_only_where_another_runs_beside() {
        let (other, storage) = (StallCause::OtherIo, StallCause::Storage);
        let waits = [wait(1000, 1190, &[(other, 150), (storage, 40)])];
        let named = |beside| {
            let mut stall = stall(200, 0);
            report(&mut stall, (MS(1000), MS(1200)), &waits, beside);
            assert_eq!((stall.cause_basis, sum(&stall.waited)), (CauseBasis::Reported, stall.ns));
            stall.cause
        };
        assert_eq!((named(true), named(false)), (other, storage));
    }

    #[test]
    fn a_stall_that_the_device_explains_has_its_cause_and_parts_that_add_up() {
        let (gc, storage) = (StallCause::GarbageCollection, StallCause::Storage);
        let waits = [wait(990, 1110, &[(gc, 900), (storage, 300)]), wait(1050, 1180, &[(gc, 1)])];
        let found = reported(stall(200, 0), &waits);
        assert_eq!((found.cause, found.cause_basis), (gc, CauseBasis::Reported));
        assert_eq!(sum(&found.waited), found.ns);
        let of = |cause| found.waited.iter().find(|part| part.cause == cause).unwrap().ns;
        // 110 ms of the first, a quarter of it plain; then 70 ms of the second.
        assert_eq!(of(storage), Nanos(27_500_000));
        assert_eq!(of(gc), Nanos(152_500_000));
        assert_eq!(of(StallCause::Unknown), MS(20));
    }

    #[test]
    fn a_stall_is_matched_only_where_the_devices_clock_is_near_enough_for_its_length() {
        let named = |length: u64, within: u64| {
            let all = wait(1000, 1000 + length, &[(StallCause::GarbageCollection, length)]);
            let wait = DeviceWait { within: MS(within), ..all };
            reported(stall(length, 0), &[wait]).cause_basis == CauseBasis::Reported
        };
        assert!(named(100, 25) && !named(100, 26));
        assert!(named(5_600, 26) && named(5_600, 1_400) && !named(5_600, 1_401));
    }

    #[test]
    fn what_the_device_explains_by_half_or_less_is_left_alone() {
        let gc = &[(StallCause::GarbageCollection, 100)];
        assert_eq!(reported(stall(200, 0), &[wait(1000, 1100, gc)]), stall(200, 0));
        assert_eq!(reported(stall(200, 0), &[wait(100, 400, gc)]), stall(200, 0));
        assert_eq!(reported(stall(50, 150), &[wait(1000, 1200, gc)]), stall(50, 150));
        assert_eq!(reported(stall(200, 0), &[]), stall(200, 0));
    }
}
