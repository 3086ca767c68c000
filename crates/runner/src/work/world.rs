//! A world: storage, time and counters that the recipes of tests, saves and fills work on.

use std::fmt::Debug;
#[cfg(not(target_family = "wasm"))]
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_device::{Budget, Device, DeviceError, WaitMeter};
#[cfg(not(target_family = "wasm"))]
use flashlag_engine::FreeSpace;
#[cfg(not(target_family = "wasm"))]
use flashlag_engine::card::CardMedium;
use flashlag_engine::replay::{ReplayJob, ReplayOutcome};
use flashlag_engine::{Job, JobOutcome};
#[cfg(not(target_family = "wasm"))]
use flashlag_schema::CardReach;
use flashlag_schema::{ClockReading, Conditions, Ledger, Looks, OtherIo, Run};
use flashlag_spec::replay::ReplayFile;
use flashlag_spec::scenario::{Durability, EngineKind, Io};
#[cfg(not(target_family = "wasm"))]
use flashlag_spec::scenario::{FileSave, Save};
use flashlag_spec::{Downgrade, Reading};
#[cfg(not(target_family = "wasm"))]
use flashlag_sqlite::{PreparedFile, PreparedSaves, SaveJob};
use flashlag_stats::Stop;
use flashlag_stats::live::Live;
use flashlag_trust::{Fill, Verification};
use flashlag_units::{Bytes, Nanos};

use super::device_wait::DeviceWait;
use super::hindrance::Hindrance;
use crate::role::Role;

/// The direction in which a phase moved its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// Counters around each phase, fills and the result of reading back.
#[derive(Debug)]
pub struct Evidence<C> {
    /// Counters at both edges of each phase, in the order of the run's phases; `None` for phases of
    /// an earlier process.
    pub phases: Vec<Option<(C, C)>>,
    /// The fills that were made.
    pub fills: Vec<Fill>,
    /// The result of reading back.
    pub verified: Option<Verification>,
    /// Free space that fills leave.
    pub leave: Bytes,
    /// What the run file held before the run was resumed, if it was.
    pub earlier: Option<Earlier>,
}

/// What only an earlier process could count.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// Its checks.
    pub trust: flashlag_trust::Earlier,
    /// Bytes that the block device took while it ran.
    pub block_bytes: Reading<Bytes>,
}

impl Earlier {
    /// The earlier process of a run that is resumed.
    pub(crate) fn of(run: &Run) -> Earlier {
        Earlier {
            trust: flashlag_trust::Earlier::of(&run.trust.checks, &run.phases),
            block_bytes: run.wear.block_bytes.clone(),
        }
    }
}

/// The edge of a phase at which counters are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Before the first operation.
    Begin,
    /// After the last one.
    End,
}

/// The settings that all parts of a run share.
#[derive(Clone, Debug)]
pub struct Controls {
    /// The seed of the whole run, from which payloads follow.
    pub seed: u64,
    /// Raised to end the run.
    pub stop: Arc<AtomicBool>,
    /// The bytes that may still be written.
    pub budget: Option<Budget>,
    /// Whether every byte is read back and compared.
    pub verify: bool,
}

/// A device that is open for a test, and the requested options that were not available.
#[derive(Debug)]
pub struct OpenedDevice<D> {
    pub device: D,
    pub how: Access,
    /// Requested options that were not available.
    pub downgrades: Vec<Downgrade>,
}

/// How a phase does its I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The I/O engine.
    pub engine: EngineKind,
    /// Whether the page cache is bypassed.
    pub direct: bool,
    /// How writes become durable.
    pub durable: Durability,
    /// Operations in flight, in each thread.
    pub queue_depth: u32,
}

impl Access {
    /// Everything as the test asks for it.
    pub fn of(io: &Io) -> Access {
        Access {
            engine: io.engine,
            direct: io.direct,
            durable: io.durable,
            queue_depth: io.queue_depth,
        }
    }
}

