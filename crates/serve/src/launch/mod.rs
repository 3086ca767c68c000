//! Starts nbdkit with our plugin, and ends it.

mod directory;
mod find;
mod ready;
mod version;

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use flashlag_device::{Clock, MonotonicClock};
use flashlag_spec::profile::Profile;
use flashlag_units::Nanos;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use rustix::time::Timespec;

use crate::control::{self, Control};
use crate::device::zones_of;
use crate::error::ServeError;
use crate::listen::{self, Listen};
use crate::settings::Settings;
use crate::store::check_store;
use flashlag_flash::{SECTOR, is_instant, model_of_size};

pub use directory::OwnDirectory;
use ready::KeptLines;

/// Most threads per client: nbdkit keeps a request buffer for each.
const MOST_THREADS: u32 = 64;
/// Fewest threads per client: when one request ends, another one must be waiting.
const LEAST_THREADS: u32 = 4;
/// How long clients may delay the exit of a server that has stored everything.
const GRACE: Nanos = Nanos::from_millis(500);

/// A device to be served by nbdkit, as a process of its own.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The device.
    pub settings: Settings,
    /// Address to listen on; by default a socket in a directory of its own.
    pub listen: Option<Listen>,
    /// Concurrent requests of each client; by default twice the device's queue depth, but 4 to 64.
    pub threads: Option<u32>,
    /// Path of nbdkit; by default found in `PATH`.
    pub nbdkit: Option<PathBuf>,
    /// Path of our plugin; by default `FLASHLAG_NBD_PLUGIN`, beside the program, or in the system's
    /// library directory.
    pub plugin: Option<PathBuf>,
    /// Further arguments for nbdkit, before the plugin: `--tls=require`.
    pub options: Vec<String>,
}

/// A device that is being served until this is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    said: KeptLines,
    reader: Option<JoinHandle<()>>,
    /// The connection whose end makes the server exit.
    _life: UnixStream,
    listen: Listen,
    control: PathBuf,
    /// The directory of the sockets.
    _directory: OwnDirectory,
}

impl Launch {
    /// A launch with defaults for everything else.
    pub fn new(settings: Settings) -> Launch {
        Launch {
            settings,
            listen: None,
            threads: None,
            nbdkit: None,
            plugin: None,
            options: Vec::new(),
        }
    }

    /// Starts the server and waits until it is ready.
    ///
    /// # Errors
    /// A missing program, an address in use, or the server's last lines before it ended.
    pub fn start(&self) -> Result<Running, ServeError> {
        let queue = check(&self.settings)?;
        let usual = queue.saturating_mul(2).clamp(LEAST_THREADS, MOST_THREADS);
        let threads = self.threads.unwrap_or(usual);
        let nbdkit = find::nbdkit(self.nbdkit.as_deref())?;
        let plugin = find::plugin(self.plugin.as_deref())?;
        let own = OwnDirectory::for_sockets()?;
        let directory = own.path();
        let listen = self.listen.clone().unwrap_or(Listen::Unix(directory.join("nbd.sock")));
        listen.check()?;
        let control = self.settings.control.clone().unwrap_or(directory.join("control.sock"));
        listen::check_socket(&control)?;
        let notify = directory.join("notify.sock");
        let refuse = |error: io::Error| {
            ServeError::file("listen on", &notify, &error, "may this user write to the directory?")
        };
        let listener = UnixListener::bind(&notify).map_err(refuse)?;
        let mut settings = self.settings.clone();
        settings.control = Some(control.clone());
        settings.notify = Some(notify.clone());
        let mut command = Command::new(&nbdkit);
        command.arg("--foreground");
        // With TLS, this nbdkit does not need the relay.
        let is_plain = !self.options.iter().any(|option| option.starts_with("--tls"));
        if is_plain && version::needs_relay(&nbdkit) {
            let behind = Listen::Unix(directory.join("nbdkit.sock"));
            command.args(behind.arguments());
            settings.relay_to = Some(directory.join("nbdkit.sock"));
            settings.relay = Some(listen.clone());
        } else {
            command.args(listen.arguments());
        }
        command.arg(format!("--threads={threads}")).args(&self.options);
        command.arg(plugin).args(settings.arguments());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // In a process group of its own: Ctrl-C must first end the users of the device.
        command.process_group(0);
        let child = command.spawn().map_err(|error| ServeError::Server {
            program: nbdkit.display().to_string(),
            reason: format!("cannot be started: {error}"),
            said: Vec::new(),
        })?;
        let (life, child, said, reader) = begin(&listener, child)?;
        Ok(Running { child, said, reader, _life: life, listen, control, _directory: own })
    }
}

