//! What a server says while it starts: that it is ready, and what is wrong.

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

/// A device is ready in moments, but where it must be filled or read back first.
const PATIENCE: Nanos = Nanos::from_secs(300);
/// Lines of the server that are kept.
const LINES: usize = 20;

/// The last lines that a server printed.
#[derive(Clone, Debug, Default)]
pub(super) struct KeptLines(Arc<Mutex<VecDeque<String>>>);

impl KeptLines {
    /// Keeps those of a stream, in a thread that ends with it.
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

/// Waits until the plugin says that the device is ready, or its process ends. The plugin connects before
/// it begins, and ends when the connection does: a server never outlives who starts it.
pub(super) fn wait(listener: &UnixListener, child: &Child) -> Result<UnixStream, String> {
    let text = |error: io::Error| error.to_string();
    let until = MonotonicClock.now().plus(PATIENCE);
    wait_for(listener, child, until)?;
    let (mut stream, _) = listener.accept().map_err(text)?;
    wait_for(&stream, child, until)?;
    match stream.read(&mut [0]).map_err(text)? {
        0 => Err("ended before it was ready".to_owned()),
        _ => Ok(stream),
    }
}

/// Waits until something is to be read, while a process lives.
fn wait_for(source: &impl AsFd, child: &Child, until: Nanos) -> Result<(), String> {
    let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty());
    let process = process.map_err(|errno| io::Error::from(errno).to_string())?;
    let mut fds = [PollFd::new(source, PollFlags::IN), PollFd::new(&process, PollFlags::IN)];
    loop {
        let left = Duration::from(until.saturating_since(MonotonicClock.now()));
        let left = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(&mut fds, Some(&left)) {
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(io::Error::from(errno).to_string()),
            Ok(0) => return Err(format!("was not ready after {PATIENCE}")),
            Ok(_) => break,
        }
    }
    match fds[0].revents().is_empty() {
        false => Ok(()),
        true => Err("ended before it was ready".to_owned()),
    }
}