/// A background to be started.
#[derive(Clone, Copy, Debug)]
pub struct BackgroundOrder<'a> {
    /// The test that runs in the background.
    pub io: &'a Io,
    /// Addresses come from this many bytes of the files.
    pub span: Bytes,
    /// The seed of addresses, arrivals and payload.
    pub seed: u64,
}

/// A background that has started.
#[derive(Debug)]
#[must_use]
pub struct BackgroundStart<B> {
    /// The running background, until [`World::end_background`].
    pub running: B,
    /// Its progress, if another thread can read it.
    pub live: Option<Arc<Live>>,
    /// Requested options that were not available.
    pub downgrades: Vec<Downgrade>,
}

/// What a background did until it was ended.
#[derive(Clone, Debug)]
pub struct BackgroundEnd {
    pub moved: Bytes,
    /// Time from its start to its end.
    pub elapsed: Nanos,
    /// The error that ended it early.
    pub error: Option<String>,
    /// Whether the budget ended it early.
    pub out_of_budget: bool,
}

/// A fill to be made.
#[derive(Debug)]
pub struct FillOrder<'a> {
    /// The test that fills.
    pub io: &'a Io,
    /// Free space that is left.
    pub leave: Bytes,
    /// The seed of order and payload.
    pub seed: u64,
    /// The fill's progress.
    pub live: Arc<Live>,
}

/// A fill that was made, as far as it went.
#[derive(Debug)]
pub struct FillEnd {
    /// The records of the job.
    pub driven: JobOutcome,
    /// How the fill did its I/O.
    pub how: Access,
    /// Size of the fill's files.
    pub span: Bytes,
    /// Free space afterwards.
    pub free: Bytes,
    /// Requested options that were not available.
    pub downgrades: Vec<Downgrade>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// A trim that the filesystem accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trimmed {
    /// Bytes that the filesystem reported as discarded.
    pub bytes: Bytes,
    /// Whether the filesystem discards space as soon as it is free.
    pub discards_at_once: bool,
}

/// Why a model is no card.
pub(crate) const NO_CARD: &str = "a model keeps no data that could be lost: give a directory on the card, a phone \
                       (adb::/storage/XXXX-XXXX), or lab:PROFILE+FILESYSTEM";

/// Storage, time and counters below a run. The recipes ([`super::Work`]) know nothing else of the
/// target, so that another kind of target is another implementation of this trait.
pub trait World {
    /// Files that were laid out.
    type File: Clone;
    /// A file under test, opened.
    type Device: Device;
    /// Reads where the measuring thread's time goes.
    type Meter: WaitMeter;
    /// All counters at one moment.
    type Counters: Clone + Debug;
    /// The place at which a fill writes.
    type FillPlace;
    /// The background of a test.
    type Background;
    /// The databases that were made for a test.
    type Databases;
    /// The files of a replay.
    type ReplayFiles;

    /// Time since the run began.
    fn now(&self) -> Nanos;

    /// Whether time passes by itself; otherwise only operations and waits advance it.
    fn in_real_time(&self) -> bool;

    /// What the system's clocks say at a moment of the clock of phases; `None` in virtual time.
    fn clocks(&self, _at: Nanos) -> Option<ClockReading> {
        None
    }

    /// Lets time pass, and checks now and then whether the run is to end.
    fn idle(&mut self, time: Nanos, stop: &AtomicBool);

    /// Charge, power and heat of a device with a battery.
    fn conditions(&self) -> Option<Conditions> {
        None
    }

    /// What other apps read and wrote since the last call. The first call begins to count.
    fn other_io(&self) -> Reading<OtherIo> {
        Reading::default()
    }

    /// The storage's size, where it is known.
    fn storage_size(&self) -> Option<Bytes>;

    /// The files of that role, where they hold `span` already.
    fn files(&self, role: Role, span: Bytes) -> Option<Self::File>;

