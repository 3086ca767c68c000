//! The environment of the run: machine, system, filesystem, device. A missing value has its reason.

use flashlag_schema::internals::FilesystemInternals;
use flashlag_schema::{Cpu, Device, Filesystem, Run, TargetKind};
use flashlag_spec::{Calibration, Reading};
use flashlag_units::Nanos;

use super::model::{Block, Section};
use crate::conditions::conditions;
use crate::format;
use crate::naming::kind_name;
use crate::outline::environment_heading;
use crate::set_up::{lost, promise, true_size};

/// A name with its value, or with the reason why that is missing.
type Fact = (&'static str, String);

/// Collects facts, missing ones separately.
#[derive(Default)]
struct Facts {
    known: Vec<Fact>,
    unknown: Vec<Fact>,
}

impl Facts {
    fn add<T>(
        &mut self,
        name: &'static str,
        reading: &Reading<T>,
        text: impl FnOnce(&T) -> String,
    ) {
        match reading {
            Reading::Value(value) => self.known(name, text(value)),
            Reading::Unavailable { unavailable } => self.unknown.push((name, unavailable.clone())),
        }
    }

    fn known(&mut self, name: &'static str, text: String) {
        if !text.trim().is_empty() {
            self.known.push((name, text));
        }
    }
}

/// The section.
pub(super) fn section(run: &Run) -> Section {
    let environment = &run.environment;
    let mut facts = Facts::default();
    facts.add("Machine", &environment.software.machine, Clone::clone);
    facts.add("System", &environment.software.system, Clone::clone);
    facts.add("Kernel", &environment.software.kernel, Clone::clone);
    facts.add("Hypervisor", &environment.software.virtualized, |yes| yes_no(*yes));
    cpu(&mut facts, &environment.cpu);
    facts.add("Memory", &environment.memory_bytes, |bytes| format::size(*bytes));
    filesystem(&mut facts, &environment.filesystem);
    facts.known.extend(drive(run));
    facts.add("Encryption", &environment.encryption, |encryption| match &encryption.cipher {
        Some(cipher) => format!("{}, {cipher}", encryption.kind),
        None => encryption.kind.clone(),
    });
    device(&mut facts, &environment.device);
    let degrees = |(before, after): &(i64, i64)| {
        format!("{} °C before, {} °C after", celsius(*before), celsius(*after))
    };
    facts.add("Storage at", &environment.storage_temperature_millicelsius, degrees);
    facts.add("CPU at", &environment.cpu_temperature_millicelsius, degrees);
    facts.known.extend(conditions(run));
    facts.add("Cost of measuring", &environment.calibration, ruler);
    let missing = by_reason(run, facts.unknown);
    let note = (!missing.is_empty()).then_some(Block::Note(Some("Could not be read."), missing));
    Section {
        id: "environment",
        name: "Environment",
        heading: environment_heading(run),
        side: vec!["As the system reported it at the start of the run.".to_owned()],
        blocks: [Block::Facts(facts.known)].into_iter().chain(note).collect(),
    }
}

/// What an fsync promises on a drive that other systems read, and what is lost if it is pulled out.
fn drive(run: &Run) -> Vec<Fact> {
    let environment = &run.environment;
    let Some(internals) = &environment.internals else { return Vec::new() };
    let format = match internals.filesystem.value() {
        Some(FilesystemInternals::Portable { format, by_fuse, .. }) => {
            let by = if *by_fuse { "by a FUSE daemon" } else { "by the kernel" };
            let promise = promise(*format, *by_fuse);
            Some(("Format", format!("{}, {by}, no journal: {promise}", format.name())))
        }
        _ => None,
    };
    let lost = internals.unplugged.as_ref().map(|one| ("If pulled out", lost(one, internals)));
    let size = true_size(environment, Some(run)).map(|text| ("True size", text));
    format.into_iter().chain(lost).chain(size).collect()
}

/// Missing values grouped by reason; none for a simulation, which has no machine.
fn by_reason(run: &Run, unknown: Vec<Fact>) -> String {
    if run.target.kind == TargetKind::Simulated {
        return String::new();
    }
    let mut reasons: Vec<(String, String)> = Vec::new();
    for (name, text) in unknown {
        match reasons.iter_mut().find(|(reason, _)| *reason == text) {
            Some((_, names)) => {
                *names += ", ";
                *names += name;
            }
            None => reasons.push((text, name.to_owned())),
        }
    }
    let sentences = reasons.iter().map(|(reason, names)| format!("{names}: {reason}."));
    sentences.collect::<Vec<_>>().join(" ")
}

fn cpu(facts: &mut Facts, cpu: &Cpu) {
    facts.add("CPU", &cpu.model, Clone::clone);
    facts.add("CPUs in use", &cpu.count, |count| format::count(u64::from(*count)));
    facts.add("CPU governor", &cpu.governor, Clone::clone);
    let waited = |stall: &flashlag_schema::PressureStall| {
        format!("{}% of 10 s", hundredths(stall.avg10_hundredths))
    };
    match (cpu.pressure_before.value(), cpu.pressure_after.value()) {
        (Some(before), Some(after)) => facts.known(
            "Waited for a CPU",
            format!("{} before, {} at the end", waited(before), waited(after)),
        ),
        _ => {
            facts.add("Waited for a CPU", &cpu.pressure_before, waited);
            facts.add("Waited at the end", &cpu.pressure_after, waited);
        }
    }
    facts.add("Load before", &cpu.load_before_hundredths, |load| hundredths(*load));
}

fn filesystem(facts: &mut Facts, filesystem: &Filesystem) {
    facts.add("Filesystem", &filesystem.kind, Clone::clone);
    facts.add("Mounted at", &filesystem.mount_point, Clone::clone);
    facts.add("Mounted from", &filesystem.source, Clone::clone);
    facts.add("Mount options", &filesystem.options, |options| options.join(","));
    if !filesystem.layers.is_empty() {
        facts.known("Layers above", filesystem.layers.join(", "));
    }
    facts.add("Filesystem size", &filesystem.total_bytes, |bytes| format::size(*bytes));
    facts.add("Free before", &filesystem.free_bytes, |bytes| format::size(*bytes));
    facts.add("Filesystem block", &filesystem.block_bytes, |bytes| exact(bytes.0));
}

fn device(facts: &mut Facts, device: &Device) {
    facts.add("Device", &device.name, Clone::clone);
    facts.add("Kind", &device.kind, |kind| kind_name(kind).to_owned());
    facts.add("Model", &device.model, Clone::clone);
    facts.add("Firmware", &device.firmware, Clone::clone);
    facts.add("Device size", &device.size_bytes, |bytes| format::size(*bytes));
    if !device.stack.is_empty() {
        facts.known("Devices between", device.stack.join(", "));
    }
    let queue = &device.queue;
    facts.add("Write cache", &queue.write_cache, Clone::clone);
    facts.add("FUA writes", &queue.fua, |yes| yes_no(*yes));
    facts.add("I/O scheduler", &queue.scheduler, Clone::clone);
    facts.add("Queue", &queue.requests, |n| {
        format::plural(usize::try_from(*n).unwrap_or(usize::MAX), "request", "requests")
    });
    facts.add("Spinning disk", &queue.rotational, |yes| yes_no(*yes));
    facts.add("Logical block", &queue.logical_block_bytes, |bytes| exact(bytes.0));
    facts.add("Physical block", &queue.physical_block_bytes, |bytes| exact(bytes.0));
    facts.add("Largest discard", &queue.discard_max_bytes, |bytes| match bytes.0 {
        0 => "takes no discards".to_owned(),
        _ => format::size(*bytes),
    });
    facts.add("Life used", &device.life, |life| {
        let end = life.pre_eol.as_ref().map(|eol| format!(", pre-EOL {eol}")).unwrap_or_default();
        format!("at most {}%{end} ({})", life.used_percent_at_most, life.source)
    });
}

/// The overhead of the clock and the engine.
fn ruler(calibration: &Calibration) -> String {
    let mut words = format!(
        "clock reads in {} ns",
        format::rate(calibration.clock.cost_picoseconds as f64 / 1e3)
    );
    if let Some(step) = calibration.clock.resolution_ns.value() {
        words += &format!(", steps of {}", format::time(*step));
    }
    if let Some(engine) = calibration.engine.value() {
        let median = format::time(Nanos(engine.latency_p50_ns.0));
        words += &format!("; on a device that does nothing the engine reads {median} (median)");
    }
    words
}

/// A block size in binary units: rounded decimal units would hide that it is a power of two.
fn exact(bytes: u64) -> String {
    format!("{} B", format::count(bytes))
}

fn yes_no(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}

fn hundredths(value: u64) -> String {
    format!("{}.{:02}", value / 100, value % 100)
}

fn celsius(millidegrees: i64) -> String {
    format!("{:.1}", millidegrees as f64 / 1000.0)
}
