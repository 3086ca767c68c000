//! One save or write, layer by layer: how many bytes each layer passes on, and how much of the wait
//! it causes.

use flashlag_explain::Subjects;
use flashlag_schema::{Check, CheckId, CheckStatus, Phase, Run, StallCause, TargetKind};
use flashlag_spec::target::FilesystemKind;
use flashlag_spec::{Operation, Reading};
use flashlag_units::{Bytes, InOrder, Nanos};

use crate::causes::{PAUSES, cause_name_in};
use crate::doubt::{Failure, failures_of};
use crate::format;
use crate::naming::file_save;
use crate::outline::phase_title;

/// A mean save or write through all layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Layered {
    /// `save` or `write`.
    pub one: &'static str,
    /// Its test: `WAL save`.
    pub title: String,
    /// Its mean wait.
    pub mean: Nanos,
    /// The layers, from the application to the flash. Their times add up to the mean, except for
    /// time that could not be split.
    pub rows: Vec<LayerShare>,
}

/// A layer.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerShare {
    /// `application`, `SQLite`, `filesystem`, `queue`, `flash`, `storage`.
    pub name: &'static str,
    /// Bytes that it passes on for each operation; `None` where that is not known.
    pub bytes: Option<f64>,
    /// `6.0 requests, 4.0 flushes`; may be empty.
    pub requests: String,
    /// Time waited in it for each operation; `None` where that is not known.
    pub time: Option<Nanos>,
    /// What that time was spent on: `on the CPU`, `garbage collection 2.1 ms`; may be empty.
    pub what: String,
    /// Whose bytes and requests are in the counts beside this operation's own; `None` if nobody's.
    pub others: Option<&'static str>,
}

impl LayerShare {
    /// Its requests, whose they may be, and what its time was spent on.
    pub fn detail(&self) -> String {
        let parts = [self.requests.as_str(), self.others.unwrap_or_default(), self.what.as_str()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("; ")
    }
}

impl Layered {
    /// `A mean save of 18 ms: WAL save.`
    pub fn caption(&self) -> String {
        format!("A mean {} of {}: {}.", self.one, format::time(self.mean), self.title)
    }

    /// The largest number of bytes of a layer.
    pub fn most_bytes(&self) -> f64 {
        self.rows.iter().filter_map(|row| row.bytes).fold(0.0, f64::max)
    }

    /// A row's part of the mean wait, 0 to 1.
    pub fn share(&self, row: &LayerShare) -> f64 {
        let time = row.time.unwrap_or_default();
        flashlag_units::ratio(time.0, self.mean.0).unwrap_or_default().clamp(0.0, 1.0)
    }