    /// Writes the files of that role anew. Returns the files and the bytes written.
    fn lay_out(
        &mut self,
        role: Role,
        span: Bytes,
        controls: &Controls,
    ) -> Result<(Self::File, Bytes), Hindrance>;

    /// The most that [`World::lay_out`] writes for a span.
    fn most_to_lay_out(&self, role: Role, span: Bytes) -> Bytes {
        role.to_write(span)
    }

    /// Size of files that were laid out.
    fn size_of(&self, file: &Self::File) -> Bytes;

    /// Whether everything that the run made is still in its place.
    ///
    /// # Errors
    /// Something is gone; figures of it would mean nothing.
    fn check_present(&self) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Opens files for a test.
    fn open(
        &mut self,
        file: &Self::File,
        io: &Io,
    ) -> Result<OpenedDevice<Self::Device>, DeviceError>;

    /// Opens files for block requests of a trace, for which a model charges no system call.
    fn open_for_requests(
        &mut self,
        file: &Self::File,
        io: &Io,
    ) -> Result<OpenedDevice<Self::Device>, DeviceError> {
        self.open(file, io)
    }

    /// A meter of the calling thread, where there is one.
    fn meter(&self) -> Option<Self::Meter>;

    /// The storage's temperature in thousandths of a degree Celsius, where a sensor reports one.
    fn temperature(&self) -> Option<i64> {
        None
    }

    /// Does a test's job on the opened device ([`super::drive_device`]), or in several threads.
    ///
    /// # Errors
    /// Only if the job could not begin; later errors are in [`JobOutcome::ended`].
    fn drive(
        &self,
        device: Self::Device,
        file: &Self::File,
        job: &TestJob<'_>,
    ) -> Result<JobOutcome, DeviceError>;

    /// Starts the background of a test.
    fn start_background(
        &mut self,
        file: &Self::File,
        order: BackgroundOrder<'_>,
        controls: &Controls,
    ) -> Result<BackgroundStart<Self::Background>, Hindrance>;

    /// Ends the background of a test.
    ///
    /// # Errors
    /// The background's thread has died.
    fn end_background(&mut self, running: Self::Background) -> Result<BackgroundEnd, DeviceError>;

    /// An empty directory for databases, or for the file of saves without one.
    #[cfg(not(target_family = "wasm"))]
    fn saves_directory(&mut self) -> Result<PathBuf, Hindrance>;

    /// Whether the databases of a test fit here.
    #[cfg(not(target_family = "wasm"))]
    fn check_saves(&self, _save: &Save) -> Result<(), Hindrance> {
        Ok(())
    }

