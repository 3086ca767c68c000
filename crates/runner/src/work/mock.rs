//! A world for tests: memory in virtual time, with free space and failures as a test sets them, and
//! a list of the calls in order.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flashlag_device::{
    CallDevice, CallRequest, Clock, Completion, DeviceError, Latency, NoWaitMeter, RamDevice,
    Service, VirtualClock,
};
use flashlag_engine::replay::{ReplayJob, ReplayOutcome, ReplayWatch, drive_calls};
use flashlag_engine::{EndReason, Job, JobOutcome, Verification, Watch, drive};
use flashlag_schema::{Environment, Ledger, Run, Target, TargetKind};
use flashlag_spec::Reading;
use flashlag_spec::replay::ReplayFile;
use flashlag_spec::scenario::{FileSave, Io, Scenario};
use flashlag_sqlite::{PreparedFile, PreparedSaves, SaveJob};
use flashlag_stats::Stop;
use flashlag_stats::live::Live;
use flashlag_units::{Bytes, Nanos};

use super::{
    Access, BackgroundEnd, BackgroundOrder, BackgroundStart, Controls, Edge, Evidence, FillEnd,
    FillOrder, Hindrance, INTERVAL, OpenedDevice, Role, STALL_OVER, TestJob, Trimmed, Work, World,
    drive_device,
};
use crate::estimate::estimate;
use crate::events::{Event, Observer};
use crate::record::new_run;
use crate::request::Request;
use crate::work::Direction;

/// Each operation of a [`MockWorld`] takes this long by default.
pub const SERVICE: Nanos = Nanos::from_millis(1);

/// A world whose every answer a test can set.
#[derive(Debug)]
pub struct MockWorld {
    /// Calls in their order.
    pub calls: RefCell<Vec<String>>,
    /// Seeds of tests and backgrounds, in the order in which those began.
    pub seeds: RefCell<Vec<u64>>,
    pub free: Bytes,
    pub trimmed: Result<Trimmed, &'static str>,
    pub stops: Option<Vec<Stop>>,
    /// The file that is gone from its place, from the end of the next phase on.
    pub gone_after_phase: Option<DeviceError>,
    /// The error with which a fill fails to begin.
    pub fill_fails: Option<DeviceError>,
    /// The fill ends here by itself: no more space.
    pub full_after: Option<Bytes>,
    /// The bytes that a background moves.
    pub beside_moves: Bytes,
    pub phase_note: Option<String>,
    /// The temperature of the storage, in thousandths of a degree Celsius.
    pub temperature: Option<i64>,
    /// The result of reading a test's data back.
    pub reads_back: Option<Verification>,
    /// Whether an idle wait ends at once.
    pub idle_ends_early: bool,
    /// How a test's I/O is done, if not as the test asks for it.
    pub falls_back_to: Option<Access>,
    /// How long each operation takes.
    pub service: Nanos,
    pub now: Cell<Nanos>,
    pub written: Cell<Bytes>,
    pub phases: Cell<u32>,
    pub files: [Option<Bytes>; 3],
    pub saves: tempfile::TempDir,
}

impl Default for MockWorld {
    fn default() -> MockWorld {
        MockWorld {
            calls: RefCell::default(),
            seeds: RefCell::default(),
            free: Bytes::from_mib(64),
            trimmed: Ok(Trimmed { bytes: Bytes::from_mib(1), discards_at_once: false }),
            stops: None,
            gone_after_phase: None,
            fill_fails: None,
            full_after: None,
            beside_moves: Bytes::from_mib(3),
            phase_note: None,
            temperature: None,
            reads_back: None,
            idle_ends_early: false,
            falls_back_to: None,
            service: SERVICE,
            now: Cell::default(),
            written: Cell::default(),
            phases: Cell::default(),
            files: [None; 3],
            saves: tempfile::tempdir().expect("a directory in memory"),
        }
    }
}

impl MockWorld {
    fn called(&self, call: impl Into<String>) {
        self.calls.borrow_mut().push(call.into());
    }

    fn device(&self, span: Bytes, io: &Io) -> RamDevice<VirtualClock> {
        let time = Latency::Fixed(self.service);
        let service = Service { read: time, write: time, flush: time, units: 1 };
        RamDevice::simulated(span, io.queue_depth, io.block.0, service, 1)
    }

