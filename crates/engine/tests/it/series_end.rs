//! Where the series of a phase ends, and how finely a fill is cut by level.

use std::cell::Cell;
use std::sync::atomic::AtomicBool;

use flashlag_device::{
    Completion, Device, DeviceError, Durability, Geometry, Latency, NoWaitMeter, RamDevice,
    Request, Service, VirtualClock,
};
use flashlag_engine::{Job, JobOutcome, Limits, Watch, drive};
use flashlag_spec::scenario::{Arrivals, IoOperation, Pattern};
use flashlag_units::{Bytes, Nanos};

const SIZE: Bytes = Bytes::from_mib(4);
const BLOCK: Bytes = Bytes(4096);
const WRITE: Nanos = Nanos::from_micros(10);
const FLUSH: Nanos = Nanos::from_millis(274);

fn job(durability: Durability) -> Job {
    Job {
        operation: IoOperation::Write,
        pattern: Pattern::Sequential,
        block: BLOCK,
        span: SIZE,
        queue_depth: 1,
        durability,
        arrivals: Arrivals::default(),
        think: Nanos::ZERO,
        limits: Limits { bytes: Some(SIZE), ..Limits::default() },
        read_percent: 0,
        threads: 1,
        thread: None,
        thread_spans: Default::default(),
        seed: 1,
        interval: Nanos::from_millis(250),
        stall_over: Nanos::from_millis(40),
        verify: false,
    }
}

fn ram() -> RamDevice<VirtualClock> {
    let service = Service {
        read: Latency::Fixed(WRITE),
        write: Latency::Fixed(WRITE),
        flush: Latency::Fixed(FLUSH),
        units: 1,
    };
    RamDevice::simulated(SIZE, 1, BLOCK, service, 1)
}

/// Counts what is written, as a filesystem that is filled does.
struct Filling<'a>(RamDevice<VirtualClock>, &'a Cell<Bytes>);

impl Device for Filling<'_> {
    type Clock = VirtualClock;

    fn clock(&self) -> &VirtualClock {
        self.0.clock()
    }

    fn geometry(&self) -> Geometry {
        self.0.geometry()
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.0.buffer(slot)
    }

    fn submit(&mut self, request: Request) -> Result<(), DeviceError> {
        self.1.set(self.1.get().plus(request.length));
        self.0.submit(request)
    }

    fn reap(&mut self, at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError> {
        self.0.reap(at_least, completed)
    }

    fn wait_until(&mut self, time: Nanos) {
        self.0.wait_until(time);
    }
}

fn fill() -> JobOutcome {
    let (stop, filled) = (AtomicBool::new(false), Cell::new(Bytes::ZERO));
    let mut watch = Watch { filled: Some(&filled), ..Watch::new(&stop, NoWaitMeter) };
    drive(&mut Filling(ram(), &filled), &job(Durability::None), &mut watch)
}

#[test]
fn the_flush_at_the_end_is_in_the_elapsed_time_and_in_no_interval() {
    let stop = AtomicBool::new(false);
    let driven = drive(&mut ram(), &job(Durability::None), &mut Watch::new(&stop, NoWaitMeter));
    let recorded = driven.recorded;
    assert_eq!(driven.final_flush, Some(FLUSH));
    let writes = Nanos(WRITE.0 * 1024);
    assert_eq!(recorded.intervals.last().unwrap().ends, writes);
    assert_eq!(recorded.elapsed, writes.plus(FLUSH));
}

#[test]
fn a_phase_without_a_final_flush_ends_with_its_series() {
    let stop = AtomicBool::new(false);
    let driven = drive(&mut ram(), &job(Durability::Flush), &mut Watch::new(&stop, NoWaitMeter));
    assert_eq!(driven.final_flush, None);
    assert_eq!(driven.recorded.intervals.last().unwrap().ends, driven.recorded.elapsed);
}

#[test]
fn a_fill_within_one_interval_of_time_still_has_its_levels() {
    // All of it takes ten milliseconds, a twenty-fifth of an interval.
    let recorded = fill().recorded;
    assert!(recorded.intervals.len() >= 100, "{} intervals", recorded.intervals.len());
    let levels: Vec<Bytes> = recorded.intervals.iter().map(|i| i.filled.unwrap()).collect();
    assert!(levels.is_sorted());
    let steps = levels.windows(2).map(|pair| pair[1].minus(pair[0]).0);
    assert!(steps.max().unwrap() <= SIZE.0 / 64, "{levels:?}");
    let writes: u64 = recorded.intervals.iter().map(flashlag_stats::Interval::ops).sum();
    assert_eq!(writes, recorded.latency.count());
}
