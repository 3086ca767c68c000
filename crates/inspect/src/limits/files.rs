//! The files of a control group: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1.

use std::path::Path;

use flashlag_schema::{Limit, LimitCount, LimitKind};
use flashlag_spec::Reading;

use super::seen::{Parse, Seen};
use crate::reason::Reason;
use crate::root::Root;

/// A file with one line per device.
pub(super) struct OfDevices {
    pub file: &'static str,
    pub parse: Parse,
}

/// In version 1, a memory limit above this means no limit: the kernel then shows a number near the
/// largest.
const NO_MEMORY_LIMIT: u64 = 1 << 62;

/// Rate limits in version 1, one file each.
pub(super) const FIRST_RATES: &[OfDevices] = &[
    OfDevices { file: "blkio.throttle.read_bps_device", parse: first_rate },
    OfDevices { file: "blkio.throttle.write_bps_device", parse: first_rate },
    OfDevices { file: "blkio.throttle.read_iops_device", parse: first_rate },
    OfDevices { file: "blkio.throttle.write_iops_device", parse: first_rate },
];

/// Rates in version 2.
pub(super) const SECOND_RATES: &[OfDevices] = &[OfDevices { file: "io.max", parse: second_rates }];

/// A latency target: a group is throttled in favour of a neighbour whose target is lower.
pub(super) const LATENCY: &[OfDevices] = &[OfDevices { file: "io.latency", parse: latency }];

/// `7:0 400000`; 0 is none.
fn first_rate(file: &Path, line: &str) -> Option<Vec<(String, LimitKind, u64)>> {
    let name = file.file_name()?.to_str()?;
    let kind = match name.strip_prefix("blkio.throttle.")? {
        "read_bps_device" => LimitKind::ReadBytes,
        "write_bps_device" => LimitKind::WriteBytes,
        "read_iops_device" => LimitKind::ReadOps,
        _ => LimitKind::WriteOps,
    };
    let (numbers, value) = line.split_once(char::is_whitespace)?;
    let value = value.trim().parse().ok()?;
    Some(Vec::from_iter((value > 0).then(|| (numbers.to_owned(), kind, value))))
}

/// `8:16 rbps=2097152 wbps=max riops=max wiops=120`.
fn second_rates(_: &Path, line: &str) -> Option<Vec<(String, LimitKind, u64)>> {
    let (numbers, pairs) = keyed(line)?;
    let mut found = Vec::new();
    for (key, value) in pairs {
        let kind = match key {
            "rbps" => LimitKind::ReadBytes,
            "wbps" => LimitKind::WriteBytes,
            "riops" => LimitKind::ReadOps,
            "wiops" => LimitKind::WriteOps,
            _ => continue,
        };
        if value != "max" {
            found.push((numbers.to_owned(), kind, value.parse().ok()?));
        }
    }
    Some(found)
}

/// `8:16 target=75000`, in microseconds.
fn latency(_: &Path, line: &str) -> Option<Vec<(String, LimitKind, u64)>> {
    let (numbers, mut pairs) = keyed(line)?;
    let (_, target) = pairs.find(|(key, _)| *key == "target")?;
    let target = if target == "max" { 0 } else { target.parse().ok()? };
    Some(Vec::from_iter((target > 0).then(|| (numbers.to_owned(), LimitKind::Latency, target))))
}

/// `8:16 enable=1 ctrl=auto rpct=0.00 … min=1.00 max=100.00`.
pub(super) fn cost(_: &Path, line: &str) -> Option<Vec<(String, LimitKind, u64)>> {
    let (numbers, pairs) = keyed(line)?;
    let (mut on, mut most) = (false, 10_000);
    for (key, value) in pairs {
        match key {
            "enable" => on = value == "1",
            "max" => most = (value.parse::<f64>().ok()? * 100.0).round() as u64,
            _ => {}
        }
    }
    Some(Vec::from_iter(on.then(|| (numbers.to_owned(), LimitKind::Cost, most))))
}

/// Splits `8:16 a=1 b=2` into its first word and its pairs.
fn keyed(line: &str) -> Option<(&str, impl Iterator<Item = (&str, &str)>)> {
    let mut words = line.split_whitespace();
    let numbers = words.next().filter(|numbers| numbers.contains(':'))?;
    Some((numbers, words.filter_map(|word| word.split_once('='))))
}

/// What the group has read from or written to that device since it was created, in bytes or in
/// operations.
pub(super) fn amount(
    root: &Root,
    group: &Path,
    numbers: &str,
    kind: LimitKind,
) -> Result<u64, Reason> {
    let (second, first, word) = match kind {
        LimitKind::ReadBytes => ("rbytes", "blkio.throttle.io_service_bytes", "Read"),
        LimitKind::WriteBytes => ("wbytes", "blkio.throttle.io_service_bytes", "Write"),
        LimitKind::ReadOps => ("rios", "blkio.throttle.io_serviced", "Read"),
        LimitKind::WriteOps => ("wios", "blkio.throttle.io_serviced", "Write"),
        _ => return Err("the kernel does not count what such a limit throttles".into()),
    };
    if let Some(text) = root.text_if_there(group.join("io.stat"))? {
        return Ok(of_device(&text, numbers, second).unwrap_or(0));
    }
    // `7:0 Write 60`. A device without a line has done nothing.
    let file = group.join(first);
    let text = root.text(&file)?;
    let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = lines.find(|words| words.len() == 3 && words[0] == numbers && words[1] == word);
    line.map_or(Ok(0), |words| words[2].parse().map_err(|_| Reason::content(file, "is odd")))
}