    fn slot(role: Role) -> usize {
        role as usize
    }

    fn ended(&self, driven: &JobOutcome) {
        self.now.set(self.now.get().plus(driven.recorded.elapsed));
        self.written.set(self.written.get().plus(driven.written));
        self.phases.set(self.phases.get() + 1);
    }
}

impl World for MockWorld {
    type File = Bytes;
    type Device = RamDevice<VirtualClock>;
    type Meter = NoWaitMeter;
    /// Bytes written so far, and the number of the reading.
    type Counters = (Bytes, usize);
    type FillPlace = ();
    /// The bytes that the background moves.
    type Background = Bytes;
    type Databases = ();
    type ReplayFiles = ();

    fn now(&self) -> Nanos {
        self.now.get()
    }

    fn in_real_time(&self) -> bool {
        false
    }

    fn idle(&mut self, time: Nanos, stop: &AtomicBool) {
        if !self.idle_ends_early && !stop.load(Ordering::Relaxed) {
            self.now.set(self.now.get().plus(time));
        }
    }

    fn storage_size(&self) -> Option<Bytes> {
        None
    }

    fn files(&self, role: Role, span: Bytes) -> Option<Bytes> {
        self.files[MockWorld::slot(role)].filter(|size| *size >= span)
    }

    fn lay_out(
        &mut self,
        role: Role,
        span: Bytes,
        _: &Controls,
    ) -> Result<(Bytes, Bytes), Hindrance> {
        self.called(format!("lay out {role:?} {span}"));
        self.files[MockWorld::slot(role)] = Some(span);
        Ok((span, role.to_write(span)))
    }

    fn size_of(&self, span: &Bytes) -> Bytes {
        *span
    }

    fn check_present(&self) -> Result<(), DeviceError> {
        match &self.gone_after_phase {
            Some(gone) if self.phases.get() > 0 => Err(gone.clone()),
            _ => Ok(()),
        }
    }

    fn open(
        &mut self,
        span: &Bytes,
        io: &Io,
    ) -> Result<OpenedDevice<RamDevice<VirtualClock>>, DeviceError> {
        self.called("open");
        let device = self.device((*span).max(io.end()), io);
        let how = self.falls_back_to.unwrap_or(Access::of(io));
        Ok(OpenedDevice { device, how, downgrades: Vec::new() })
    }

    fn meter(&self) -> Option<NoWaitMeter> {
        None
    }

    fn temperature(&self) -> Option<i64> {
        self.temperature
    }

    fn drive(
        &self,
        device: RamDevice<VirtualClock>,
        _: &Bytes,
        test: &TestJob<'_>,
    ) -> Result<JobOutcome, DeviceError> {
        self.called(format!("drive {}", test.io.name));
        self.seeds.borrow_mut().push(test.job.seed);
        let mut driven = drive_device(self, device, test);
        driven.verified = self.reads_back.clone().or(driven.verified);
        self.ended(&driven);
        Ok(driven)
    }

    fn start_background(
        &mut self,
        _: &Bytes,
        order: BackgroundOrder<'_>,
        _: &Controls,
    ) -> Result<BackgroundStart<Bytes>, Hindrance> {
        self.called(format!("start background {}", order.io.name));
        self.seeds.borrow_mut().push(order.seed);
        let live = Some(Arc::new(Live::default()));
        Ok(BackgroundStart { running: self.beside_moves, live, downgrades: Vec::new() })
    }

    fn end_background(&mut self, moved: Bytes) -> Result<BackgroundEnd, DeviceError> {
        self.called("end background");
        let elapsed = Nanos::from_secs(1);
        Ok(BackgroundEnd { moved, elapsed, error: None, out_of_budget: false })
    }

    fn saves_directory(&mut self) -> Result<PathBuf, Hindrance> {
        Ok(self.saves.path().to_owned())
    }

