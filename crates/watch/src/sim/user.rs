//! The programs of a simulated machine, and flashlag that watches them.

use std::collections::VecDeque;

use flashlag_device::{
    Clock, Device, DeviceError, Durability, Op, Request, SyncCall, VirtualClock,
};
use flashlag_iostack::{BackgroundJob, FileId, FileRow, Stack, StackFile};
use flashlag_schema::StallCause;
use flashlag_schema::history::{Before, Incident, MachineState, WaitKind};
use flashlag_stats::WaitSplit;
use flashlag_units::{Bytes, Nanos};
use rand::RngExt;
use rand_pcg::Pcg64;

use super::day::{Act, Program};
use super::disk::Disk;
use super::error::SimError;
use super::people::People;
use super::truth::Planted;
use crate::book::BookError;
use crate::probe::BLOCK;
use crate::recorder::Recorder;
use crate::waits::Wait;
use crate::writer::Note;

/// The first midnight: 2026-01-01, in milliseconds.
const START_MS: u64 = 1_767_225_600_000;
/// Bytes of each file.
const PROBES: Bytes = Bytes(1 << 20);
const APP: Bytes = Bytes(16 << 20);
const LARGE: Bytes = Bytes(128 << 20);
/// A program that writes ends after these.
const MOST: Bytes = Bytes(512 << 20);
/// The largest write by which a file is laid out.
const STEP: Bytes = Bytes(1 << 20);
/// flashlag's own name.
const OWN: &str = "flashlag";
const PROGRAMS: [Program; 3] = [Program::Camera, Program::Installer, Program::Backup];

/// Where what is to be kept goes.
type Keep<'a> = dyn FnMut(Note) -> Result<(), BookError> + 'a;

/// The machine, its user and its watch.
pub(super) struct User {
    stack: Stack<Disk>,
    probes: StackFile<Disk>,
    reads: StackFile<Disk>,
    app: FileId,
    large: Vec<FileId>,
    every: Nanos,
    over: Nanos,
    next_probe: Nanos,
    block: u64,
    recorder: Recorder,
    people: People,
    /// Probes that ended after the last look.
    ended: VecDeque<Wait>,
    /// The wall clock is so much ahead, in milliseconds.
    ahead: i64,
    /// What is going on.
    now_planted: Option<Planted>,
    pub planted: Vec<Planted>,
    pub incidents: Vec<Incident>,
}

impl User {
    /// Lays out all files and begins to watch.
    pub fn new(stack: Stack<Disk>, every: Nanos, over: Nanos) -> Result<User, DeviceError> {
        let (probe, app) = (laid_out(&stack, "probe", PROBES)?, laid_out(&stack, "app", APP)?);
        let large = PROGRAMS.map(|program| laid_out(&stack, program.name(), LARGE));
        let large = large.into_iter().collect::<Result<Vec<FileId>, DeviceError>>()?;
        let file = |id: FileId, span, block| {
            StackFile::new(&stack, id, span, block, 1, true, SyncCall::Data)
        };
        let (probes, reads) = (file(probe, PROBES, BLOCK), file(app, APP, Bytes(16 << 10)));
        stack.with_device_mut(|disk| drop(disk.counters.looks()));
        let now = stack.clock().now();
        Ok(User {
            probes,
            reads,
            app,
            large,
            every,
            over,
            next_probe: now.plus(every),
            block: 0,
            recorder: Recorder::new(over, true),
            people: People::default(),
            ended: VecDeque::new(),
            ahead: 0,
            now_planted: None,
            planted: Vec::new(),
            incidents: Vec::new(),
            stack,
        })
    }

    pub fn now(&self) -> Nanos {
        self.stack.clock().now()
    }

    /// From now on each request takes this many times as long.
    pub fn slow(&self, factor: f64) {
        self.stack.with_device_mut(|disk| disk.slow(factor));
    }

    /// Lets time pass until `time`, with its probes.
    pub fn idle_until(&mut self, time: Nanos, keep: &mut Keep<'_>) -> Result<(), SimError> {
        while self.next_probe < time {
            self.pass_until(self.next_probe);
            self.probe()?;
        }
        self.pass_until(time);
        Ok(self.listen(keep)?)
    }

