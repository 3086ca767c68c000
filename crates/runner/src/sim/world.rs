//! A simulation as a world.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use flashlag_device::{Clock, DeviceError, NoWaitMeter, SyncCall};
use flashlag_engine::JobOutcome;
use flashlag_flash::FlashDevice;
use flashlag_iostack::{BackgroundJob, FileId, StackFile};
use flashlag_schema::scenario::{Durability, Io, Pattern, Save};
use flashlag_schema::{Ledger, Run};
use flashlag_sqlite::{PreparedSaves, SaveJob, remove_databases_on};
use flashlag_units::{Bytes, Nanos};
use flashlag_workload::Arrivals;

use super::ledger::LayerCounters;
use super::stack_files::{StackFiles, fits_memory};
use super::{Simulation, fill};
use crate::direction::Direction;
use crate::work::{
    Access, BackgroundEnd, BackgroundOrder, BackgroundStart, Controls, Edge, Evidence, FillEnd,
    FillOrder, Hindrance, OpenedDevice, Role, TestJob, Trimmed, World, drive_device,
};

/// The largest write by which a file is laid out.
const LAY_OUT_BLOCK: Bytes = Bytes::from_mib(1);

fn name_of(role: Role) -> &'static str {
    match role {
        Role::Test => "test",
        Role::Background => "background",
    }
}

/// The call that follows a write of a test; a write that is durable by itself needs only its data.
fn sync_of(io: &Io) -> SyncCall {
    if io.durable == Durability::Fsync { SyncCall::All } else { SyncCall::Data }
}

pub(super) fn background_job(file: FileId, order: BackgroundOrder<'_>) -> BackgroundJob {
    let BackgroundOrder { io, span, seed } = order;
    BackgroundJob {
        writes: io.operation.writes(),
        random: io.pattern == Pattern::Random,
        file,
        span,
        block: io.block.0,
        depth: io.queue_depth,
        durable: (io.durable != Durability::None).then(|| sync_of(io)),
        think: io.think.map(|think| think.0).unwrap_or_default(),
        seed,
    }
}

impl Simulation {
    fn kept(&mut self, role: Role) -> &mut Option<(FileId, Bytes)> {
        match role {
            Role::Test => &mut self.test,
            Role::Background => &mut self.beside,
        }
    }

    /// One file as a device of `span` bytes.
    pub(super) fn device(&self, file: FileId, io: &Io, span: Bytes) -> StackFile<FlashDevice> {
        let (slots, sync) = (io.in_flight(), sync_of(io));
        StackFile::new(&self.stack, file, span, io.block.0, slots, io.direct, sync)
            .with_threads(io.threads)
    }

    /// Every byte written once, in order, and made durable.
    fn write_all(&self, file: FileId, span: Bytes) -> Result<(), DeviceError> {
        let mut at = Bytes::ZERO;
        while at < span {
            let length = LAY_OUT_BLOCK.min(span.saturating_minus(at));
            self.stack.write_nothing(file, at, length, true)?;
            at = at.plus(length);
        }
        self.stack.sync(file, false)
    }
}

impl World for Simulation {
    type File = FileId;
    type Device = StackFile<FlashDevice>;
    type Meter = NoWaitMeter;
    type Counters = LayerCounters;
    type FillPlace = ();

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

    fn files(&self, role: Role, span: Bytes) -> Option<FileId> {
        let kept = match role {
            Role::Test => self.test,
            Role::Background => self.beside,
        };
        kept.filter(|(_, size)| *size >= span).map(|(file, _)| file)
    }

    fn lay_out(
        &mut self,
        role: Role,
        span: Bytes,
        _: &Controls,
    ) -> Result<(FileId, Bytes), Hindrance> {
        let name = name_of(role);
        if self.kept(role).take().is_some() {
            self.stack.delete(name)?;
        }
        let file = self.stack.create(name)?;
        // Whole blocks, as direct I/O has to be.
        let whole = span.plus(Bytes(4095)).round_down(Bytes(4096));
        self.write_all(file, whole)?;
        *self.kept(role) = Some((file, span));
        Ok((file, whole))
    }

    fn size_of(&self, file: &FileId) -> Bytes {
        self.stack.size(*file)
    }

    fn open(
        &mut self,
        file: &FileId,
        io: &Io,
    ) -> Result<OpenedDevice<StackFile<FlashDevice>>, DeviceError> {
        let device = self.device(*file, io, io.end());
        Ok(OpenedDevice { device, how: Access::of(io), downgrades: Vec::new() })
    }

    fn meter(&self) -> Option<NoWaitMeter> {
        None
    }

    fn drive(
        &self,
        device: StackFile<FlashDevice>,
        _: &FileId,
        test: &TestJob<'_>,
    ) -> Result<JobOutcome, DeviceError> {
        // Threads are submitters in virtual time, on one device.
        Ok(drive_device(self, device, test))
    }

    fn start_background(
        &mut self,
        file: &FileId,
        order: BackgroundOrder<'_>,
        _: &Controls,
    ) -> Result<BackgroundStart, Hindrance> {
        let job = background_job(*file, order);
        match Arrivals::new(&order.io.arrivals, Nanos::ZERO, order.seed) {
            None => self.stack.start_background(job)?,
            Some(mut arrivals) => {
                let due = std::iter::from_fn(move || Some(arrivals.next_time()));
                self.stack.start_background_paced(job, due)?;
            }
        }
        Ok(BackgroundStart::default())
    }

    fn end_background(&mut self) -> Option<Result<BackgroundEnd, DeviceError>> {
        let total = self.stack.end_background()?;
        Some(Ok(BackgroundEnd {
            moved: total.bytes,
            elapsed: total.elapsed,
            error: None,
            out_of_budget: false,
        }))
    }

    fn saves_directory(&mut self) -> Result<PathBuf, Hindrance> {
        Ok(PathBuf::from("sim"))
    }

    fn check_saves(&self, save: &Save) -> Result<(), String> {
        fits_memory(save)
    }

    fn prepare_saves<'a>(
        &mut self,
        job: &SaveJob<'a>,
        stop: &AtomicBool,
    ) -> Result<PreparedSaves<'a>, Hindrance> {
        let files = Box::new(StackFiles(self.stack.clone()));
        PreparedSaves::prepare_on(files, job, self.save_cpu, stop)
            .map_err(|error| Hindrance::Failure(error.to_string()))
    }

    fn remove_saves(&mut self, job: &SaveJob<'_>) -> Result<(), Hindrance> {
        remove_databases_on(Box::new(StackFiles(self.stack.clone())), job)
            .map_err(|error| Hindrance::Failure(error.to_string()))
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
        let name = format!("fill-{}", self.fills.len() + 1);
        let file = self.stack.create(&name)?;
        self.fills.push(name);
        Ok(fill::fill(self, file, order, controls))
    }

    fn delete_fills(&mut self) -> Result<Option<Bytes>, Hindrance> {
        for name in std::mem::take(&mut self.fills) {
            self.stack.delete(&name)?;
        }
        Ok(None)
    }

    fn trim(&mut self) -> Result<Trimmed, String> {
        let bytes = self.stack.trim().map_err(|error| error.to_string())?;
        // Where nothing is left to trim, the modelled filesystem has discarded everything itself.
        Ok(Trimmed { bytes, discards_at_once: true })
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
