//! A test as fio's command line.

use flashlag_schema::Downgrade;
use flashlag_schema::scenario::{
    Durability, EngineKind, Io, IoOperation, Pattern, Schedule, Until,
};
use flashlag_units::{Bytes, Nanos};

use super::FioError;
use crate::drive::Limits;
use crate::files::FileSet;

/// The job's name in fio's results.
const JOB: &str = "flashlag";

/// What fio is told.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) operation: IoOperation,
    pattern: Pattern,
    pub(super) block: Bytes,
    span: Bytes,
    /// Where in its file that begins.
    offset: Bytes,
    filenames: String,
    engine: &'static str,
    pub(super) queue_depth: u32,
    pub(super) durable: Durability,
    pub(super) direct: bool,
    rate: Option<(u64, Schedule)>,
    time: Option<Nanos>,
    bytes: Option<Bytes>,
    ops: Option<u64>,
    pub(super) warmup: Option<Nanos>,
    seed: u64,
    pub(super) downgrades: Vec<Downgrade>,
}

impl Plan {
    pub(super) fn of(
        io: &Io,
        limits: Limits,
        files: &FileSet,
        seed: u64,
    ) -> Result<Plan, FioError> {
        let mut downgrades = Vec::new();
        let engine = engine_of(io)?;
        let queue_depth = if engine == "psync" { 1 } else { io.queue_depth.max(1) };
        if queue_depth < io.queue_depth {
            downgrades.push(downgrade(
                format!("queue depth {}", io.queue_depth),
                "queue depth 1",
                "fio's psync does one operation at a time",
            ));
        }
        if io.until == Until::Steady {
            downgrades.push(downgrade(
                "until steady",
                "until its limits",
                "fio's steady state is another rule",
            ));
        }
        let rate = rate_of(io, &mut downgrades)?;
        let count = files.count();
        if io.offset.is_some() && count > 1 {
            return Err(FioError::Unsupported {
                what: "an offset in a test file of several parts",
            });
        }
        // fio gives each file the same share of the size.
        let share = files.length(count - 1).round_down(io.block.0.max(Bytes(1)));
        let span = if count == 1 { files.span() } else { Bytes(share.0 * count as u64) };
        let asked = io.span.map_or(files.span(), |span| span.0).min(files.span());
        let span = span.min(asked).round_down(io.block.0.max(Bytes(1)));
        if span.0 == 0 {
            return Err(FioError::Unsupported { what: "a span smaller than a block in each file" });
        }
        Ok(Plan {
            operation: io.operation,
            pattern: io.pattern,
            block: io.block.0,
            span,
            offset: io.begin(),
            filenames: filenames(files),
            engine,
            queue_depth,
            durable: durable_of(io, &mut downgrades),
            direct: io.direct,
            rate,
            time: limits.time,
            bytes: limits.bytes,
            ops: None,
            warmup: limits.warmup.filter(|warmup| warmup.0 > 0),
            seed,
            downgrades,
        })
    }

    /// Through the page cache after all.
    pub(super) fn buffered(&mut self) {
        self.direct = false;
        self.downgrades.push(downgrade(
            "O_DIRECT",
            "buffered",
            "the filesystem refused O_DIRECT when fio opened the file",
        ));
    }

    /// A further pass: no warm-up, other addresses.
    pub(super) fn go_on(&mut self, time: Nanos, ops: u64) {
        self.time = Some(time);
        self.ops = Some(ops);
        self.warmup = None;
        self.seed = self.seed.wrapping_add(1);
    }

    pub(super) fn arguments(&self) -> Vec<String> {
        let write = self.operation == IoOperation::Write;
        let mut list = Arguments(vec![format!("--name={JOB}")]);
        list.set("filename", &self.filenames);
        list.set("rw", rw(self.operation, self.pattern));
        list.set("bs", self.block.0);
        list.set("size", self.span.0);
        if self.offset > Bytes::ZERO {
            list.set("offset", self.offset.0);
        }
        list.set("ioengine", self.engine);
        list.set("iodepth", self.queue_depth);
        list.set("direct", u8::from(self.direct));
        // fio reads it as a signed number.
        list.set("randseed", self.seed & (u64::MAX >> 1));
        list.set("randrepeat", 1);
        list.set("norandommap", 1);
        // The files are laid out: it must neither make nor extend any.
        list.set("allow_file_create", 0);
        list.set("fallocate", "none");
        // One process, whose end is the end of all of it.
        list.set("thread", 1);
        list.set("lat_percentiles", 1);
        list.set("clat_percentiles", 0);
        if self.filenames.contains(':') {
            let random = self.pattern == Pattern::Random;
            list.set("file_service_type", if random { "random" } else { "sequential" });
        }
        if write {
            list.set("refill_buffers", 1);
            match self.durable {
                Durability::None => list.set("end_fsync", 1),
                Durability::Fsync => list.set("sync", "sync"),
                Durability::Fdatasync | Durability::Dsync | Durability::RwfDsync => {
                    list.set("sync", "dsync");
                }
            }
        }
        if let Some((per_second, schedule)) = self.rate {
            list.set("rate_iops", per_second);
            let poisson = schedule == Schedule::Poisson;
            list.set("rate_process", if poisson { "poisson" } else { "linear" });
        }
        self.limit(&mut list);
        list.set("output-format", "json+");
        list.0
    }