    /// Does something, and notes what a watch should say of it.
    pub fn does(
        &mut self,
        act: Act,
        random: &mut Pcg64,
        keep: &mut Keep<'_>,
    ) -> Result<(), SimError> {
        let (what, cause) = match act {
            Act::Start | Act::Save => return self.lives(act, random),
            Act::Writes(program, _) => (names(program), Some(StallCause::OtherIo)),
            Act::Freeze(_) => ("garbage collection", Some(StallCause::GarbageCollection)),
            Act::Discard(_) => ("a discard", Some(StallCause::Discard)),
            Act::Stop(_) => ("a stopped process or suspended machine", None),
            Act::Steal(_) => ("a CPU taken by a hypervisor", None),
            Act::BusyCpu(_) => ("a wait for a CPU", None),
            Act::Clock(_) => ("a set clock", None),
        };
        let from_ms = self.wall_ms(self.now());
        self.now_planted = Some(Planted {
            what,
            cause,
            from_ms,
            to_ms: from_ms,
            longest: Nanos::ZERO,
            seen: Nanos::ZERO,
        });
        self.longest();
        match act {
            Act::Writes(program, time) => self.writes(program, time, random, keep)?,
            Act::Freeze(time) => self.freezes(time, None, random, keep)?,
            Act::Discard(time) => self.freezes(time, Some(time), random, keep)?,
            Act::Clock(time) => {
                let by = (time.0 / 1_000_000) as i64;
                self.ahead += if self.ahead > 0 { -by } else { by };
            }
            Act::Start | Act::Save => {}
            Act::Stop(time) | Act::Steal(time) | Act::BusyCpu(time) => self.seems(act, time),
        }
        let to_ms = self.wall_ms(self.now()).max(from_ms);
        let seen = self.longest();
        let planted = self.now_planted.take();
        self.planted.extend(planted.map(|one| Planted { to_ms, seen: one.seen.max(seen), ..one }));
        Ok(self.listen(keep)?)
    }

    /// Ends the watch.
    pub fn end(&mut self, keep: &mut Keep<'_>) -> Result<(), SimError> {
        self.listen(keep)?;
        if let Some(incident) = self.recorder.end() {
            self.found(incident, keep)?;
        }
        Ok(self.take_part(keep)?)
    }

    fn lives(&mut self, act: Act, random: &mut Pcg64) -> Result<(), SimError> {
        if act == Act::Save {
            return self.save(random);
        }
        for _ in 0..20 {
            let offset = Bytes(random.random_range(0..APP.0 / (16 << 10)) * (16 << 10));
            let length = Bytes(16 << 10);
            let durability = Durability::None;
            let request = Request { slot: 0, op: Op::Read, offset, length, durability };
            self.call("app", |user| sent(&mut user.reads, request))?;
        }
        Ok(())
    }

    fn save(&mut self, random: &mut Pcg64) -> Result<(), SimError> {
        let (app, at) = (self.app, Bytes(random.random_range(0..APP.0 / 4096) * 4096));
        self.call("app", |user| {
            user.stack.write_nothing(app, at, Bytes(4096), false)?;
            user.stack.sync(app, false)
        })?;
        Ok(())
    }

