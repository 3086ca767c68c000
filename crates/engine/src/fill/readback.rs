use std::sync::atomic::Ordering;

use flashlag_device::{Device, Durability, Op, Request};
use flashlag_units::Bytes;
use flashlag_workload::Payload;

use super::filling::Filling;
use crate::drive::Verification;
use crate::one::run_one;

/// The mismatches kept with all details; others are only counted.
const KEPT: usize = 8;

/// Reads back every written block and compares every byte. Each block is written once, by the
/// operation of its own number, so no generation has to be stored.
pub(super) fn read_back<D: Device>(filling: &mut Filling<'_, D>, seed: u64) -> Verification {
    let payload = Payload::new(seed);
    let (mut verified, mut completed) = (Verification::default(), Vec::with_capacity(1));
    let block = filling.block;
    for logical in 0..filling.written.0 / block.0.max(1) {
        if filling.flags.stop.load(Ordering::Relaxed) {
            return verified;
        }
        if filling.failed.contains(&logical) {
            continue;
        }
        let offset = Bytes(logical * block.0);
        let durability = Durability::None;
        let read = Request { slot: 0, op: Op::Read, offset, length: block, durability };
        verified.blocks += 1;
        if let Err(error) = run_one(filling, read, &mut completed) {
            verified.unreadable += 1;
            verified.error.get_or_insert(error);
            continue;
        }
        let data = filling.buffer(0);
        let length = data.len().min(block.0 as usize);
        if let Err(mismatch) = payload.check(&data[..length], offset, generation_of(logical)) {
            verified.mismatches += 1;
            if verified.first.len() < KEPT {
                verified.first.push(mismatch);
            }
        }
    }
    verified.complete = true;
    verified
}

/// The generation that belongs to the operation with this number (counted from 0). It counts from
/// 1, and after the last but one number of 32 bits from 1 again.
fn generation_of(operation: u64) -> u32 {
    (operation % u64::from(u32::MAX - 1)) as u32 + 1
}
