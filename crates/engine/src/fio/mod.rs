//! Phases through fio 3.x instead of our own loop.
//!
//! fio does the same operations on the same files and its `json+` bins become our histogram without
//! loss. What it can't do as we do is a recorded downgrade, never silent:
//!
//! | asked for | what fio does | why |
//! |---|---|---|
//! | write + fdatasync | `sync=dsync` | fio counts a write and its flush apart and can't join them, so a durable write would have no latency of its own; an `O_DSYNC` write is the same promise in one call |
//! | write + fsync | `sync=sync` | likewise, with `O_SYNC` |
//! | `RWF_DSYNC` | `sync=dsync` | fio sets no such flag |
//! | latency from the intended start | latency from the actual start | fio keeps the schedule (`rate_iops`, `rate_process=poisson`) but not the intended times |
//! | until steady | until its limits | its rule is another one |
//!
//! Neither stalls with their times, nor the interval series, nor the split of waits is in fio's
//! results: those are absent, and stalls are counted by the histogram.

mod arguments;
#[allow(unsafe_code)]
mod death;
mod find;
mod process;
mod result;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use flashlag_schema::Downgrade;
use flashlag_schema::fio::FioFileError;
use flashlag_schema::scenario::{Durability, Io};
use flashlag_stats::{Histogram, Recorded, WaitTable};
use flashlag_units::{Bytes, Nanos};
use thiserror::Error;

use crate::drive::{Limits, STRETCH};
use crate::files::FileSet;
use arguments::Plan;

pub use find::{Fio, find_fio};

/// Why fio could not do a phase.
#[derive(Debug, Error)]
pub enum FioError {
    /// There is no fio.
    #[error(
        "no program `fio` on the PATH: install fio 3.x (`apt install fio`), or run without \
         --engine fio"
    )]
    Missing,
    /// Not a version that this can drive.
    #[error("{path} is `{found}`: --engine fio needs fio 3.x; install a newer one")]
    Version {
        /// Where it is.
        path: PathBuf,
        /// What it says of itself.
        found: String,
    },
    /// It could not be started or waited for.
    #[error("{operation} {path}: {source}; does `fio --version` work?")]
    Start {
        /// `start` or `wait for`.
        operation: &'static str,
        /// Which program.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It ran and failed.
    #[error("fio on {subject}: {reason} ({advice})")]
    Failed {
        /// The directory under test.
        subject: String,
        /// What it said.
        reason: String,
        /// The operating system's error number, where it told one.
        errno: Option<i32>,
        /// What to try.
        advice: &'static str,
    },
    /// What it wrote can't be read.
    #[error("fio's output: {0}")]
    Output(#[from] FioFileError),
    /// A test that fio has no way to do.
    #[error("fio can't do this: {what}; run without --engine fio")]
    Unsupported {
        /// What was asked for.
        what: &'static str,
    },
}

/// What a phase through fio gave.
#[derive(Clone, Debug, PartialEq)]
pub struct FioPhase {
    /// fio's total latency (submission to completion) of each operation.
    pub latency: Histogram,
    /// Operations done, warm-up not counted.
    pub ops: u64,
    /// Bytes moved by them.
    pub bytes: Bytes,
    /// How long they took, final flush included; whole milliseconds, as fio tells it.
    pub elapsed: Nanos,
    /// CPU time in user space, from fio's percentage.
    pub cpu_user: Nanos,
    /// CPU time in the kernel.
    pub cpu_system: Nanos,
    /// Every byte that may have been moved, warm-up included.
    pub moved: Bytes,
    /// How writes really were made durable.
    pub durable: Durability,
    /// Whether the page cache was really bypassed.
    pub direct: bool,
    /// Operations in flight.
    pub queue_depth: u32,
    /// What could not be done as it was asked for.
    pub downgrades: Vec<Downgrade>,
    /// The command line, to do it again.
    pub command: Vec<String>,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

impl FioPhase {
    /// In the shape of our own recorder: no intervals, no stalls but their count.
    pub fn recorded(&self, stall_over: Nanos) -> Recorded {
        Recorded {
            elapsed: self.elapsed,
            bytes: self.bytes,
            latency: self.latency.clone(),
            flush: Histogram::new(),
            response: Histogram::new(),
            missed_slots: 0,
            intervals: Vec::new(),
            stalls: Vec::new(),
            stalls_seen: self.latency.count_over(stall_over),
            waits: WaitTable::default(),
        }
    }

    /// `self` and a further pass of the same.
    fn and(mut self, next: FioPhase) -> FioPhase {
        self.latency.merge(&next.latency);
        self.ops = self.ops.saturating_add(next.ops);
        self.bytes = self.bytes.plus(next.bytes);
        self.elapsed = self.elapsed.plus(next.elapsed);
        self.cpu_user = self.cpu_user.plus(next.cpu_user);
        self.cpu_system = self.cpu_system.plus(next.cpu_system);
        self.moved = self.moved.plus(next.moved);
        self.stopped |= next.stopped;
        self
    }
}

/// Runs one test through fio, on files that are laid out. `seed` is what fio's addresses follow
/// from. Raising `stop` ends it; what was done until then is kept.
///
/// `limits` are those of the scenario, or tighter.
///
/// # Errors
/// fio can't be started, can't do such a test, fails, or writes what can't be read.
pub fn run_io(
    fio: &Fio,
    io: &Io,
    limits: Limits,
    files: &FileSet,
    seed: u64,
    stop: &AtomicBool,
) -> Result<FioPhase, FioError> {
    let mut plan = Plan::of(io, limits, files, seed)?;
    let first = match run_pass(fio, &plan, files, stop) {
        Err(FioError::Failed { errno: Some(libc::EINVAL), .. }) if plan.direct => {
            plan.buffered();
            run_pass(fio, &plan, files, stop)?
        }
        other => other?,
    };
    let wanted = limits.min_ops.unwrap_or(0);
    let (Some(time), false) = (limits.time, first.stopped || first.ops >= wanted) else {
        return Ok(first);
    };
    if limits.bytes.is_some_and(|bytes| first.bytes >= bytes) {
        return Ok(first);
    }
    // Too few operations for the time: on, as our own loop does, up to four times as long.
    let more = Nanos(time.0.saturating_mul(STRETCH - 1));
    plan.go_on(more, wanted - first.ops);
    let next = run_pass(fio, &plan, files, stop)?;
    Ok(first.and(next))
}

fn run_pass(
    fio: &Fio,
    plan: &Plan,
    files: &FileSet,
    stop: &AtomicBool,
) -> Result<FioPhase, FioError> {
    let output = process::run(fio, &plan.arguments(), files.directory(), stop)?;
    result::phase_of(fio, plan, files, &output)
}
