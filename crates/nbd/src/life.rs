//! The control socket, and the connection to the program that started the server.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use flashlag_serve::{ControlServer, Relay, Relaying, ServeError, ServedDevice};
use rustix::process::{Signal, getpid, kill_process};

/// How long clients may delay the exit of a server whose starting program is gone.
const GRACE: Duration = Duration::from_secs(1);

/// A connection to the program that started the device. When it closes, for whatever reason, the
/// server exits.
pub(crate) struct Lifeline {
    stream: UnixStream,
    /// The process whose thread watches the connection; threads do not survive a fork.
    watched_in: u32,
}

impl Lifeline {
    /// Connects to the starting program, before anything else.
    pub(crate) fn connect(
        path: &std::path::Path,
        device: fn() -> Option<Arc<ServedDevice>>,
    ) -> Result<Lifeline, ServeError> {
        let refuse = |error: std::io::Error| ServeError::File {
            operation: "connect to",
            path: path.to_owned(),
            reason: error.to_string(),
            advice: "notify= is for the program that starts the device".into(),
        };
        let stream = UnixStream::connect(path).map_err(refuse)?;
        let mut line = Lifeline { stream, watched_in: 0 };
        line.watch(device).map_err(refuse)?;
        Ok(line)
    }

    /// Starts a thread that waits for the other side to close, unless there is one.
    fn watch(&mut self, device: fn() -> Option<Arc<ServedDevice>>) -> std::io::Result<()> {
        if self.watched_in == std::process::id() {
            return Ok(());
        }
        self.watched_in = std::process::id();
        let mut stream = self.stream.try_clone()?;
        let waiting = std::thread::Builder::new().name("notify".to_owned());
        let wait = move || {
            // The starting program never sends anything.
            let _ = stream.read(&mut [0]);
            if let Some(device) = device() {
                nbdkit::shutdown();
                std::thread::sleep(GRACE);
                // nbdkit would wait for its clients to leave, possibly forever. The device's state
                // is stored here; if that fails, the previous state and its log remain.
                let _ = device.close();
            }
            // Before the device is ready, there is nothing to lose.
            let _ = kill_process(getpid(), Signal::KILL);
        };
        waiting.spawn(wait).map(drop)
    }
}

/// The control socket and the connection to the starting program, kept open by this value.
pub(crate) struct Lifetime {
    _control: Option<ControlServer>,
    _relaying: Option<Relaying>,
    _line: Option<Lifeline>,
}

impl Lifetime {
    /// Opens the control socket, then reports that the device is ready.
    pub(crate) fn begin(
        device: &Arc<ServedDevice>,
        mut line: Option<Lifeline>,
        relay: Option<Relay>,
        again: fn() -> Option<Arc<ServedDevice>>,
    ) -> Result<Lifetime, ServeError> {
        let settings = device.settings();
        let control = match &settings.control {
            None => None,
            Some(path) => {
                let device = Arc::clone(device);
                let tell = move |command: &_| device.tell(command);
                Some(ControlServer::start(path, tell, nbdkit::shutdown)?)
            }
        };
        let relaying = match (relay, &settings.relay_to) {
            (Some(relay), Some(server)) => Some(relay.begin(server).map_err(|error| {
                let reason = error.to_string();
                let advice = "end some other program, and try again".into();
                ServeError::File { operation: "relay to", path: server.clone(), reason, advice }
            })?),
            _ => None,
        };
        if let Some(line) = &mut line {
            // A failure means that the starting program is gone, which ends this process.
            let _ = line.watch(again).and_then(|()| line.stream.write_all(b"+"));
        }
        Ok(Lifetime { _control: control, _relaying: relaying, _line: line })
    }
}
