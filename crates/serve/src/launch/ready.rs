//! The messages of a server while it starts: readiness and errors.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use flashlag_device::{Clock, MonotonicClock};
use flashlag_units::Nanos;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::Timespec;
use thiserror::Error;

/// Time until a device is ready: long only if it must be filled or restored first.
const PATIENCE: Nanos = Nanos::from_secs(300);
/// Number of the server's last lines to keep.
const LINES: usize = 20;

/// The last lines that a server printed.
#[derive(Clone, Debug, Default)]
pub(super) struct KeptLines(Arc<Mutex<VecDeque<String>>>);

impl KeptLines {
    /// Keeps the last lines of a stream, in a thread that ends with the stream.
    pub(super) fn keep(&self, from: impl Read + Send + 'static) -> JoinHandle<()> {
        let kept = self.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                let mut kept = kept.0.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() == LINES {
                    kept.pop_front();
                }
                kept.push_back(line);
            }
        })
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// Why a server is not ready, as the rest of a sentence about its program.
#[derive(Debug, Error)]
pub(super) enum NotReady {
    #[error("ended before it was ready")]
    Ended,
    #[error("was not ready after {PATIENCE}")]
    Late,
    #[error("{0}")]
    System(#[from] io::Error),
}

/// Waits until the plugin reports that the device is ready, or its process ends. The plugin
/// connects when it starts, and exits when the connection closes: a server never outlives the
/// process that started it.
pub(super) fn wait(listener: &UnixListener, child: &Child) -> Result<UnixStream, NotReady> {
    let until = MonotonicClock.now().plus(PATIENCE);
    wait_for(listener, child, until)?;
    let (mut stream, _) = listener.accept()?;
    wait_for(&stream, child, until)?;
    match stream.read(&mut [0])? {
        0 => Err(NotReady::Ended),
        _ => Ok(stream),
    }
}

/// Waits until a source is readable, while a process lives.
fn wait_for(source: &impl AsFd, child: &Child, until: Nanos) -> Result<(), NotReady> {
    let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty());
    let process = process.map_err(io::Error::from)?;
    let mut fds = [PollFd::new(source, PollFlags::IN), PollFd::new(&process, PollFlags::IN)];
    loop {
        let left = Duration::from(until.saturating_since(MonotonicClock.now()));
        let left = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(&mut fds, Some(&left)) {
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(io::Error::from(errno).into()),
            Ok(0) => return Err(NotReady::Late),
            Ok(_) => break,
        }
    }
    if !fds[0].revents().is_empty() { Ok(()) } else { Err(NotReady::Ended) }
}
