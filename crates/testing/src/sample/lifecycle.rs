use flashlag_schema::{CheckId, CheckStatus, Environment, Run};
use flashlag_spec::{Operation, State};
use flashlag_units::{Bytes, Nanos};

use super::draw::Part;
use super::environment;
use super::phases::Spec;
use super::runs::{NEW, build, check, checks, four, save};

/// The invented device that a lifecycle ran on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SampleDevice {
    /// Smooth, full or empty.
    Phone,
    /// Freezes once full; trimming helps.
    Tablet,
    /// Freezes once full; trimming does not help.
    Board,
}

const FILLED: [&[Part]; 3] = [
    &[(1000, 4.2, 0.35), (50, 60.0, 0.75)],
    &[(1000, 6.0, 0.40), (95, 110.0, 0.75)],
    &[(1000, 7.2, 0.45), (140, 130.0, 0.95)],
];
const DELETED: &[Part] = &[(1000, 7.0, 0.45), (130, 120.0, 0.85)];
const TRIMMED: &[Part] = &[(1000, 3.1, 0.33), (16, 45.0, 0.55)];
const IDLE: &[Part] = &[(1000, 2.9, 0.31), (10, 24.0, 0.50)];

/// `lifecycle` on a device that is smooth when new and freezes once full. Its Idle row is
/// untrusted.
pub fn lifecycle() -> Run {
    lifecycle_on(SampleDevice::Tablet, 0)
}

/// The same on another device, or again: runs of one device are repeats.
pub fn lifecycle_on(device: SampleDevice, repeat: u32) -> Run {
    let mut specs = stages();
    for spec in &mut specs {
        wear_as(device, spec);
    }
    let idle = ["seq_read_256k", "seq_write_256k", "rand_read_4k", "rand_write_4k"]
        .map(|test| format!("idle 1: {test}"));
    let short = check(
        CheckId::SteadyState,
        CheckStatus::Fail,
        "Idle was long enough",
        "Idle lasted 20 min; at least 60 min is needed for background clean-up to finish.",
        Some("run it again with --set idle=60m"),
        &idle.each_ref().map(String::as_str),
    );
    let failed = if device == SampleDevice::Tablet { vec![short] } else { Vec::new() };
    let seed = 20_160 + 1000 * u64::from(repeat) + 100_000 * device as u64;
    let text = include_str!("lifecycle.toml");
    build(text, seed, "/data/sample", environment_of(device), &specs, checks(&failed))
}

fn environment_of(device: SampleDevice) -> Environment {
    match device {
        SampleDevice::Phone => environment::phone(),
        SampleDevice::Tablet => environment::tablet(),
        SampleDevice::Board => environment::board(),
    }
}

/// Every phase, as on the tablet.
fn stages() -> Vec<Spec> {
    let wal = |parts: &[Part], growth| save("save_wal", parts, growth);
    let rollback = |parts: &[Part], growth| save("save_delete", parts, growth);
    let mut specs = four(State::New, 1, NEW, 1.0);
    specs.push(wal(&[(1000, 3.0, 0.3), (5, 26.0, 0.5)], 1_800));
    specs.push(rollback(&[(1000, 8.1, 0.25), (6, 40.0, 0.4)], 900));
    specs.push(fill());
    for (run, (waits, slow)) in (1..).zip(FILLED.iter().zip([2.1, 2.6, 2.9])) {
        specs.extend(four(State::Filled, run, waits, slow));
    }
    let full = |spec: Spec| spec.at(State::Filled, 3);
    specs.push(full(wal(&[(1000, 8.4, 0.45), (130, 140.0, 0.9)], 2_400)));
    specs.push(full(rollback(&[(1000, 23.0, 0.30), (100, 170.0, 0.9)], 1_500)));
    specs.extend(four(State::Deleted, 1, DELETED, 2.8));
    specs.extend(four(State::Trimmed, 1, TRIMMED, 1.15));
    let trimmed = |spec: Spec| spec.at(State::Trimmed, 1);
    specs.push(trimmed(wal(&[(1000, 3.7, 0.33), (18, 55.0, 0.5)], 1_900)));
    specs.push(trimmed(rollback(&[(1000, 10.0, 0.27), (20, 60.0, 0.5)], 1_000)));
    specs.extend(four(State::Idle, 1, IDLE, 1.1));
    specs
}

fn fill() -> Spec {
    let mut fill = Spec::new("fill_rand_4k", Operation::RandomWrite, 4096, 60_000)
        .waits(NEW)
        .durable()
        .at(State::Filled, 1);
    fill.fill = Some((Bytes::from_mb(3_000), Bytes::from_mb(27_600), FILLED[2].to_vec()));
    fill
}

/// Changes the tablet's waits into those of another device.
fn wear_as(device: SampleDevice, spec: &mut Spec) {
    let writes = spec.operation == Operation::RandomWrite || spec.operation == Operation::Save;
    match device {
        SampleDevice::Tablet => {}
        SampleDevice::Phone => {
            // Always as when new: five times as fast, with few slow operations.
            for part in &mut spec.waits {
                *part = (
                    part.0.min(4).max(u32::from(part.0 == 1000) * 1000),
                    part.1.min(9.0) / 5.0,
                    part.2.min(0.4),
                );
            }
            if let Some((_, _, full)) = &mut spec.fill {
                *full = spec.waits.clone();
            }
            spec.growth = spec.growth.map(|growth| Nanos(growth.0 / 5));
        }
        SampleDevice::Board if writes && spec.state > State::New => {
            // As slow as the full tablet from the first fill on, and it never recovers.
            let scale = if spec.operation == Operation::Save { 3.0 } else { 1.0 };
            spec.waits = vec![(1000, 7.8 * scale, 0.5), (150, 300.0, 0.95)];
        }
        SampleDevice::Board if writes => {
            spec.waits = vec![(1000, 4.1, 0.45), (25, 60.0, 0.6)];
        }
        SampleDevice::Board => {}
    }
}