    /// A program writes; by day an app saves each second beside it.
    fn writes(
        &mut self,
        program: Program,
        time: Nanos,
        random: &mut Pcg64,
        keep: &mut Keep<'_>,
    ) -> Result<(), SimError> {
        let index = PROGRAMS.iter().position(|one| *one == program).unwrap_or(0);
        let file = self.large.get(index).copied().unwrap_or(self.app);
        let (block, depth) = match program {
            Program::Camera => (512 << 10, 4),
            Program::Installer => (64 << 10, 16),
            Program::Backup => (512 << 10, 32),
        };
        self.people.beside = Some(program.name());
        self.waits(1);
        self.stack.start_background(BackgroundJob {
            writes: true,
            random: program == Program::Installer,
            files: FileRow::from(file),
            span: LARGE,
            block: Bytes(block),
            depth,
            durable: None,
            think: Nanos::ZERO,
            seed: random.random(),
        })?;
        let end = self.now().plus(time);
        let begin = self.stack.ledger().written_bytes;
        let mut saves = self.now();
        while self.now() < end && self.stack.ledger().written_bytes.0 < begin.0 + MOST.0 {
            let next = self.now().plus(Nanos::from_millis(100)).min(end);
            self.idle_until(next, keep)?;
            if program != Program::Backup && self.now() >= saves {
                self.save(random)?;
                saves = self.now().plus(Nanos::from_secs(1));
            }
        }
        self.stack.end_background();
        self.waits(-1);
        self.listen(keep)?;
        self.people.beside = None;
        Ok(())
    }

    /// The disk completes nothing for this time; an app has just saved, and a probe or a save waits.
    fn freezes(
        &mut self,
        time: Nanos,
        discard: Option<Nanos>,
        random: &mut Pcg64,
        keep: &mut Keep<'_>,
    ) -> Result<(), SimError> {
        for _ in 0..6 {
            let next = self.now().plus(Nanos::from_millis(400));
            self.idle_until(next, keep)?;
            self.save(random)?;
        }
        let now = self.now();
        self.stack.with_device_mut(|disk| {
            disk.counters.passed(now);
            disk.freeze(time);
            if let Some(time) = discard {
                disk.counters.discard(now, time);
            }
        });
        if random.random() { self.probe() } else { self.save(random) }
    }

    /// Something that a program may take for a wait for storage.
    fn seems(&mut self, act: Act, time: Nanos) {
        let from = self.now();
        let to = from.plus(time);
        if matches!(act, Act::Stop(_)) {
            self.stack.with_device_mut(|disk| {
                disk.counters.passed(from);
                disk.counters.stopped = to;
            });
        }
        self.pass_until(to);
        if matches!(act, Act::Steal(_)) {
            let more = |disk: &mut Disk| disk.counters.stolen = disk.counters.stolen.plus(time);
            self.stack.with_device_mut(more);
        }
        let split = match act {
            Act::BusyCpu(_) => WaitSplit { runnable: time, ..WaitSplit::default() },
            _ => WaitSplit { blocked: time, ..WaitSplit::default() },
        };
        let kind = WaitKind::Probe;
        let wait = Wait { from, to, length: time, kind, split: Some(split), usual: None };
        self.ended.push_back(wait);
    }

    /// flashlag's own durable write.
    fn probe(&mut self) -> Result<(), SimError> {
        let offset = Bytes(self.block * BLOCK.0);
        self.block = (self.block + 1) % (PROBES.0 / BLOCK.0);
        let durability = Durability::Flush;
        let request = Request { slot: 0, op: Op::Write, offset, length: BLOCK, durability };
        let (from, to) = self.call(OWN, |user| sent(&mut user.probes, request))?;
        self.stack.with_device_mut(|disk| {
            disk.counters.own = disk.counters.own.plus(BLOCK);
        });
        let length = to.saturating_since(from);
        let split = WaitSplit { blocked: length, ..WaitSplit::default() };
        let kind = WaitKind::Probe;
        self.ended.push_back(Wait { from, to, length, kind, split: Some(split), usual: None });
        self.next_probe = to.plus(self.every);
        Ok(())
    }

