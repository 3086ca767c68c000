//! How a recipe measures in a directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flashlag_device::{Clock, DeviceError, MonotonicClock, Shifted};
use flashlag_engine::card::{CardFiles, CardMedium};
use flashlag_engine::fill::{FillSpec, fill, free_space, trim};
use flashlag_engine::heartbeat::Heartbeat;
use flashlag_engine::replay::{
    ReplayFiles, ReplayJob, ReplayOutcome, ReplayWatch, drive_call_threads,
};
use flashlag_engine::{
    AnyDevice, Background, FileSet, FreeSpace, JobOutcome, OpenOptions, Presence, ThreadWaitMeter,
    ThreadsWatch, Watch, drive_threads, open,
};
use flashlag_inspect::Root;
use flashlag_schema::{CardReach, ClockReading, Conditions, Ledger, Looks, OtherIo, Run};
use flashlag_spec::Reading;
use flashlag_spec::replay::ReplayFile;
use flashlag_spec::scenario::{FileSave, Io};
use flashlag_sqlite::{PreparedFile, PreparedSaves, SaveJob};
use flashlag_stats::Stop;
use flashlag_stats::live::Live;
use flashlag_units::{Bytes, Nanos};
use flashlag_workload::Payload;

use super::counters::EdgeCounters;
use super::files::OpenDirectory;
use super::looks::LooksThread;
use super::{Directory, background, counters, device_waits, files, finish};
use crate::work::{
    Access, BackgroundEnd, BackgroundOrder, BackgroundStart, Controls, DeviceWait, Direction, Edge,
    Evidence, FillEnd, FillOrder, Hindrance, INTERVAL, OpenedDevice, Role, STALL_OVER, TestJob,
    Trimmed, World, drive_device,
};

