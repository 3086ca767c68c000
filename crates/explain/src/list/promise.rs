//! The promises of a device's class or a system's rules, compared with the measured figures.
//!
//! SD Physical Layer 5.1 and 6.0, application performance classes: A1 promises 1,500 random reads
//! and 500 random writes of 4 KiB per second, A2 4,000 and 2,000, both 10 MB/s sequential; A2's
//! apply with its command queue, without which A1's do. Android's Compatibility Definition, 8.2:
//! handheld and television devices write 5 MB/s sequentially and 0.5 MB/s at random, and read 15
//! and 3.5 MB/s, in 256 MB on `/data`.
//!
//! Neither requires durable writes: these count only if the device has no volatile cache, so that a
//! flush adds nothing.

use flashlag_schema::Phase;
use flashlag_schema::finding::{
    Counted, Effect, EffectBasis, Estimate, Finding, FindingAction, FindingId, Severity,
};
use flashlag_schema::internals::DeviceInternals;
use flashlag_spec::scenario::Durability;
use flashlag_spec::{Operation, Reading, State};
use flashlag_units::{Bytes, Nanos, ratio};

use super::phases::of_phase;
use crate::candidate::Context;
use crate::doubt::is_trusted;
use crate::remedy::finding;

/// With this many requests in flight or more, a card's command queue is in use.
const QUEUED: u32 = 16;

/// Bytes per second, sequential for writes and reads, then at random in 4 KiB.
struct Promise {
    by: &'static str,
    source: &'static str,
    sequential_write: f64,
    sequential_read: f64,
    random_write: f64,
    random_read: f64,
}

const KIB4: f64 = 4096.0;

const A1: Promise = Promise {
    by: "class A1",
    source: "SD Physical Layer 5.1: A1 is 1,500 random reads, 500 writes a second and 10 MB/s",
    sequential_write: 1e7,
    sequential_read: 1e7,
    random_write: 500.0 * KIB4,
    random_read: 1500.0 * KIB4,
};

const A2: Promise = Promise {
    by: "class A2",
    source: "SD Physical Layer 6.0: A2 is 4,000 random reads, 2,000 writes a second and 10 MB/s",
    sequential_write: 1e7,
    sequential_read: 1e7,
    random_write: 2000.0 * KIB4,
    random_read: 4000.0 * KIB4,
};

const ANDROID: Promise = Promise {
    by: "Android's Compatibility Definition",
    source: "Android CDD 8.2: 5 and 0.5 MB/s written, 15 and 3.5 MB/s read, in sequence and at random",
    sequential_write: 5e6,
    sequential_read: 1.5e7,
    random_write: 0.5e6,
    random_read: 3.5e6,
};

/// The figure that misses its promise by most.
pub(super) fn all(context: &Context<'_>) -> Option<Finding> {
    let run = context.run;
    let phases = run.phases.iter().enumerate().filter(|(_, phase)| {
        phase.state == State::New
            && phase.background.is_none()
            && phase.closed_loop
            && phase.ops > 0
            && phase.mixed.is_none()
            && is_trusted(run, phase)
    });
    let short = phases.filter_map(|(index, phase)| {
        let promise = promise(context, phase)?;
        let promised = promised(context, promise, phase)?;
        let kept = phase.bytes_per_sec / promised;
        (kept > 0.0 && kept < 1.0).then_some((kept, index, phase, promise, promised))
    });
    let worst = short.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let (_, index, phase, promise, promised) = worst;
    let each = |rate: f64| Nanos((phase.block_bytes.0 as f64 / rate * 1e9) as u64);
    let (now, fixed) = (each(phase.bytes_per_sec), each(promised));
    let reads = matches!(phase.operation, Operation::RandomRead | Operation::SequentialRead);
    let cost = now.saturating_since(fixed).as_secs_f64() * 1e3;
    let effect = Effect {
        basis: EffectBasis::Promise { phase: phase.label(), by: promise.by.to_owned() },
        per: if reads { Counted::Reads } else { Counted::Writes },
        now_ns: now,
        fixed_ns: Some(fixed),
        cost_s_per_1000: Estimate { value: cost, interval: None },
    };
    let rate = |rate: f64| format!("{} a second", Bytes(rate as u64));
    let value = format!("{}, {} promised", rate(phase.bytes_per_sec), rate(promised));
    let evidence = vec![of_phase(index, "bytes_per_sec", value)];
    let id = FindingId::BelowClass;
    let mut found = finding(id, Severity::Costly, promise.source, evidence, Reading::Value(effect));
    if promise.by == ANDROID.by {
        found.action = FindingAction::FreeSegments;
    }
    Some(found)
}

fn promise(context: &Context<'_>, phase: &Phase) -> Option<&'static Promise> {
    let environment = &context.run.environment;
    if let Some(DeviceInternals::Sd { app_class, .. }) =
        environment.internals.as_ref().and_then(|all| all.device.value())
    {
        return match app_class.value()? {
            1 => Some(&A1),
            2 if phase.in_flight() >= QUEUED => Some(&A2),
            2 => Some(&A1),
            _ => None,
        };
    }
    let android = environment.software.system.value()?.starts_with("Android");
    let data = environment.filesystem.mount_point.value().is_some_and(|point| point == "/data");
    (android && data).then_some(&ANDROID)
}

fn promised(context: &Context<'_>, promise: &Promise, phase: &Phase) -> Option<f64> {
    let cache = context.run.environment.device.queue.write_cache.value();
    let through = cache.is_some_and(|cache| cache.starts_with("write through"));
    let plain = phase.durable == Durability::None || through;
    // Blocks at least as large as the rules': smaller ones are not covered by the promise.
    let in_sequence = phase.block_bytes >= Bytes::from_kib(256);
    let at_random = ratio(phase.block_bytes.0, 4096) == Some(1.0);
    match phase.operation {
        Operation::SequentialWrite if in_sequence && plain => Some(promise.sequential_write),
        Operation::SequentialRead if in_sequence => Some(promise.sequential_read),
        Operation::RandomWrite if at_random && plain => Some(promise.random_write),
        Operation::RandomRead if at_random => Some(promise.random_read),
        _ => None,
    }
}
