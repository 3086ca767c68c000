use std::sync::atomic::AtomicBool;

use crate::meter::ThreadWaitMeter;
use flashlag_device::{
    Clock, Durability, MonotonicClock, NoWaitMeter, NullDevice, WaitMeter, read_clock,
};
use flashlag_spec::scenario::{Arrivals, IoOperation, Pattern};
use flashlag_spec::{EngineOverhead, Reading};
use flashlag_stats::Percentile;
use flashlag_units::{Bytes, Nanos};
use rustix::time::ClockId;

use crate::drive::{EndReason, Job, JobOutcome, Limits, Watch, drive};

const BLOCK: Bytes = Bytes(4096);
const SPAN: Bytes = Bytes::from_mib(64);

/// Runs the measuring loop as every test does (clock, histogram, wait meter) on a device that does
/// nothing: the latency that it records is its own overhead.
pub(super) fn measure(time: Nanos) -> Reading<EngineOverhead> {
    let mut device = NullDevice::new(SPAN, 1, BLOCK);
    let job = Job {
        operation: IoOperation::Write,
        pattern: Pattern::Random,
        block: BLOCK,
        span: SPAN,
        queue_depth: 1,
        threads: 1,
        thread: None,
        thread_spans: flashlag_spec::scenario::ThreadSpans::Disjoint,
        read_percent: 0,
        durability: Durability::None,
        arrivals: Arrivals::default(),
        think: Nanos::ZERO,
        limits: Limits { time: Some(time), ..Limits::default() },
        seed: 1,
        interval: time,
        stall_over: Nanos::MAX,
        verify: false,
    };
    let stop = AtomicBool::new(false);
    let before = thread_cpu();
    let driven = match ThreadWaitMeter::open() {
        Ok(meter) => drive(&mut device, &job, &mut Watch::new(&stop, meter)),
        Err(_) => drive(&mut device, &job, &mut Watch::new(&stop, NoWaitMeter)),
    };
    overhead(&driven, thread_cpu().saturating_since(before))
}

fn overhead(driven: &JobOutcome, cpu: Nanos) -> Reading<EngineOverhead> {
    let latency = &driven.recorded.latency;
    let (median, p99) = (latency.quantile(Percentile::P50), latency.quantile(Percentile::P99));
    match (median, p99, &driven.ended) {
        (Some(latency_p50_ns), Some(latency_p99_ns), EndReason::Limit) => {
            let cpu_picoseconds_per_op = cpu.0.saturating_mul(1000) / latency.count().max(1);
            let ops = latency.count();
            Reading::Value(EngineOverhead {
                ops,
                latency_p50_ns,
                latency_p99_ns,
                cpu_picoseconds_per_op,
            })
        }
        (.., ended) => Reading::unavailable(format!("the loop ended early: {ended:?}")),
    }
}

/// CPU time of this thread so far.
fn thread_cpu() -> Nanos {
    read_clock(ClockId::ThreadCPUTime)
}

const READINGS: usize = 401;

/// The median cost of one reading of the wait meter.
pub(super) fn meter_cost() -> Reading<Nanos> {
    let meter = match ThreadWaitMeter::open() {
        Ok(meter) => meter,
        Err(error) => return Reading::unavailable(error.to_string()),
    };
    let mut costs = [0u64; READINGS];
    for cost in &mut costs {
        let started = MonotonicClock.now();
        if meter.read().is_none() {
            return Reading::unavailable("/proc/thread-self/schedstat can't be read any more");
        }
        *cost = MonotonicClock.now().since(started).0;
    }
    costs.sort_unstable();
    Reading::Value(Nanos(costs[READINGS / 2]))
}
