//! A running phone, and what a test can do to it.

use std::fs;
use std::io::Result;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use tempfile::TempDir;

use crate::cable::Way;
use crate::connection::{self, Daemon, State};
use crate::message::Kind;
use crate::space::{Plan, Space};

/// A running stand-in phone. Dropping it ends it with all its processes.
pub struct Phone {
    daemon: Arc<Daemon>,
    address: SocketAddr,
    listening: Mutex<Option<Listening>>,
    plan: Plan,
    home: TempDir,
}

impl Phone {
    /// Lets clients connect to the phone in these namespaces.
    pub(crate) fn listen(
        daemon: Arc<Daemon>,
        plan: Plan,
        home: TempDir,
        address: SocketAddr,
    ) -> Result<Phone> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let listening = Mutex::new(Some(Listening::start(&daemon, listener)));
        Ok(Phone { daemon, address, listening, plan, home })
    }

    /// Where adb connects to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A path to the phone's root, with all its mounts. An absolute link below it leads into this
    /// machine's own root.
    pub fn root(&self) -> PathBuf {
        self.daemon.space().root()
    }

    /// A command in the phone, not through adb, run as the user `shell`.
    pub fn command(&self, program: &str) -> Command {
        self.daemon.space().command(program)
    }

    /// The recorded calls of `settings`, `svc`, `dumpsys` and the like, one per line.
    pub fn log(&self) -> Vec<String> {
        let log = fs::read(self.home.path().join("root/.phone/calls.log")).unwrap_or_default();
        String::from_utf8_lossy(&log).lines().map(str::to_owned).collect()
    }

    /// Changes a text of the model: a battery that gets warm.
    pub fn set_text(&self, path: &str, text: impl AsRef<[u8]>) -> Result<()> {
        let own = self.home.path().join("root/.phone");
        let file = own.join(format!("{path}.txt"));
        fs::create_dir_all(file.parent().unwrap_or(&own))?;
        // Replace it atomically: a command may be reading it.
        let new = own.join("new-text");
        fs::write(&new, text)?;
        fs::rename(new, file)
    }

    /// Changes how the phone answers. A client that waits for authorisation may continue.
    pub fn set_state(&self, state: State) {
        *self.daemon.state() = state;
        self.daemon.changed.notify_all();
    }

    /// Pulls the cable: ends every connection. New ones are accepted.
    pub fn cut(&self) {
        self.daemon.cable.cut();
    }

    /// Pulls the cable after this many more bytes have passed, both directions together.
    pub fn cut_after(&self, bytes: u64) {
        self.daemon.cable.cut_after(bytes);
    }

    /// Pulls the cable in place of a message; the first of its kind in that direction has the index
    /// 0.
    pub fn cut_at(&self, kind: Kind, way: Way, index: u64) {
        self.daemon.cable.cut_at(kind, way, index);
    }

    /// Takes back [`Phone::cut_after`] and [`Phone::cut_at`].
    pub fn keep(&self) {
        self.daemon.cable.keep();
    }

    /// How often the cable was pulled.
    pub fn cuts(&self) -> u64 {
        self.daemon.cable.cuts()
    }

    /// Bytes that have passed so far, both directions together.
    pub fn traffic(&self) -> u64 {
        self.daemon.cable.traffic()
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.daemon.cable.connections()
    }

    /// Ends all connections and all processes, and boots again with the files as they are.
    /// [`Phone::root`] changes.
    pub fn reboot(&self) -> Result<()> {
        let refused = self.daemon.cable.set_refuses(true);
        self.cut();
        let mut space = self.daemon.space();
        space.end();
        // The screen is off after a boot.
        let _ = fs::remove_file(self.home.path().join("root/.phone/state/wakefulness"));
        *space = Arc::new(Space::start(&self.plan)?);
        self.daemon.cable.set_refuses(refused);
        Ok(())
    }

    /// Stops all traffic without closing connections, until [`Phone::resume`] or a cut.
    pub fn stall(&self) {
        self.daemon.cable.set_stalls(true);
    }

    /// Ends [`Phone::stall`].
    pub fn resume(&self) {
        self.daemon.cable.set_stalls(false);
    }

    /// Refuses new connections until [`Phone::accept`]. Open ones stay.
    pub fn refuse(&self) {
        self.daemon.cable.set_refuses(true);
        if let Some(listening) = self.listening().take() {
            listening.end(self.address);
        }
    }

    /// Accepts connections again, at the same address.
    pub fn accept(&self) -> Result<()> {
        self.daemon.cable.set_refuses(false);
        let mut listening = self.listening();
        if listening.is_none() {
            let listener = TcpListener::bind(self.address)?;
            *listening = Some(Listening::start(&self.daemon, listener));
        }
        Ok(())
    }

    /// Sets whether a cut also refuses new connections, until [`Phone::accept`]: they are closed at
    /// once.
    pub fn refuse_after_cut(&self, refuse: bool) {
        self.daemon.cable.refuse_after_cut(refuse);
    }

    fn listening(&self) -> MutexGuard<'_, Option<Listening>> {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Phone {
    fn drop(&mut self) {
        self.refuse();
        self.cut();
        // Streams that still wait for their commands hold on to the namespaces.
        self.daemon.space().end();
    }
}

/// The thread that accepts connections.
struct Listening {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Listening {
    fn start(daemon: &Arc<Daemon>, listener: TcpListener) -> Listening {
        let (daemon, ends) = (Arc::clone(daemon), Arc::new(AtomicBool::new(false)));
        let ended = Arc::clone(&ends);
        let thread = thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let daemon = Arc::clone(&daemon);
                thread::spawn(move || connection::serve(&daemon, socket));
            }
        });
        Listening { ends, thread }
    }

    /// Closes the port.
    fn end(self, address: SocketAddr) {
        self.ends.store(true, Ordering::SeqCst);
        // A connection wakes the thread, which then notices that it must end.
        let _ = TcpStream::connect(address);
        let _ = self.thread.join();
    }
}
