//! A simulation as a world.

use std::path::Path;
#[cfg(not(target_family = "wasm"))]
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_device::{Clock, DeviceError, NoWaitMeter, SyncCall};
use flashlag_engine::replay::{ReplayJob, ReplayOutcome, ReplayWatch, drive_calls};
use flashlag_engine::{FileSet, JobOutcome};
use flashlag_flash::FlashDevice;
use flashlag_iostack::{BackgroundJob, FileId, FileRow, StackCalls, StackFile};
use flashlag_schema::{Ledger, Looks, Run};
use flashlag_spec::replay::ReplayFile;
use flashlag_spec::scenario::{Durability, Io, Pattern};
#[cfg(not(target_family = "wasm"))]
use flashlag_spec::scenario::{FileSave, Save};
#[cfg(not(target_family = "wasm"))]
use flashlag_sqlite::{PreparedFile, PreparedSaves, SaveJob, remove_databases_on, remove_file_on};
use flashlag_stats::live::Live;
use flashlag_trace::MOST_THREADS;
use flashlag_units::{Bytes, Nanos};
use flashlag_workload::Arrivals;

use super::ledger::LayerCounters;
#[cfg(not(target_family = "wasm"))]
use super::stack_files::{StackFiles, fits_memory};
use super::{SimFiles, Simulation, fill};
use crate::work::Direction;
use crate::work::{
    Access, BackgroundEnd, BackgroundOrder, BackgroundStart, Controls, Edge, Evidence, FillEnd,
    FillOrder, GROWN_BESIDE, Hindrance, OpenedDevice, Role, TestJob, Trimmed, World, drive_device,
};

/// The largest write by which a file is laid out.
const LAY_OUT_BLOCK: Bytes = Bytes::from_mib(1);

/// The call that follows a write of a test; a write that is durable by itself needs only its data.
fn sync_of(io: &Io) -> SyncCall {
    if io.durable == Durability::Fsync { SyncCall::All } else { SyncCall::Data }
}

pub(super) fn background_job(files: &SimFiles, order: BackgroundOrder<'_>) -> BackgroundJob {
    let BackgroundOrder { io, span, seed } = order;
    BackgroundJob {
        writes: io.operation.writes(),
        random: io.pattern == Pattern::Random,
        files: files.row.clone(),
        span: span.min(files.set.span()),
        block: io.block.0,
        depth: io.queue_depth,
        durable: (io.durable != Durability::None).then(|| sync_of(io)),
        think: io.think.map(|think| think.0).unwrap_or_default(),
        seed,
    }
}

impl Simulation {
    /// Files as a device of `span` bytes.
    pub(super) fn device(&self, files: &SimFiles, io: &Io, span: Bytes) -> StackFile<FlashDevice> {
        let (row, slots, sync) = (files.row.clone(), io.in_flight(), sync_of(io));
        StackFile::new(&self.stack, row, span, io.block.0, slots, io.direct, sync)
            .with_threads(io.threads)
    }

    /// Makes the files of a set, empty.
    pub(super) fn make(&self, set: FileSet) -> Result<SimFiles, DeviceError> {
        let made: Result<Vec<FileId>, DeviceError> =
            (0..set.count()).map(|index| self.stack.create(&set.name(index))).collect();
        Ok(SimFiles { row: FileRow::new(made?, FileSet::FILE_BYTES), set })
    }

    /// Writes every byte once, in order, and makes the files durable.
    fn write_all(&self, files: &SimFiles) -> Result<(), DeviceError> {
        for (index, file) in files.row.files().iter().enumerate() {
            let (mut at, length) = (Bytes::ZERO, files.set.length(index));
            while at < length {
                let step = LAY_OUT_BLOCK.min(length.saturating_minus(at));
                self.stack.write_nothing(*file, at, step, true)?;
                at = at.plus(step);
            }
            self.stack.sync(*file, false)?;
        }
        Ok(())
    }

    /// Writes every byte once, a page at a time alternating with the other files, and makes each
    /// page durable.
    fn grow_by_turns(&self, files: &SimFiles, beside: &SimFiles) -> Result<(), DeviceError> {
        for (index, pair) in files.row.files().iter().zip(beside.row.files()).enumerate() {
            let (mut at, length) = (Bytes::ZERO, files.set.length(index));
            while at < length {
                for file in [*pair.0, *pair.1] {
                    self.stack.write_nothing(file, at, FileSet::GRAIN, false)?;
                    self.stack.sync(file, true)?;
                }
                at = at.plus(FileSet::GRAIN);
            }
        }
        Ok(())
    }

