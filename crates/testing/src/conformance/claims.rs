use flashlag_units::{Bytes, Nanos};

use super::exchange::{Outcome, block_of, content, expect, put, request, run, run_ok, write};
use flashlag_device::{Clock, Completion, Device, Durability, Op, Request};

type Checked = Result<Outcome, String>;
type Claim<D> = fn(&mut D) -> Checked;

/// Every claim and its name.
pub(super) fn all<D: Device>() -> Vec<(&'static str, Claim<D>)> {
    vec![
        ("reads_return_what_was_written_last", reads_return_what_was_written_last),
        ("every_slot_carries_its_own_data", every_slot_carries_its_own_data),
        ("the_first_and_the_last_block_can_be_reached", ends_can_be_reached),
        ("each_request_completes_exactly_once", each_request_completes_exactly_once),
        ("a_slot_can_be_used_again_once_completed", slots_are_reused),
        ("times_are_in_order_and_on_the_devices_clock", times_are_in_order),
        ("a_flush_is_told_apart_where_it_was_asked_for", flush_is_told_apart),
        ("requests_of_a_wrong_shape_are_refused", wrong_shapes_are_refused),
        ("a_refused_request_leaves_the_device_usable", refusal_leaves_it_usable),
        ("the_clock_never_goes_back", clock_never_goes_back),
        ("reaping_nothing_returns_at_once", reaping_nothing_returns),
        ("reap_of_zero_never_waits", reap_of_zero_never_waits),
        ("reap_gives_at_least_what_was_asked_for", reap_gives_at_least),
        ("waiting_until_a_time_reaches_it_when_idle", waiting_reaches_its_time),
        ("flush_and_discard_leave_other_data_alone", flush_and_discard),
    ]
}

const NO_DATA: Outcome = Outcome::NotApplicable("it keeps no data");

fn blocks<D: Device>(device: &D) -> u64 {
    device.geometry().size.0 / block_of(device).0
}

fn reads_return_what_was_written_last<D: Device>(device: &mut D) -> Checked {
    if !device.geometry().keeps_data {
        return Ok(NO_DATA);
    }
    let order = [3u64, 0, 7, 1, 3, 15, 7];
    for (writing, block) in (1u64..).zip(order) {
        write(device, block, writing)?;
    }
    let last = [(3, 5), (0, 2), (7, 7), (1, 4), (15, 6)];
    last.into_iter().try_for_each(|(block, writing)| expect(device, block, writing))?;
    Ok(Outcome::Held)
}

fn every_slot_carries_its_own_data<D: Device>(device: &mut D) -> Checked {
    let geometry = device.geometry();
    if !geometry.keeps_data {
        return Ok(NO_DATA);
    }
    let depth = u64::from(geometry.slots).min(blocks(device)) as u32;
    let mut completed = Vec::new();
    for op in [Op::Write, Op::Read] {
        for slot in 0..depth {
            let one = request(device, slot, op, u64::from(slot));
            let length = one.length.0 as usize;
            let bytes = match op {
                Op::Write => content(u64::from(slot), 9, length),
                _ => vec![0; length],
            };
            put(device, slot, &bytes);
            device.submit(one).map_err(|error| error.to_string())?;
        }
        completed.clear();
        device.reap(depth, &mut completed).map_err(|error| error.to_string())?;
        all_worked(&completed)?;
    }
    for slot in 0..depth {
        let length = block_of(device).0 as usize;
        if device.buffer(slot)[..length] != content(u64::from(slot), 9, length) {
            return Err(format!("slot {slot} read what another slot wrote"));
        }
    }
    Ok(Outcome::Held)
}

fn all_worked(completed: &[Completion]) -> Result<(), String> {
    let failed = completed.iter().find_map(|done| done.result.as_ref().err());
    failed.map_or(Ok(()), |error| Err(error.to_string()))
}

fn ends_can_be_reached<D: Device>(device: &mut D) -> Checked {
    let last = blocks(device) - 1;
    for block in [0, last] {
        write(device, block, 2)?;
        if device.geometry().keeps_data {
            expect(device, block, 2)?;
        }
    }
    Ok(Outcome::Held)
}

