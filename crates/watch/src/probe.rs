//! The durable write that flashlag itself makes now and then, in a file of its own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use flashlag_device::{
    Clock, Device, DeviceError, Durability, MonotonicClock, Op, Request, WaitSampler, WaitWindow,
};
use flashlag_engine::{
    FileSet, OpenDevice, OpenOptions, ThreadWaitMeter, Workspace, free_space, guard, open,
};
use flashlag_schema::history::WaitKind;
use flashlag_spec::scenario::{Durability as Words, EngineKind};
use flashlag_units::{Bytes, Nanos};

use crate::error::WatchError;
use crate::patience::ends;
use crate::waits::Wait;

/// Bytes of a probe.
pub const BLOCK: Bytes = Bytes(4096);
/// Bytes of the probes' file: they take turns, so that no block of it is written more than others.
const SPAN: Bytes = Bytes(1 << 20);
/// What is left free on the filesystem.
const LEFT: Bytes = Bytes(100_000_000);
/// Probes that wait to be read.
const QUEUE: usize = 64;

/// What the thread reports.
pub type Probed = Result<Wait, DeviceError>;

/// The thread that probes, and its files. It ends when this is dropped, and removes them.
#[derive(Debug)]
pub struct Prober {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    waits: Receiver<Probed>,
    since: Arc<AtomicU64>,
}

impl Prober {
    /// Makes the file and starts the thread.
    ///
    /// # Errors
    /// The directory can't be written, or is too full.
    pub fn start(directory: &Path, every: Nanos) -> Result<Prober, WatchError> {
        guard::clean(directory)?;
        let free = free_space(directory)?.available;
        if free.0 < LEFT.0 + SPAN.0 {
            return Err(WatchError::NoRoom { directory: directory.to_owned(), free, left: LEFT });
        }
        let mut workspace = Workspace::create(directory)?;
        let below = workspace.subdirectory("watch")?;
        let opened = workspace.open("watch")?;
        let files = FileSet::new(&below, "probe", SPAN).opened(opened);
        let (end, asked) = channel();
        let (send, waits) = sync_channel(QUEUE);
        let (say, ready) = sync_channel(1);
        let since = Arc::<AtomicU64>::default();
        let of_thread = Arc::clone(&since);
        let thread = std::thread::Builder::new().name("probe".to_owned()).spawn(move || {
            // The device and the scheduler's figures belong to the thread that opens them.
            match laid_out(&files) {
                Ok(mut device) => {
                    let _ = say.send(Ok(()));
                    run(&mut device, every, &asked, &send, &of_thread);
                }
                Err(error) => {
                    let _ = say.send(Err(error));
                }
            }
            workspace.remove();
        });
        let thread = thread.map_err(WatchError::Thread)?;
        ready.recv().unwrap_or(Ok(()))?;
        Ok(Prober { end: Some(end), thread: Some(thread), waits, since })
    }

    /// The probes that have ended since the last call.
    pub fn waits(&self) -> impl Iterator<Item = Probed> + '_ {
        self.waits.try_iter()
    }

    /// Since when one is on its way.
    pub fn since(&self) -> Option<Nanos> {
        Some(Nanos(self.since.load(Ordering::Relaxed))).filter(|since| *since > Nanos::ZERO)
    }

    /// Asks the thread to end and waits for at most this long; false if it still waits for the
    /// storage.
    pub fn end(mut self, patience: Duration) -> bool {
        self.end = None;
        ends(self.thread.as_ref(), patience)
    }
}

/// Opens the file and writes it once, so that probes overwrite what is allocated.
fn laid_out(files: &FileSet) -> Result<OpenDevice, DeviceError> {
    let options = OpenOptions {
        direct: true,
        engine: EngineKind::Psync,
        queue_depth: 1,
        durable: Words::Fdatasync,
        block: BLOCK,
        buffer: BLOCK,
        write: true,
        create: true,
    };
    let mut opened = open(files, &options)?;
    let blocks = SPAN.0 / BLOCK.0;
    for block in 0..blocks {
        let is_last = block + 1 == blocks;
        write(&mut opened, block, if is_last { Durability::Flush } else { Durability::None })?;
    }
    Ok(opened)
}

/// Probes until it is asked to end, or a probe fails. `since` tells when the one on its way began; else it is 0.
fn run(
    device: &mut OpenDevice,
    every: Nanos,
    asked: &Receiver<()>,
    to: &SyncSender<Probed>,
    since: &AtomicU64,
) {
    let mut sampler = WaitSampler::new(ThreadWaitMeter::open().ok(), &MonotonicClock);
    let pause = Duration::from_nanos(every.0);
    let mut block = 0;
    // One after each pause, and none that was missed: the budget is kept.
    while asked.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        let before = sampler.read(&MonotonicClock);
        since.store(MonotonicClock.now().0, Ordering::Relaxed);
        let probed = write(device, block, Durability::Flush).map(|(from, to)| {
            let length = to.saturating_since(from);
            let after = sampler.read(&MonotonicClock);
            let window = before.zip(after).map(|(from, to)| WaitWindow { from, to });
            let split = window.map(|window| window.split_of(length));
            Wait { from, to, length, kind: WaitKind::Probe, split, usual: None }
        });
        since.store(0, Ordering::Relaxed);
        block = (block + 1) % (SPAN.0 / BLOCK.0);
        let is_over = probed.is_err();
        // A full queue has been forgotten by its reader.
        let _ = to.try_send(probed);
        if is_over {
            return;
        }
    }
}

/// Writes a block: when it began and when it was done.
fn write(
    device: &mut OpenDevice,
    block: u64,
    durability: Durability,
) -> Result<(Nanos, Nanos), DeviceError> {
    let device = &mut device.device;
    let stamp = block.wrapping_add(1).to_le_bytes();
    device.buffer(0).iter_mut().zip(stamp.iter().cycle()).for_each(|(to, from)| *to = *from);
    let offset = Bytes(block * BLOCK.0);
    device.submit(Request { slot: 0, op: Op::Write, offset, length: BLOCK, durability })?;
    let mut completed = Vec::with_capacity(1);
    device.reap(1, &mut completed)?;
    match completed.pop() {
        Some(done) => done.result.map(|()| (done.started, done.ended)),
        None => Ok((Nanos::ZERO, Nanos::ZERO)),
    }
}