    /// `Of a mean save of 18 ms, 14 ms pass in the flash and 3.1 ms in the filesystem.`
    pub fn sentence(&self) -> Option<String> {
        let mut timed: Vec<(&LayerShare, Nanos)> =
            self.rows.iter().filter_map(|row| Some((row, row.time?))).collect();
        timed.order_by_key(|(_, time)| std::cmp::Reverse(*time));
        timed.retain(|(row, time)| time.0 > 0 && self.share(row) >= 0.01);
        let parts: Vec<String> = timed
            .iter()
            .take(2)
            .map(|(row, time)| {
                if row.what.starts_with(PAUSES) {
                    format!("{} in {PAUSES}", format::time(*time))
                } else {
                    format!("{} in the {}", format::time(*time), row.name)
                }
            })
            .collect();
        (!parts.is_empty()).then(|| {
            let mean = format::time(self.mean);
            let parts = parts.join(" and ").replacen(" in ", " pass in ", 1);
            format!("Of a mean {} of {mean}, {parts}.", self.one)
        })
    }
}

/// The save or write that explains a run, layer by layer; `None` where neither bytes nor times are known.
pub fn layered(run: &Run) -> Option<Layered> {
    let main = Subjects::of(run).main?;
    let mean = main.latency_ns.mean.filter(|mean| mean.0 > 0)?;
    let rows = rows(run, main);
    let known = rows.iter().filter(|row| row.bytes.is_some() || row.time.is_some()).count();
    (known >= 2).then(|| Layered {
        one: if main.operation == Operation::Save { "save" } else { "write" },
        title: phase_title(run, main),
        mean,
        rows,
    })
}

fn each(reading: &Reading<Bytes>, phase: &Phase) -> Option<f64> {
    reading.value().map(|bytes| bytes.0 as f64 / phase.ops.max(1) as f64)
}

/// Whether there is no filesystem: files of a simulation are ranges of its device.
fn is_raw(run: &Run) -> bool {
    let mount = run.target.profile.as_ref().map(|profile| profile.filesystem.split(',').next());
    mount.flatten() == Some(FilesystemKind::Raw.name())
}

fn rows(run: &Run, phase: &Phase) -> Vec<LayerShare> {
    let ledger = &phase.ledger;
    let times = times(phase);
    let plain = String::new;
    let whole = phase.latency_ns.mean.unwrap_or_default();
    let layer = |name, bytes: Option<f64>, requests: String, place: Place| {
        let (time, what) = times.of(place);
        // Without other requests, hardly any time passes in the queue.
        let small = |time: &Nanos| place == Place::Queue && time.0 < whole.0 / 100;
        let (time, what) =
            if time.as_ref().is_some_and(small) { (None, plain()) } else { (time, what) };
        // The kernel counts at the disk for all programs, a filesystem's ledger for this one alone.
        let counted = place == Place::Queue && (bytes.is_some() || !requests.is_empty());
        let others = others(run, phase).filter(|_| counted);
        LayerShare { name, bytes, requests, time, what, others }
    };
    // Saves of a file are made by system calls of their own.
    let by_sqlite = phase.operation == Operation::Save && file_save(run, phase).is_none();
    let calls = if by_sqlite { "SQLite" } else { "system calls" };
    let mut rows = vec![
        layer("application", each(&ledger.app_bytes, phase), plain(), Place::Application),
        layer(calls, each(&ledger.syscall_bytes, phase), plain(), Place::None),
    ];
    if times.known == Known::ByCause && !is_raw(run) {
        rows.push(layer("filesystem", None, own(phase), Place::Filesystem));
    }
    rows.push(layer("queue", each(&ledger.block_bytes, phase), requests(phase), Place::Queue));
    let device = if times.known == Known::ByCause { "flash" } else { "storage" };
    rows.push(layer(device, each(&ledger.device_bytes, phase), plain(), Place::Device));
    rows
}

/// Whether what was counted at the disk contains what others wrote: certain if the check of that failed, possible where
/// it could not be decided. The check can't separate others' writes from the filesystem's own beside saves.
fn others(run: &Run, phase: &Phase) -> Option<&'static str> {
    if !matches!(run.target.kind, TargetKind::Path | TargetKind::Phone) {
        return None;
    }
    let foreign = |failure: &Failure| failure.id == CheckId::ForeignIo;
    if failures_of(run, phase).iter().any(foreign) {
        return Some("✕ includes what others wrote");
    }
    let passed =
        |check: &Check| check.id == CheckId::ForeignIo && check.status == CheckStatus::Pass;
    let decided = phase.operation != Operation::Save && run.trust.checks.iter().any(passed);
    (!decided).then_some("may include what others wrote")
}