    /// Deletes files.
    pub(super) fn unmake(&self, files: &SimFiles) -> Result<(), DeviceError> {
        (0..files.set.count()).try_for_each(|index| self.stack.delete(&files.set.name(index)))
    }
}

/// A background that the stack runs whenever time passes.
#[derive(Debug)]
pub(crate) struct Beside(());

impl World for Simulation {
    type File = SimFiles;
    type Device = StackFile<FlashDevice>;
    type Meter = NoWaitMeter;
    type Counters = LayerCounters;
    type FillPlace = ();
    type Background = Beside;
    type Databases = ();
    type ReplayFiles = StackCalls<FlashDevice>;

    fn now(&self) -> Nanos {
        self.stack.clock().now()
    }

    fn in_real_time(&self) -> bool {
        false
    }

    fn idle(&mut self, time: Nanos, _: &AtomicBool) {
        self.stack.pass_until(self.now().plus(time));
    }

    fn storage_size(&self) -> Option<Bytes> {
        Some(self.stack.total())
    }

    fn files(&self, role: Role, span: Bytes) -> Option<SimFiles> {
        let kept = &self.laid_out[role as usize];
        kept.as_ref().filter(|kept| kept.set.span() >= span.round_down(FileSet::GRAIN)).cloned()
    }

    fn lay_out(
        &mut self,
        role: Role,
        span: Bytes,
        _: &Controls,
    ) -> Result<(SimFiles, Bytes), Hindrance> {
        let beside = self.grown_beside.take_if(|_| role == Role::Grown);
        for kept in self.laid_out[role as usize].take().iter().chain(&beside) {
            self.unmake(kept)?;
        }
        let set = |name: &str| FileSet::new(Path::new(""), name, span);
        let files = self.make(set(role.name()))?;
        if role == Role::Grown {
            let beside = self.make(set(GROWN_BESIDE))?;
            self.grow_by_turns(&files, &beside)?;
            self.grown_beside = Some(beside);
        } else {
            self.write_all(&files)?;
        }
        let written = role.to_write(files.set.span());
        self.laid_out[role as usize] = Some(files.clone());
        Ok((files, written))
    }

    fn size_of(&self, files: &SimFiles) -> Bytes {
        files.set.span()
    }

    fn open(
        &mut self,
        files: &SimFiles,
        io: &Io,
    ) -> Result<OpenedDevice<StackFile<FlashDevice>>, DeviceError> {
        let device = self.device(files, io, io.end().min(files.set.span()));
        Ok(OpenedDevice { device, how: Access::of(io), downgrades: Vec::new() })
    }

    fn open_for_requests(
        &mut self,
        files: &SimFiles,
        io: &Io,
    ) -> Result<OpenedDevice<StackFile<FlashDevice>>, DeviceError> {
        let opened = self.open(files, io)?;
        Ok(OpenedDevice { device: opened.device.as_requests(), ..opened })
    }

    fn meter(&self) -> Option<NoWaitMeter> {
        None
    }

    fn drive(
        &self,
        device: StackFile<FlashDevice>,
        _: &SimFiles,
        test: &TestJob<'_>,
    ) -> Result<JobOutcome, DeviceError> {
        // Threads are submitters in virtual time, on one device.
        Ok(drive_device(self, device, test))
    }

    fn start_background(
        &mut self,
        files: &SimFiles,
        order: BackgroundOrder<'_>,
        _: &Controls,
    ) -> Result<BackgroundStart<Beside>, Hindrance> {
        let job = background_job(files, order);
        match Arrivals::new(&order.io.arrivals, Nanos::ZERO, order.seed) {
            None => self.stack.start_background(job)?,
            Some(mut arrivals) => {
                let due = std::iter::from_fn(move || Some(arrivals.next_time()));
                self.stack.start_background_paced(job, due)?;
            }
        }
        Ok(BackgroundStart { running: Beside(()), live: None, downgrades: Vec::new() })
    }

    fn end_background(&mut self, _: Beside) -> Result<BackgroundEnd, DeviceError> {
        let total = self.stack.end_background().unwrap_or_default();
        let (moved, elapsed) = (total.bytes, total.elapsed);
        Ok(BackgroundEnd { moved, elapsed, error: None, out_of_budget: false })
    }

    #[cfg(not(target_family = "wasm"))]
    fn saves_directory(&mut self) -> Result<PathBuf, Hindrance> {
        Ok(PathBuf::from("sim"))
    }

