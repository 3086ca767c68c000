use flashlag_schema::{CardCheck, CardStretch};
use flashlag_units::Bytes;
use flashlag_workload::Payload;

use super::{CHUNK, CardJob, CardMedium, CardPlan};
use crate::aligned::AlignedBuffer;

/// Places that are written once more, at most.
pub const REWRITTEN: u64 = 64;

/// Writes some of the places that hold what was written once more, with other data, and reads them: a card
/// that no longer stores anything still holds the first. Returns the bytes written.
pub fn rewrite_card(
    medium: &mut dyn CardMedium,
    job: &CardJob<'_>,
    check: &mut CardCheck,
) -> Bytes {
    let plan = CardPlan::of(check);
    let right = right(&plan, check);
    let (first, second) = (check.generation, check.generation.wrapping_add(1));
    let payload = Payload::new(job.seed);
    let mut buffer = AlignedBuffer::new(CHUNK.0 as usize, 4096);
    let step = right.len().div_ceil(REWRITTEN as usize).max(1);
    let address = |(file, offset): (u32, Bytes)| plan.address(file).plus(offset);
    let mut taken = Vec::new();
    for place in right.iter().copied().step_by(step) {
        payload.fill(buffer.as_mut_slice(), address(place), second);
        let written = medium
            .open(place.0)
            .and_then(|()| medium.write(place.1, buffer.as_slice()))
            .and_then(|()| medium.sync());
        match written {
            Ok(()) => taken.push(place),
            Err(_) => check.failed_writes += 1,
        }
    }
    for place in &taken {
        let read = medium.open(place.0).and_then(|()| medium.read(place.1, buffer.as_mut_slice()));
        let holds = |generation| {
            read.is_ok() && payload.check(buffer.as_slice(), address(*place), generation).is_ok()
        };
        let count = match () {
            () if holds(second) => &mut check.rewritten.places,
            () if holds(first) => &mut check.rewritten.old,
            () => &mut check.rewritten.lost,
        };
        *count += 1;
    }
    Bytes(taken.len() as u64 * CHUNK.0)
}

/// The chunks that held what was written, by file and offset: those that no stretch touches. Where not all stretches
/// are listed, only those before the last that is.
fn right(plan: &CardPlan, check: &CardCheck) -> Vec<(u32, Bytes)> {
    let is_listed = check.stretches_seen == check.stretches.len() as u64;
    let known = check.stretches.last().filter(|_| !is_listed).map(|last| last.offset);
    let is_right = |from: Bytes| {
        let to = from.plus(CHUNK);
        let touches = |one: &CardStretch| one.offset < to && one.offset.plus(one.length) > from;
        known.is_none_or(|known| from < known) && !check.stretches.iter().any(touches)
    };
    let chunks = |file| plan.chunks(file).map(move |offset| (file, offset));
    let all = (0..check.files_read).flat_map(chunks);
    all.filter(|(file, offset)| is_right(plan.address(*file).plus(*offset))).collect()
}