type Begun = (UnixStream, Child, KeptLines, Option<JoinHandle<()>>);

/// Waits until a server is ready; kills it if that takes too long.
fn begin(listener: &UnixListener, mut child: Child) -> Result<Begun, ServeError> {
    let said = KeptLines::default();
    let reader = child.stderr.take().map(|stderr| said.keep(stderr));
    match ready::wait(listener, &child) {
        Ok(life) => Ok((life, child, said, reader)),
        Err(reason) => {
            // It may have ended by itself.
            let _ = child.kill();
            let status = child.wait();
            let _ = reader.map(JoinHandle::join);
            let ended = status.map(|status| format!(" ({status})")).unwrap_or_default();
            Err(ServeError::Server {
                program: "nbdkit".to_owned(),
                reason: format!("{reason}{ended}"),
                said: said.all(),
            })
        }
    }
}

/// Checks the settings before anything is started. Returns the depth of the device's queue.
fn check(settings: &Settings) -> Result<u32, ServeError> {
    let profile = Profile::find(&settings.profile).map_err(|error| ServeError::Profile {
        name: settings.profile.clone(),
        reason: error.to_string(),
    })?;
    let model = model_of_size(&profile, settings.size)?;
    zones_of(settings, &profile, &model)?;
    let size = model.map.capacity.0.round_down(SECTOR);
    check_store(settings, &profile.name, size, is_instant(&model))?;
    Ok(model.host.queue_depth)
}

impl Running {
    /// Its address.
    pub fn listen(&self) -> &Listen {
        &self.listen
    }

    /// The device as a URI: `nbd+unix:///?socket=/run/…`.
    pub fn uri(&self) -> String {
        self.listen.uri()
    }

    /// The path of its control socket.
    pub fn control_socket(&self) -> &Path {
        &self.control
    }

    /// A connection to its control socket.
    pub fn control(&self) -> Result<Control, ServeError> {
        Control::connect(&self.control)
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The last lines that the server printed.
    pub fn said(&self) -> Vec<String> {
        self.said.all()
    }

    /// Checks that the server still runs.
    ///
    /// # Errors
    /// The server has ended; the error has its last lines.
    pub fn check(&mut self) -> Result<(), ServeError> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(self.ended(&format!("ended ({status})"))),
            Err(error) => Err(self.ended(&format!("can't be asked: {error}"))),
        }
    }

    /// Waits at most this long for the server to exit; returns whether it did.
    pub fn ended_within(&mut self, time: Duration) -> Result<bool, ServeError> {
        let watched = self.watch(time);
        watched.map_err(|error| self.ended(&format!("can't be watched: {error}")))
    }

    fn watch(&mut self, time: Duration) -> io::Result<bool> {
        if self.child.try_wait()?.is_some() {
            return Ok(true);
        }
        let process = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty())?;
        let mut fds = [PollFd::new(&process, PollFlags::IN)];
        let time = Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        };
        match poll(&mut fds, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(self.child.try_wait()?.is_some()),
            Err(errno) => Err(errno.into()),
        }
    }

    fn ended(&self, reason: &str) -> ServeError {
        ServeError::Server {
            program: "nbdkit".to_owned(),
            reason: reason.to_owned(),
            said: self.said(),
        }
    }

    /// Ends the server and waits until it has stored everything.
    ///
    /// # Errors
    /// The server failed; the error has its last lines.
    pub fn stop(mut self) -> Result<(), ServeError> {
        match self.end() {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.ended("did not end well")),
            Err(error) => Err(self.ended(&format!("can't be ended: {error}"))),
        }
    }

    /// Asks the server to store its state and to end; kills it if clients delay that.
    fn end(&mut self) -> io::Result<bool> {
        if let Some(status) = self.child.try_wait()? {
            return Ok(status.success());
        }
        let stored = self.control().and_then(|mut control| control.ask(&control::Command::Quit));
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        let began = MonotonicClock.now();
        while MonotonicClock.now().since(began) < GRACE {
            if self.watch(GRACE.into())? {
                return Ok(self.child.wait()?.success());
            }
        }
        // nbdkit would wait for its clients to leave.
        self.child.kill()?;
        self.child.wait()?;
        Ok(stored.is_ok())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // An error can't be returned from here.
        let _ = self.end();
        let _ = self.reader.take().map(JoinHandle::join);
        if let Listen::Unix(path) = &self.listen {
            let _ = std::fs::remove_file(path);
        }
        let _ = std::fs::remove_file(&self.control);
    }
}
