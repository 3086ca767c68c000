//! Runs one case of the engine and prints what it cost, as one line of JSON: what
//! `scripts/bench.py` sets beside fio.
//!
//! ```text
//! bench_engine CASE DIRECTORY SECONDS [SIZE_MIB]
//! ```
//! CASE is `spin[-nometer]` (a device that takes 50 µs, spun through: 20,000 operations a second,
//! whose CPU time beyond the 50 µs is ours), `null`, or ENGINE-OPERATION-DEPTH[-direct][-durable][-nometer] with ENGINE `psync` or
//! `io_uring` and OPERATION `randread`, `randwrite`: `psync-randwrite-1-direct-durable`.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use flashlag_device::{Device, DeviceError, Durability, Latency};
use flashlag_engine::ThreadWaitMeter;
use flashlag_engine::{FileSet, Job, JobOutcome, Limits, OpenOptions, Watch, drive, open};
use flashlag_spec::scenario::{self, Arrivals, EngineKind, IoOperation, Pattern};
use flashlag_stats::Percentile;
use flashlag_testing::{FaultDevice, Faults};
use flashlag_units::{Bytes, Nanos};
use flashlag_workload::Payload;
use rustix::time::{ClockId, clock_gettime};

const BLOCK: Bytes = Bytes(4096);
const SEED: u64 = 1;

/// What a case asks for.
struct Case {
    spin: bool,
    engine: EngineKind,
    operation: IoOperation,
    depth: u32,
    direct: bool,
    durable: bool,
    meter: bool,
}

/// What the `spin` case takes for each operation.
const SPIN: Nanos = Nanos::from_micros(50);

impl Case {
    fn parse(text: &str) -> Option<Case> {
        let has = |word: &str| text.split('-').any(|part| part == word);
        let engine = match text.split('-').next()? {
            "null" | "spin" => EngineKind::Null,
            "psync" => EngineKind::Psync,
            "io_uring" => EngineKind::IoUring,
            _ => return None,
        };
        let write = has("randwrite");
        Some(Case {
            spin: has("spin"),
            engine,
            operation: if write { IoOperation::Write } else { IoOperation::Read },
            depth: text.split('-').find_map(|part| part.parse().ok()).unwrap_or(1),
            direct: has("direct"),
            durable: has("durable"),
            meter: !has("nometer"),
        })
    }

    fn options(&self) -> OpenOptions {
        OpenOptions {
            direct: self.direct,
            engine: self.engine,
            queue_depth: self.depth,
            durable: if self.durable {
                scenario::Durability::Fdatasync
            } else {
                scenario::Durability::None
            },
            block: BLOCK,
            buffer: BLOCK,
            write: self.operation == IoOperation::Write,
            create: false,
        }
    }

    fn job(&self, span: Bytes, time: Nanos) -> Job {
        Job {
            operation: self.operation,
            pattern: Pattern::Random,
            block: BLOCK,
            span,
            queue_depth: self.depth,
            threads: 1,
            thread: None,
            thread_spans: flashlag_spec::scenario::ThreadSpans::Disjoint,
            read_percent: 0,
            durability: if self.durable { Durability::Flush } else { Durability::None },
            arrivals: Arrivals::default(),
            think: Nanos::ZERO,
            limits: Limits { time: Some(time), ..Limits::default() },
            seed: SEED,
            interval: Nanos::from_millis(100),
            stall_over: Nanos::from_millis(100),
            verify: false,
        }
    }
}

fn thread_cpu() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

fn run(case: &Case, files: &FileSet, time: Nanos) -> Result<(JobOutcome, Nanos), DeviceError> {
    let stop = AtomicBool::new(false);
    let meter = if case.meter { ThreadWaitMeter::open().ok() } else { None };
    let mut watch = Watch::new(&stop, meter);
    let mut opened = open(files, &case.options())?;
    let span = opened.device.geometry().size;
    let job = case.job(span, time);
    let before = thread_cpu();
    let driven = if case.spin {
        let faults = Faults { latency: Some(Latency::Fixed(SPIN)), ..Faults::default() };
        drive(&mut FaultDevice::new(opened.device, faults), &job, &mut watch)
    } else {
        drive(&mut opened.device, &job, &mut watch)
    };
    let cpu = thread_cpu().since(before);
    for downgrade in &opened.downgrades {
        eprintln!("{} -> {}: {}", downgrade.requested, downgrade.effective, downgrade.reason);
    }
    Ok((driven, cpu))
}

fn report(driven: &JobOutcome, cpu: Nanos) -> String {
    let latency = &driven.recorded.latency;
    let ops = latency.count();
    let figure = |percentile| {
        let value = latency.percentile(percentile);
        value.map_or_else(|| "null".to_owned(), |value| value.0.to_string())
    };
    format!(
        "{{\"ops\": {ops}, \"ops_per_sec\": {:.1}, \"cpu_ns_per_op\": {:.1}, \"p50_ns\": {}, \
         \"p99_ns\": {}, \"elapsed_ns\": {}, \"split_ops\": {}, \"ended\": \"{:?}\"}}",
        ops as f64 / driven.recorded.elapsed.as_secs_f64(),
        cpu.0 as f64 / ops.max(1) as f64,
        figure(Percentile::P50),
        figure(Percentile::P99),
        driven.recorded.elapsed.0,
        driven.recorded.waits.occupied().map(|(_, class)| class.ops).sum::<u64>(),
        driven.ended,
    )
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, directory, seconds, rest @ ..] = arguments.as_slice() else {
        eprintln!("bench_engine CASE DIRECTORY SECONDS [SIZE_MIB]");
        return ExitCode::from(2);
    };
    let (Some(case), Ok(seconds)) = (Case::parse(case), seconds.parse::<u64>()) else {
        eprintln!("CASE is null or psync|io_uring-randread|randwrite-DEPTH[-direct][-durable]");
        return ExitCode::from(2);
    };
    let mib = rest.first().and_then(|text| text.parse().ok()).unwrap_or(128);
    let files = FileSet::new(Path::new(directory), "bench", Bytes::from_mib(mib));
    let stop = AtomicBool::new(false);
    let prepared = if case.engine == EngineKind::Null || files.is_laid_out() {
        Ok(Bytes::ZERO)
    } else {
        files.lay_out(&Payload::new(SEED), &stop, &mut |_| {})
    };
    let time = Nanos::from_secs(seconds);
    match prepared.and_then(|_| run(&case, &files, time)) {
        Ok((driven, cpu)) => {
            let line = report(&driven, cpu);
            let printed = writeln!(std::io::stdout(), "{line}");
            if printed.is_err() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