    /// Makes the databases of a test with their first rows.
    #[cfg(not(target_family = "wasm"))]
    fn prepare_saves<'a>(
        &mut self,
        job: &SaveJob<'a>,
        stop: &AtomicBool,
    ) -> Result<(PreparedSaves<'a>, Self::Databases), Hindrance>;

    /// Whether the databases are still those that were made.
    #[cfg(not(target_family = "wasm"))]
    fn check_databases(&self, _databases: &Self::Databases) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Removes the databases of a test.
    #[cfg(not(target_family = "wasm"))]
    fn remove_saves(
        &mut self,
        databases: Self::Databases,
        job: &SaveJob<'_>,
    ) -> Result<(), Hindrance>;

    /// Makes the file of a test of saves without a database.
    ///
    /// # Errors
    /// As the filesystem says.
    #[cfg(not(target_family = "wasm"))]
    fn prepare_file<'a>(
        &mut self,
        job: &SaveJob<'a, FileSave>,
    ) -> Result<PreparedFile<'a>, Hindrance>;

    /// Removes it.
    ///
    /// # Errors
    /// A file that can't be removed.
    #[cfg(not(target_family = "wasm"))]
    fn remove_file(&mut self, _save: &FileSave) -> Result<(), Hindrance> {
        Ok(())
    }

    /// Makes the files of a replay as they were before the trace. Returns the bytes written, too.
    fn lay_out_replay(
        &mut self,
        files: &[ReplayFile],
        controls: &Controls,
    ) -> Result<(Self::ReplayFiles, Bytes), Hindrance>;

    /// Replays system calls on the files that were made for them.
    ///
    /// # Errors
    /// Only if the replay could not begin; later errors are in [`ReplayOutcome::ended`].
    fn replay_calls(
        &mut self,
        files: &mut Self::ReplayFiles,
        job: &ReplayJob<'_>,
        live: Arc<Live>,
        controls: &Controls,
    ) -> Result<ReplayOutcome, Hindrance>;

    /// Where the files of a card's proof lie.
    ///
    /// # Errors
    /// The target has no storage of its own to be proven.
    #[cfg(not(target_family = "wasm"))]
    fn card(&mut self) -> Result<Box<dyn CardMedium>, Hindrance> {
        Err(Hindrance::Failure(NO_CARD.to_owned()))
    }

    /// The room of the storage that a card's proof is about.
    #[cfg(not(target_family = "wasm"))]
    fn card_room(&self) -> FreeSpace {
        FreeSpace::default()
    }

    /// Where the files of a card's proof lie on the storage, by their number.
    #[cfg(not(target_family = "wasm"))]
    fn card_reach(&self, _files: u32) -> Reading<CardReach> {
        Reading::default()
    }

    /// Removes the files of a replay.
    fn remove_replay(&mut self, files: Self::ReplayFiles) -> Result<(), Hindrance>;

    /// A place for the next fill, on this storage or in another directory.
    fn next_fill(&mut self, directory: Option<&str>) -> Result<Self::FillPlace, Hindrance>;

    /// Free space where a fill would write.
    fn free_at(&self, place: &Self::FillPlace) -> Bytes;

    /// Writes until only [`FillOrder::leave`] is free.
    ///
    /// # Errors
    /// Only if the fill could not begin.
    fn fill(
        &mut self,
        place: &Self::FillPlace,
        order: FillOrder<'_>,
        controls: &Controls,
    ) -> Result<FillEnd, DeviceError>;

    /// Deletes the files of all fills. Returns their size, where it is known.
    fn delete_fills(&mut self) -> Result<Option<Bytes>, Hindrance>;

    /// Trims: the filesystem reports its free blocks to the device.
    fn trim(&mut self) -> Result<Trimmed, Hindrance>;

    /// A phase is about to begin.
    fn phase_begins(&self, _label: &str) {}

    /// Readings of counters since the last phase began, if the kernel, or its model, has any.
    fn looks(&self) -> Option<Looks> {
        None
    }

    /// A note about the phase that has ended, where the world has one.
    fn phase_note(&self) -> Option<String> {
        None
    }

    /// All counters now.
    fn counters(&self, edge: Edge) -> Self::Counters;

    /// Bytes and calls by layer between two edges. `app` is what the application asked for.
    fn ledger(
        &self,
        edges: (&Self::Counters, &Self::Counters),
        direction: Direction,
        app: Bytes,
    ) -> Ledger;

    /// Slow requests at a device that says what they waited for, between two edges of a phase.
    fn slow(&self, _before: &Self::Counters, _after: &Self::Counters) -> Vec<DeviceWait> {
        Vec::new()
    }

    /// The moments in which this process stood still; `None` where that can't be known.
    fn stops(&self) -> Option<Vec<Stop>> {
        None
    }

    /// Brings everything that follows from the phases up to date: environment, wear, trust.
    fn refresh(&mut self, run: &mut Run, evidence: &Evidence<Self::Counters>);
}

/// A test's job with everything that observes it while it runs.
#[derive(Debug)]
pub struct TestJob<'a> {
    pub io: &'a Io,
    /// The job on the opened device.
    pub job: &'a Job,
    /// Its progress.
    pub live: Arc<Live>,
    /// What it shares with the rest of the run.
    pub controls: &'a Controls,
}