/// `6.0 requests, 4.0 flushes`
fn requests(phase: &Phase) -> String {
    let count = |reading: &Reading<u64>, name: &str| {
        let each = *reading.value()? as f64 / phase.ops.max(1) as f64;
        Some(format!("{} {name}", format::rate(each)))
    };
    let parts =
        [count(&phase.ledger.block_writes, "requests"), count(&phase.ledger.flushes, "flushes")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The filesystem's own writes, if each request was recorded.
fn own(phase: &Phase) -> String {
    let Some(kinds) = &phase.ledger.kinds else { return String::new() };
    let own = kinds.journal.bytes.0.saturating_add(kinds.metadata.bytes.0);
    format!("{} of its own", Bytes(own / phase.ops.max(1)))
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    None,
    Application,
    Filesystem,
    Queue,
    Device,
}

#[derive(Clone, Copy, PartialEq)]
enum Known {
    /// A model says what each wait was for.
    ByCause,
    /// The scheduler says when the thread ran.
    ByThread,
    Nothing,
}

struct Times {
    known: Known,
    parts: Vec<(Place, Nanos, String)>,
}

impl Times {
    /// The time of a place, and its largest parts.
    fn of(&self, place: Place) -> (Option<Nanos>, String) {
        let mut parts: Vec<&(Place, Nanos, String)> =
            self.parts.iter().filter(|(at, time, _)| *at == place && time.0 > 0).collect();
        if self.known == Known::Nothing || place == Place::None {
            return (None, String::new());
        }
        if parts.is_empty() && (place == Place::Queue || self.known == Known::ByThread) {
            return (None, String::new());
        }
        parts.order_by_key(|(_, time, _)| std::cmp::Reverse(*time));
        let total = parts.iter().fold(Nanos::ZERO, |sum, part| sum.plus(part.1));
        // A part below a hundredth of a layer's time explains nothing.
        parts.retain(|(_, time, _)| time.0 >= total.0 / 100);
        let words: Vec<String> = match parts.as_slice() {
            [(_, _, what)] => vec![what.clone()],
            parts => parts
                .iter()
                .take(2)
                .map(|(_, time, what)| format!("{what} {}", format::time(*time)))
                .collect(),
        };
        (Some(total), words.join(", "))
    }
}

fn times(phase: &Phase) -> Times {
    let ops = phase.ops.max(1);
    let waited = phase.intervals.iter().flat_map(|interval| &interval.waited);
    let mut parts: Vec<(Place, Nanos, String)> = Vec::new();
    for part in waited {
        let (place, what) = place_of(phase, part.cause);
        match parts.iter_mut().find(|(at, _, name)| (*at, name.as_str()) == (place, what)) {
            Some((_, time, _)) => *time = time.plus(part.ns),
            None => parts.push((place, part.ns, what.to_owned())),
        }
    }
    if !parts.is_empty() {
        parts.iter_mut().for_each(|(_, time, _)| *time = Nanos(time.0 / ops));
        return Times { known: Known::ByCause, parts };
    }
    let Some(time) = phase.time_each() else {
        return Times { known: Known::Nothing, parts };
    };
    let blocked = match &phase.flush_latency_ns {
        Some(flush) => match flush.mean {
            Some(flush) => format!("blocked; the flush is {} of it", format::time(flush)),
            None => "blocked".to_owned(),
        },
        None => "blocked".to_owned(),
    };
    Times {
        known: Known::ByThread,
        parts: vec![
            (Place::Application, time.on_cpu_ns, "on the CPU".to_owned()),
            (Place::Application, time.runnable_ns, "waiting for a CPU".to_owned()),
            (Place::Device, time.blocked_ns, blocked),
        ],
    }
}

fn place_of(phase: &Phase, cause: StallCause) -> (Place, &'static str) {
    let place = match cause {
        StallCause::Cpu | StallCause::Executing | StallCause::Stopped => Place::Application,
        StallCause::FilesystemCommit
        | StallCause::Checkpoint
        | StallCause::Cleaning
        | StallCause::Discard => Place::Filesystem,
        StallCause::OtherIo | StallCause::GroupLimit => Place::Queue,
        StallCause::Mixed | StallCause::Unknown => Place::None,
        StallCause::Storage => return (Place::Device, "the writes and flushes themselves"),
        _ => Place::Device,
    };
    (place, cause_name_in(phase, cause))
}