    /// A call of a program: when it began and ended.
    fn call(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&mut User) -> Result<(), DeviceError>,
    ) -> Result<(Nanos, Nanos), SimError> {
        let from = self.now();
        self.people.caller = name;
        if self.now_planted.is_none() {
            self.longest();
        }
        self.waits(1);
        work(self)?;
        self.waits(-1);
        let to = self.now();
        let longest = to.saturating_since(from);
        if let Some(one) = &mut self.now_planted {
            one.longest = one.longest.max(longest);
            if name == OWN {
                one.seen = one.seen.max(longest);
            }
        } else if longest > self.over {
            let (from_ms, to_ms) = (self.wall_ms(from), self.wall_ms(to));
            let cause = Some(StallCause::GarbageCollection);
            let what = "the model's own work";
            let own = if name == OWN { longest } else { Nanos::ZERO };
            let seen = self.longest().max(own);
            self.planted.push(Planted { what, cause, from_ms, to_ms, longest, seen });
        }
        Ok((from, to))
    }

    /// The longest wait of a request since the last call.
    fn longest(&self) -> Nanos {
        self.stack.with_device_mut(|disk| std::mem::take(&mut disk.counters.longest))
    }

    /// One task more, or one less, waits for the disk.
    fn waits(&self, more: i32) {
        let now = self.now();
        let commits = self.stack.ledger().counted.commits;
        self.stack.with_device_mut(|disk| {
            disk.counters.passed(now);
            disk.counters.commits = commits;
            disk.counters.waiting = disk.counters.waiting.saturating_add_signed(more);
        });
    }

    fn pass_until(&self, time: Nanos) {
        self.stack.pass_until(time);
        let now = self.now();
        self.stack.with_device_mut(|disk| disk.counters.passed(now));
    }

    fn wall_ms(&self, at: Nanos) -> u64 {
        (START_MS + at.0 / 1_000_000).saturating_add_signed(self.ahead)
    }

    /// Hands over to the recorder what was looked at meanwhile.
    fn listen(&mut self, keep: &mut Keep<'_>) -> Result<(), BookError> {
        let looks = self.stack.with_device_mut(|disk| disk.counters.looks());
        for glance in looks {
            while self.ended.front().is_some_and(|wait| wait.to <= glance.look.at) {
                self.ended.pop_front().into_iter().for_each(|wait| self.recorder.probe(wait));
            }
            let wall_ms = self.wall_ms(glance.look.at);
            if self.recorder.part.is_over(wall_ms / 1000) {
                self.take_part(keep)?;
            }
            self.people.saw(&glance);
            for incident in self.recorder.look(glance, wall_ms, &mut self.people) {
                self.found(incident, keep)?;
            }
        }
        Ok(())
    }

    fn found(&mut self, incident: Incident, keep: &mut Keep<'_>) -> Result<(), BookError> {
        self.incidents.retain(|known| known.start_ms != incident.start_ms);
        let slim = Incident { before: Before::default(), ..incident.clone() };
        self.incidents.push(slim);
        keep(Note::Incident(Box::new(incident)))
    }

    fn take_part(&mut self, keep: &mut Keep<'_>) -> Result<(), BookError> {
        let state = MachineState {
            free_bytes: Some(self.stack.free()),
            total_bytes: Some(self.stack.total()),
            ..MachineState::default()
        };
        self.recorder.part.state(state);
        self.recorder.part.programs(&self.people.hour());
        let now_s = self.wall_ms(self.now()) / 1000;
        match self.recorder.part.take() {
            Some(span) => keep(Note::Part(Box::new(span), now_s)),
            None => Ok(()),
        }
    }
}

fn names(program: Program) -> &'static str {
    match program {
        Program::Camera => "a camera's burst",
        Program::Installer => "an installation",
        Program::Backup => "a backup",
    }
}

/// Creates a file and writes it once.
fn laid_out(stack: &Stack<Disk>, name: &str, size: Bytes) -> Result<FileId, DeviceError> {
    let file = stack.create(name)?;
    let mut at = Bytes::ZERO;
    while at < size {
        stack.write_nothing(file, at, STEP.min(size), true)?;
        at = at.plus(STEP);
    }
    stack.sync(file, false)?;
    Ok(file)
}

/// Sends a request and waits for it.
fn sent<D: Device<Clock = VirtualClock>>(
    file: &mut StackFile<D>,
    request: Request,
) -> Result<(), DeviceError> {
    file.submit(request)?;
    let mut completed = Vec::with_capacity(1);
    file.reap(1, &mut completed)?;
    completed.pop().map_or(Ok(()), |done| done.result)
}