fn each_request_completes_exactly_once<D: Device>(device: &mut D) -> Checked {
    let slots = device.geometry().slots;
    let count = blocks(device);
    let mut in_flight = vec![false; slots as usize];
    let mut completed = Vec::new();
    let (mut submitted, mut ended) = (0u64, 0u64);
    let target = u64::from(slots) * 3 + 5;
    while ended < target {
        for slot in 0..slots {
            if !in_flight[slot as usize] && submitted < target {
                let op = if submitted % 3 == 0 { Op::Read } else { Op::Write };
                let one = request(device, slot, op, submitted * 7 % count);
                device.submit(one).map_err(|error| error.to_string())?;
                in_flight[slot as usize] = true;
                submitted += 1;
            }
        }
        device.reap(1, &mut completed).map_err(|error| error.to_string())?;
        if completed.is_empty() {
            return Err(format!("reap(1) gave nothing with {} in flight", submitted - ended));
        }
        all_worked(&completed)?;
        for done in completed.drain(..) {
            let Some(flying) = in_flight.get_mut(done.slot as usize) else {
                return Err(format!("slot {} does not exist", done.slot));
            };
            if !std::mem::take(flying) {
                return Err(format!("slot {} completed twice", done.slot));
            }
            ended += 1;
        }
    }
    device.reap(1, &mut completed).map_err(|error| error.to_string())?;
    if completed.is_empty() { Ok(Outcome::Held) } else { Err("one completed twice".to_owned()) }
}

fn slots_are_reused<D: Device>(device: &mut D) -> Checked {
    for turn in 0..8 {
        write(device, turn % 4, turn)?;
    }
    Ok(Outcome::Held)
}

fn times_are_in_order<D: Device>(device: &mut D) -> Checked {
    for durability in [Durability::None, Durability::Flush, Durability::Write] {
        for op in [Op::Write, Op::Read] {
            let before = device.clock().now();
            let done = run_ok(device, Request { durability, ..request(device, 0, op, 1) })?;
            let after = device.clock().now();
            let flush_from = done.flush_from.unwrap_or(done.started);
            let order = [before, done.started, flush_from, done.ended, after];
            if !order.is_sorted() {
                return Err(format!(
                    "{op:?} {durability:?}: before, started, flush_from, ended, \
                                    after are {order:?}"
                ));
            }
        }
    }
    Ok(Outcome::Held)
}

fn flush_is_told_apart<D: Device>(device: &mut D) -> Checked {
    let write = request(device, 0, Op::Write, 1);
    let done = run_ok(device, Request { durability: Durability::Flush, ..write })?;
    if done.flush_from.is_none() {
        return Err("a write with a flush does not say when the flush began".to_owned());
    }
    let done = run_ok(device, Request { durability: Durability::None, ..write })?;
    if done.flush_from.is_some() {
        return Err("a write without a flush says when a flush began".to_owned());
    }
    run_ok(device, Request { durability: Durability::Write, ..write })?;
    Ok(Outcome::Held)
}

/// Requests whose shape no device of this geometry accepts.
fn wrong_shapes<D: Device>(device: &D) -> Vec<(&'static str, Request)> {
    let geometry = device.geometry();
    let good = request(device, 0, Op::Write, 1);
    let mut wrong = vec![
        ("a slot that is not there", Request { slot: geometry.slots, ..good }),
        ("a range beyond the end", Request { offset: geometry.size, ..good }),
        ("an offset that overflows", Request { offset: Bytes(u64::MAX - 511), ..good }),
        ("no length", Request { length: Bytes::ZERO, ..good }),
    ];
    if geometry.size > geometry.buffer.plus(geometry.alignment) {
        let length = geometry.buffer.plus(geometry.alignment);
        wrong.push(("more than a buffer", Request { offset: Bytes::ZERO, length, ..good }));
    }
    if geometry.alignment.0 > 1 {
        let odd = Bytes(good.offset.0 + 1);
        wrong.push(("a misaligned offset", Request { offset: odd, ..good }));
        let odd = Bytes(good.length.0 - 1);
        wrong.push(("a misaligned length", Request { length: odd, ..good }));
    }
    wrong
}

/// Whether a request is refused, at once or in its completion.
fn is_refused<D: Device>(device: &mut D, request: Request) -> Result<bool, String> {
    if device.submit(request).is_err() {
        return Ok(true);
    }
    let mut completed = Vec::new();
    device.reap(1, &mut completed).map_err(|error| error.to_string())?;
    Ok(completed.iter().any(|done| done.result.is_err()))
}

fn wrong_shapes_are_refused<D: Device>(device: &mut D) -> Checked {
    for (what, request) in wrong_shapes(device) {
        if !is_refused(device, request)? {
            return Err(format!("{what} was taken"));
        }
    }
    Ok(Outcome::Held)
}

