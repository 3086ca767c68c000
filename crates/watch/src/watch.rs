//! Watches a directory's storage until a signal or a time ends it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use flashlag_device::read_clock;
use flashlag_explain::infer::is_flash;
use flashlag_inspect::{Root, mount_of};
use flashlag_schema::history::{Incident, Subject, Sums};
use flashlag_units::{Bytes, Nanos};
use rustix::time::ClockId;

use crate::book::Book;
use crate::error::WatchError;
use crate::live::Live;
use crate::machine::Machine;
use crate::probe::Prober;
use crate::purse::Purse;
use crate::recorder::Recorder;
use crate::span::add;
use crate::writer::{Note, Writer};

/// How often a part of an hour is written, if the day's bytes allow it.
pub const MINUTE: Nanos = Nanos::from_secs(60);
/// How often the state of machine and disk is read.
const STATE: Nanos = Nanos::from_secs(600);
/// How long the end may wait for the storage, so that all is over within a second of a signal.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often the sums of who asks are renewed.
const RENEWED: Nanos = Nanos::from_secs(2);

/// What to watch, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The directory whose storage is watched.
    pub directory: PathBuf,
    /// The history's file.
    pub history: PathBuf,
    /// How often to make a durable write; `None` to look on only.
    pub probe: Option<Nanos>,
    /// A wait longer than this may be an incident.
    pub over: Nanos,
    /// Bytes that the history may take.
    pub size: Bytes,
    /// Bytes of the history that may be written a day.
    pub daily: Bytes,
    /// Ends by itself after this time.
    pub time: Option<Nanos>,
    /// How often a part of an hour is written: [`MINUTE`], and less in tests.
    pub part: Nanos,
    /// The version of flashlag.
    pub version: String,
}

/// What happens while it watches.
#[derive(Debug)]
pub enum Event {
    /// It begins.
    Begins(Box<Subject>),
    /// An incident began, or is over.
    Incident(Box<Incident>),
    /// A part of an hour is durable, in which the storage was watched for this time.
    Kept(Nanos),
    /// Something can't be done, and the watch goes on.
    Trouble(String),
}

/// What it cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// How long it watched.
    pub lasted: Nanos,
    /// CPU time of flashlag.
    pub cpu: Nanos,
    /// Most memory that it held.
    pub memory: Option<Bytes>,
    /// Bytes of the history that were written.
    pub written: Bytes,
    /// The longest time between two writes of the history: a power cut may lose so much.
    pub unwritten: Nanos,
    /// Whether all was written; false if the storage did not answer in time.
    pub is_whole: bool,
}

/// Watches until `ends` says so, or until the time is over. What was seen so far is in `live`, if that is asked for.
///
/// # Errors
/// Nothing would be measured there, the history can't be written, or the probes' file can't be made.
pub fn watch(
    settings: &Settings,
    ends: &dyn Fn() -> bool,
    live: Option<&Live>,
    tell: &mut dyn FnMut(Event),
) -> Result<Cost, WatchError> {
    let no_disk =
        |reason: String| WatchError::NoDisk { directory: settings.directory.clone(), reason };
    if !settings.directory.is_dir() {
        return Err(no_disk("there is no such directory".to_owned()));
    }
    let machine = Machine::open(&settings.directory, settings.probe.is_some())
        .map_err(|why| no_disk(why.to_string()))?;
    let mut book = Book::open(&settings.history, settings.size)?;
    let subject = subject(settings, &machine);
    book.subject(&subject)?;
    let prober = match settings.probe {
        Some(every) => Some(Prober::start(&settings.directory, every)?),
        None => None,
    };
    let sums = Sums { subject: Some(subject.clone()), ..Sums::default() };
    tell(Event::Begins(Box::new(subject)));
    let flash = is_flash(&machine.probe().device());
    let now = read_clock(ClockId::Monotonic);
    let mut session = Session {
        part: settings.part,
        machine,
        recorder: Recorder::new(settings.over, flash),
        purse: Purse::new(settings.daily, now),
        paid: Bytes::ZERO,
        writer: Writer::start(book)?,
        began: now,
        minute: now,
        state: Nanos::ZERO,
        cpu: read_clock(ClockId::ProcessCPUTime),
        unwritten: Nanos::ZERO,
        last_trouble: None,
        live,
        sums,
        renewed: Nanos::ZERO,
        counted_ms: None,
    };
    let began = session.began;
    let is_over =
        |now: Nanos| settings.time.is_some_and(|time| now.saturating_since(began) >= time);
    while !ends() && !is_over(read_clock(ClockId::Monotonic)) {
        session.step(prober.as_ref(), ends, tell);
    }
    session.end(prober, tell)
}

/// A watch in progress.
struct Session<'a> {
    /// How often a part is written.
    part: Nanos,
    machine: Machine,
    recorder: Recorder,
    purse: Purse,
    /// Bytes of the history that the purse has paid for.
    paid: Bytes,
    writer: Writer,
    began: Nanos,
    /// When the last part was written.
    minute: Nanos,
    /// When the state was read.
    state: Nanos,
    cpu: Nanos,
    unwritten: Nanos,
    last_trouble: Option<String>,
    live: Option<&'a Live>,
    /// What was seen before the current part.
    sums: Sums,
    /// When `live` was renewed.
    renewed: Nanos,
    /// The start of the incident that was counted last.
    counted_ms: Option<u64>,
}

