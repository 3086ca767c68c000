use std::sync::atomic::{AtomicBool, Ordering};

use flashlag_device::{Completion, Device, Durability, Op, Request};
use flashlag_units::Bytes;
use flashlag_workload::Payload;

use super::job::Verification;
use crate::one::run_one;

/// Mismatches that are kept with all their details.
pub(super) const KEPT: usize = 8;
/// A block whose last write failed, so that nobody knows what it holds.
const UNKNOWN: u32 = u32::MAX;

/// Which generation of each block was written last: 4 bytes a block. Zero is a block that was not
/// written.
#[derive(Debug)]
pub(super) struct Generations(Vec<u32>);

impl Generations {
    pub(super) fn new(blocks: u64) -> Generations {
        Generations(vec![0; usize::try_from(blocks).unwrap_or(usize::MAX)])
    }

    pub(super) fn wrote(&mut self, block: u64, generation: u32) {
        self.set(block, generation);
    }

    pub(super) fn failed(&mut self, block: u64) {
        self.set(block, UNKNOWN);
    }

    fn set(&mut self, block: u64, generation: u32) {
        if let Some(known) = self.0.get_mut(block as usize) {
            *known = generation;
        }
    }

    /// Reads back every block whose content is known, in order, and proves every byte of it.
    pub(super) fn verify<D: Device>(
        &self,
        device: &mut D,
        block: Bytes,
        payload: &Payload,
        stop: &AtomicBool,
    ) -> Verification {
        let mut verified = Verification::default();
        let mut completed: Vec<Completion> = Vec::with_capacity(1);
        for (index, &generation) in self.0.iter().enumerate() {
            if generation == 0 || generation == UNKNOWN {
                continue;
            }
            if stop.load(Ordering::Relaxed) {
                return verified;
            }
            let offset = Bytes(index as u64 * block.0);
            let read = Request {
                slot: 0,
                op: Op::Read,
                offset,
                length: block,
                durability: Durability::None,
            };
            verified.blocks += 1;
            if let Err(error) = run_one(device, read, &mut completed) {
                verified.unreadable += 1;
                verified.error.get_or_insert(error);
                continue;
            }
            let data = device.buffer(0);
            let length = data.len().min(block.0 as usize);
            if let Err(mismatch) = payload.check(&data[..length], offset, generation) {
                verified.mismatches += 1;
                if verified.first.len() < KEPT {
                    verified.first.push(mismatch);
                }
            }
        }
        verified.complete = true;
        verified
    }
}