fn refusal_leaves_it_usable<D: Device>(device: &mut D) -> Checked {
    write(device, 1, 3)?;
    for (what, request) in wrong_shapes(device) {
        is_refused(device, request)?;
        write(device, 2, 4).map_err(|error| format!("after {what}: {error}"))?;
    }
    if device.geometry().keeps_data {
        expect(device, 1, 3)?;
    }
    Ok(Outcome::Held)
}

fn clock_never_goes_back<D: Device>(device: &mut D) -> Checked {
    let mut last = device.clock().now();
    for turn in 0..64 {
        if turn % 8 == 0 {
            write(device, turn / 8, turn)?;
        }
        let now = device.clock().now();
        if now < last {
            return Err(format!("{now:?} came after {last:?}"));
        }
        last = now;
    }
    Ok(Outcome::Held)
}

fn reaping_nothing_returns<D: Device>(device: &mut D) -> Checked {
    let mut completed = Vec::new();
    for at_least in [0, 1, 5] {
        device.reap(at_least, &mut completed).map_err(|error| error.to_string())?;
    }
    if completed.is_empty() {
        return Ok(Outcome::Held);
    }
    Err("something completed that was never submitted".to_owned())
}

/// Whether the clock is virtual: stands still until somebody advances it.
fn is_virtual<D: Device>(device: &D) -> bool {
    let first = device.clock().now();
    (0..10_000).all(|_| device.clock().now() == first)
}

fn reap_of_zero_never_waits<D: Device>(device: &mut D) -> Checked {
    let mut completed = Vec::new();
    let one = request(device, 0, Op::Write, 1);
    device.submit(Request { durability: Durability::Flush, ..one }).map_err(|e| e.to_string())?;
    let stands = is_virtual(device);
    let before = device.clock().now();
    device.reap(0, &mut completed).map_err(|error| error.to_string())?;
    let took = device.clock().now().since(before);
    // Real time passes in any call; a wait for storage is much longer than a delay by a busy
    // machine.
    if (stands && took > Nanos::ZERO) || took > Nanos::from_secs(1) {
        return Err(format!("it took {took}"));
    }
    if completed.is_empty() {
        device.reap(1, &mut completed).map_err(|error| error.to_string())?;
    }
    if completed.len() == 1 { Ok(Outcome::Held) } else { Err("it was lost".to_owned()) }
}

fn reap_gives_at_least<D: Device>(device: &mut D) -> Checked {
    let depth = u64::from(device.geometry().slots).min(blocks(device)) as u32;
    for at_least in [1, depth.div_ceil(2), depth, depth + 3] {
        let mut completed = Vec::new();
        for slot in 0..depth {
            let one = request(device, slot, Op::Write, u64::from(slot));
            device.submit(one).map_err(|error| error.to_string())?;
        }
        device.reap(at_least, &mut completed).map_err(|error| error.to_string())?;
        let given = completed.len();
        if given < at_least.min(depth) as usize || given > depth as usize {
            return Err(format!("reap({at_least}) of {depth} in flight gave {given}"));
        }
        device.reap(depth, &mut completed).map_err(|error| error.to_string())?;
        if completed.len() != depth as usize {
            return Err(format!("{} of {depth} completed in all", completed.len()));
        }
    }
    Ok(Outcome::Held)
}

fn waiting_reaches_its_time<D: Device>(device: &mut D) -> Checked {
    let until = device.clock().now().plus(Nanos::from_millis(2));
    device.wait_until(until);
    let now = device.clock().now();
    if now < until {
        return Err(format!("it returned {} early with nothing in flight", until.since(now)));
    }
    device.wait_until(Nanos::ZERO);
    Ok(Outcome::Held)
}

fn flush_and_discard<D: Device>(device: &mut D) -> Checked {
    write(device, 4, 1)?;
    write(device, 5, 1)?;
    let flush = Request { length: Bytes::ZERO, ..request(device, 0, Op::Flush, 0) };
    run_ok(device, flush)?;
    // Not every device can discard; one that can't must return an error.
    let _refused = run(device, request(device, 0, Op::Discard, 4))?.result.is_err();
    if device.geometry().keeps_data {
        expect(device, 5, 1)?;
    }
    write(device, 4, 2)?;
    if device.geometry().keeps_data {
        expect(device, 4, 2)?;
    }
    Ok(Outcome::Held)
}
