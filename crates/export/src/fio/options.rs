//! The options of a fio job as fields of a run, and back.

use std::collections::BTreeMap;

use flashlag_schema::{Phase, Think};
use flashlag_spec::Operation;
use flashlag_spec::scenario::Durability;
use flashlag_units::{Bytes, Nanos};
use serde_json::Value;

/// Options of reporting, not of the procedure: two jobs that differ in these alone
/// did the same.
const PLACE: [&str; 9] = [
    "name",
    "filename",
    "directory",
    "output",
    "description",
    "output-format",
    "filename_format",
    "group_reporting",
    "thinktime_blocks_type",
];

/// A job's options, its own over the global ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Options(BTreeMap<String, String>);

impl Options {
    pub(super) fn of(global: Option<&Value>, own: Option<&Value>) -> Options {
        let mut all = BTreeMap::new();
        for options in [global, own].into_iter().flatten().filter_map(Value::as_object) {
            for (name, value) in options {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                all.insert(long_name(name).to_owned(), value);
            }
        }
        Options(all)
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// `--rw=randwrite`, …, all of them.
    pub(super) fn arguments(&self) -> impl Iterator<Item = String> + '_ {
        self.0.iter().map(|(name, value)| match value.as_str() {
            "" => format!("--{name}"),
            value => format!("--{name}={value}"),
        })
    }

    /// All options of the procedure, one per line.
    pub(super) fn doing(&self) -> String {
        let doing = self.0.iter().filter(|(name, _)| !PLACE.contains(&name.as_str()));
        doing.map(|(name, value)| format!("{name}={value}\n")).collect()
    }

    /// Whether an option is given and not 0.
    pub(super) fn is_on(&self, name: &str) -> bool {
        self.flag(name)
    }

    fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !matches!(value, "0" | "none" | "false"))
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// The block size of a direction: `4k`, or one each for reads, writes and trims (`4k,8k,4k`).
    /// `None` for a mixture.
    pub(super) fn block(&self, direction: &str) -> Option<Bytes> {
        if self.get("bsrange").or(self.get("bssplit")).is_some() {
            return None;
        }
        let Some(sizes) = self.get("bs") else { return Some(Bytes(4096)) };
        let mut sizes = sizes.split(',');
        let first = sizes.next()?;
        let second = sizes.next().filter(|size| !size.is_empty());
        size(if direction == "write" { second.unwrap_or(first) } else { first })
    }

    pub(super) fn span(&self) -> Option<Bytes> {
        size(self.get("size")?)
    }

    pub(super) fn operation(&self, direction: &str) -> Operation {
        let random = self.get("rw").is_some_and(|rw| rw.starts_with("rand"));
        match (direction, random) {
            ("read", false) => Operation::SequentialRead,
            ("read", true) => Operation::RandomRead,
            (_, false) => Operation::SequentialWrite,
            (_, true) => Operation::RandomWrite,
        }
    }

    /// The durability of this job's completed writes. `O_SYNC` is `O_DSYNC` and more.
    pub(super) fn durable_by_itself(&self) -> bool {
        matches!(self.get("sync"), Some("dsync" | "sync" | "1"))
    }

    /// The flush after each write, if there is one.
    pub(super) fn flush_after_each(&self) -> Option<Durability> {
        match (self.get("fdatasync"), self.get("fsync")) {
            (Some("1"), _) => Some(Durability::Fdatasync),
            (_, Some("1")) => Some(Durability::Fsync),
            _ => None,
        }
    }

    pub(super) fn direct(&self) -> bool {
        self.flag("direct") || self.get("buffered") == Some("0")
    }

    pub(super) fn is_scheduled(&self) -> bool {
        self.flag("rate_iops") || self.flag("rate")
    }

    /// The rests of a phase with `done` operations (`thinktime`), and a note where fio rested otherwise
    /// than after each operation (`thinktime_blocks`). Such a rest counts in parts, one for each of
    /// its operations.
    pub(super) fn think(&self, done: u64, elapsed: Nanos) -> Option<(Think, Option<String>)> {
        let rest = self.get("thinktime").and_then(time).filter(|rest| *rest > Nanos::ZERO)?;
        let blocks = self.number("thinktime_blocks").unwrap_or(1).max(1);
        let total = Nanos(rest.0.saturating_mul(done / blocks)).min(elapsed);
        let each = Nanos(rest.0.div_ceil(blocks));
        let note = || format!("fio rested {rest} after each {blocks} operations.");
        Some((Think { each_ns: each, total_ns: total }, (blocks > 1).then(note)))
    }

    /// Depth of the asynchronous engines; the others do one operation at a time.
    pub(super) fn queue_depth(&self) -> u32 {
        let engine = self.get("ioengine").unwrap_or("psync");
        let one = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"].contains(&engine);
        let depth = self.number("iodepth").unwrap_or(1);
        if one { 1 } else { u32::try_from(depth).unwrap_or(u32::MAX).max(1) }
    }

    /// The fio options that repeat a phase.
    pub(super) fn of_phase(phase: &Phase, seed: u64) -> Vec<(&'static str, String)> {
        let rw = match phase.operation {
            Operation::SequentialRead => "read",
            Operation::SequentialWrite => "write",
            Operation::RandomRead => "randread",
            // Replays are not exported.
            Operation::RandomWrite
            | Operation::Save
            | Operation::ReplayRead
            | Operation::ReplayWrite
            | Operation::ReplaySync
            | Operation::ReplayNames
            | Operation::ReplayDiscard => "randwrite",
        };
        let engine = if phase.queue_depth > 1 { "io_uring" } else { "psync" };
        let mut options = vec![
            ("rw", rw.to_owned()),
            ("bs", phase.block_bytes.0.to_string()),
            ("size", phase.span_bytes.0.to_string()),
            ("iodepth", phase.queue_depth.to_string()),
            ("ioengine", engine.to_owned()),
            ("direct", u8::from(phase.direct).to_string()),
            ("randseed", seed.to_string()),
        ];
        if let Some(think) = phase.think {
            options.push(("thinktime", think.each_ns.0.div_ceil(1_000).to_string()));
        }
        match phase.durable {
            Durability::None => {}
            Durability::Fdatasync => options.push(("fdatasync", "1".to_owned())),
            Durability::Fsync => options.push(("fsync", "1".to_owned())),
            Durability::Dsync | Durability::RwfDsync => options.push(("sync", "dsync".to_owned())),
        }
        options
    }
}

/// fio's short names and aliases.
fn long_name(name: &str) -> &str {
    match name {
        "blocksize" => "bs",
        "readwrite" => "rw",
        "blocksize_range" => "bsrange",
        "filesize" => "size",
        other => other,
    }
}

/// fio's sizes: digits and an optional suffix, powers of 1,024 (`4k`, `4kb`, `4KiB`, `1g`).
/// `None` for a share (`50%`) or anything else.
pub(super) fn size(text: &str) -> Option<Bytes> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..split].parse().ok()?;
    let power = match text[split..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    number.checked_mul(1 << power).map(Bytes)
}

/// fio's times: digits and an optional unit, microseconds without one (`5000`, `5ms`, `1s`). `None` for
/// anything else.
fn time(text: &str) -> Option<Nanos> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..split].parse().ok()?;
    let unit = match text[split..].to_ascii_lowercase().as_str() {
        "" | "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    number.checked_mul(unit).map(Nanos)
}

/// A field of milliseconds as time; saturates.
pub(super) fn millis(value: Option<&Value>) -> Nanos {
    Nanos::from_millis(value.and_then(Value::as_u64).unwrap_or(0))
}