impl World for Directory<'_> {
    type File = FileSet;
    type Device = AnyDevice;
    type Meter = ThreadWaitMeter;
    type Counters = EdgeCounters;
    type FillPlace = (OpenDirectory, String);
    type Background = Background;
    type Databases = Presence;
    type ReplayFiles = ReplayFiles;

    fn now(&self) -> Nanos {
        MonotonicClock.now().since(self.began).plus(self.earlier)
    }

    fn in_real_time(&self) -> bool {
        true
    }

    fn clocks(&self, at: Nanos) -> Option<ClockReading> {
        Some(flashlag_inspect::clocks_at(at))
    }

    fn idle(&mut self, time: Nanos, stop: &AtomicBool) {
        let until = self.now().plus(time);
        while self.now() < until && !stop.load(Ordering::Relaxed) {
            let left = until.saturating_since(self.now());
            std::thread::sleep(left.min(Nanos::from_millis(200)).into());
        }
    }

    fn conditions(&self) -> Option<Conditions> {
        self.has_battery.then(|| flashlag_inspect::conditions(&Root::system(), self.now()))?
    }

    fn other_io(&self) -> Reading<OtherIo> {
        match &self.other_apps {
            Reading::Value(apps) => apps.read(&Root::system()),
            Reading::Unavailable { unavailable } => Reading::unavailable(unavailable.as_str()),
        }
    }

    fn storage_size(&self) -> Option<Bytes> {
        self.total
    }

    fn files(&self, role: Role, span: Bytes) -> Option<FileSet> {
        self.files.laid_out(role, span)
    }

    fn lay_out(
        &mut self,
        role: Role,
        span: Bytes,
        controls: &Controls,
    ) -> Result<(FileSet, Bytes), Hindrance> {
        self.files.lay_out(role, span, controls)
    }

    fn most_to_lay_out(&self, role: Role, span: Bytes) -> Bytes {
        role.to_write(span.plus(FileSet::GRAIN))
    }

    fn size_of(&self, files: &FileSet) -> Bytes {
        files.span()
    }

    fn check_present(&self) -> Result<(), DeviceError> {
        self.files.check_present()
    }

    fn open(&mut self, files: &FileSet, io: &Io) -> Result<OpenedDevice<AnyDevice>, DeviceError> {
        let opened = open(files, &OpenOptions::of(io))?;
        let how = Access {
            engine: opened.engine,
            direct: opened.direct,
            durable: opened.durable,
            queue_depth: opened.queue_depth,
        };
        Ok(OpenedDevice { device: opened.device, how, downgrades: opened.downgrades })
    }

    fn meter(&self) -> Option<ThreadWaitMeter> {
        ThreadWaitMeter::open().ok()
    }

    fn temperature(&self) -> Option<i64> {
        self.heartbeat.as_ref().and_then(Heartbeat::temperature)
    }

    fn drive(
        &self,
        device: AnyDevice,
        files: &FileSet,
        test: &TestJob<'_>,
    ) -> Result<JobOutcome, DeviceError> {
        if test.io.threads < 2 {
            return Ok(drive_device(self, device, test));
        }
        // Each thread opens the files for itself.
        drop(device);
        let mut temperature = || self.temperature();
        let watch = &mut ThreadsWatch {
            stop: &test.controls.stop,
            live: Some(Arc::clone(&test.live)),
            temperature: Some(&mut temperature),
            budget: test.controls.budget.clone(),
        };
        let options = OpenOptions::of(test.io);
        let opened = |_| Ok(Shifted::new(open(files, &options)?.device, test.io.begin()));
        drive_threads(opened, || ThreadWaitMeter::open().ok(), test.job, watch)
    }

    fn start_background(
        &mut self,
        files: &FileSet,
        order: BackgroundOrder<'_>,
        controls: &Controls,
    ) -> Result<BackgroundStart<Background>, Hindrance> {
        let running = background::start(files, order, controls)?;
        let live = Some(Arc::clone(running.live()));
        let downgrades = running.downgrades().to_vec();
        Ok(BackgroundStart { running, live, downgrades })
    }

    fn end_background(&mut self, running: Background) -> Result<BackgroundEnd, DeviceError> {
        background::end(running)
    }

    fn saves_directory(&mut self) -> Result<PathBuf, Hindrance> {
        Ok(self.files.saves()?)
    }

    fn prepare_saves<'a>(
        &mut self,
        job: &SaveJob<'a>,
        stop: &AtomicBool,
    ) -> Result<(PreparedSaves<'a>, Presence), Hindrance> {
        let opened = self.files.opened_saves()?;
        let prepared = PreparedSaves::prepare_opened(job, &opened.directory, stop)?;
        Ok((prepared, files::databases(&opened.path)?))
    }

    fn check_databases(&self, databases: &Presence) -> Result<(), DeviceError> {
        databases.check()
    }

    fn remove_saves(&mut self, _: Presence, _: &SaveJob<'_>) -> Result<(), Hindrance> {
        Ok(self.files.clear_saves()?)
    }

    fn prepare_file<'a>(
        &mut self,
        job: &SaveJob<'a, FileSave>,
    ) -> Result<PreparedFile<'a>, Hindrance> {
        let opened = self.files.opened_saves()?;
        Ok(PreparedFile::prepare_opened(job, &opened.directory)?)
    }

    fn remove_file(&mut self, _: &FileSave) -> Result<(), Hindrance> {
        Ok(self.files.clear_saves()?)
    }

    fn lay_out_replay(
        &mut self,
        files: &[ReplayFile],
        controls: &Controls,
    ) -> Result<(ReplayFiles, Bytes), Hindrance> {
        let opened = self.files.replays()?;
        let files = ReplayFiles::new(opened.directory, opened.path, files);
        let written = files.lay_out(&Payload::new(controls.seed), &controls.stop)?;
        Ok((files, written))
    }

    fn replay_calls(
        &mut self,
        files: &mut ReplayFiles,
        job: &ReplayJob<'_>,
        live: Arc<Live>,
        controls: &Controls,
    ) -> Result<ReplayOutcome, Hindrance> {
        let (budget, live) = (controls.budget.clone(), Some(live));
        let watch = ReplayWatch { stop: &controls.stop, live, budget, meter: () };
        Ok(drive_call_threads(files, job, || ThreadWaitMeter::open().ok(), &watch)?)
    }

    fn card(&mut self) -> Result<Box<dyn CardMedium>, Hindrance> {
        let opened = self.files.card()?;
        Ok(Box::new(CardFiles::new(opened.directory, opened.path)))
    }

    fn card_room(&self) -> FreeSpace {
        free_space(&self.path).unwrap_or_default()
    }

    fn card_reach(&self, files: u32) -> Reading<CardReach> {
        self.files.card_reach(files)
    }

    fn remove_replay(&mut self, _: ReplayFiles) -> Result<(), Hindrance> {
        Ok(self.files.clear_replays()?)
    }

    fn next_fill(&mut self, directory: Option<&str>) -> Result<(OpenDirectory, String), Hindrance> {
        Ok(self.files.next_fill(directory.map(Path::new))?)
    }

    fn free_at(&self, (place, _): &(OpenDirectory, String)) -> Bytes {
        free_space(&place.path).map(|free| free.available).unwrap_or_default()
    }

    fn fill(
        &mut self,
        (place, stem): &(OpenDirectory, String),
        order: FillOrder<'_>,
        controls: &Controls,
    ) -> Result<FillEnd, DeviceError> {
        let spec = FillSpec {
            directory: &place.path,
            opened: Some(&place.directory),
            stem,
            io: order.io,
            leave: order.leave,
            budget: None,
            seed: order.seed,
            verify: controls.verify,
            interval: INTERVAL,
            stall_over: STALL_OVER,
        };
        let mut temperature = || self.temperature();
        let watch = Watch {
            live: Some(order.live),
            temperature: Some(&mut temperature),
            budget: controls.budget.clone(),
            ..Watch::new(&controls.stop, self.meter())
        };
        let filled = fill(&spec, watch)?;
        self.files.keep_filled(filled.files.clone());
        Ok(FillEnd {
            driven: filled.driven,
            how: Access {
                engine: filled.engine,
                direct: filled.direct,
                durable: filled.durable,
                queue_depth: filled.queue_depth,
            },
            span: filled.files.span(),
            free: filled.after.available,
            downgrades: filled.downgrades,
            notes: filled.notes,
        })
    }

    fn delete_fills(&mut self) -> Result<Option<Bytes>, Hindrance> {
        Ok(Some(self.files.delete_fills()?))
    }

    fn trim(&mut self) -> Result<Trimmed, Hindrance> {
        let bytes = match trim(&self.path) {
            Ok(bytes) => bytes,
            // Without root Android trims by a command of its own.
            Err(kernel) if self.is_android => Bytes(self.trim_by_android().map_err(|android| {
                Hindrance::TrimByAndroid { kernel, android: Box::new(android) }
            })?),
            Err(error) => return Err(Hindrance::Trim(error)),
        };
        Ok(Trimmed { bytes, discards_at_once: self.discards_at_once })
    }

    fn phase_begins(&self, label: &str) {
        if let Some(witness) = &self.witness {
            witness.borrow_mut().phase_begins(label);
        }
        if let Some(looks) = &self.looks {
            looks.begin();
        }
    }

    fn looks(&self) -> Option<Looks> {
        self.looks.as_ref().map(LooksThread::all)
    }

    fn phase_note(&self) -> Option<String> {
        self.witness.as_ref()?.borrow().phase_note()
    }

    fn counters(&self, edge: Edge) -> EdgeCounters {
        // The kernel's counters are read closest to the phase, so that they do not include the
        // query to the device.
        let count = || {
            let asked = MonotonicClock.now();
            let device = self.witness.as_ref().and_then(|witness| witness.borrow_mut().count());
            (device, (asked, MonotonicClock.now()))
        };
        match edge {
            Edge::Begin => {
                let (device, asked) = count();
                EdgeCounters { device, asked, kernel: self.probe.counters() }
            }
            Edge::End => {
                let kernel = self.probe.counters();
                let (device, asked) = count();
                EdgeCounters { kernel, device, asked }
            }
        }
    }

    fn ledger(
        &self,
        (before, after): (&EdgeCounters, &EdgeCounters),
        direction: Direction,
        app: Bytes,
    ) -> Ledger {
        counters::ledger(before, after, direction, app)
    }

    fn slow(&self, before: &EdgeCounters, after: &EdgeCounters) -> Vec<DeviceWait> {
        device_waits::between(before, after)
    }

    fn stops(&self) -> Option<Vec<Stop>> {
        self.heartbeat.as_ref().and_then(Heartbeat::stops)
    }

    fn refresh(&mut self, run: &mut Run, evidence: &Evidence<EdgeCounters>) {
        finish::refresh(self, run, evidence);
    }
}
