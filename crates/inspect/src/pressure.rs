//! Pressure-stall information, load and CPUs. Format: Documentation/accounting/psi.rst.

use flashlag_schema::{Cpu, PressureStall};
use flashlag_spec::Reading;
use flashlag_units::Nanos;

use crate::reason::Reason;
use crate::root::Root;

/// The `some` line of `/proc/pressure/RESOURCE`.
pub(crate) fn pressure(root: &Root, resource: &str) -> Result<PressureStall, Reason> {
    let file = format!("/proc/pressure/{resource}");
    let text = root.line(&file)?;
    let some = text.lines().find_map(|line| line.strip_prefix("some "));
    let field = |name: &str| {
        let mut fields = some?.split_whitespace().filter_map(|field| field.strip_prefix(name));
        fields.find_map(|rest| rest.strip_prefix('='))
    };
    let total: Option<u64> = field("total").and_then(|total| total.parse().ok());
    match (field("avg10").and_then(hundredths), total) {
        (Some(avg10_hundredths), Some(micros)) => {
            Ok(PressureStall { avg10_hundredths, total_ns: Nanos::from_micros(micros) })
        }
        _ => Err(Reason::odd(file)),
    }
}

/// Load over the last minute × 100.
pub(crate) fn load(root: &Root) -> Result<u64, Reason> {
    let text = root.line("/proc/loadavg")?;
    let first = text.split_whitespace().next().and_then(hundredths);
    first.ok_or_else(|| Reason::odd("/proc/loadavg"))
}

/// `12.34` → 1234, without floating point.
fn hundredths(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let fraction: u64 = format!("{fraction:0<2}").get(..2)?.parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(100)?.checked_add(fraction)
}

pub(crate) fn cpu(root: &Root) -> Cpu {
    let policy = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    let pressure: Reading<PressureStall> = pressure(root, "cpu").into();
    Cpu {
        model: model(root).into(),
        count: count(root).into(),
        governor: root.reading(policy),
        pressure_before: pressure.clone(),
        pressure_after: pressure,
        load_before_hundredths: load(root).into(),
    }
}

/// `model name` (x86, some ARM), `Hardware` (old ARM kernels), else the ARM part numbers.
fn model(root: &Root) -> Result<String, Reason> {
    let text = root.line("/proc/cpuinfo")?;
    let field = |wanted: &str| {
        let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
        let found = pairs.find(|(key, _)| key.trim() == wanted);
        found.map(|(_, value)| value.trim().to_owned()).filter(|value| !value.is_empty())
    };
    let part = || {
        let (implementer, part) = (field("CPU implementer")?, field("CPU part")?);
        Some(format!("ARM implementer {implementer} part {part}"))
    };
    field("model name")
        .or_else(|| field("Hardware"))
        .or_else(part)
        .ok_or_else(|| Reason::content("/proc/cpuinfo", "names no model"))
}

fn count(root: &Root) -> Result<u32, Reason> {
    let count = if root.is_live() {
        let count = std::thread::available_parallelism();
        count.map_err(|error| Reason::none(format!("available processors: {error}")))?.get()
    } else {
        let cpuinfo = root.line("/proc/cpuinfo")?;
        cpuinfo.lines().filter(|line| line.starts_with("processor")).count()
    };
    match u32::try_from(count) {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(Reason::content("/proc/cpuinfo", "lists no processor")),
    }
}