    fn prepare_saves<'a>(
        &mut self,
        job: &SaveJob<'a>,
        stop: &AtomicBool,
    ) -> Result<(PreparedSaves<'a>, ()), Hindrance> {
        self.called("make databases");
        Ok((PreparedSaves::prepare(job, stop)?, ()))
    }

    fn prepare_file<'a>(
        &mut self,
        job: &SaveJob<'a, FileSave>,
    ) -> Result<PreparedFile<'a>, Hindrance> {
        Ok(PreparedFile::prepare(job)?)
    }

    fn remove_saves(&mut self, (): (), _: &SaveJob<'_>) -> Result<(), Hindrance> {
        self.called("remove databases");
        Ok(())
    }

    fn lay_out_replay(
        &mut self,
        files: &[ReplayFile],
        _: &Controls,
    ) -> Result<((), Bytes), Hindrance> {
        self.called(format!("lay out {} files of a trace", files.len()));
        let before = files.iter().filter_map(|file| file.before);
        Ok(((), before.fold(Bytes::ZERO, Bytes::plus)))
    }

    fn replay_calls(
        &mut self,
        (): &mut (),
        job: &ReplayJob<'_>,
        live: Arc<Live>,
        controls: &Controls,
    ) -> Result<ReplayOutcome, Hindrance> {
        self.called("replay calls");
        let mut watch = ReplayWatch {
            stop: &controls.stop,
            live: Some(live),
            budget: controls.budget.clone(),
            meter: NoWaitMeter,
        };
        let mut calls = MockCalls::new(self.service, job.stream.threads);
        let driven = drive_calls(&mut calls, job, 0..job.stream.threads, None, &mut watch);
        self.now.set(self.now.get().plus(driven.elapsed));
        self.written.set(self.written.get().plus(driven.written));
        self.phases.set(self.phases.get() + 1);
        Ok(driven)
    }

    fn remove_replay(&mut self, (): ()) -> Result<(), Hindrance> {
        self.called("remove the files of a trace");
        Ok(())
    }

    fn next_fill(&mut self, _: Option<&str>) -> Result<(), Hindrance> {
        Ok(())
    }

    fn free_at(&self, (): &()) -> Bytes {
        self.free
    }

    fn fill(
        &mut self,
        (): &(),
        order: FillOrder<'_>,
        controls: &Controls,
    ) -> Result<FillEnd, DeviceError> {
        self.called(format!("fill, leaving {}", order.leave));
        if let Some(error) = &self.fill_fails {
            return Err(error.clone());
        }
        let room = self.free.saturating_minus(order.leave);
        let span = self.full_after.map_or(room, |full| full.min(room));
        let job = Job {
            interval: INTERVAL,
            stall_over: STALL_OVER,
            ..Job::of(order.io, span, order.seed)
        };
        let watch = &mut Watch {
            budget: controls.budget.clone(),
            ..Watch::new(&controls.stop, NoWaitMeter)
        };
        let mut driven = drive(&mut self.device(span, order.io), &job, watch);
        self.ended(&driven);
        if self.full_after.is_some() {
            let full = rustix::io::Errno::NOSPC;
            driven.ended = EndReason::NoSpace(DeviceError::os("write", "fill-1", None, full));
        }
        self.free = self.free.saturating_minus(driven.moved);
        Ok(FillEnd {
            driven,
            how: Access::of(order.io),
            span,
            free: self.free,
            downgrades: Vec::new(),
            notes: Vec::new(),
        })
    }

    fn delete_fills(&mut self) -> Result<Option<Bytes>, Hindrance> {
        self.called("delete fills");
        Ok(Some(Bytes::from_mib(1)))
    }

    fn trim(&mut self) -> Result<Trimmed, Hindrance> {
        self.trimmed.map_err(|reason| Hindrance::Failure(reason.to_owned()))
    }

    fn phase_begins(&self, label: &str) {
        self.called(format!("begin {label}"));
    }

    fn phase_note(&self) -> Option<String> {
        self.phase_note.clone()
    }

    fn counters(&self, edge: Edge) -> (Bytes, usize) {
        self.called(format!("counters {edge:?}"));
        (self.written.get(), self.calls.borrow().len())
    }

    fn ledger(
        &self,
        (before, after): (&(Bytes, usize), &(Bytes, usize)),
        direction: Direction,
        app: Bytes,
    ) -> Ledger {
        let mut ledger = Ledger { app_bytes: Reading::Value(app), ..Ledger::default() };
        if direction == Direction::Write {
            ledger.block_bytes = Reading::Value(after.0.saturating_minus(before.0));
        }
        ledger
    }

    fn stops(&self) -> Option<Vec<Stop>> {
        self.stops.clone()
    }

    fn refresh(&mut self, _: &mut Run, evidence: &Evidence<(Bytes, usize)>) {
        self.called(format!("refresh {}", evidence.phases.len()));
    }
}

