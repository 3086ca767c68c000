use std::cell::Cell;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flashlag_device::{DeviceError, WaitMeter};
use flashlag_spec::Downgrade;
use flashlag_spec::scenario::{Durability, EngineKind, Io, Pattern};
use flashlag_units::{Bytes, Nanos};
use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};

use super::blame::explained;
use super::filling::{Filling, Flags};
use super::gauge::Gauge;
use super::order::Order;
use super::readback::read_back;
use super::space::FreeSpace;
use crate::drive::{EndReason, Job, JobOutcome, Watch, drive};
use crate::files::FileSet;
use crate::open::{OpenOptions, open};

/// A fill: directory, level, pattern.
#[derive(Clone, Debug)]
pub struct FillSpec<'a> {
    /// A subdirectory of flashlag on the storage to fill.
    pub directory: &'a Path,
    /// The same directory, open: files are created there even if its path changes.
    pub opened: Option<&'a Arc<OwnedFd>>,
    /// The beginning of the files' names: 1 to 50 of `a-z 0-9 _ -`.
    pub stem: &'a str,
    /// Pattern, block, durability, depth, engine; its limits apply as well.
    pub io: &'a Io,
    /// The fill ends when only this much is available.
    pub leave: Bytes,
    /// The fill writes at most this.
    pub budget: Option<Bytes>,
    /// The seed of order and payload.
    pub seed: u64,
    /// Whether every block is read back and compared afterwards.
    pub verify: bool,
    /// Width of an interval of the series, at first.
    pub interval: Nanos,
    /// A wait longer than this is a stall.
    pub stall_over: Nanos,
}

/// The outcome of a fill. Its files stay.
#[derive(Debug)]
pub struct FillOutcome {
    /// The record. Every interval has the level at its end. `ended` is [`EndReason::Limit`] at the
    /// level (or the budget), and [`EndReason::NoSpace`] if the filesystem or a quota was full
    /// before, which is the expected end if nothing is to be left free.
    pub driven: JobOutcome,
    /// The engine that does the I/O.
    pub engine: EngineKind,
    /// Whether the page cache was bypassed.
    pub direct: bool,
    /// How writes were made durable.
    pub durable: Durability,
    /// Operations in flight.
    pub queue_depth: u32,
    /// Options that the device could not give as requested.
    pub downgrades: Vec<Downgrade>,
    /// Room before.
    pub before: FreeSpace,
    /// Room after.
    pub after: FreeSpace,
    /// Notes for the reader: a budget ended the fill, there was nothing to fill.
    pub notes: Vec<String>,
    pub files: FileSet,
}

/// Writes until only [`FillSpec::leave`] is available on the filesystem, as others write and
/// delete too; looks at least every 64 MiB and every 100 ms, and more often near the end.
///
/// Sequential fills write ascending; random ones write each block of a sparse file once. Where the
/// filesystem has no sparse files they write ascending too, and say so.
///
/// # Errors
/// Only if it could not begin. Later errors are in [`JobOutcome::ended`], with everything that was
/// recorded until then.
pub fn fill<M: WaitMeter>(
    spec: &FillSpec<'_>,
    watch: Watch<'_, M>,
) -> Result<FillOutcome, DeviceError> {
    let mut gauge = Gauge::open(spec.directory, spec.leave, spec.io.block.0)?;
    let before = gauge.space();
    let mut downgrades = Vec::new();
    let files = unused_files(spec, &gauge);
    let options = OpenOptions { write: true, create: true, ..OpenOptions::of(spec.io) };
    let mut opened = open(&files, &options)?;
    downgrades.append(&mut opened.downgrades);
    let order = order(spec, &files, &gauge, &mut downgrades)?;
    let (ended, filled) = (AtomicBool::new(!gauge.has_room()), Cell::new(gauge.used()));
    let mut job = Job::of(spec.io, files.span(), spec.seed);
    prepare(&mut job, spec, opened.queue_depth);
    gauge.expect_in_flight(opened.queue_depth);
    let flags = Flags { ended: &ended, stop: watch.stop, filled: &filled };
    let mut filling = Filling::new(opened.device, gauge, order, flags, &job);
    filling.buffered = !opened.direct;
    let mut watch = Watch {
        stop: &ended,
        live: watch.live,
        enough: watch.enough.map(|enough| enough as _),
        temperature: watch.temperature.map(|temperature| temperature as _),
        filled: Some(&filled),
        together: None,
        budget: watch.budget,
        meter: watch.meter,
    };
    let mut driven = drive(&mut filling, &job, &mut watch);
    driven.ended = why_ended(driven.ended, &mut filling, &files);
    // If even this reading fails, the last one counts.
    let after = filling.gauge.look_again().unwrap_or_else(|_| filling.gauge.space());
    let notes = notes(spec, &job, &driven, &filling);
    if spec.verify && driven.ended != EndReason::Stopped {
        driven.verified = Some(read_back(&mut filling, spec.seed));
    }
    Ok(FillOutcome {
        driven,
        engine: opened.engine,
        direct: opened.direct,
        durable: opened.durable,
        queue_depth: opened.queue_depth,
        downgrades,
        before,
        after,
        notes,
        files,
    })
}

