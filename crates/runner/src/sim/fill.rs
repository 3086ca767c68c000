//! A fill in virtual time: a device whose blocks are each written once, in the order of the fill.

use std::cell::Cell;

use flashlag_device::{Completion, Device, DeviceError, Geometry, NoWaitMeter, Request};
use flashlag_engine::{Job, Watch, drive};
use flashlag_spec::scenario::{Io, Pattern};
use flashlag_stats::Waited;
use flashlag_units::{Bytes, Nanos};
use flashlag_workload::Permutation;

use super::{SimFiles, Simulation};
use crate::work::{Access, Controls, FillEnd, FillOrder, INTERVAL, STALL_OVER};

/// Space that the filesystem needs in addition to a fill, which ends at most this much above its
/// level.
const FILL_STEP: Bytes = Bytes::from_mib(1);

/// Bytes of a fill that leaves only the order's `leave` free.
pub(super) fn span(simulation: &Simulation, order: &FillOrder<'_>) -> Bytes {
    let room = simulation.stack.free().saturating_minus(order.leave);
    room.round_down(order.io.block.0.max(FILL_STEP))
}

/// Fills new files, which hold `span` bytes.
pub(super) fn fill(
    simulation: &Simulation,
    files: &SimFiles,
    span: Bytes,
    order: FillOrder<'_>,
    controls: &Controls,
) -> FillEnd {
    let stack = &simulation.stack;
    let FillOrder { io, seed, live, .. } = order;
    let filled = Cell::new(stack.total().saturating_minus(stack.free()));
    let mut job = Job { interval: INTERVAL, stall_over: STALL_OVER, ..Job::of(io, span, seed) };
    job.pattern = Pattern::Sequential;
    job.limits.bytes = Some(job.limits.bytes.map_or(span, |bytes| bytes.min(span)));
    job.limits.warmup = None;
    let mut device = Placement {
        device: simulation.device(files, io, span),
        block: io.block.0,
        order: order_of(io, span, seed),
        filled: &filled,
    };
    let watch = &mut Watch {
        live: Some(live),
        filled: Some(&filled),
        budget: controls.budget.clone(),
        ..Watch::new(&controls.stop, NoWaitMeter)
    };
    let driven = drive(&mut device, &job, watch);
    drop(device);
    FillEnd {
        driven,
        how: Access::of(io),
        span,
        free: stack.free(),
        downgrades: Vec::new(),
        notes: Vec::new(),
    }
}

/// The order of a random fill's blocks; `None` for ascending.
fn order_of(io: &Io, span: Bytes, seed: u64) -> Option<Permutation> {
    let blocks = span.0 / io.block.0.0.max(1);
    (io.pattern == Pattern::Random).then(|| Permutation::new(blocks, seed))
}

/// Places the ascending blocks of a job: as they are, or each once in random order; and keeps
/// account of how full the storage is.
#[derive(Debug)]
struct Placement<'a, D> {
    device: D,
    block: Bytes,
    /// The random order; `None` for ascending.
    order: Option<Permutation>,
    /// Bytes in use, the filesystem's own blocks included.
    filled: &'a Cell<Bytes>,
}

impl<D: Device> Device for Placement<'_, D> {
    type Clock = D::Clock;

    fn clock(&self) -> &D::Clock {
        self.device.clock()
    }

    fn geometry(&self) -> Geometry {
        self.device.geometry()
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.device.buffer(slot)
    }

    fn submit(&mut self, mut request: Request) -> Result<(), DeviceError> {
        if let Some(order) = &self.order
            && let Some(block) = order.at(request.offset.0 / self.block.0.max(1))
        {
            request.offset = Bytes(block * self.block.0);
        }
        self.device.submit(request)?;
        self.filled.set(self.filled.get().plus(request.length));
        Ok(())
    }

    fn reap(&mut self, at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError> {
        self.device.reap(at_least, completed)
    }

    fn wait_until(&mut self, time: Nanos) {
        self.device.wait_until(time);
    }

    #[inline]
    fn waited(&mut self, slot: u32) -> Option<Waited> {
        self.device.waited(slot)
    }
}

#[cfg(test)]
mod tests {
    use flashlag_device::{Clock, Durability, Op, RamDevice, Service};
    use flashlag_spec::scenario::{Scenario, Test};

    use super::*;

    /// The blocks that eight writes in ascending order go to, and how full the storage is after each.
    fn placed(order: Option<Permutation>) -> (Vec<u8>, Vec<u64>) {
        let filled = Cell::new(Bytes(1000));
        let block = Bytes(4096);
        let ram = RamDevice::simulated(Bytes(8 * 4096), 1, block, Service::INSTANT, 1);
        let mut device = Placement { device: ram, block, order, filled: &filled };
        let request = |op, offset| Request {
            slot: 0,
            op,
            offset: Bytes(offset),
            length: block,
            durability: Durability::None,
        };
        let mut levels = Vec::new();
        let mut completed = Vec::new();
        for number in 0..8u8 {
            device.buffer(0).fill(number + 1);
            device.submit(request(Op::Write, u64::from(number) * 4096)).unwrap();
            device.reap(1, &mut completed).unwrap();
            levels.push(filled.get().0);
        }
        assert_eq!(completed.len(), 8);
        device.wait_until(Nanos::from_secs(5));
        assert!(device.clock().now() >= Nanos::from_secs(5), "{}", device.clock().now());
        let Placement { device: mut ram, .. } = device;
        let mut blocks = Vec::new();
        for number in 0..8 {
            ram.submit(request(Op::Read, number * 4096)).unwrap();
            ram.reap(1, &mut completed).unwrap();
            blocks.push(ram.buffer(0)[0]);
        }
        (blocks, levels)
    }

    #[test]
    fn a_fill_writes_each_block_once_in_its_order_and_counts_every_byte_as_used() {
        let (ascending, levels) = placed(None);
        assert_eq!(ascending, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(levels, [1, 2, 3, 4, 5, 6, 7, 8].map(|blocks| 1000 + blocks * 4096));
        let (mut random, again) = placed(Some(Permutation::new(8, 3)));
        assert_eq!(levels, again);
        assert_ne!(random, ascending);
        random.sort_unstable();
        assert_eq!(random, ascending, "each block once");
    }

    #[test]
    fn only_a_random_fill_has_an_order_which_is_of_all_its_blocks() {
        let order = |pattern: &str| {
            let text = format!(
                "name = \"f\"\n[[io]]\nname = \"level\"\noperation = \"write\"\n\
                 pattern = \"{pattern}\"\nblock = \"64KiB\"\n[[step]]\nfill = \"level\"\n"
            );
            match Scenario::parse(&text, &[]).unwrap().tests.remove("level") {
                Some(Test::Io(io)) => order_of(&io, Bytes::from_mib(3), 1),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(order("random").map(|order| order.count()), Some(48));
        assert!(order("sequential").is_none());
    }
}