/// Calls that take a given time each; threads do not delay one another.
#[derive(Debug)]
struct MockCalls {
    clock: VirtualClock,
    service: Nanos,
    /// When the call of each thread ends.
    ends: Vec<Option<(Nanos, Nanos)>>,
}

impl MockCalls {
    fn new(service: Nanos, threads: u32) -> MockCalls {
        MockCalls { clock: VirtualClock::default(), service, ends: vec![None; threads as usize] }
    }

    fn first(&self) -> Option<Nanos> {
        self.ends.iter().flatten().map(|(_, ends)| *ends).min()
    }
}

impl CallDevice for MockCalls {
    type Clock = VirtualClock;

    fn clock(&self) -> &VirtualClock {
        &self.clock
    }

    fn submit(&mut self, request: CallRequest) -> Result<(), DeviceError> {
        let now = self.clock.now();
        self.ends[request.slot as usize] = Some((now, now.plus(self.service)));
        Ok(())
    }

    fn reap(&mut self, at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError> {
        if let Some(first) = self.first().filter(|_| at_least > 0) {
            self.clock.advance_to(first);
        }
        let now = self.clock.now();
        for (slot, place) in (0..).zip(&mut self.ends) {
            if let Some((started, ended)) = place.take_if(|(_, ends)| *ends <= now) {
                completed.push(Completion {
                    slot,
                    started,
                    flush_from: None,
                    ended,
                    result: Ok(()),
                });
            }
        }
        Ok(())
    }

    fn wait_until(&mut self, time: Nanos) {
        self.clock.advance_to(self.first().map_or(time, |first| first.min(time)));
    }
}

/// A run of a scenario on a mock, with free space left as given.
pub fn work(
    scenario: &str,
    world: MockWorld,
    change: impl FnOnce(&mut Request),
) -> Work<MockWorld> {
    let scenario = Scenario::parse(scenario, &[]).expect("a scenario that parses");
    let target = crate::target::Target::Directory(PathBuf::from("mock"));
    let mut request =
        Request { leave: Some(Bytes::from_mib(16)), ..Request::new(scenario, target, 7) };
    change(&mut request);
    let target =
        Target { kind: TargetKind::Path, name: "mock".to_owned(), directory: None, profile: None };
    let leave = request.leave.unwrap_or_default();
    let fillable = world.free.saturating_minus(leave);
    let estimate = estimate(&request.scenario, fillable);
    let run = new_run(&request, target, (leave, String::new()), Environment::default());
    Work::new(request, run, world, estimate, leave)
}

/// Keeps the notes of a run, and raises the run's stop flag after a number of phases.
#[derive(Debug, Default)]
pub struct Listener {
    pub notes: Vec<String>,
    /// The sums of bytes written, as they were reported.
    pub wrote: Vec<Bytes>,
    /// The preparations that were announced before phases.
    pub preparing: Vec<String>,
    /// Backgrounds that were announced.
    pub beside: usize,
    /// A stop flag that is raised when a phase begins.
    pub stop_within: Option<Arc<AtomicBool>>,
    pub stop_after: Option<(usize, Arc<AtomicBool>)>,
    pub finished: Vec<String>,
    /// The progress of each phase.
    pub lives: Vec<Arc<Live>>,
}

impl Observer for Listener {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Note(note) => self.notes.push(note.to_owned()),
            Event::Wrote(bytes) => self.wrote.push(bytes),
            Event::Beside(_) => self.beside += 1,
            Event::Preparing(what) => self.preparing.push(what.to_owned()),
            Event::PhaseStarted { live, .. } => {
                self.lives.push(Arc::clone(live));
                if let Some(stop) = &self.stop_within {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            Event::PhaseFinished(phase) => {
                self.finished.push(phase.label());
                if let Some((phases, stop)) = &self.stop_after
                    && self.finished.len() >= *phases
                {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            _ => {}
        }
    }
}