/// The job of a fill: logical blocks, ascending, once. The adapter places them.
fn prepare(job: &mut Job, spec: &FillSpec<'_>, queue_depth: u32) {
    let own = job.limits.bytes.unwrap_or(Bytes(u64::MAX));
    let budget = spec.budget.unwrap_or(Bytes(u64::MAX));
    // Does not wrap around: that would overwrite the same blocks for ever.
    let once = job.span.round_down(job.block.max(Bytes(1)));
    job.pattern = Pattern::Sequential;
    job.limits.bytes = Some(own.min(budget).min(once));
    job.limits.warmup = None;
    job.queue_depth = queue_depth;
    job.verify = false;
    job.interval = spec.interval;
    job.stall_over = spec.stall_over;
}

/// Files that do not exist yet, for all that fits and a quarter more: others may delete meanwhile.
fn unused_files(spec: &FillSpec<'_>, gauge: &Gauge) -> FileSet {
    let room = gauge.room().0;
    let span = room.saturating_add(room / 4).saturating_add(FileSet::FILE_BYTES.0 / 4);
    let span = Bytes(span.min(gauge.space().total.0)).max(spec.io.block.0);
    let set = |number: u32| {
        let files = FileSet::new(spec.directory, &format!("{}-{number}", spec.stem), span);
        match spec.opened {
            Some(opened) => files.opened(Arc::clone(opened)),
            None => files,
        }
    };
    // The files of an earlier fill stay: overwriting them would fill nothing.
    let unused = (1..u32::MAX).map(set).find(|set| std::fs::symlink_metadata(set.path(0)).is_err());
    unused.unwrap_or_else(|| set(0))
}

fn order(
    spec: &FillSpec<'_>,
    files: &FileSet,
    gauge: &Gauge,
    downgrades: &mut Vec<Downgrade>,
) -> Result<Order, DeviceError> {
    let block = spec.io.block.0.0.max(1);
    let limit = files.span().0 / block;
    if spec.io.pattern == Pattern::Sequential {
        return Ok(Order::Ascending(limit));
    }
    let probe = files.directory().join(format!("{}-probe.dat", spec.stem));
    if !has_sparse_files(files, &probe)? {
        downgrades.push(Downgrade {
            requested: "a fill in random order".to_owned(),
            effective: "ascending order".to_owned(),
            reason: "the filesystem has no sparse files: it would write every gap with zeroes"
                .to_owned(),
        });
        return Ok(Order::Ascending(limit));
    }
    Ok(Order::random(gauge.room().0 / block, limit, spec.seed))
}

/// Writes 4 KiB after a gap of 1 MiB and checks whether the gap takes space.
fn has_sparse_files(files: &FileSet, path: &Path) -> Result<bool, DeviceError> {
    const GAP: u64 = 1 << 20;
    let (directory, name) = files.at(path);
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(directory, &name, flags, Mode::RUSR | Mode::WUSR);
    let probed = opened.map_err(Into::into).and_then(|file| {
        let file = File::from(file);
        file.write_all_at(&[1; 4096], GAP)?;
        file.sync_all()?;
        Ok::<_, std::io::Error>(file.metadata()?.blocks() * 512 < GAP / 2)
    });
    let removed = unlinkat(directory, &name, AtFlags::empty()).map_err(Into::into);
    probed.and_then(|sparse| removed.map(|()| sparse)).map_err(|error| {
        let errno = rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO);
        DeviceError::os("probe", path.display().to_string(), None, errno)
    })
}

/// The loop knows only that its flag was raised, not why; and the files that it wrote may have been
/// unlinked.
fn why_ended<D>(ended: EndReason, filling: &mut Filling<'_, D>, files: &FileSet) -> EndReason {
    let ended = match (ended, filling.error.take()) {
        (EndReason::Stopped | EndReason::Limit, Some(error)) => EndReason::from_error(error),
        (EndReason::Stopped, None) if !filling.flags.stop.load(Ordering::Relaxed) => {
            EndReason::Limit
        }
        (ended, _) => ended,
    };
    match (ended, files.check_present()) {
        (EndReason::Error(error), _) => EndReason::Error(explained(error, files.directory())),
        (EndReason::Limit | EndReason::Enough | EndReason::NoSpace(_), Err(error)) => {
            EndReason::Error(error)
        }
        (ended, _) => ended,
    }
}

fn notes<D>(
    spec: &FillSpec<'_>,
    job: &Job,
    driven: &JobOutcome,
    filling: &Filling<'_, D>,
) -> Vec<String> {
    let mut notes = Vec::new();
    let room = filling.gauge.room();
    if driven.moved == Bytes::ZERO && driven.ended == EndReason::Limit {
        let available = filling.gauge.space().available;
        notes.push(format!(
            "nothing to fill: {available} is free, and {} is to be left (--leave less)",
            spec.leave
        ));
    } else if driven.ended == EndReason::Limit && filling.gauge.has_room() {
        let by_budget = driven.out_of_budget
            || spec.budget.is_some_and(|budget| driven.moved.plus(job.block) > budget);
        let why = if by_budget {
            "the budget (--budget) was used up"
        } else {
            "a limit of the scenario was reached"
        };
        notes.push(format!("the fill ended before its level: {why}, {room} short of it"));
    }
    if let EndReason::NoSpace(error) = &driven.ended
        && spec.leave > Bytes::ZERO
    {
        notes.push(format!("the fill ended before its level, {room} short of it: {error}"));
    }
    notes
}