    fn limit(&self, list: &mut Arguments) {
        if let Some(warmup) = self.warmup {
            list.set("ramp_time", format_args!("{}ms", warmup.0.div_ceil(1_000_000)));
        }
        if let Some(time) = self.time {
            list.set("runtime", format_args!("{}ms", time.0.div_ceil(1_000_000).max(1)));
        }
        match (self.bytes, self.time) {
            (Some(bytes), _) => list.set("io_size", bytes.0.max(self.block.0)),
            (None, Some(_)) => list.set("time_based", 1),
            (None, None) => list.set("io_size", self.span.0),
        }
        if let Some(ops) = self.ops {
            list.set("number_ios", ops);
        }
    }
}

struct Arguments(Vec<String>);

impl Arguments {
    fn set(&mut self, name: &str, value: impl std::fmt::Display) {
        self.0.push(format!("--{name}={value}"));
    }
}

fn rw(operation: IoOperation, pattern: Pattern) -> &'static str {
    match (operation, pattern) {
        (IoOperation::Read, Pattern::Sequential) => "read",
        (IoOperation::Read, Pattern::Random) => "randread",
        (IoOperation::Write, Pattern::Sequential) => "write",
        (IoOperation::Write, Pattern::Random) => "randwrite",
    }
}

fn engine_of(io: &Io) -> Result<&'static str, FioError> {
    match io.engine {
        EngineKind::Psync => Ok("psync"),
        EngineKind::IoUring => Ok("io_uring"),
        EngineKind::Auto | EngineKind::Fio if io.queue_depth > 1 => Ok("io_uring"),
        EngineKind::Auto | EngineKind::Fio => Ok("psync"),
        EngineKind::Null => Ok("null"),
        EngineKind::Sqlite => Err(FioError::Unsupported { what: "saves through SQLite" }),
    }
}

/// Whole operations a second, which is what fio takes.
fn rate_of(io: &Io, downgrades: &mut Vec<Downgrade>) -> Result<Option<(u64, Schedule)>, FioError> {
    let Some(per_second) = io.arrivals.per_second else { return Ok(None) };
    if per_second.is_nan() || per_second < 0.5 {
        return Err(FioError::Unsupported { what: "fewer operations than one a second" });
    }
    // Saturates; the least is 0.5, which rounds to one.
    let whole = per_second.round() as u64;
    downgrades.push(downgrade(
        format!("latency from the intended start, {per_second} a second"),
        format!("latency from the actual start, {whole} a second"),
        "fio keeps the rate, but not when each operation should have begun",
    ));
    Ok(Some((whole.max(1), io.arrivals.schedule)))
}

fn durable_of(io: &Io, downgrades: &mut Vec<Downgrade>) -> Durability {
    let apart = "fio counts a write and its flush apart and can't join them to one latency";
    let (durable, asked, instead, reason) = match (io.operation, io.durable) {
        (IoOperation::Read, _) | (_, Durability::None) => return Durability::None,
        (_, Durability::Dsync) => return Durability::Dsync,
        (_, Durability::Fdatasync) => (Durability::Dsync, "write + fdatasync", "O_DSYNC", apart),
        (_, Durability::Fsync) => (Durability::Fsync, "write + fsync", "O_SYNC", apart),
        (_, Durability::RwfDsync) => {
            (Durability::Dsync, "RWF_DSYNC", "O_DSYNC", "fio has no option for RWF_DSYNC")
        }
    };
    downgrades.push(downgrade(asked, instead, reason));
    durable
}

fn downgrade(
    requested: impl Into<String>,
    effective: impl Into<String>,
    reason: &str,
) -> Downgrade {
    Downgrade {
        requested: requested.into(),
        effective: effective.into(),
        reason: reason.to_owned(),
    }
}

/// Names relative to the directory fio runs in, joined by colons; a colon within one is escaped.
fn filenames(files: &FileSet) -> String {
    let name = |path: std::path::PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_default().replace(':', "\\:")
    };
    files.paths().map(name).collect::<Vec<_>>().join(":")
}