impl Session<'_> {
    fn step(
        &mut self,
        prober: Option<&Prober>,
        ends: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(Event),
    ) {
        let glance = self.machine.next();
        let now = glance.look.at;
        let wall_ms = wall_ms();
        if self.recorder.part.is_over(wall_ms / 1000) {
            self.write(now, wall_ms, tell);
        }
        // First, so that those who waited beside one that ends right now are kept until it is judged below.
        self.recorder.probing(prober.and_then(Prober::since));
        for probed in prober.into_iter().flat_map(Prober::waits) {
            match probed {
                Ok(wait) => self.recorder.probe(wait),
                Err(error) => tell(Event::Trouble(format!("probes end: {error}"))),
            }
        }
        let machine = &mut self.machine;
        for incident in self.recorder.look(glance, wall_ms, machine) {
            self.report(incident, tell);
        }
        self.renew(now);
        // What follows may take long on a busy machine.
        if self.recorder.is_frozen() || ends() {
            return;
        }
        if let Some(moved) = self.machine.seldom(now) {
            self.recorder.part.programs(&moved);
        }
        if now.saturating_since(self.state) >= STATE {
            self.state = now;
            self.recorder.part.state(self.machine.state());
        }
        if now.saturating_since(self.minute) >= self.part && self.may_write(now) {
            self.write(now, wall_ms, tell);
        }
        self.hear(tell);
    }

    /// Tells what has been written, and what could not be.
    fn hear(&mut self, tell: &mut dyn FnMut(Event)) {
        for done in self.writer.done().collect::<Vec<_>>() {
            match done {
                Ok(watched) => tell(Event::Kept(watched)),
                Err(error) => self.trouble(error.to_string(), tell),
            }
        }
    }

    /// Renews what is asked for from outside.
    fn renew(&mut self, now: Nanos) {
        let Some(live) = self.live else { return };
        if now.saturating_since(self.renewed) < RENEWED {
            return;
        }
        self.renewed = now;
        let mut sums = self.sums.clone();
        if let Some(part) = self.recorder.part.so_far() {
            add(&mut sums.span, &part);
        }
        live.renew(sums);
    }

    /// Tells of something that fails, once for each reason.
    fn trouble(&mut self, reason: String, tell: &mut dyn FnMut(Event)) {
        if self.last_trouble.as_ref() != Some(&reason) {
            tell(Event::Trouble(reason.clone()));
            self.last_trouble = Some(reason);
        }
    }

    /// Whether the day's bytes allow another note.
    fn may_write(&mut self, now: Nanos) -> bool {
        let written = self.writer.written();
        self.purse.take(written.saturating_minus(self.paid));
        self.paid = written;
        self.purse.has(self.writer.least(), now)
    }

    fn report(&mut self, incident: Incident, tell: &mut dyn FnMut(Event)) {
        // One that goes on is written again.
        if self.counted_ms != Some(incident.start_ms) {
            self.counted_ms = Some(incident.start_ms);
            self.sums.count(incident.cause);
            self.renewed = Nanos::ZERO;
        }
        // An incident is rare and is what this is for: the purse pays it later.
        self.writer.send(Note::Incident(Box::new(incident.clone())));
        tell(Event::Incident(Box::new(incident)));
    }

    /// Hands over what was seen since the last part.
    fn write(&mut self, now: Nanos, wall_ms: u64, tell: &mut dyn FnMut(Event)) {
        let cpu = read_clock(ClockId::ProcessCPUTime);
        self.recorder.part.own_cpu(cpu.saturating_since(self.cpu));
        self.cpu = cpu;
        self.unwritten = self.unwritten.max(now.saturating_since(self.minute));
        self.minute = now;
        let Some(span) = self.recorder.part.take() else { return };
        if self.live.is_some() {
            add(&mut self.sums.span, &span);
        }
        if self.writer.send(Note::Part(Box::new(span), wall_ms / 1000)).is_some() {
            self.trouble("the history's storage does not answer: a part is lost".to_owned(), tell);
        }
    }

    fn end(
        mut self,
        prober: Option<Prober>,
        tell: &mut dyn FnMut(Event),
    ) -> Result<Cost, WatchError> {
        let deadline = Instant::now() + PATIENCE;
        if let Some(incident) = self.recorder.end() {
            self.report(incident, tell);
        }
        let now = read_clock(ClockId::Monotonic);
        self.write(now, wall_ms(), tell);
        // A probe on its way gets what the history leaves.
        let is_written = self.writer.end(PATIENCE);
        let left = deadline.saturating_duration_since(Instant::now());
        let is_clean = prober.is_none_or(|prober| prober.end(left));
        self.hear(tell);
        Ok(Cost {
            lasted: now.saturating_since(self.began),
            cpu: read_clock(ClockId::ProcessCPUTime),
            memory: peak(),
            written: self.writer.written(),
            unwritten: self.unwritten,
            is_whole: is_written && is_clean,
        })
    }
}

fn subject(settings: &Settings, machine: &Machine) -> Subject {
    let device = machine.probe().device();
    let software = machine.probe().software();
    let directory = settings.directory.canonicalize().unwrap_or(settings.directory.clone());
    Subject {
        flashlag: settings.version.clone(),
        directory: directory.to_string_lossy().into_owned(),
        disk: device.name.value().cloned(),
        model: device.model.value().cloned(),
        kind: device.kind.value().cloned(),
        size_bytes: device.size_bytes.value().copied(),
        filesystem: mount_of(&Root::system(), Path::new(&directory)).ok().map(|mount| mount.kind),
        system: software.machine.value().or(software.system.value()).cloned(),
        over_ns: settings.over,
        probe_ns: settings.probe,
        missing: machine.missing().to_vec(),
    }
}

/// Milliseconds since 1970; 0 before.
fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The most memory that this process held.
fn peak() -> Option<Bytes> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(Bytes(kibibytes.saturating_mul(1024)))
}
