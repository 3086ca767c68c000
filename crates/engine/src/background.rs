//! Runs a background job in parallel to a measured one, in its own thread and on its own files.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use flashlag_device::{Budget, DeviceError};
use flashlag_spec::Downgrade;
use flashlag_stats::live::Live;

use crate::drive::{Job, JobOutcome, Watch, drive};
use crate::files::FileSet;
use crate::meter::ThreadWaitMeter;
use crate::open::{OpenOptions, open};

/// A job that runs in its own thread. Dropping it stops it and waits for its end.
#[derive(Debug)]
pub struct Background {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Option<JobOutcome>>>,
    subject: String,
    downgrades: Vec<Downgrade>,
    live: Arc<Live>,
}

/// The thread's message after it tried to open its files.
type Opening = Result<Vec<Downgrade>, DeviceError>;

impl Background {
    /// Opens `files` and begins; returns when the device is open. It runs until
    /// [`Background::finish`] or its own limits.
    pub fn start(
        files: FileSet,
        options: OpenOptions,
        job: Job,
    ) -> Result<Background, DeviceError> {
        Background::start_within(files, options, job, None)
    }

    /// [`Background::start`] that ends before an operation that would exceed `budget`.
    pub fn start_within(
        files: FileSet,
        options: OpenOptions,
        job: Job,
        budget: Option<Budget>,
    ) -> Result<Background, DeviceError> {
        let stop = Arc::new(AtomicBool::new(false));
        let subject = files.directory().display().to_string();
        let (send, opened) = sync_channel(1);
        let raised = Arc::clone(&stop);
        let live = Arc::new(Live::default());
        let shown = Arc::clone(&live);
        let thread = std::thread::Builder::new()
            .name("background".to_owned())
            .spawn(move || work(&files, &options, (&job, budget), (&raised, shown), &send))
            .map_err(|error| thread_error(&subject, error.to_string()))?;
        let mut background =
            Background { stop, thread: Some(thread), subject, downgrades: Vec::new(), live };
        background.downgrades = match opened.recv() {
            Ok(opening) => opening?,
            Err(_) => return Err(thread_error(&background.subject, "it ended at once".to_owned())),
        };
        Ok(background)
    }

    /// Options that the device could not give as requested.
    pub fn downgrades(&self) -> &[Downgrade] {
        &self.downgrades
    }

    /// The job's progress.
    pub fn live(&self) -> &Arc<Live> {
        &self.live
    }

    /// Whether the job has ended without [`Background::finish`]: at a limit or with an error.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Stops the job, waits for its end, and returns its outcome; errors are in
    /// [`JobOutcome::ended`]. Fails only if the thread has panicked, which would be a bug.
    pub fn finish(mut self) -> Result<JobOutcome, DeviceError> {
        let driven = self.join();
        driven.ok_or_else(|| thread_error(&self.subject, "it has died".to_owned()))
    }

    fn join(&mut self) -> Option<JobOutcome> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take()?.join().ok().flatten()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.join();
    }
}

/// Opens the device in this thread, since an io_uring belongs to the thread that made it; reports
/// the result; runs the job.
fn work(
    files: &FileSet,
    options: &OpenOptions,
    (job, budget): (&Job, Option<Budget>),
    (stop, live): (&AtomicBool, Arc<Live>),
    tell: &SyncSender<Opening>,
) -> Option<JobOutcome> {
    let opened = match open(files, options) {
        Ok(opened) => opened,
        Err(error) => {
            // The other side waits for exactly one message.
            let _ = tell.send(Err(error));
            return None;
        }
    };
    let mut device = opened.device;
    let _ = tell.send(Ok(opened.downgrades));
    let meter = ThreadWaitMeter::open().ok();
    let watch = &mut Watch { live: Some(live), budget, ..Watch::new(stop, meter) };
    Some(drive(&mut device, job, watch))
}

fn thread_error(subject: &str, reason: String) -> DeviceError {
    DeviceError {
        operation: "background thread for",
        subject: subject.to_owned(),
        offset: None,
        errno: None,
        reason,
        advice: "raise `ulimit -u`, or report it if it happens again".to_owned(),
    }
}