    #[cfg(not(target_family = "wasm"))]
    fn check_saves(&self, save: &Save) -> Result<(), Hindrance> {
        fits_memory(save)
    }

    #[cfg(not(target_family = "wasm"))]
    fn prepare_saves<'a>(
        &mut self,
        job: &SaveJob<'a>,
        stop: &AtomicBool,
    ) -> Result<(PreparedSaves<'a>, ()), Hindrance> {
        let files = Box::new(StackFiles(self.stack.clone()));
        Ok((PreparedSaves::prepare_on(files, job, self.save_cpu, stop)?, ()))
    }

    #[cfg(not(target_family = "wasm"))]
    fn remove_saves(&mut self, (): (), job: &SaveJob<'_>) -> Result<(), Hindrance> {
        Ok(remove_databases_on(Box::new(StackFiles(self.stack.clone())), job)?)
    }

    #[cfg(not(target_family = "wasm"))]
    fn prepare_file<'a>(
        &mut self,
        job: &SaveJob<'a, FileSave>,
    ) -> Result<PreparedFile<'a>, Hindrance> {
        Ok(PreparedFile::prepare_on(Box::new(StackFiles(self.stack.clone())), job)?)
    }

    #[cfg(not(target_family = "wasm"))]
    fn remove_file(&mut self, save: &FileSave) -> Result<(), Hindrance> {
        Ok(remove_file_on(Box::new(StackFiles(self.stack.clone())), save)?)
    }

    fn lay_out_replay(
        &mut self,
        files: &[ReplayFile],
        _: &Controls,
    ) -> Result<(StackCalls<FlashDevice>, Bytes), Hindrance> {
        let names = files.iter().enumerate().map(|(index, file)| file.name(index)).collect();
        let calls = StackCalls::new(&self.stack, names, MOST_THREADS);
        let mut written = Bytes::ZERO;
        for (index, file) in (0..).zip(files) {
            if let Some(size) = file.before {
                calls.lay_out(index, size)?;
                written = written.plus(size);
            }
        }
        Ok((calls, written))
    }

    fn replay_calls(
        &mut self,
        calls: &mut StackCalls<FlashDevice>,
        job: &ReplayJob<'_>,
        live: Arc<Live>,
        controls: &Controls,
    ) -> Result<ReplayOutcome, Hindrance> {
        let mut watch = ReplayWatch {
            stop: &controls.stop,
            live: Some(live),
            budget: controls.budget.clone(),
            meter: NoWaitMeter,
        };
        // Threads are submitters in virtual time, on one device.
        Ok(drive_calls(calls, job, 0..job.stream.threads.max(1), None, &mut watch))
    }

    fn remove_replay(&mut self, calls: StackCalls<FlashDevice>) -> Result<(), Hindrance> {
        Ok(calls.remove()?)
    }

    fn next_fill(&mut self, _: Option<&str>) -> Result<(), Hindrance> {
        Ok(())
    }

    fn free_at(&self, (): &()) -> Bytes {
        self.stack.free()
    }

    fn fill(
        &mut self,
        (): &(),
        order: FillOrder<'_>,
        controls: &Controls,
    ) -> Result<FillEnd, DeviceError> {
        self.fills += 1;
        let stem = format!("fill{}-1", self.fills - 1);
        let span = fill::span(self, &order);
        let files = self.make(FileSet::new(Path::new(""), &stem, span))?;
        self.filled.push(files.clone());
        Ok(fill::fill(self, &files, span, order, controls))
    }

    fn delete_fills(&mut self) -> Result<Option<Bytes>, Hindrance> {
        for files in std::mem::take(&mut self.filled) {
            self.unmake(&files)?;
        }
        Ok(None)
    }

    fn trim(&mut self) -> Result<Trimmed, Hindrance> {
        let bytes = self.stack.trim()?;
        // If nothing is left to trim, the modelled filesystem has discarded everything itself.
        Ok(Trimmed { bytes, discards_at_once: true })
    }

    fn looks(&self) -> Option<Looks> {
        super::ledger::looks(self.stack.samples())
    }

    fn counters(&self, _: Edge) -> LayerCounters {
        LayerCounters::now(&self.stack)
    }

    fn ledger(
        &self,
        (before, after): (&LayerCounters, &LayerCounters),
        direction: Direction,
        app: Bytes,
    ) -> Ledger {
        after.since(before).ledger(direction, app)
    }

    fn refresh(&mut self, run: &mut Run, evidence: &Evidence<LayerCounters>) {
        Simulation::refresh(self, run, evidence);
    }
}
