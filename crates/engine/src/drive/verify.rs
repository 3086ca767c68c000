use std::sync::atomic::{AtomicBool, Ordering};

use flashlag_device::{Completion, Device, Durability, Op, Request};
use flashlag_units::Bytes;
use flashlag_workload::Payload;

use super::job::Verification;
use crate::one::run_one;

/// The mismatches kept with all details; others are only counted.
pub(super) const KEPT: usize = 8;
/// A block whose last write failed: its contents are unknown.
const UNKNOWN: u32 = u32::MAX;

/// The generation last written to each block: 4 bytes a block. Zero is a block that was not
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

    /// Reads back every block whose contents are known, in order, and compares every byte.
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that can't go on fails")]
mod tests {
    use flashlag_device::{RamDevice, VirtualClock};
    use flashlag_testing::{FaultDevice, Faults};
    use rustix::io::Errno;

    use super::*;

    const BLOCK: Bytes = Bytes(4096);

    /// A device of ten blocks, with each of `blocks` written in generation 1; `fails` counts
    /// operations: first these writes, then the reads.
    fn written(blocks: &[u64], payload: &Payload, fails: &[u64]) -> FaultDevice<Ram> {
        let ram = RamDevice::simulated(Bytes(10 * BLOCK.0), 1, BLOCK, Service::INSTANT, 1);
        let fails = fails.iter().map(|read| (blocks.len() as u64 + read, Errno::IO)).collect();
        let mut device = FaultDevice::new(ram, Faults { fails, ..Faults::default() });
        for block in blocks {
            let offset = Bytes(block * BLOCK.0);
            payload.fill(device.buffer(0), offset, 1);
            let (op, durability) = (Op::Write, Durability::None);
            let write = Request { slot: 0, op, offset, length: BLOCK, durability };
            run_one(&mut device, write, &mut Vec::new()).unwrap();
        }
        device
    }

    type Ram = RamDevice<VirtualClock>;
    use flashlag_device::Service;

    fn verify(known: &Generations, device: &mut FaultDevice<Ram>, stopped: bool) -> Verification {
        known.verify(device, BLOCK, &Payload::new(7), &AtomicBool::new(stopped))
    }

    #[test]
    fn blocks_never_written_and_those_whose_last_write_failed_are_not_read_back() {
        let mut device = written(&[2, 5, 9], &Payload::new(7), &[]);
        let mut known = Generations::new(10);
        [2, 5, 9].iter().for_each(|block| known.wrote(*block, 1));
        assert_eq!(verify(&known, &mut device, false).blocks, 3);
        known.failed(5);
        let verified = verify(&known, &mut device, false);
        assert_eq!((verified.blocks, verified.is_proved()), (2, true), "{verified:?}");
    }

    #[test]
    fn mismatches_are_all_counted_and_the_first_eight_kept_in_order() {
        let mut device = written(&[], &Payload::new(7), &[]);
        let mut known = Generations::new(10);
        (0..10).for_each(|block| known.wrote(block, 1));
        let verified = verify(&known, &mut device, false);
        assert_eq!((verified.blocks, verified.mismatches), (10, 10));
        let at: Vec<u64> = verified.first.iter().map(|one| one.expected.offset / BLOCK.0).collect();
        assert_eq!(at, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(verified.complete && !verified.is_proved());
    }

    #[test]
    fn blocks_that_cannot_be_read_are_counted_with_the_first_reason() {
        let mut device = written(&[0, 1, 2, 3], &Payload::new(7), &[2, 4]);
        let mut known = Generations::new(10);
        (0..4).for_each(|block| known.wrote(block, 1));
        let verified = verify(&known, &mut device, false);
        let counts = (verified.blocks, verified.unreadable, verified.mismatches);
        assert_eq!(counts, (4, 2, 0), "{verified:?}");
        assert_eq!(verified.error.unwrap().offset, Some(BLOCK), "the second block's");
    }

    #[test]
    fn reading_back_ends_at_a_stop_and_is_then_incomplete() {
        let mut device = written(&[0], &Payload::new(7), &[]);
        let mut known = Generations::new(10);
        known.wrote(0, 1);
        let verified = verify(&known, &mut device, true);
        assert_eq!((verified.blocks, verified.complete), (0, false));
    }
}