/// How long io.cost has throttled the group's requests, if the kernel counts it.
pub(super) fn cost_wait(root: &Root, group: &Path, numbers: &str) -> Result<u64, Reason> {
    let text = root.text(group.join("io.stat"))?;
    let micros = of_device(&text, numbers, "cost.wait").ok_or(
        "the kernel counts that only with the parameter blkcg_debug_stats of its block layer",
    )?;
    Ok(micros.saturating_mul(1000))
}

/// A value in a device's line of `io.stat`.
fn of_device(text: &str, numbers: &str, wanted: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(keyed);
    let (_, mut pairs) = lines.find(|(its, _)| *its == numbers)?;
    pairs.find(|(key, _)| *key == wanted)?.1.parse().ok()
}

/// `20000 100000`: microseconds of CPU time per period; `max` means no limit.
pub(super) fn second_cpu(root: &Root, group: &Path, seen: &mut Seen) {
    let file = group.join("cpu.max");
    let Some(text) = seen.text(root, &file) else { return };
    let mut words = text.split_whitespace();
    let quota = words.next().filter(|quota| *quota != "max");
    let period = words.next().unwrap_or("100000");
    match quota.map(|quota| (quota.parse(), period.parse())) {
        None => {}
        Some((Ok(quota), Ok(period))) => cpu(root, group, &file, quota, period, seen),
        Some(_) => seen.odd(&file),
    }
}

/// `cpu.cfs_quota_us` and its period; -1 means no limit.
pub(super) fn first_cpu(root: &Root, group: &Path, seen: &mut Seen) {
    let file = group.join("cpu.cfs_quota_us");
    let Some(text) = seen.text(root, &file) else { return };
    let period = root.number(group.join("cpu.cfs_period_us")).unwrap_or(100_000);
    match text.parse::<i64>() {
        Ok(quota) if quota <= 0 => {}
        Ok(quota) => cpu(root, group, &file, quota.unsigned_abs(), period, seen),
        Err(_) => seen.odd(&file),
    }
}

fn cpu(root: &Root, group: &Path, file: &Path, quota: u64, period: u64, seen: &mut Seen) {
    let value = quota.saturating_mul(1000) / period.max(1);
    let source = group.join("cpu.stat");
    let stat = root.line(&source);
    let field = |name: &str| {
        let text = stat.as_ref().map_err(Clone::clone)?;
        field(text, name).ok_or_else(|| Reason::content(&source, format!("has no {name}")))
    };
    let throttled = field("throttled_usec").map(|micros| micros.saturating_mul(1000));
    let limit = Limit {
        kind: LimitKind::Cpu,
        file: file.to_string_lossy().into_owned(),
        device: None,
        value,
        used: None,
    };
    let amount = throttled.or_else(|_| field("throttled_time")).into();
    seen.counts.push(LimitCount { limit, amount, times: field("nr_throttled").into() });
}

/// `name 12` in a file of such lines.
fn field(text: &str, name: &str) -> Option<u64> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.find(|(key, _)| *key == name)?.1.trim().parse().ok()
}

pub(super) fn second_memory(root: &Root, group: &Path, seen: &mut Seen) {
    let [events_file, pressure_file] = ["memory.events", "memory.pressure"].map(|f| group.join(f));
    let (events, pressure) = (root.line(&events_file), root.line(&pressure_file));
    for (name, event, kind) in [
        ("memory.high", "high", LimitKind::MemoryHigh),
        ("memory.max", "max", LimitKind::MemoryMax),
    ] {
        let file = group.join(name);
        let Some(text) = seen.text(root, &file).filter(|text| text != "max") else { continue };
        let Ok(value) = text.parse() else {
            seen.odd(&file);
            continue;
        };
        let times = events.as_ref().map_err(Clone::clone).and_then(|text| {
            field(text, event)
                .ok_or_else(|| Reason::content(&events_file, format!("has no {event}")))
        });
        let waited = pressure.as_ref().map_err(Clone::clone).and_then(|text| {
            let some = text.lines().find_map(|line| line.strip_prefix("some "));
            let total = some.and_then(|line| line.split_once("total=")?.1.trim().parse().ok());
            let total: u64 = total.ok_or_else(|| Reason::odd(&pressure_file))?;
            Ok(total.saturating_mul(1000))
        });
        memory(root, group, &file, (kind, value, "memory.current"), (waited, times), seen);
    }
}

pub(super) fn first_memory(root: &Root, group: &Path, seen: &mut Seen) {
    let file = group.join("memory.limit_in_bytes");
    let Some(text) = seen.text(root, &file) else { return };
    match text.parse::<u64>() {
        Ok(value) if value >= NO_MEMORY_LIMIT => {}
        Ok(value) => {
            let times = root.number(group.join("memory.failcnt"));
            let waited = Err("version 1 counts no waits for memory of a group".into());
            let of = (LimitKind::MemoryMax, value, "memory.usage_in_bytes");
            memory(root, group, &file, of, (waited, times), seen);
        }
        Err(_) => seen.odd(&file),
    }
}

type Counted = Result<u64, Reason>;

fn memory(
    root: &Root,
    group: &Path,
    file: &Path,
    (kind, value, used): (LimitKind, u64, &str),
    (waited, times): (Counted, Counted),
    seen: &mut Seen,
) {
    let limit = Limit {
        kind,
        file: file.to_string_lossy().into_owned(),
        device: None,
        value,
        used: root.number(group.join(used)).ok(),
    };
    let (amount, times): (Reading<u64>, Reading<u64>) = (waited.into(), times.into());
    seen.counts.push(LimitCount { limit, amount, times });
}
